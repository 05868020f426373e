"""The table of an audit: what its predictions, groups and known labels say of each row, read once.

Files are read in batches, and each row becomes the number of its cell: what its group, prediction and known
label are. An engine counts the cells itself, by one query, and finds the rows to ask for by others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from numbers import Real
from operator import and_, or_
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.audit.audit import Audit
from fairask.audit.certificate import Certificate
from fairask.audit.labelled_rows import accuracy_limits, certify_known
from fairask.audit.plan import QUESTIONS, AuditPlan
from fairask.audit.rows import OUT, UNTOLD, Observed, PoolRows
from fairask.audit.simulation import BUDGETS, AuditSimulation, BudgetTable, plan_rows, simulate_rows
from fairask.audit.strata import Noise, Strata, least_rows, likely_share, noise_table, queue_length
from fairask.audit.tally import Tally
from fairask.errors import TableError
from fairask.matrix import uniforms
from fairask.metrics import Float, Int
from fairask.people import LabelError, People
from fairask.pools.engine import KEY, PRIME, ROWS, Engine, check_keys
from fairask.pools.files import Files
from fairask.pools.source import open_table
from fairask.report.words import learned_from_sentence, suspicion_with_rows
from fairask.tables import TableFormat, read_table
from fairask.tables.arrow import Arrow, kind_of, optional
from fairask.tables.cells import as_numbers, coded, listed, text_of
from fairask.tables.formats import check_names, file_digest
from fairask.tables.groups import (
    UNKNOWN,
    GroupColumns,
    MissingGroups,
    ProtectedColumn,
    as_specs,
    check_missing_groups,
    folding,
    group_notes,
    is_missing,
    joint_values,
    missing_note,
    numbered,
    protected_columns,
)
from fairask.tables.labels import check_columns, find_positive, known_note, known_positive, say_which

#: Columns of queries: the place of a row in the order of the audit, the number by which a probability is
#: drawn, and whether it was.
_PLACE, _CHANCE, _DRAWN = "fairask_place", "fairask_chance", "fairask_drawn"
#: Different predictions from which on a column of numbers does not hold classes.
_MOST_CLASSES = 1000
#: Cells from which on a table has no groups to compare.
_MOST_CELLS = 200_000
#: Cells of an engine's table whose rows are found by one query.
_CELLS = 50


@dataclass(frozen=True)
class _Cell:
    """Rows that an audit cannot tell apart, by the values in the table."""

    group: Hashable
    said: Hashable
    drawn: bool  # whether the prediction was drawn, by a probability
    known: str | None
    truth: str | None


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a table and their rows; of files, the cell, score and cost of each row."""

    cells: list[_Cell]
    counts: Int
    low: float = 0.0  #: least and largest prediction, if it is a number
    high: float = 1.0
    cell: Int | None = None
    score: Float | None = None
    cost: Float | None = None
    keys: Int | None = None

    def rows_of(self, chosen: NDArray[np.bool_]) -> Int | None:
        """Return the rows of files that are of these cells; None where they are not known by their place."""
        return None if self.cell is None or self.keys is not None else np.flatnonzero(chosen[self.cell])

    def first(self, chosen: set[_Cell], words: str) -> str:
        """Say which row of files is the first of these cells."""
        if self.cell is None or self.keys is not None:
            return ""
        mine = np.array([cell in chosen for cell in self.cells])
        return words.format(int(np.argmax(mine[self.cell])) + 1)


