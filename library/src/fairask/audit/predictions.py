"""The table of an audit: its predictions, groups and other columns, and the rows that are to be labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.audit.audit import Audit
from fairask.audit.plan import QUESTIONS, AuditPlan
from fairask.audit.simulation import BUDGETS, AuditSimulation, BudgetTable, plan_audit, simulate_audit
from fairask.audit.strata import Noise, Strata, known_codes, noise_table
from fairask.errors import UserError
from fairask.metrics import Float, Int
from fairask.pools import Files, open_source
from fairask.pools.files import local_path
from fairask.tables import GroupColumns, TableError, TableFormat, read_noted, read_table
from fairask.tables.arrow import Arrow, kind_of
from fairask.tables.cells import listed, texts
from fairask.tables.formats import PARQUET_SUFFIXES, check_names, file_digest, is_dataset_folder
from fairask.tables.groups import UNKNOWN, as_specs, group_notes, protected_columns
from fairask.tables.labels import check_columns, find_positive, known_note, known_positive, say_which


@dataclass(frozen=True, eq=False)
class AuditTable:
    """What an audit reads of a table.

    Attributes
    ----------
    source : Files
        The table, of which rows are taken by their numbers.
    scores : ndarray
        Predictions in [0, 1].
    names, codes : list of str, ndarray
        The groups, and the group of each row; the last code is that of rows of unknown group.
    classes : Classes
        Names of the classes; none where predictions are numbers.
    notes : list of str
        What the table's owner should know.
    labels : ndarray or None
        If a column of labels was named, 1 where the label is positive; rows without one are left out.
    score, cost, known, noise
        As :class:`Audit` takes them, as far as columns were named.
    """

    source: Files
    scores: Float
    names: list[str]
    codes: Int
    classes: Classes
    notes: list[str]
    labels: NDArray[np.int64] | None = None
    score: Float | None = None
    cost: Float | None = None
    known: Mapping[int, object] | None = None
    noise: Noise = 0.0

    @property
    def rows(self) -> int:
        """Rows of the pool."""
        return len(self.scores)

    @property
    def groups(self) -> NDArray[np.object_]:
        """The group of each row, None where it is unknown."""
        return np.array([*self.names, None], dtype=object)[self.codes]

    @property
    def group_rows(self) -> dict[str, int]:
        """Rows of each group."""
        rows = np.bincount(self.codes, minlength=len(self.names) + 1).tolist()
        return {name: n for name, n in zip([*self.names, UNKNOWN], rows, strict=True) if n}

    def audit(self, plan: AuditPlan) -> Audit:
        """Begin an audit of the table."""
        bins = 1 if self.score is None else plan.score_bins(len(self.names))
        strata = Strata.of_codes(
            self.scores, self.names, self.codes, seed=plan.random_state,
            known=known_codes(self.known, None), score=self.score, bins=bins, cost=self.cost,
            # No more labels than the budget are asked for; the rest is for rows that nobody can label.
            most=4 * plan.budget if self.cost is None else None,
        )  # fmt: skip
        return Audit.of_strata(strata.with_noise(self.noise), plan)

    def plan(self, plan: AuditPlan, runs: int) -> BudgetTable:
        """Say what budgets would buy, from the predictions alone."""
        budgets = sorted({*BUDGETS, plan.budget})
        return plan_audit(self.scores, self.groups, plan, score=self.score, budgets=budgets, n_audits=runs)

    def simulate(self, plan: AuditPlan, runs: int) -> AuditSimulation:
        """Simulate audits of a table that was opened with a column of labels."""
        assert self.labels is not None
        for value in QUESTIONS[plan.metric].labels:
            has = np.bincount(self.codes[self.labels == value], minlength=len(self.names))
            for group, n in zip(self.names, has, strict=False):
                if not n:
                    kind = "positive" if value else "negative"
                    raise TableError(
                        f"group {group!r} has no {kind} label, so it has no rate to compare",
                        "Merge groups, add rows, or choose another --metric",
                    )
        return simulate_audit(self.labels, self.scores, self.groups, plan, n_audits=runs, score=self.score)


def open_audit_table(
    path: str | Path,
    *,
    predictions: str,
    protected: str | Sequence[str],
    positive: str | Sequence[str] | None = None,
    truth: str | None = None,
    score: str | None = None,
    cost: str | None = None,
    known: str | None = None,
    noise: str | None = None,
    unknown_groups: bool = False,
    form: TableFormat | None = None,
) -> AuditTable:
    """Read the columns an audit needs of a CSV file, a Parquet file or a folder of Parquet files.

    Of Parquet, only these columns are held in memory, and later the rows that are asked for. ``score``,
    ``cost`` and ``known`` (labels that exist already, empty elsewhere) name columns, and ``truth`` one of
    labels; ``noise`` is as :func:`read_noise` reads it. With ``unknown_groups``, rows without a group may be
    of any.

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
    source, notes = _open(path, form)
    named = {"predictions": predictions, "truth": truth, "score": score, "cost": cost, "known": known}
    wanted = {option: name for option, name in named.items() if name}
    columns = _columns(source, _check_wanted(source.schema.names, wanted, protected))
    found = GroupColumns.in_table(columns, protected)
    notes += group_notes(", ".join(as_specs(protected)), dict(zip(found.values, found.rows, strict=True)))
    # Groups are in the order of their names.
    names, place = np.unique(found.names, return_inverse=True)
    groups, codes = names.tolist(), place[found.codes(columns.combine_chunks())]
    if unknown_groups and UNKNOWN in groups:
        lost = groups.index(UNKNOWN)
        codes = np.where(codes == lost, len(groups) - 1, codes - (codes > lost))
        groups.remove(UNKNOWN)
    kept, labels = np.ones(len(codes), dtype=bool), None
    if truth is not None:
        kept, labels = _truth(columns.column(truth), truth, positive, notes)
        labels = labels[kept]
    scores, classes = scores_of(
        columns.column(predictions), predictions, as_specs(positive or ()), labels is not None, notes
    )
    errors = read_noise(noise)
    try:
        noise_table(errors, groups)
    except ValueError as error:
        raise TableError(f"--noise {noise}: {error}", f"Groups: {listed(groups)}") from error
    exist = None
    if known:
        exist = _known(words_of(columns.column(known))[kept], known, classes)
        notes.append(f"{len(exist):,} rows have a label in {known!r} and are not asked for")
    return AuditTable(
        source=source,
        scores=scores[kept],
        names=groups,
        codes=codes[kept],
        classes=classes,
        notes=notes,
        labels=labels,
        score=_numbers(columns.column(score), score, "score")[kept] if score else None,
        cost=_numbers(columns.column(cost), cost, "cost")[kept] if cost else None,
        known=exist,
        noise=errors,
    )


