"""The table of an audit: its predictions and groups, and the rows that are to be labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.audit.audit import Audit
from fairask.audit.inputs import AuditInputs, Noise, noise_table
from fairask.audit.plan import AuditPlan
from fairask.audit.predictions import Classes, scores_of, words_of
from fairask.audit.questions import QUESTIONS
from fairask.audit.simulate import AuditSimulation, simulate_audit
from fairask.pools.places import local_path
from fairask.pools.sources.place import PlacedTable, open_place
from fairask.tables import TableError, TableFormat, group_names, read_noted, read_table
from fairask.tables.cells import listed
from fairask.tables.formats import PARQUET_SUFFIXES, check_names, is_dataset_folder
from fairask.tables.groups import UNKNOWN, as_specs, group_notes, protected_columns
from fairask.tables.labels import check_columns, find_positive


@dataclass(frozen=True, eq=False)
class AuditTable:
    """What an audit reads of a table.

    Attributes
    ----------
    names : list of str
        The table's columns.
    rows : int
        Rows of the pool: those of the table that have a group.
    kept : ndarray of int or None
        Their numbers in the table (from 0); None if it is all of them.
    group_rows : dict
        Rows of each group.
    classes : Classes
        Names of the classes; none where predictions are numbers.
    notes : list of str
    take : callable
        Rows of the table, by number, as a pyarrow table.
    begin : callable
        ``begin(plan)`` makes an :class:`Audit` of the pool.
    scores, groups, labels : ndarray or None
        Predictions in [0, 1], groups and, if a column of labels was named, 1 where the label is positive;
        None where the table is streamed.
    extras : dict
        Score, cost, known labels and noise, as far as columns were named.
    """

    names: list[str]
    rows: int
    kept: NDArray[np.int64] | None
    group_rows: dict[str, int]
    classes: Classes
    notes: list[str]
    take: Callable[[NDArray[np.int64]], Any]
    begin: Callable[[AuditPlan], Audit]
    scores: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None
    labels: NDArray[np.int64] | None = None
    extras: AuditInputs = field(default_factory=AuditInputs)

    def number_of(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the table, given rows of the pool."""
        return index if self.kept is None else self.kept[index]

    def simulate(self, plan: AuditPlan, runs: int) -> AuditSimulation:
        """Simulate audits of a table that was opened with a column of labels."""
        assert self.scores is not None
        assert self.groups is not None
        assert self.labels is not None
        for value in QUESTIONS[plan.metric].labels:
            for group in sorted(g for g in set(self.groups.tolist()) if g is not None):
                if not (self.labels[self.groups == group] == value).any():
                    kind = "positive" if value else "negative"
                    raise TableError(
                        f"group {group!r} has no {kind} label, so it has no rate to compare",
                        "Merge groups, add rows, or choose another --metric",
                    )
        score = self.extras.get("score")
        return simulate_audit(self.labels, self.scores, self.groups, plan, n_audits=runs, score=score)

    def index_of(self, number: int) -> int | None:
        """Row of the pool, given a row of the table; None if it is not in the pool."""
        if self.kept is None:
            return number if 0 <= number < self.rows else None
        at = int(np.searchsorted(self.kept, number))
        return at if at < len(self.kept) and self.kept[at] == number else None


def check_wanted(names: Sequence[str], wanted: dict[str, str], protected: str | Sequence[str]) -> list[str]:
    """Return the columns to read; raise for one that is not there, or is named twice."""
    check_columns(names, list(wanted.items()))
    grouped = protected_columns(protected, names)
    columns = [*wanted.values(), *grouped]
    if len(set(columns)) < len(columns):
        given = [*wanted.items(), *(("protected", name) for name in grouped)]
        raise TableError(
            " and ".join(f"--{o} {n}" for o, n in given) + " name a column twice", "Name different columns"
        )
    return columns