@dataclass
class _Judge:
    """The answers of a judge: classes, or numbers from 0 to 1, and how sure he was."""

    column: str
    confidence: str | None
    answers: list[tuple[list[str | None], Int]] = field(default_factory=list)  # of each batch
    sure: list[Float] = field(default_factory=list)

    @classmethod
    def read(cls, spec: str, names: Sequence[str]) -> _Judge:
        """Read ``COLUMN`` or ``COLUMN,CONFIDENCE``; a column's own name may have a comma."""
        column, comma, confidence = spec.rpartition(",")
        return cls(spec, None) if spec in names or not comma else cls(column.strip(), confidence.strip())

    def add(self, batch: Arrow) -> None:
        """Take the answers of a batch."""
        self.answers.append(_words(batch.column(self.column)))
        if self.confidence is not None:
            self.sure.append(_numbers(batch.column(self.confidence), self.confidence, "judge"))

    def chance(self, classes: Classes) -> Float:
        """The probability of label 1 that he gives each row; a half where he says nothing."""
        found = []
        for words, codes in self.answers:
            found.append(
                np.array([0.5 if word is None else self._value(word, classes) for word in words])[codes]
            )
        answer = np.concatenate(found)
        if not self.sure:
            return answer
        sure = np.concatenate(self.sure)
        if ((sure < 0) | (sure > 1)).any():
            raise TableError(
                f"--judge {self.column},{self.confidence}: confidence goes from {np.nanmin(sure):g} to "
                f"{np.nanmax(sure):g}",
                "Give the probability from 0 to 1 that the answer is right",
            )
        if not np.isin(answer, (0.0, 0.5, 1.0)).all():
            raise TableError(
                f"--judge {self.column},{self.confidence}: the answers are probabilities themselves",
                "Leave out the confidence",
            )
        sure = np.where(np.isnan(sure), 0.5, sure)
        return np.where(answer == 1, sure, np.where(answer == 0, 1 - sure, 0.5))

    def _value(self, word: str, classes: Classes) -> float:
        code = classes.code(word)
        if code is not None:
            return float(code)
        try:
            number = float(word)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1 or classes.positive:
            raise TableError(
                f"--judge {self.column}: unknown answer {word[:40]!r}",
                f"Answers are {listed(classes.names)}"
                + ("" if classes.positive else ", or probabilities of 1"),
            )
        return number


