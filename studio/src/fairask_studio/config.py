"""What a study is about: question, classes, tolerance, budget and columns. Written into its first event."""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from fairask.checks import check_count
from fairask.defaults import BUDGET
from fairask.errors import suggest
from fairask.learner import LearnerConfig
from fairask.stopping import Plateau, make_rule
from fairask_studio.columns import DISPLAYS, ColumnInfo
from fairask_studio.errors import StudyError
from fairask_studio.events import SKIP, Document, LimitsChanged, StudyReworded

_LONGEST = {"question": 500, "class": 60, "title": 120, "unit": 40}
_LONGEST_GUIDELINES = 50_000
#: Reasons to skip a row, and characters of one.
_MOST_REASONS, LONGEST_REASON = 9, 120
LONGEST_NOTE = 2000
#: What can be said of a column.
_WORDS = ("title", "unit", "values", "display")
#: The least share of gold rows: one in so many.
_RAREST = 1000
#: A scheme, a host and perhaps a port; the path of the studio follows from its own.
_ADDRESS = re.compile(r"https?://([A-Za-z0-9._-]{1,200}|\[[0-9A-Fa-f:]{2,40}\])(:\d{1,5})?")
_MOST_PEOPLE, _MOST_SECONDS = 10, 30 * 86400
#: Settings that follow from others or from the pool, and the learner's that a study has another way for.
_NOT_CHOSEN = {
    "audit_share", "blind", "columns", "encoder", "learner", "pool_sha256", "protected", "rows",
    "sampled_from",
}  # fmt: skip
_DEFAULTS: Document = {
    "classes": ("0", "1"),
    "budget": BUDGET,
    "random_state": 0,
    "strategy_params": {},
}