def open_audit_table(
    path: str | Path,
    *,
    predictions: str,
    protected: str | Sequence[str],
    positive: str | Sequence[str] | None = None,
    label: str | None = None,
    more: Mapping[str, str | None] | None = None,
    form: TableFormat | None = None,
) -> AuditTable:
    """Read the columns an audit needs of a CSV file, a Parquet file or a folder of Parquet files.

    Of Parquet, only these columns are held in memory, and later the rows that are asked for. ``more`` names
    the columns ``score``, ``cost`` and ``known`` (labels that exist already, empty elsewhere), ``noise`` as
    :func:`read_noise` reads it; ``unknown_groups`` is "yes" where rows without a group may be of any.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("sex,said\\nm,yes\\nf,no\\n")
    ...     pool = open_audit_table(file, predictions="said", protected="sex", positive="yes")
    >>> pool.scores.tolist(), pool.classes.names
    ([1.0, 0.0], ('no', 'yes'))
    """
    table, notes = _open(path, form)
    named = dict(more or {})
    wanted = {"predictions": predictions} | ({} if label is None else {"truth": label})
    wanted |= {name: str(named[name]) for name in ("score", "cost", "known") if named.get(name)}
    columns = table.columns(check_wanted(table.names, wanted, protected))
    groups: NDArray[Any] = group_names(columns, protected)
    notes += group_notes(", ".join(as_specs(protected)), Counter[Hashable](groups.tolist()))
    if named.get("unknown_groups") == "yes":
        names_known = groups.astype(object)
        names_known[groups == UNKNOWN] = None
        groups = names_known
    known, labels = np.ones(len(groups), dtype=bool), None
    if label is not None:
        known, labels = _truth(columns.column(label), label, positive, notes)
    scores, classes = scores_of(
        columns.column(predictions), predictions, as_specs(positive or ()), labels is not None, notes
    )
    scores, names = scores[known], groups[known]
    shown = np.where(names == None, UNKNOWN, names).astype(str)  # noqa: E711 - element by element
    found, counts = np.unique(shown, return_counts=True)
    extras = _extras(columns, named, known, found.tolist(), classes)
    if column := named.get("known"):
        notes.append(f"{len(extras['known'] or {}):,} rows have a label in {column!r} and are not asked for")
    return AuditTable(
        names=table.names,
        rows=len(scores),
        kept=np.flatnonzero(known),
        group_rows=dict(zip(found.tolist(), counts.tolist(), strict=True)),
        classes=classes,
        notes=notes,
        take=table.rows,
        begin=lambda plan: Audit(scores, names, plan, **extras),
        extras=extras,
        scores=scores,
        groups=names,
        labels=None if labels is None else labels[known],
    )


def _open(path: str | Path, form: TableFormat | None) -> tuple[_Whole | _Parquet, list[str]]:
    """Open the table, and note what was recognised in it; Parquet is read when it is needed."""
    local = local_path(path)
    if (
        local is None
        or (local.is_dir() and not is_dataset_folder(local))
        or (local.suffix.lower() in PARQUET_SUFFIXES and local.exists())
    ):
        return _Parquet(path if local is None else local), []
    whole, notes = read_noted(local, form)
    return _Whole(whole), notes