@dataclass(frozen=True, eq=False)
class AuditTable:
    """What an audit reads of a table.

    Attributes
    ----------
    source : Files or Engine
        The table, of which rows are taken by their numbers or keys.
    pool : PoolRows
        Its rows.
    classes : Classes
        Names of the classes; none where predictions are numbers.
    notes, hints : list of str
        What the table's owner should know, and what was recognised.
    group_rows : dict
        Rows of each group.
    noise : float or dict
        As :class:`Audit` takes it.
    """

    source: Files | Engine
    pool: PoolRows
    classes: Classes
    notes: list[str]
    hints: list[str]
    group_rows: dict[str, int]
    noise: Noise = 0.0
    query: _CellQuery | None = None
    tally: Tally = field(default_factory=Tally)

    @property
    def rows(self) -> int:
        """Rows of the pool."""
        return int(self.pool.counts[self.pool.label != OUT].sum())

    @property
    def groups(self) -> NDArray[np.object_]:
        """The group of each row of files, None where it is unknown."""
        assert self.pool.cell is not None
        return np.array([*self.pool.names, None], dtype=object)[self.pool.group[self.pool.cell]]

    def audit(self, plan: AuditPlan) -> Audit:
        """Begin an audit of the table."""
        if self.query is None:
            return Audit.of_rows(self.pool, plan, noise=self.noise)
        strata = Strata.of_rows(self.pool, seed=plan.random_state, most=0, noise=self.noise)
        # Without a score a stratum is 2 * group + decision; rows whose labels are known are not asked for.
        place = 2 * self.pool.group + self.pool.decision[0]
        free = self.pool.label == UNTOLD
        number = np.unique(np.concatenate([place[free], np.arange(2 * len(self.pool.names))]))
        stratum = np.where(free, np.searchsorted(number, place), -1)
        most = queue_length(plan.budget)
        queues = self.query.queues(stratum, strata.sizes, most)
        return Audit.of_strata(replace(strata, queues=queues), plan)

    def accuracy(self) -> tuple[float, float, float]:
        """The accuracy on the table with 95 % limits, from known labels that are random within each group."""
        pool = self.pool
        right = pool.label == pool.decision[0]
        parts = (pool.label != OUT, (pool.label >= 0) & right, (pool.label >= 0) & ~right, pool.label == -1)
        found = [np.bincount(pool.group, weights=pool.counts * part).astype(np.float64) for part in parts]
        size, told_right, told_wrong, skipped = found
        return accuracy_limits(size, told_right, told_wrong, skipped, 0.05)

    def certify(self, plan: AuditPlan, target: str) -> list[Certificate]:
        """Decide at once, from the labels that are known."""
        pool, k = self.pool, len(self.pool.names)
        labels, rows = np.zeros((2, 2, k), dtype=np.int64), np.zeros((2, k), dtype=np.int64)
        np.add.at(rows, (pool.decision[0], pool.group), pool.counts)
        told = pool.label >= 0
        np.add.at(labels, (pool.label[told], pool.decision[0][told], pool.group[told]), pool.counts[told])
        return certify_known(pool.names, labels, rows, plan, target, drawn=pool.drawn)

    def digests(self) -> dict[str, str]:
        """The sha256 of the decisions, and of the labels that are known, in the order of the rows."""
        pool, found = self.pool, {}
        for name, values in (("model", pool.decision[0]), ("labels", pool.label)):
            each = values.astype(np.int8)
            # Rows of an engine are not held: their numbers by decision, label and group stand for them.
            told = np.stack([pool.group, each, pool.counts]) if pool.cell is None else each[pool.cell]
            found[name] = hashlib.sha256(np.ascontiguousarray(told).data).hexdigest()
        return found

    def plan(self, plan: AuditPlan, runs: int) -> BudgetTable:
        """Say what budgets would buy, from the predictions alone."""
        return plan_rows(self.pool, plan, sorted({*BUDGETS, plan.budget}), runs)

    def simulate(self, plan: AuditPlan, runs: int) -> AuditSimulation:
        """Simulate audits of a table that was opened with a column of labels."""
        pool = self.pool
        assert pool.truth is not None
        for value in QUESTIONS[plan.metric].labels:
            mine = (pool.truth == value) & (pool.label != OUT)
            has = np.bincount(pool.group[mine], weights=pool.counts[mine], minlength=len(pool.names))
            for group, n in zip(pool.names, has, strict=False):
                if not n:
                    kind = "positive" if value else "negative"
                    raise TableError(
                        f"group {group!r} has no {kind} label, so it has no rate to compare",
                        "Merge groups, add rows, or choose another --metric",
                    )
        return simulate_rows(pool, plan, runs)


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
    observed: str | None = None,
    missing: str | None = None,
    judge: str | Sequence[str] | None = None,
    noise: str | None = None,
    answers: str | Path | None = None,
    opinions: int | None = None,
    missing_groups: MissingGroups | None = None,
    form: TableFormat | None = None,
    seed: int = 0,
    any_size: bool = False,
) -> AuditTable:
    """Read the columns an audit needs, in one pass, of files or of a table of a database.

    One or two bytes are held per row, four more for a score and eight for a cost; of a database nothing,
    unless there is a score or a cost. ``score``, ``cost``, ``known`` (labels that exist already, empty
    elsewhere) and ``observed`` (outcomes that exist because rows were accepted) name columns, and ``truth``
    one of labels. ``judge`` names a column of a judge's answers, or ``COLUMN,CONFIDENCE``, or several such;
    ``noise`` is as :func:`read_noise` reads it; ``answers`` is a file of people's answers that says it
    instead, for labels of so many ``opinions``. Rows without a group are a group of their own, or with
    ``missing_groups`` left out ("drop") or taken to be of any ("unknown"). Decisions of a randomised model
    are drawn with ``seed``. Groups that are too small to be compared are refused, unless groups of
    ``any_size`` will do.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("sex,said\\nm,yes\\nf,no\\n")
    ...     table = open_audit_table(file, predictions="said", protected="sex", positive="yes")
    >>> table.pool.counts.tolist(), table.classes.names
    ([1, 1], ('no', 'yes'))
    """
    source, notes = open_table(path, form)
    hints: list[str] = []
    check_missing_groups(missing_groups)
    if known and observed:
        raise TableError(
            "--known and --observed both name labels that exist already",
            "Put all of them in one column: --observed counts labels of other rows as --known does",
        )
    if missing not in (None, "worst", "random"):
        raise TableError(f"--missing {missing} is unknown", "Give worst or random")
    if missing and not observed:
        raise TableError("--missing is about outcomes that --observed names", "Give --observed with it")
    told, option = known or observed, "known" if known else "observed"
    named = {"predictions": predictions, "truth": truth, "score": score, "cost": cost, "known": told}
    wanted = {option: name for option, name in named.items() if name}
    if judge and score:
        raise TableError(
            "--judge and --score were both given", "Give one: answers of a judge are a score too"
        )
    judges = [_Judge.read(spec, source.schema.names) for spec in as_specs(judge or ())]
    for number, one in enumerate(judges):
        parts = {f"judge-{number}": one.column, f"confidence-{number}": one.confidence}
        wanted |= {part: name for part, name in parts.items() if name is not None}
    own = {part: "judge" for part in wanted if part.startswith(("judge-", "confidence-"))}
    columns = _check_wanted(source.schema.names, wanted, protected, {"known": option, **own})
    specs = as_specs(protected)
    query = None
    if isinstance(source, Engine) and not score and not cost and not judges:
        query = _CellQuery.of(source, specs, wanted, seed)
        found = query.cells()
    else:
        keyed = isinstance(source, Engine)
        if keyed:
            hints.append(
                "a score, a cost or a judge needs all rows of these columns: they are read from the database"
            )
        found = _read_cells(_batches(source, columns), specs, wanted, seed, judges, keyed=keyed)
    cells, counts = found.cells, found.counts
    if silent := int(counts[[cell.said is None for cell in cells]].sum()):
        raise TableError(
            f"{silent:,} rows have no prediction in {predictions!r}"
            + found.first({cell for cell in cells if cell.said is None}, ", the first is data row {}"),
            "The audit is of the model's decisions: predict those rows too, or leave them out of the file",
        )
    of_cell = _groups_of(found, specs, missing_groups, notes, any_size=any_size)
    # Groups are in the order of their names.
    names = sorted({name for name in of_cell if name} - ({UNKNOWN} if missing_groups == "unknown" else set()))
    group = np.array([names.index(name) if name in names else len(names) for name in of_cell])
    dropped = np.array([not name for name in of_cell])
    group[dropped] = 0
    right, label = None, np.where(dropped, OUT, UNTOLD)
    if truth is not None:
        value = find_positive(truth, [cell.truth for cell in cells], positive, notes, guess=False)
        right = np.array([cell.truth in value for cell in cells], dtype=np.int64)
        gone = np.array([cell.truth is None for cell in cells])
        label[gone] = OUT
        if n := int(counts[gone].sum()):
            notes.append(f"{n:,} rows have no value in {truth!r} and were left out")
    drawn = any(cell.drawn for cell in cells)
    classes, chances = read_classes(
        [0.5 if cell.drawn else cell.said for cell in cells], predictions, as_specs(positive or ()),
        labelled=truth is not None, notes=notes, hints=hints, span=(found.low, found.high),
    )  # fmt: skip
    said = [cell.said if cell.drawn else chance for cell, chance in zip(cells, chances, strict=True)]
    errors = _label_errors(noise, answers, opinions, classes, names, notes, hints)
    if told:
        codes = {cell.known: classes.code(cell.known) for cell in cells if cell.known is not None}
        for word, code in codes.items():
            if code is None:
                where = found.first({cell for cell in cells if cell.known == word}, "data row {} has ")
                raise TableError(
                    f"--{option} {told}: {where}the unknown label {str(word)[:40]!r}",
                    "Labels are " + ", ".join(map(repr, classes.names)) + "; leave others empty",
                )
        there = np.array([cell.known is not None for cell in cells]) & (label == UNTOLD)
        label = np.where(there, [codes.get(str(cell.known)) or 0 for cell in cells], label)
        notes.append(f"{int(counts[there].sum()):,} rows have a label in {told!r}")
    seen = None
    if observed:
        label, seen = Observed.of_cells(label, np.array(said) == 1, counts, random=missing == "random")
    said_by = [one.chance(classes) for one in judges]
    pool = PoolRows(
        names=names,
        group=group,
        decision=np.array([said]).astype(np.int64),
        label=label,
        counts=counts,
        cell=found.cell,
        drawn=drawn,
        score=np.mean(said_by, axis=0) if judges else found.score,
        judged=bool(judges),
        cost=found.cost,
        truth=right,
        keys=found.keys,
        observed=seen,
    )
    sizes: Counter[str] = Counter()
    for name, n in zip(of_cell, counts.tolist(), strict=True):
        if name:
            sizes[name] += n
    tally = Tally.of(specs, [cell.group for cell in cells], pool, score)
    return AuditTable(source, pool, classes, notes, hints, dict(sizes), errors, query, tally)