def table_digest(path: str | Path) -> str:
    """Return the sha256 of a file; of a table elsewhere, of its files' names, sizes and footers."""
    local = local_path(path)
    return _files(path).digest if local is None else file_digest(local, hidden=False)


def _check_wanted(names: Sequence[str], wanted: dict[str, str], protected: str | Sequence[str]) -> list[str]:
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


def _open(path: str | Path, form: TableFormat | None) -> tuple[Files, list[str]]:
    """Open the table, and note what was recognised in it; Parquet is read when it is needed."""
    local = local_path(path)
    if (
        local is None
        or (local.is_dir() and not is_dataset_folder(local))
        or (local.suffix.lower() in PARQUET_SUFFIXES and local.exists())
    ):
        return _files(path), []
    table, notes = read_noted(local, form)
    source = open_source(table)
    assert isinstance(source, Files)
    return source, notes


def _files(path: str | Path) -> Files:
    """Open files at a path or URL; raise TableError for what cannot be read."""
    local = local_path(path)
    try:
        source = open_source(path if local is None else local)
    except FileNotFoundError as error:
        raise TableError(f"there is no file or folder {path}", "Check the path") from error
    except UserError as error:
        if local is not None and local.is_file():
            read_table(local)  # says in its own words what kind of file it is
        raise TableError(error.what, "Give a CSV or Parquet file, or a folder of Parquet files") from error
    if not isinstance(source, Files):
        raise TableError(f"{path} is a table of a database", "Export its predictions to Parquet")
    check_names(str(path), source.schema.names)
    if not source.n_rows:
        raise TableError(f"{path} has no rows", "Give a table with rows")
    return source


def _columns(source: Files, names: Sequence[str]) -> Arrow:
    """Read columns in one pass; texts become codes, so that a row of them takes four bytes."""
    import pyarrow as pa

    parts = []
    for batch in source.batches(names):
        part = pa.Table.from_batches([batch])
        for at, column in enumerate(part.columns):
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                part = part.set_column(at, part.field(at).name, column.dictionary_encode())
        parts.append(part)
    return pa.concat_tables(parts).unify_dictionaries()


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


# -- predictions in a column --------------------------------------------------------------------


def key(text: str) -> str:
    """How values are compared: by number if they are numbers, else without regard to case.

    Examples
    --------
    >>> key("1.0") == key("1"), key("Yes") == key("yes ")
    (True, True)
    """
    try:
        return repr(float(text))
    except ValueError:
        return " ".join(text.split()).lower()