def _truth(
    column: Any, name: str, positive: str | Sequence[str] | None, notes: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which rows have a label, and 1 where it is positive."""
    answers = words_of(column)
    value = find_positive(name, answers.tolist(), positive, notes, guess=False)
    labels = np.isin(answers.astype(str), value).astype(np.int64)
    known = np.asarray(answers != None)  # noqa: E711 - element by element
    if n := int((~known).sum()):
        notes.append(f"{n:,} rows have no value in {name!r} and were left out")
    return known, labels


def _extras(
    columns: Any,
    named: Mapping[str, str | None],
    known: NDArray[np.bool_],
    groups: list[str],
    classes: Classes,
) -> AuditInputs:
    """Return score, cost, labels that exist already and noise, as far as they are named."""
    extras: AuditInputs = {"noise": read_noise(named.get("noise"))}
    try:
        noise_table(extras["noise"], groups)
    except ValueError as error:
        raise TableError(f"--noise {named['noise']}: {error}", f"Groups: {listed(groups)}") from error
    for option in ("score", "cost"):
        if column := named.get(option):
            extras[option] = _numbers(columns.column(column), column, option)[known]
    if column := named.get("known"):
        extras["known"] = _known(words_of(columns.column(column))[known], column, classes)
    return extras


def _numbers(column: Any, name: str, option: str) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"--{option} {name}: its values are not numbers", "Name a column of numbers"
        ) from error
    if option == "cost" and not (values > 0).all():
        raise TableError(f"--cost {name}: costs must be above zero, in every row", "Fill in all costs")
    return values


def _known(words: NDArray[np.object_], name: str, classes: Classes) -> dict[int, int]:
    """Labels that exist already, by row."""
    out = {}
    for row in np.flatnonzero(words != None).tolist():  # noqa: E711 - element by element
        label = classes.code(str(words[row]))
        if label is None:
            raise TableError(
                f"--known {name}: data row {row + 1} has the unknown label {str(words[row])[:40]!r}",
                "Labels are " + ", ".join(map(repr, classes.names)) + "; leave others empty",
            )
        out[row] = label
    return out


def read_noise(text: str | None) -> Noise:
    """Read the share of wrong labels: ``0.05``, or by group ``a=0.1,b=0.02-0.05``.

    Examples
    --------
    >>> read_noise("a=0.1,b=0.02-0.05")
    {'a': 0.1, 'b': (0.02, 0.05)}
    """
    if text is None:
        return 0.0
    try:
        if "=" not in text:
            return float(text)
        found: dict[Any, float | tuple[float, float]] = {}
        for part in text.split(","):
            name, _, value = part.rpartition("=")
            low, dash, high = value.partition("-")
            found[name.strip()] = (float(low), float(high)) if dash else float(low)
        return found
    except ValueError as error:
        raise TableError(
            f"--noise {text} cannot be read", "Write 0.05, or by group: --noise a=0.1,b=0.02-0.05"
        ) from error


def shown_name(path: str) -> str:
    """The last part of a path or URL.

    Examples
    --------
    >>> shown_name("s3://bucket/people.parquet"), shown_name("data/people/")
    ('people.parquet', 'people')
    """
    return path.rstrip("/").rpartition("/")[2] or path


class _Whole:
    """A table in memory."""

    def __init__(self, table: Any) -> None:
        self._table, self.names = table, list(table.column_names)

    def columns(self, names: Sequence[str]) -> Any:
        return self._table.select(list(names))

    def rows(self, rows: NDArray[np.int64]) -> Any:
        return self._table.take(rows)


def parquet_files(path: str | Path) -> PlacedTable:
    """Open Parquet at a path or URL; raise TableError for what cannot be read."""
    try:
        return open_place(path)
    except FileNotFoundError as error:
        raise TableError(f"there is no file or folder {path}", "Check the path") from error
    except (ValueError, ImportError) as error:
        if isinstance(path, Path) and path.is_file():
            read_table(path)  # says in its own words what kind of file it is
        if isinstance(path, str) or "its files differ" in str(error):
            raise TableError(str(error), "Give a Parquet file or a folder of them") from error
        raise TableError(
            f"{path} cannot be read as Parquet", "Give a CSV or Parquet file, or a folder of Parquet files"
        ) from error


class _Parquet:
    """Parquet on disk: columns are read when they are needed, rows block by block."""

    def __init__(self, path: str | Path) -> None:
        self._files = parquet_files(path)
        self.names = list(self._files.schema.names)
        check_names(str(path), self.names)
        if not sum(self._files.sizes):
            raise TableError(f"{path} has no rows", "Give a table with rows")

    def columns(self, names: Sequence[str]) -> Any:
        import pyarrow as pa

        parts = [pa.Table.from_batches([b]) for _, b in self._batches(list(names))]
        return pa.concat_tables(parts, promote_options="permissive")

    def rows(self, rows: NDArray[np.int64]) -> Any:
        import pyarrow as pa

        parts = []
        for start, batch in self._batches(self.names, rows):
            low, high = np.searchsorted(rows, [start, start + batch.num_rows])
            if high > low:
                parts.append(pa.Table.from_batches([batch]).take(rows[low:high] - start))
        return pa.concat_tables(parts, promote_options="permissive")

    def _batches(self, names: list[str], rows: NDArray[np.int64] | None = None) -> Iterator[tuple[int, Any]]:
        """Batches with their first row's number; with ``rows``, ascending, only of blocks that hold some."""
        import pyarrow as pa

        start = 0
        for block, size in zip(self._files.select(names), self._files.sizes, strict=True):
            at, start = start, start + size
            if rows is not None and not np.diff(np.searchsorted(rows, [at, start]))[0]:
                continue
            try:
                for batch in self._files.read(block, names):
                    yield at, batch
                    at += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise TableError(
                    f"{Path(block.path).name} is a damaged or truncated Parquet file",
                    "Copy or export it again",
                ) from error