def _groups_of(
    found: _Cells,
    specs: Sequence[str],
    missing_groups: MissingGroups | None,
    notes: list[str],
    *,
    any_size: bool,
) -> list[str]:
    """Return the name of each cell's group, small ones merged; none where its rows are left out."""
    protected, where = ", ".join(specs), ""
    ungrouped = np.array([is_missing(cell.group) for cell in found.cells])
    dropped = ungrouped & (missing_groups == "drop")
    if without := int(found.counts[ungrouped].sum()):
        rows = found.rows_of(ungrouped)
        where = "" if rows is None else numbered(rows)
        notes.append(missing_note(protected, missing_groups, without, int(found.counts.sum()), where))
    by_value: Counter[Hashable] = Counter()
    for cell, n, out in zip(found.cells, found.counts.tolist(), dropped, strict=True):
        if not out:
            by_value[cell.group] += n
    try:
        grouped = GroupColumns.of(specs, by_value, any_size=any_size)
    except TableError as error:
        if not without or ungrouped.all() or missing_groups == "drop":
            raise
        raise TableError(error.what + (where and f": {where}"), error.remedy) from None
    fold = folding(protected, by_value, any_size=any_size)
    notes += group_notes(protected, dict(zip(grouped.values, grouped.rows, strict=True)))
    text = dict(zip(grouped.values, grouped.names, strict=True))
    return ["" if out else text[fold(c.group)] for c, out in zip(found.cells, dropped, strict=True)]


