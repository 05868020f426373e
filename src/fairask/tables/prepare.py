"""From a table to features, labels and groups."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.errors import suggest
from fairask.tables._problem import TableProblem
from fairask.tables.columns import encode_column, refusal, texts
from fairask.tables.read import read_file

__all__ = ["Prepared", "prepare", "read_labelled"]

#: More groups than this are a number that was meant to be cut into a few.
MOST_GROUPS = 10
#: Rows of each (group, label) cell, so that both parts of every split have some.
SMALLEST_CELL = 4


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready for a learner.

    Attributes
    ----------
    X : ndarray of shape (rows, features)
        Standardised.
    y : ndarray
        1 where the label is ``positive``.
    groups : ndarray of str
    feature_names : list of str
    positive : str
    notes : list of str
        What was done to the table that its owner should know.
    digest : str
        sha256 of the file, where there is one.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    groups: NDArray[np.str_]
    feature_names: list[str]
    positive: str
    notes: list[str]
    digest: str = ""


def read_labelled(path: str | PathLike[str], *, encoding: str = "utf-8", **options: Any) -> Prepared:
    """Read a file and :func:`prepare` it.

    Examples
    --------
    >>> import tempfile
    >>> rows = "".join(f"{i % 7},{'mf'[i % 2]},{i // 2 % 2}\\n" for i in range(40))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("score,sex,paid\\n" + rows)
    ...     table = read_labelled(file, label="paid", protected="sex")
    >>> table.feature_names, table.positive, table.X.shape
    (['score', 'sex=m'], '1', (40, 2))
    """
    table = read_file(path, encoding=encoding)
    ready = prepare(table, **options)
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Prepared(**{**ready.__dict__, "digest": digest})


def prepare(
    table: Any,
    *,
    label: str,
    protected: str,
    positive: str | None = None,
    drop: Sequence[str] = (),
    exclude_protected: bool = False,
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
    exclude_protected : bool
        Leave the protected column out of the features; the paper keeps it in.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"x": [1.0, 2.0] * 8, "g": ["a", "b"] * 8, "y": ["no", "no", "yes", "yes"] * 4}
    >>> prepare(pa.table(columns), label="y", protected="g").notes
    ["label value 'yes' counts as positive; --positive chooses another"]
    """
    # A name may hold a comma itself, so the whole is tried first.
    drop = [d for given in drop for d in ([given] if given in table.column_names else given.split(","))]
    for option, name in (("label", label), ("protected", protected), *(("drop", d) for d in drop)):
        if name not in table.column_names:
            raise TableProblem(f"--{option}: no column {name!r}", _columns_hint(name, table.column_names))
    if label == protected:
        raise TableProblem(f"--label and --protected are both {label!r}", "Name two different columns")
    for name in (label, protected):
        if name in drop:
            raise TableProblem(
                f"--drop {name!r} is the label or the protected column", "Take it out of --drop"
            )
    notes: list[str] = []
    answers, groups = texts(table.column(label)), texts(table.column(protected))
    seen_groups = {g for g in groups if g is not None}
    _check_groups(protected, seen_groups)
    positive = _positive(label, answers, positive, notes)
    kept = [
        i for i, (a, g) in enumerate(zip(answers, groups, strict=True)) if a is not None and g is not None
    ]
    for name, cells in ((label, answers), (protected, groups)):
        if n := sum(c is None for c in cells):
            notes.append(f"{n:,} rows have no value in {name!r} and were left out")
    y = np.array([answers[i] == positive for i in kept], dtype=np.int64)
    g = np.array([groups[i] for i in kept], dtype=np.str_)
    _check_cells(label, protected, seen_groups, y, g, positive)
    table = table.take(kept) if len(kept) < len(answers) else table
    features = [
        c
        for c in table.column_names
        if c not in {label, *drop} and not (exclude_protected and c == protected)
    ]
    X, names = _features(table, features, protected, notes)
    return Prepared(X, y, g, names, positive, notes)


def _columns_hint(name: str, known: Sequence[str]) -> str:
    hint = suggest(name, known)
    near = "D" + hint[1:] + " " if hint.startswith("did") else ""
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"{near}Columns: {', '.join(known[:12])}{more}"


def _listed(values: Sequence[str], most: int = 8) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(repr(v[:40]) for v in values[:most]) + more