def words_of(column: Arrow) -> NDArray[np.object_]:
    """Values as text, None where missing."""
    if kind_of(column.type) is None:
        raise TableError(f"a column has values of type {column.type}", "Name a column of plain values")
    return np.array(texts(column), dtype=object)


@dataclass(frozen=True)
class Classes:
    """Names of the classes by what they count as; none where predictions are numbers.

    Examples
    --------
    >>> grades = Classes(("failed",), ("distinction", "passed"))
    >>> grades.code("Passed "), grades.code("failed"), grades.code("unheard of"), Classes().code("1.0")
    (1, 0, None, 1)
    """

    negative: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the positive ones last; 0 and 1 where predictions are numbers."""
        return (*self.negative, *self.positive) or ("0", "1")

    def code(self, label: str) -> int | None:
        """What a label counts as; None for one that is no class."""
        wanted = key(label)
        for code, names in enumerate((self.negative, self.positive)):
            if wanted in map(key, names):
                return code
        numbers = {key("0"): 0, key("1"): 1, "false": 0, "true": 1}
        return None if self.negative or self.positive else numbers.get(wanted)


def scores_of(
    column: Arrow, name: str, positive: Sequence[str], labelled: bool, notes: list[str] | None = None
) -> tuple[Float, Classes]:
    """Return predictions in [0, 1] and the classes.

    With ``labelled``, ``positive`` may name classes of the labels. ``notes`` get what the table's owner
    should know.
    """
    import pyarrow as pa

    if (missing := column.null_count) or (missing := int(column.is_null(nan_is_null=True).to_numpy().sum())):
        row = int(np.argmax(column.is_null(nan_is_null=True).to_numpy())) + 1
        raise TableError(
            f"{missing:,} rows have no prediction in {name!r}, the first is data row {row}",
            "The audit is of the model's decisions: predict those rows too, or leave them out of the file",
        )
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        if ((values >= 0) & (values <= 1)).all():
            wanted = {key(one) for one in positive}
            if wanted <= {key("1")}:
                return values, Classes()
            if wanted == {key("0")}:
                if ((values > 0) & (values < 1)).any():
                    raise TableError(
                        f"--positive 0: {name!r} has probabilities, which are those of 1",
                        "Give a column with the probabilities of the positive class",
                    )
                return 1 - values, Classes(("1",), ("0",))
            # Where labels are known and have names, --positive is about those.
            if not labelled:
                raise TableError(
                    f"--positive {listed(positive)}: predictions in {name!r} are numbers from 0 to 1, not "
                    "classes",
                    "Leave --positive out, and label the rows with 1 and 0",
                )
            return values, Classes()
        if not positive and len(np.unique(values[:10_000])) > 2:
            raise TableError(
                f"predictions in {name!r} go from {values.min():g} to {values.max():g}",
                "Give 0 and 1, probabilities from 0 to 1, or classes with --positive",
            )
    words = words_of(column)
    classes = choose_classes(name, sorted({str(w) for w in words}), positive, notes)
    return np.isin(words.astype(str), classes.positive).astype(np.float64), classes


def choose_classes(
    name: str, found: Sequence[str], positive: Sequence[str], notes: list[str] | None = None
) -> Classes:
    """Return the classes of column ``name``, or raise TableError naming them.

    Of a well-known pair the good class is taken where none is named; others are not guessed.
    Of several positive classes, those that no prediction has may still be labels; ``notes`` say which.

    Examples
    --------
    >>> choose_classes("said", ["failed", "passed"], ["passed", "distinction"])
    Classes(negative=('failed',), positive=('passed', 'distinction'))
    >>> choose_classes("said", ["approved", "rejected"], [])
    Classes(negative=('rejected',), positive=('approved',))
    """
    if not positive and (known := known_positive(found)):
        positive = [known]
        other = next(value for value in found if value != known)
        if notes is not None:
            notes.append(known_note("prediction", known, other))
    if not positive:
        raise TableError(f"predictions in {name!r} are classes: {listed(found)}", say_which(found))
    same = {key(value): value for value in found}
    absent = [one for one in positive if key(one) not in same]
    if len(absent) == len(positive):
        raise TableError(
            f"--positive {listed(positive)} is not a value of {name!r}", f"Values: {listed(found)}"
        )
    if absent and notes is not None:
        notes.append(f"no prediction in {name!r} is {listed(absent)}; a label that is counts as positive")
    chosen = tuple(dict.fromkeys(same.get(key(one), one.strip()) for one in positive))
    others = tuple(value for value in found if value not in chosen)
    if len(chosen) > 1 and not others:
        raise TableError(f"--positive names all values of {name!r}", "Leave out those that count as negative")
    return Classes(others, chosen)