def _label_errors(
    noise: str | None,
    answers: str | Path | None,
    opinions: int | None,
    classes: Classes,
    names: Sequence[str],
    notes: list[str],
    hints: list[str],
) -> Noise:
    """Return how often labels are wrong, as was said or as answers of people show."""
    errors = read_noise(noise)
    if answers is not None and noise is not None:
        raise TableError("--noise and --answers both say how often labels are wrong", "Give --answers alone")
    if answers is None and opinions is not None:
        raise TableError("--opinions is about the labels of --answers", "Give --answers with it")
    if answers is not None:
        errors = _learned(Path(answers), opinions or 1, classes, names, notes, hints)
    try:
        noise_table(errors, names)
    except ValueError as error:
        option = f"--noise {noise}" if answers is None else f"--answers {answers}"
        raise TableError(f"{option}: {error}", f"Groups: {listed(names)}") from error
    return errors


def _check_wanted(
    names: Sequence[str], wanted: dict[str, str], protected: str | Sequence[str], options: dict[str, str]
) -> list[str]:
    """Return the columns to read; raise for one that is not there, or is named twice.

    ``options`` has the options whose name is another one.
    """
    given = [(options.get(part, part), name) for part, name in wanted.items()]
    check_columns(names, given)
    grouped = protected_columns(protected, names)
    columns = [*wanted.values(), *grouped]
    if len(set(columns)) < len(columns):
        given += [("protected", name) for name in grouped]
        raise TableError(
            " and ".join(f"--{o} {n}" for o, n in given) + " name a column twice", "Name different columns"
        )
    return columns


# -- one pass over rows ---------------------------------------------------------------------------


def _batches(source: Files | Engine, columns: Sequence[str]) -> Iterator[Arrow]:
    if isinstance(source, Files):
        yield from source.batches(columns)
    else:
        yield from source.keyed.select(KEY, *columns).to_pyarrow_batches()


def _read_cells(
    batches: Iterable[Arrow],
    specs: Sequence[str],
    wanted: dict[str, str],
    seed: int,
    judges: Sequence[_Judge] = (),
    *,
    keyed: bool,
) -> _Cells:
    """Sort rows into cells, batch by batch."""
    number: dict[_Cell, int] = {}
    counts: Counter[int] = Counter()
    parts: dict[str, list[Any]] = {"cell": [], "score": [], "cost": [], "keys": []}
    start, low, high = 0, np.inf, -np.inf
    for batch in batches:
        rows = np.arange(start, start + batch.num_rows)
        start += batch.num_rows
        if keyed:
            rows = batch.column(KEY).to_numpy()
            parts["keys"].append(rows)
        groups, at = joint_values(batch, specs)
        said, drawn, which, ends = _predictions(batch, wanted["predictions"], rows, seed)
        low, high = min(low, ends[0]), max(high, ends[1])
        at = at * len(said) + which
        words: list[list[str | None]] = [[None], [None]]
        for place, option in enumerate(("known", "truth")):
            if option in wanted:
                words[place], codes = _words(batch.column(wanted[option]))
                at = at * len(words[place]) + codes
        # Numbers of combinations in this batch are small: those that occur get the number of their cell.
        width = len(groups) * len(said) * len(words[0]) * len(words[1])
        total = np.bincount(at, minlength=width)
        table = np.zeros(width, dtype=np.uint32)
        for one in np.flatnonzero(total).tolist():
            rest, t = divmod(one, len(words[1]))
            rest, k = divmod(rest, len(words[0]))
            g, s = divmod(rest, len(said))
            cell = _Cell(groups[g], said[s], drawn[s], words[0][k], words[1][t])
            table[one] = number.setdefault(cell, len(number))
            counts[number[cell]] += int(total[one])
        _check_cells(len(number), specs)
        parts["cell"].append(table[at].astype(np.min_scalar_type(len(number))))
        for option in ("score", "cost"):
            if option in wanted:
                values = _numbers(batch.column(wanted[option]), wanted[option], option)
                parts[option].append(values.astype(np.float32 if option == "score" else np.float64))
        for judge in judges:
            judge.add(batch)
    found = {name: np.concatenate(parts.pop(name)) for name in list(parts) if parts[name]}
    if "score" in found and np.isnan(found["score"]).all():
        raise TableError(f"--score {wanted['score']}: it has no number in any row", "Name another column")
    rows_of = np.array([counts[one] for one in range(len(number))], dtype=np.int64)
    return _Cells(list(number), rows_of, float(low), float(high), **found)