@dataclass(frozen=True)
class Config:
    """Settings of a study: those of its learner, and those of the people who label.

    As JSON they are one flat object; see :meth:`to_dict`.
    """

    protected: str | tuple[str, ...]  #: one column, or several whose combinations are the groups
    learner: LearnerConfig
    question: str = "Which class is this?"
    guidelines: str = ""  #: how to label, in Markdown
    skip_reasons: tuple[str, ...] = ()  #: from which annotators choose; with none, they are not asked
    address: str = ""  #: where others reach the studio, for links that invite: ``https://label.example.org``
    overlap: int = 1  #: people who answer each row
    lease_seconds: float = 300.0  #: after which a row handed out and not answered goes to another person
    most_skips: int = 100  #: rows that one person may skip in the studio; 0 is no limit
    most_per_minute: int = 100  #: answers of one person after which no row is handed out; 0 is no limit
    gold_every: int = 20  #: of so many answers of a person one is to a gold row; 0: gold rows are not asked
    gold_least: int = 80  #: per cent of gold rows answered rightly, below which owners are warned; 0: never
    show_protected: bool = False
    use_protected: bool = False  #: whether the model may decide by the protected attribute
    columns: tuple[ColumnInfo, ...] = ()
    rows: int = 0
    pool_sha256: str = ""
    encoder: dict[str, Any] | None = None  #: what turns columns into features
    sampled_from: int | None = None  #: rows of the table that the pool is a sample of; None if it is whole

    @property
    def classes(self) -> tuple[str, str]:
        """The two labels, the positive one second."""
        negative, positive = self.learner.classes
        return str(negative), str(positive)

    @property
    def grouped_by(self) -> str:
        """The protected columns in words."""
        return self.protected if isinstance(self.protected, str) else ", ".join(self.protected)

    @property
    def budget(self) -> int:
        """Labels to spend, without those of audits."""
        return self.learner.budget or 0

    @classmethod
    def make(cls, **given: Any) -> Config:
        """Make settings from one set of names: the learner's and the study's own."""
        of_learner = {name: given[name] for name in _names(LearnerConfig) if name in given}
        mine = {name: value for name, value in given.items() if name not in of_learner}
        learner = _learner_config({**_DEFAULTS, **of_learner}, bool(given.get("use_protected")))
        return cls(learner=learner, **mine)

    @staticmethod
    def names() -> set[str]:
        """Return the names of all settings that can be chosen."""
        return {*_names(LearnerConfig), *_names(Config)} - _NOT_CHOSEN

    def to_dict(self) -> Document:
        """Return plain values for JSON, the learner's settings beside the others."""
        mine = {name: value for name, value in asdict(self).items() if name != "learner"}
        return {**asdict(self.learner), **mine}

    @classmethod
    def from_dict(cls, data: Document) -> Config:
        """Rebuild from :meth:`to_dict`."""
        data = dict(data)
        for name in data.keys() - set(_names(LearnerConfig)) - set(_names(cls)):
            raise StudyError(
                f"the study has a setting {name!r}, which this version does not know; a newer version made "
                "it: upgrade with pip install -U fairask"
            )
        if isinstance(data["protected"], list):
            data["protected"] = tuple(data["protected"])
        data["skip_reasons"] = tuple(data["skip_reasons"])
        return cls.make(**{**data, "columns": tuple(ColumnInfo(**column) for column in data["columns"])})

    @property
    def shown(self) -> list[str]:
        """Names of the columns that annotators see; the protected one only if the study shows it."""
        roles = ["feature", "shown"] + (["protected"] if self.show_protected else [])
        return [c.name for c in self.columns if c.role in roles and c.display != "none"]

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

    def reworded(self, words: StudyReworded) -> Config:
        """Return the settings with another question, other words for columns, guidelines or reasons."""
        known, titles = {column.name for column in self.columns}, words.columns or {}
        for name in titles:
            if name not in known:
                raise StudyError(f"no column {name!r}; {suggest(name, known)}")
        columns = tuple(_reworded(c, titles.get(c.name, {})) for c in self.columns)
        reasons = self.skip_reasons if words.skip_reasons is None else tuple(words.skip_reasons)
        return replace(self, **{**words.to_data(), "columns": columns, "skip_reasons": reasons})

    def with_budget(self, budget: int) -> Config:
        """Return the settings with more labels to spend; labels are never taken from a budget."""
        if check_count(budget, "budget") < self.budget:
            raise StudyError(f"budget={budget} is less than the {self.budget:,} labels of before")
        if budget > self.rows:
            raise StudyError(f"budget={budget} is more than the pool's {self.rows:,} rows")
        return replace(self, learner=replace(self.learner, budget=budget))

    def limited(self, limits: LimitsChanged) -> Config:
        """Return the settings with other limits on each person; None keeps one."""
        return replace(self, **limits.to_data())

    def __post_init__(self) -> None:
        for name in self.classes:
            _check_length(name, "class", "class")
        _check_length(self.question, "question", "question")
        if len(self.guidelines) > _LONGEST_GUIDELINES:
            raise StudyError(
                f"guidelines have {len(self.guidelines):,} characters; {_LONGEST_GUIDELINES:,} at most"
            )
        _check_reasons(self.skip_reasons)
        if self.address and not _ADDRESS.fullmatch(self.address):
            raise StudyError(
                f"{self.address[:80]!r} cannot be the public address",
                "Give one as in https://label.example.org",
            )
        for column in self.columns:
            _check_length(column.title, "title", f"title of {column.name!r}")
            _check_length(column.unit, "unit", f"unit of {column.name!r}")
            if column.display and column.display not in DISPLAYS:
                raise StudyError(
                    f"display {column.display!r} of column {column.name!r} is unknown; "
                    f"known: {', '.join(DISPLAYS)}"
                )
        if check_count(self.overlap, "overlap") > _MOST_PEOPLE:
            raise StudyError(f"overlap={self.overlap} is more than {_MOST_PEOPLE} people per row")
        for name in ("most_skips", "most_per_minute", "gold_every", "gold_least"):
            try:
                check_count(vars(self)[name], name, least=0)
            except ValueError as error:
                raise StudyError(f"{error}; 0 is no limit") from error
        if self.gold_every == 1 or self.gold_every > _RAREST:
            raise StudyError(
                f"gold_every={self.gold_every} must be from 2 to {_RAREST:,}, or 0 for no gold rows"
            )
        if self.gold_least > 100:
            raise StudyError(f"gold_least={self.gold_least} is more than 100 per cent")
        if not 1 <= self.lease_seconds <= _MOST_SECONDS:
            raise StudyError(
                f"lease_seconds={self.lease_seconds!r} must be from 1 to 30 days ({_MOST_SECONDS})"
            )
        if self.rows and self.budget > self.rows:
            raise StudyError(f"budget={self.budget} is more than the pool's {self.rows} rows")


