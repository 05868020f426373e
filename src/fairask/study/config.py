"""What a study is about: question, classes, tolerance, budget and columns. Written into its first event."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from fairask.checks import check_number
from fairask.errors import suggest
from fairask.learner import Profile
from fairask.metrics import Metric, check_metric
from fairask.stopping import Plateau, make_rule
from fairask.study._errors import StudyError
from fairask.study.events import SKIP, Document

__all__ = ["ColumnInfo", "Config", "check_config", "check_person", "check_stop", "new_seed"]

_LONGEST = {"question": 500, "class": 60, "title": 120, "unit": 40}


@dataclass(frozen=True)
class ColumnInfo:
    """A column of the pool and how it is shown: plain name, unit, words for its codes."""

    name: str
    kind: str  #: "number" or "text"
    role: str = "feature"  #: "feature" trains the model; "shown", "hidden" and "protected" do not
    title: str = ""
    unit: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """Settings of a study.

    Examples
    --------
    >>> Config(protected="sex", classes=("bad", "good"), tolerance=0.05).classes[1]
    'good'
    """

    protected: str
    classes: tuple[str, str] = ("0", "1")
    question: str = "Which class is this?"
    metric: Metric = "tprp"
    tolerance: float = 0.1
    budget: int = 250
    batch_size: int = 25
    strategy: str = "fare"
    strategy_params: dict[str, Any] = field(default_factory=dict)
    profile: Profile = "calibrated"  #: what the learner is made of: "calibrated" or "paper"
    margin: str | float | None = "auto"
    risk_weights: str | None = None
    fairness_weights: str = "ips"
    overlap: int = 1  #: people who answer each row
    lease_seconds: float = 300.0  #: after which a row handed out and not answered goes to somebody else
    stop: str = ""  #: a rule that ends the study before its budget, e.g. "plateau:5"
    show_protected: bool = False
    use_protected: bool = False  #: whether the model may decide by the protected attribute
    random_state: int = 0
    columns: tuple[ColumnInfo, ...] = ()
    rows: int = 0
    pool_sha256: str = ""

    def to_dict(self) -> Document:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Document) -> Config:
        """Rebuild from :meth:`to_dict`."""
        columns = tuple(ColumnInfo(**column) for column in data["columns"])
        # Studies made before there were profiles had the paper's.
        return cls(**{"profile": "paper", **data, "columns": columns, "classes": tuple(data["classes"])})

    def check_row(self, row: int) -> int:
        """Return a row number if the pool has that row."""
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or not 0 <= row < self.rows:
            raise StudyError(f"no row {row!r}; the pool has rows 0 to {self.rows - 1}")
        return int(row)

    def class_code(self, label: str, row: int) -> int:
        """Return the position of a label among the classes."""
        if label not in self.classes:
            raise StudyError(f"label {label!r} of row {row} is not one of the classes {list(self.classes)}")
        return self.classes.index(label)

    def class_name(self, code: int) -> str:
        """Return the name of an answer's code: a class, or "skipped"."""
        return "skipped" if code == SKIP else self.classes[code]

    def reworded(self, question: str | None, titles: dict[str, Document] | None) -> Config:
        """With another question, or other words for columns: what may change while people label."""
        known = {column.name for column in self.columns}
        for name in titles or {}:
            if name not in known:
                raise StudyError(f"no column {name!r}; {suggest(name, known)}")
        columns = tuple(_reworded(c, (titles or {}).get(c.name, {})) for c in self.columns)
        changed = replace(self, columns=columns, question=self.question if question is None else question)
        check_config(changed)
        return changed


def _reworded(column: ColumnInfo, words: Document) -> ColumnInfo:
    for key in words:
        if key not in ("title", "unit", "values"):
            raise StudyError(f"{key!r} of column {column.name!r} is unknown; known: title, unit, values")
    return replace(column, **words)


def check_config(config: Config) -> None:
    """Raise StudyError or ValueError for settings that make no sense."""
    check_metric(config.metric)
    check_number(config.tolerance, "tolerance", 0, 1)
    negative, positive = config.classes
    if negative == positive or not negative or not positive:
        raise StudyError(f"classes={config.classes!r} must be two different names, the positive one second")
    _short(config.question, "question", "question")
    for name in config.classes:
        _short(name, "class", "class")
    for column in config.columns:
        _short(column.title, "title", f"title of {column.name!r}")
        _short(column.unit, "unit", f"unit of {column.name!r}")
    check_stop(config.stop)
    for name in ("budget", "batch_size", "overlap"):
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise StudyError(f"{name}={value!r} must be a whole number, 1 or more")
    if config.overlap > 10:
        raise StudyError(f"overlap={config.overlap} is more than 10 people a row")
    if not 1 <= config.lease_seconds <= 30 * 86400:
        raise StudyError(f"lease_seconds={config.lease_seconds!r} must be from 1 to 30 days (2592000)")
    if config.rows and config.budget > config.rows:
        raise StudyError(f"budget={config.budget} is more than the pool's {config.rows} rows")


def check_stop(text: str) -> None:
    """Raise StudyError unless ``text`` is empty or a plateau rule."""
    if not text:
        return
    try:
        rule = make_rule(text)
    except ValueError as error:
        raise StudyError(str(error)) from error
    if not isinstance(rule, Plateau):
        raise StudyError(f"stop={text!r}: a study stops by its budget or by plateau[:ROUNDS[:BY]]")


def _short(value: str, kind: str, name: str) -> None:
    if len(value) > _LONGEST[kind]:
        raise StudyError(f"{name} has {len(value)} characters; {_LONGEST[kind]} at most")


def check_person(who: str) -> str:
    """Return a person's name if it can be one.

    Examples
    --------
    >>> check_person("ada")
    'ada'
    """
    if not isinstance(who, str) or not 1 <= len(who) <= 64 or not who.isprintable() or who != who.strip():
        raise StudyError(f"{who!r} cannot be a person's name: 1 to 64 printable characters")
    return who


def new_seed() -> int:
    """A seed for a study that was given none; it is stored, so the study can be replayed.

    Examples
    --------
    >>> 0 <= new_seed() < 2**31
    True
    """
    return secrets.randbelow(2**31)