def _check_cells(cells: int, specs: Sequence[str]) -> None:
    if cells > _MOST_CELLS:
        raise TableError(
            f"protected column {', '.join(specs)!r}, predictions and labels have more than {_MOST_CELLS:,} "
            "different values together",
            "Cut numbers into bands (--protected age:30,50), or make a column of fewer groups",
        )


def _predictions(
    batch: Arrow, name: str, rows: Int, seed: int
) -> tuple[list[Any], list[bool], Int, tuple[float, float]]:
    """Different predictions, whether each was drawn, which of them each row has, and their range."""
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind_of(column.type) != "number":
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        else:
            words, codes = _words(column)
            return words, [False] * len(words), codes, (0.0, 1.0)
    ends = pc.min_max(column).as_py()
    low, high = (0.5 if end is None else float(end) for end in (ends["min"], ends["max"]))
    if pa.types.is_integer(column.type):
        values, codes = coded(column)
        drawn = [False] * (len(values) + 1)
        found, which = [*values, None], np.where(codes < 0, len(values), codes)
    else:
        chance = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        soft = (chance > 0) & (chance < 1)
        values, codes = coded(pa.array(chance[~soft], from_pandas=True))
        found, drawn = [*values, None, 0, 1], [*[False] * (len(values) + 1), True, True]
        which = np.zeros(len(chance), dtype=np.int64)
        which[~soft] = np.where(codes < 0, len(values), codes)
        if soft.any():
            which[soft] = len(values) + 1 + (uniforms(rows[soft], seed) < chance[soft])
    if len(values) > _MOST_CLASSES:
        raise _no_classes(name, low, high)
    return found, drawn, which, (low, high)


def _no_classes(name: str, low: float, high: float) -> TableError:
    return TableError(
        f"predictions in {name!r} go from {low:g} to {high:g}",
        "Give 0 and 1, probabilities from 0 to 1, or classes with --positive",
    )


def _words(column: Arrow) -> tuple[list[str | None], Int]:
    """Different values as text, the last None, and which of them each row has."""
    if kind_of(column.type) is None:
        raise TableError(f"a column has values of type {column.type}", "Name a column of plain values")
    values, codes = coded(column)
    return [*map(text_of, values), None], np.where(codes < 0, len(values), codes)


def _numbers(column: Any, name: str, option: str) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        values = np.asarray(as_numbers(column, name), dtype=np.float64)
    except (pa.ArrowException, TableError) as error:
        raise TableError(
            f"--{option} {name}: its values are not numbers", "Name a column of numbers"
        ) from error
    if option == "cost" and not (values > 0).all():
        raise TableError(f"--cost {name}: costs must be above zero, in every row", "Fill in all costs")
    return values


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