def _reworded(column: ColumnInfo, words: Document) -> ColumnInfo:
    for key in words:
        if key not in _WORDS:
            raise StudyError(f"{key!r} of column {column.name!r} is unknown; known: {', '.join(_WORDS)}")
    return replace(column, **words)


def _names(kind: type[Config | LearnerConfig]) -> list[str]:
    return [found.name for found in fields(kind)]


def _learner_config(given: Document, use_protected: bool) -> LearnerConfig:
    """Return the settings of a study's learner; a calibrated model is blind unless it may use the groups."""
    classes = tuple(str(name) for name in given["classes"])
    if len(set(classes)) != 2 or len(classes) != 2 or not all(classes):
        raise StudyError(f"classes={classes!r} must be two different names, the positive one second")
    blind = given.get("profile", "calibrated") == "calibrated" and not use_protected
    check_stop(given.get("stopping"))
    return LearnerConfig(**{**given, "classes": classes, "blind": blind})


def check_stop(text: str | None) -> None:
    """Raise StudyError unless ``text`` is empty or a plateau rule."""
    if not text:
        return
    try:
        rule = make_rule(text)
    except ValueError as error:
        raise StudyError(str(error)) from error
    if not isinstance(rule, Plateau):
        raise StudyError(f"stopping={text!r}: a study stops by its budget or by plateau[:ROUNDS[:BY]]")


def check_note(note: str) -> str | None:
    """Return a note if it is short enough; None for an empty one."""
    if len(note) > LONGEST_NOTE:
        raise StudyError(f"a note has {len(note)} characters; {LONGEST_NOTE} at most")
    return note or None


def check_reason(reason: str) -> str:
    """Return a reason to skip if it can be one."""
    if reason != reason.strip() or not reason.isprintable() or len(reason) > LONGEST_REASON:
        raise StudyError(
            f"{reason[:60]!r} cannot be a reason to skip: {LONGEST_REASON} printable characters at most"
        )
    return reason


def _check_reasons(reasons: tuple[str, ...]) -> None:
    if len(reasons) > _MOST_REASONS:
        raise StudyError(f"{len(reasons)} reasons to skip are too many; {_MOST_REASONS} at most")
    for reason in reasons:
        if not check_reason(reason) or reasons.count(reason) > 1:
            raise StudyError(f"the reason to skip {reason!r} is empty, or there twice")


def _check_length(value: str, kind: str, name: str) -> None:
    if len(value) > _LONGEST[kind]:
        raise StudyError(f"{name} has {len(value)} characters; {_LONGEST[kind]} at most")


def check_person(who: str) -> str:
    """Return a person's name if it can be one."""
    if not isinstance(who, str) or not 1 <= len(who) <= 64 or not who.isprintable() or who != who.strip():
        raise StudyError(f"{who!r} cannot be a person's name: 1 to 64 printable characters")
    return who


def new_seed() -> int:
    """A seed for a study that was given none; it is stored, so the study can be replayed."""
    return secrets.randbelow(2**31)
