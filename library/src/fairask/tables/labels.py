"""A labelled table: features, labels 0 or 1, and groups, for a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairask.errors import suggest
from fairask.tables.encode import Encoder
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow
from fairask.tables.folding import folding, group_notes, spelling_notes
from fairask.tables.groups import GroupColumns, groups_by_column
from fairask.tables.leaks import group_leaks
from fairask.tables.limits import FEWEST_LABELS
from fairask.tables.positive import find_positive
from fairask.tables.protected import as_specs, protected_columns
from fairask.tables.survey import TextColumns, fit_encoder
from fairask.tables.values import text_of, texts


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
    positive, negative : str
        The label's values in words.
    notes : list of str
        What was done to the table that its owner should know.
    digest : str
        sha256 of the file, where there is one.
    by_column : dict of str to ndarray of str
        Groups by each protected column alone, if there are several.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]
    groups: npt.NDArray[np.str_]
    encoder: Encoder
    positive: str
    negative: str
    notes: list[str]
    digest: str = ""
    by_column: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return self.encoder.feature_names_out


def prepare(
    table: Arrow,
    *,
    label: str,
    protected: str | Sequence[str],
    positive: str | Sequence[str] | None = None,
    drop: Sequence[str] = (),
    use_protected: bool = True,
    text: TextColumns | None = None,
    digest: str = "",
) -> Prepared:
    """Turn a pyarrow table into features, labels and groups.

    Parameters
    ----------
    table : pyarrow.Table
    label : str
        The column to predict.
    protected : str or sequence of str
        The column whose groups are to be treated alike, or several whose combinations are the groups;
        ``"age:30,50"`` cuts numbers into bands.
    positive : str or sequence of str, optional
        The label's values that count as 1. Needed when there are more than two.
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
    ["label 'yes' counts as positive, 'no' as negative; --positive no turns it round"]
    """
    names = feature_columns(table.column_names, label, protected, drop, use_protected=use_protected)
    table = table.combine_chunks()
    specs = as_specs(protected)
    counts = GroupColumns.counted(table, [*specs, label])
    found = check_labels(label, specs, counts, positive)
    answers = texts(table.column(label))
    known = np.array([answer is not None for answer in answers], dtype=bool)
    table = table.filter(known) if not known.all() else table
    encoder = fit_encoder(table, names, text)
    X = encoder.transform(table)
    groups = np.asarray(np.array(found.columns.names)[found.columns.codes(table)])
    leaks = [] if use_protected else group_leaks(X, groups, encoder.feature_names_out)
    return Prepared(
        X=X,
        y=np.array(
            [answer in found.positives_named for answer in answers if answer is not None], dtype=np.int64
        ),
        groups=groups,
        encoder=encoder,
        positive=found.positive,
        negative=found.negative,
        notes=[*found.notes, *encoder.notes(), *leaks],
        digest=digest,
        by_column=groups_by_column(table, specs),
    )


def check_columns(names: Sequence[str], wanted: Sequence[tuple[str, str]]) -> None:
    """Raise TableError for an option that names a column that is not there."""
    for option, name in wanted:
        if name not in names:
            raise TableError(f"--{option}: no column {name!r}", columns_hint(name, names))


def feature_columns(
    names: Sequence[str],
    label: str,
    protected: str | Sequence[str],
    drop: Sequence[str],
    *,
    use_protected: bool,
) -> list[str]:
    """Return the columns to learn from, or raise TableError for options that do not fit the table.

    Examples
    --------
    >>> feature_columns(["a", "b", "g", "y"], "y", "g", ["a"], use_protected=False)
    ['b']
    """
    # A name may hold a comma itself, so the whole is tried first.
    drop = [d for given in drop for d in ([given] if given in names else given.split(","))]
    check_columns(names, [("label", label), *(("drop", d) for d in drop)])
    grouped = protected_columns(protected, names)
    if label in grouped:
        raise TableError(f"--label and --protected are both {label!r}", "Name two different columns")
    for name in (label, *grouped):
        if name in drop:
            raise TableError(f"--drop {name!r} is the label or the protected column", "Take it out of --drop")
    left_out = {label, *drop, *(() if use_protected else grouped)}
    return [name for name in names if name not in left_out]


def columns_hint(name: str, known: Sequence[str]) -> str:
    """Return the nearest name, and the first columns."""
    hint = suggest(name, known)
    near = "D" + hint[1:] + " " if hint.startswith("did") else ""
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"{near}Columns: {', '.join(known[:12])}{more}"


@dataclass(frozen=True)
class LabelFacts:
    """What was found of the labels and groups.

    Attributes
    ----------
    positives_named : tuple of str
        Values of the label that count as 1.
    negative : str
        The other value in words, or "not" the positive ones where there are several others.
    notes : list of str
    columns : GroupColumns
        The groups.
    groups : dict
        Labelled rows of each group.
    positives, missing : int
        Rows with a positive label, and without a label.
    """

    positives_named: tuple[str, ...]
    negative: str
    notes: list[str]
    columns: GroupColumns
    groups: dict[Hashable, int]
    positives: int
    missing: int

    @property
    def positive(self) -> str:
        """The positive values in words."""
        return " or ".join(self.positives_named)


def check_labels(
    label: str,
    protected: str | Sequence[str],
    counts: Mapping[Hashable, int],
    positive: str | Sequence[str] | None,
) -> LabelFacts:
    """Check the rows of each (group, label), or raise TableError.

    The keys of ``counts`` are the values of the protected columns, then the label.

    Examples
    --------
    >>> found = check_labels("y", "g", {(g, y): 5 for g in "ab" for y in "01"}, "1")
    >>> found.positive, found.groups, found.positives
    ('1', {'a': 10, 'b': 10}, 10)
    """
    specs = as_specs(protected)
    named = ", ".join(specs)
    rows: Counter[Hashable] = Counter()
    labels: Counter[tuple[Hashable, str | None]] = Counter()
    for key, n in counts.items():
        assert isinstance(key, tuple)
        group, answer = key[0] if len(key) == 2 else key[:-1], text_of(key[-1])
        rows[group] += n
        labels[group, answer] += n
    columns, fold = GroupColumns.of(specs, rows), folding(named, rows)
    notes: list[str] = []
    chosen = find_positive(label, [answer for _, answer in labels], positive, notes)
    others = {answer for _, answer in labels if answer is not None} - {*chosen}
    negative = others.pop() if len(others) == 1 else f"not {' or '.join(chosen)}"
    if missing := sum(n for (_, answer), n in labels.items() if answer is None):
        notes.append(f"{missing:,} rows have no value in {label!r} and were left out")
    notes += spelling_notes(named, rows)
    notes += group_notes(named, dict(zip(columns.values, columns.rows, strict=True)))
    tally: Counter[tuple[Hashable, bool]] = Counter()
    for (group, answer), n in labels.items():
        if answer is not None:
            tally[fold(group), answer in chosen] += n
    said = " or ".join(map(repr, chosen))
    for group, name in zip(columns.values, columns.names, strict=True):
        if not tally[group, False] + tally[group, True]:
            raise TableError(
                f"group {name!r} of {named!r} has no labelled rows",
                f"Label some of them, or leave the group out of the file (column {label!r})",
            )
        for is_positive, what in ((True, said), (False, f"other than {said}")):
            if (n := tally[group, is_positive]) < FEWEST_LABELS:
                raise TableError(
                    f"group {name!r} of {named!r} has {n} row{'s' * (n != 1)} with label {what}",
                    f"{FEWEST_LABELS} or more are needed, to train and to test: merge groups or add rows",
                )
    labelled = {group: tally[group, False] + tally[group, True] for group in columns.values}
    positives = sum(n for (_, is_positive), n in tally.items() if is_positive)
    return LabelFacts(chosen, negative, notes, columns, labelled, positives, missing)