def _learned(
    file: Path, opinions: int, classes: Classes, names: Sequence[str], notes: list[str], hints: list[str]
) -> dict[Any, LabelError]:
    """Learn from a file of answers how often a label is wrong; hint at people who should be looked at."""
    table = read_table(file)
    check_names(file.name, table.column_names)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for name in ("answer", "truth"):
        column = [text_of(v) for v in columns.get(name, ())]
        codes = {word: classes.code(word) for word in set(column) if word}
        if unknown := [word for word, code in codes.items() if code is None]:
            raise TableError(
                f"--answers {file.name}: column {name!r} has the unknown label {unknown[0][:40]!r}",
                f"Labels are {', '.join(map(repr, classes.names))}; leave others empty",
            )
        if column:
            columns[name] = [codes.get(word or "") for word in column]
    if "group" in columns:
        columns["group"] = [text_of(v) for v in columns["group"]]
    people = People.from_answers(columns)
    found = people.label_errors(opinions)
    if missing := [name for name in names if name not in found]:
        raise TableError(
            f"--answers {file.name}: there is no answer to a row of {missing[0]!r}",
            f"Groups of the answers: {listed([*map(str, found)])}",
        )
    gold = int((people.truth >= 0).sum())
    digest = file_digest(file, hidden=False)[:12]
    notes.append(learned_from_sentence(file.name, digest, people.answers, len(people.names), gold, opinions))
    hints += [suspicion_with_rows(suspicion.words, suspicion.rows) for suspicion in people.suspects()]
    return {name: found[name] for name in names}


# -- cells counted by an engine -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _CellQuery:
    """Counts the cells of a table in an engine, and finds their rows.

    ``table`` has the columns of the cells, with a prediction that is a probability drawn, the key, and the
    place of each row in the order of the audit.
    """

    table: Any
    specs: Sequence[str]
    columns: dict[str, str]
    values: list[tuple[Any, ...]]
    counted: Arrow

    @classmethod
    def of(cls, engine: Engine, specs: Sequence[str], wanted: dict[str, str], seed: int) -> _CellQuery:
        """Count the rows of each combination of values, by one query."""
        ibis = optional("ibis", "ibis")
        rows = engine.keyed.mutate(
            **{_PLACE: engine.place([seed, 1]), _CHANCE: engine.place([seed, 2]), _DRAWN: ibis.literal(False)}
        )
        for spec in specs:
            found = ProtectedColumn.parse(spec, engine.schema.names)
            value = _without_nan(rows[found.name])
            if found.cuts:  # one value stands for its band
                band = ibis.literal(found.cuts[0] - 1.0)
                for cut in found.cuts:
                    band = ibis.ifelse(value >= cut, cut, band)
                value = ibis.ifelse(value.isnull(), ibis.null("float64"), band)
            rows = rows.mutate(**{found.name: value})
        said = rows[wanted["predictions"]]
        if said.type().is_floating() or said.type().is_decimal():
            said = _without_nan(said.cast("float64"))
            soft = ((said > 0) & (said < 1)).fill_null(False)
            drawn = ibis.ifelse(rows[_CHANCE] < said * float(PRIME), 1.0, 0.0)
            rows = rows.mutate(**{wanted["predictions"]: ibis.ifelse(soft, drawn, said), _DRAWN: soft})
        names = [*protected_columns(specs, engine.schema.names), wanted["predictions"], _DRAWN]
        names += [wanted[option] for option in ("known", "truth") if option in wanted]
        counts = rows.group_by(names).aggregate(**{ROWS: rows.count()}).limit(_MOST_CELLS + 1).to_pyarrow()
        _check_cells(counts.num_rows, specs)
        counts = counts.sort_by([(name, "ascending") for name in names])
        values = list(zip(*(counts.column(name).to_pylist() for name in names), strict=True))
        return cls(rows.select(KEY, _PLACE, *names), specs, wanted, values, counts)

    def cells(self) -> _Cells:
        """The cells, in the order of their values."""
        table = self.counted.combine_chunks()
        groups, at = joint_values(table, self.specs)
        drawn = table.column(_DRAWN).to_pylist()
        said = table.column(self.columns["predictions"]).to_pylist()
        others = []
        for option in ("known", "truth"):
            if option in self.columns:
                words, codes = _words(table.column(self.columns[option]))
                others.append([words[code] for code in codes.tolist()])
            else:
                others.append([None] * len(said))
        said = [text_of(one) if isinstance(one, str) else one for one in said]
        cells = [_Cell(groups[g], *rest) for g, *rest in zip(at.tolist(), said, drawn, *others, strict=True)]
        counts = table.column(ROWS).to_numpy().astype(np.int64)
        numbers = [float(one) for one in said if isinstance(one, Real | Decimal)]
        return _Cells(cells, counts, min(numbers, default=0.0), max(numbers, default=1.0))

    def queues(self, stratum: Int, sizes: Int, most: int) -> list[Int]:
        """Keys of the ``most`` rows of each stratum with the least places, given the stratum of each cell."""
        ibis = optional("ibis", "ibis")
        names, held = self.table.columns[2:], []
        limits = (PRIME * likely_share(most, sizes)).astype(np.int64)
        chosen = np.flatnonzero(stratum >= 0)
        for start in range(0, len(chosen), _CELLS):
            tests, cases = [], []
            for cell in chosen[start : start + _CELLS].tolist():
                parts = zip((self.table[name] for name in names), self.values[cell], strict=True)
                test = reduce(and_, [c.isnull() if v is None else c == v for c, v in parts])
                cases.append((test, int(stratum[cell])))
                tests.append(test & (self.table[_PLACE] < int(limits[stratum[cell]])))
            rows = self.table.filter(reduce(or_, tests))
            rows = rows.select(KEY, _PLACE, fairask_stratum=ibis.cases(*cases, else_=-1))
            held.append(rows.to_pyarrow().sort_by(KEY))
        found = [
            tuple(rows.column(name).to_numpy().astype(np.int64) for name in (KEY, "fairask_stratum", _PLACE))
            for rows in held
        ]
        keys, strata, places = (np.concatenate(part) for part in zip(*found, strict=True))
        check_keys(keys)
        kept, mine, _ = least_rows([(keys, strata, places.astype(np.uint64))], most)
        return np.split(kept, np.cumsum(np.bincount(mine, minlength=len(sizes)))[:-1])