def _check_groups(protected: str, found: set[str]) -> None:
    if not found:
        raise TableProblem(
            f"protected column {protected!r} is empty", "Name a column that says each row's group"
        )
    if len(found) == 1:
        raise TableProblem(
            f"protected column {protected!r} has one group only: {next(iter(found))!r}",
            "Two or more groups are needed: name another column, or a table with all groups",
        )
    if len(found) > MOST_GROUPS:
        raise TableProblem(
            f"protected column {protected!r} has {len(found):,} values: {_listed(sorted(found), 4)}",
            f"Make a column with at most {MOST_GROUPS} groups of them, and name that",
        )


def _positive(label: str, answers: list[str | None], given: str | None, notes: list[str]) -> str:
    values = sorted({a for a in answers if a is not None})
    if len(values) < 2:
        what = f"one value only: {values[0]!r}" if values else "no values"
        raise TableProblem(f"label column {label!r} has {what}", "Both classes are needed to learn from")
    if given is not None:
        for value in values:
            if value == given or value.lower() == given.lower() or _same_number(value, given):
                if len(values) > 2:
                    others = _listed([v for v in values if v != value])
                    notes.append(f"label values other than {value!r} count as negative: {others}")
                return value
        shown = suggest(given, values) if len(values) <= 20 else f"values: {_listed(values)}"
        raise TableProblem(f"--positive {given!r} is no value of {label!r}", shown[0].upper() + shown[1:])
    if len(values) > 2:
        raise TableProblem(
            f"label column {label!r} has {len(values):,} values: {_listed(values)}",
            f"Say which one counts as 1, e.g. --positive {shlex.quote(values[-1][:40])}",
        )
    notes.append(f"label value {values[1]!r} counts as positive; --positive chooses another")
    return values[1]


def _same_number(a: str, b: str) -> bool:
    try:
        return float(a) == float(b)
    except ValueError:
        return False


def _check_cells(
    label: str, protected: str, groups: set[str], y: NDArray[np.int64], g: NDArray[np.str_], positive: str
) -> None:
    for group in sorted(groups):
        rows = y[g == group]
        if not len(rows):
            raise TableProblem(
                f"group {group!r} of {protected!r} has no labelled rows",
                f"Label some of them, or leave the group out of the file (column {label!r})",
            )
        for value, name in ((1, repr(positive)), (0, f"other than {positive!r}")):
            if (n := int((rows == value).sum())) < SMALLEST_CELL:
                raise TableProblem(
                    f"group {group!r} of {protected!r} has {n} rows with label {name}",
                    f"{SMALLEST_CELL} or more are needed, to train and to test: merge groups or add rows",
                )


def _features(
    table: Any, columns: Sequence[str], protected: str, notes: list[str]
) -> tuple[NDArray[np.float64], list[str]]:
    refused = {c: why for c in columns if c != protected and (why := refusal(c, table.column(c))) is not None}
    if refused:
        reasons = "; ".join(f"{c!r}: {why}" for c, why in refused.items())
        names = list(refused)
        plain = all("," not in c for c in names)
        option = (
            f"--drop {shlex.quote(','.join(names))}"
            if plain
            else " ".join(f"--drop {shlex.quote(c)}" for c in names)
        )
        raise TableProblem(f"columns that a model cannot learn from: {reasons}", f"Leave them out: {option}")
    encoded: list[tuple[str, NDArray[np.float64]]] = []
    constant, filled = [], []
    for name in columns:
        try:
            features = encode_column(name, table.column(name))
        except ValueError as error:
            raise TableProblem(
                f"column {name!r} {error}", f"Mend the value, or --drop {shlex.quote(name)}"
            ) from error
        varying = [(n, v) for n, v in features if v.min() != v.max()]
        if not varying:
            constant.append(name)
        if any(n == f"{name} is missing" for n, _ in varying):
            filled.append(name)
        encoded += varying
    if constant:
        notes.append(f"columns with one value were left out: {_listed(constant)}")
    if filled:
        notes.append(f"missing values were filled in, with an indicator: {_listed(filled)}")
    if not encoded:
        raise TableProblem(
            "no column is left to learn from", "Give a table with features besides label and group"
        )
    X = np.stack([v for _, v in encoded], axis=1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X), [n for n, _ in encoded]
