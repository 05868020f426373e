"""A labelled table: features, labels 0 or 1, and groups, for a simulation."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairask.data.encode import Encoder, listed
from fairask.data.errors import TableError
from fairask.data.extras import Arrow
from fairask.data.groups import GroupColumns, check_groups, group_names
from fairask.data.limits import FEWEST_LABELS
from fairask.data.survey import TextColumns, fit_encoder
from fairask.data.values import text_of, texts
from fairask.errors import suggest

__all__ = [
    "Prepared",
    "check_columns",
    "check_labels",
    "columns_hint",
    "feature_columns",
    "find_positive",
    "prepare",
]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready for a learner.

    Attributes
    ----------
    X : ndarray of shape (rows, features)
    y : ndarray
        1 where the label is ``positive``.
    groups : ndarray of str
    encoder : Encoder
        How ``X`` was made.
    positive : str
    notes : list of str
        What was done to the table that its owner should know.
    digest : str
        sha256 of the file, where there is one.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]
    groups: npt.NDArray[np.str_]
    encoder: Encoder
    positive: str
    notes: list[str]
    digest: str = ""

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return self.encoder.feature_names_out


def prepare(
    table: Arrow,
    *,
    label: str,
    protected: str,
    positive: str | None = None,
    drop: Sequence[str] = (),
    use_protected: bool = True,
    text: TextColumns | None = None,
    digest: str = "",
) -> Prepared:
    """Turn a pyarrow table into features, labels and groups.

    Parameters
    ----------
    table : pyarrow.Table
    label, protected : str
        The column to predict, and the one whose groups are to be treated alike.
    positive : str, optional
        The label's value that counts as 1. Needed when there are more than two.
    drop : sequence of str
        Columns to leave out; an entry may hold several, separated by commas.
    use_protected : bool
        Whether the protected column is a feature; in the paper it is.
    text : TextColumns, optional
        Which columns are free text, besides those that look like it.
    digest : str
        Passed on to the result.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"x": [1.0, 2.0] * 8, "g": ["a", "b"] * 8, "y": ["no", "no", "yes", "yes"] * 4}
    >>> prepare(pa.table(columns), label="y", protected="g").notes
    ["label value 'yes' counts as positive; --positive chooses another"]
    """
    names = feature_columns(table.column_names, label, protected, drop, use_protected=use_protected)
    table = table.combine_chunks()
    counts = GroupColumns.counted(table, [protected, label])
    found = check_labels(label, protected, counts, positive)
    answers = texts(table.column(label))
    known = np.array([answer is not None for answer in answers], dtype=bool)
    table = table.filter(known) if not known.all() else table
    encoder = fit_encoder(table, names, text)
    return Prepared(
        X=encoder.transform(table),
        y=np.array([answer == found.positive for answer in answers if answer is not None], dtype=np.int64),
        groups=group_names(table, protected),
        encoder=encoder,
        positive=found.positive,
        notes=[*found.notes, *encoder.notes()],
        digest=digest,
    )


def check_columns(names: Sequence[str], wanted: Sequence[tuple[str, str]]) -> None:
    """Raise TableError for an option that names a column that is not there."""
    for option, name in wanted:
        if name not in names:
            raise TableError(f"--{option}: no column {name!r}", columns_hint(name, names))


def feature_columns(
    names: Sequence[str], label: str, protected: str, drop: Sequence[str], *, use_protected: bool
) -> list[str]:
    """Return the columns to learn from, or raise TableError for options that do not fit the table.

    Examples
    --------
    >>> feature_columns(["a", "b", "g", "y"], "y", "g", ["a"], use_protected=False)
    ['b']
    """
    # A name may hold a comma itself, so the whole is tried first.
    drop = [d for given in drop for d in ([given] if given in names else given.split(","))]
    check_columns(names, [("label", label), ("protected", protected), *(("drop", d) for d in drop)])
    if label == protected:
        raise TableError(f"--label and --protected are both {label!r}", "Name two different columns")
    for name in (label, protected):
        if name in drop:
            raise TableError(f"--drop {name!r} is the label or the protected column", "Take it out of --drop")
    left_out = {label, *drop, *(() if use_protected else (protected,))}
    return [name for name in names if name not in left_out]


def columns_hint(name: str, known: Sequence[str]) -> str:
    """Return the nearest name, and the first columns."""
    hint = suggest(name, known)
    near = "D" + hint[1:] + " " if hint.startswith("did") else ""
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"{near}Columns: {', '.join(known[:12])}{more}"


@dataclass(frozen=True)
class LabelFacts:
    """What was found of the labels: the positive one, notes, labelled rows of each group, rows of 1."""

    positive: str
    notes: list[str]
    groups: dict[Hashable, int]
    positives: int
    missing: int


def check_labels(
    label: str, protected: str, counts: Mapping[Hashable, int], positive: str | None
) -> LabelFacts:
    """Check the rows of each (group, label), or raise TableError.

    Examples
    --------
    >>> found = check_labels("y", "g", {(g, y): 5 for g in "ab" for y in "01"}, "1")
    >>> found.positive, found.groups, found.positives
    ('1', {'a': 10, 'b': 10}, 10)
    """
    groups: Counter[Hashable] = Counter()
    labels: Counter[tuple[Hashable, str | None]] = Counter()
    for key, n in counts.items():
        assert isinstance(key, tuple)
        group, answer = key
        groups[group] += n
        labels[group, text_of(answer)] += n
    check_groups(protected, groups)
    notes: list[str] = []
    chosen = find_positive(label, [answer for _, answer in labels], positive, notes)
    if missing := sum(n for (_, answer), n in labels.items() if answer is None):
        notes.append(f"{missing:,} rows have no value in {label!r} and were left out")
    labelled: dict[Hashable, int] = {}
    for group in sorted(groups, key=str):
        rows = [0, 0]
        for (where, answer), n in labels.items():
            if where == group and answer is not None:
                rows[answer == chosen] += n
        name, labelled[group] = text_of(group), sum(rows)
        if not sum(rows):
            raise TableError(
                f"group {name!r} of {protected!r} has no labelled rows",
                f"Label some of them, or leave the group out of the file (column {label!r})",
            )
        for n, what in ((rows[1], repr(chosen)), (rows[0], f"other than {chosen!r}")):
            if n < FEWEST_LABELS:
                raise TableError(
                    f"group {name!r} of {protected!r} has {n} rows with label {what}",
                    f"{FEWEST_LABELS} or more are needed, to train and to test: merge groups or add rows",
                )
    positives = sum(n for (_, answer), n in labels.items() if answer == chosen)
    return LabelFacts(chosen, notes, labelled, positives, missing)


def find_positive(label: str, answers: Sequence[str | None], given: str | None, notes: list[str]) -> str:
    """Return the label's value that counts as 1; ``notes`` get what its owner should know.

    Examples
    --------
    >>> find_positive("paid", ["no", "Yes"], "yes", [])
    'Yes'
    """
    values = sorted({answer for answer in answers if answer is not None})
    if len(values) < 2:
        what = f"one value only: {values[0]!r}" if values else "no values"
        raise TableError(f"label column {label!r} has {what}", "Both classes are needed to learn from")
    if given is not None:
        for value in values:
            if value == given or value.lower() == given.lower() or _same_number(value, given):
                if len(values) > 2:
                    others = listed([v for v in values if v != value])
                    notes.append(f"label values other than {value!r} count as negative: {others}")
                return value
        shown = suggest(given, values) if len(values) <= 20 else f"values: {listed(values)}"
        raise TableError(f"--positive {given!r} is no value of {label!r}", shown[0].upper() + shown[1:])
    if len(values) > 2:
        raise TableError(
            f"label column {label!r} has {len(values):,} values: {listed(values)}",
            f"Say which one counts as 1, e.g. --positive {shlex.quote(values[-1][:40])}",
        )
    notes.append(f"label value {values[1]!r} counts as positive; --positive chooses another")
    return values[1]


def _same_number(a: str, b: str) -> bool:
    try:
        return float(a) == float(b)
    except ValueError:
        return False