def _without_nan(value: Any) -> Any:
    ibis = optional("ibis", "ibis")
    return ibis.ifelse(value.isnan(), ibis.null(value.type()), value) if value.type().is_floating() else value


# -- classes --------------------------------------------------------------------------------------


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


def read_classes(
    values: Sequence[Any],
    name: str,
    positive: Sequence[str],
    *,
    labelled: bool = False,
    notes: list[str] | None = None,
    hints: list[str] | None = None,
    span: tuple[float, float] | None = None,
) -> tuple[Classes, list[float]]:
    """Return the classes, and the chance of a decision 1 that each of these predictions gives.

    With ``labelled``, ``positive`` may name classes of the labels. ``span`` is the least and the largest
    number, if there are others. ``notes`` get what the table's owner should know, ``hints`` what was
    recognised.

    Examples
    --------
    >>> read_classes(["no", "yes"], "said", [])
    (Classes(negative=('no',), positive=('yes',)), [0.0, 1.0])
    >>> read_classes([0.25, 1], "said", [])
    (Classes(negative=(), positive=()), [0.25, 1.0])
    """
    if all(isinstance(value, Real | Decimal) for value in values):
        numbers = [float(value) for value in values]
        low, high = (min(numbers), max(numbers)) if span is None else span
        soft = any(0 < number < 1 for number in numbers)
        if low >= 0 and high <= 1:
            wanted = {key(one) for one in positive}
            if wanted == {key("0")}:
                if soft:
                    raise TableError(
                        f"--positive 0: {name!r} has probabilities, which are those of 1",
                        "Give a column with the probabilities of the positive class",
                    )
                return Classes(("1",), ("0",)), [1 - number for number in numbers]
            # Where labels are known and have names, --positive is about those.
            if not wanted <= {key("1")} and not labelled:
                raise TableError(
                    f"--positive {listed(positive)}: predictions in {name!r} are numbers from 0 to 1, not "
                    "classes",
                    "Leave --positive out, and label the rows with 1 and 0",
                )
            return Classes(), numbers
        if soft or (not positive and len(set(numbers)) > 2):
            raise _no_classes(name, low, high)
    words = [str(text_of(value)) for value in values]
    classes = choose_classes(name, sorted(set(words)), positive, notes, hints)
    return classes, [float(word in classes.positive) for word in words]


def choose_classes(
    name: str,
    found: Sequence[str],
    positive: Sequence[str],
    notes: list[str] | None = None,
    hints: list[str] | None = None,
) -> Classes:
    """Return the classes of column ``name``, or raise TableError naming them.

    Of a well-known pair the good class is taken where none is named; others are not guessed.
    Of several positive classes, those that no prediction has may still be labels; ``notes`` say which, and
    ``hints`` what was recognised.

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
        if hints is not None:
            hints.append(known_note("prediction", known, other))
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
