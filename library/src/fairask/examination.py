"""What can be computed from a table, what blocks it, and how many labels unblock it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fairask.audit.plan import QUESTIONS, AuditMetric, AuditPlan
from fairask.audit.predictions import AuditTable, open_audit_table
from fairask.audit.rows import OUT
from fairask.defaults import BUDGET
from fairask.errors import TableError, UserError
from fairask.experiment.table import read_place
from fairask.installation import Finding, State
from fairask.report.words import leaks_sentence, listed
from fairask.tables import Encoder, TableFormat, fit_encoder
from fairask.tables.arrow import Arrow
from fairask.tables.cells import texts
from fairask.tables.encoder import CONSTANT
from fairask.tables.groups import (
    GroupColumns,
    MissingGroups,
    as_specs,
    group_notes,
    protected_columns,
    sort_out_missing,
)
from fairask.tables.labels import FEWEST_LABELS, check_columns, column_list, few_rows_note, find_positive
from fairask.tables.leaks import columns_that_tell, group_leaks

#: Share of audits that must certify for a number of labels to be called enough.
CHANCE = 0.8
#: Tolerances that are tried where no number of labels decides about the given one.
_WIDER = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
#: Rows that are compared with each other at most.
_MOST_COMPARED = 100_000


#: What some work returns.
Done = TypeVar("Done")


@dataclass
class Examination:
    """What was found in a table, and what can be done with it.

    Attributes
    ----------
    findings : list of Finding
        On rows, columns, groups, labels and predictions.
    tasks : list of Finding
        What can be done; ``blocked`` says why not, and ``missing`` which option was not given.
    """

    findings: list[Finding] = field(default_factory=list)
    tasks: list[Finding] = field(default_factory=list)

    def add(self, what: str, state: State, found: str, remedy: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(what, state, found, remedy))

    @property
    def blocked(self) -> bool:
        """Whether something that was asked for cannot be done."""
        return any(finding.state == "blocked" for finding in self.tasks)


@dataclass(frozen=True)
class _Asked:
    """What is asked of a table: its columns, and the question."""

    place: str
    table: Arrow
    label: str | None
    protected: tuple[str, ...]
    predictions: str | None
    positive: Sequence[str]
    drop: Sequence[str]
    keep: Sequence[str]
    missing_groups: MissingGroups | None
    metric: AuditMetric
    tolerance: float
    form: TableFormat | None

    def command(self, name: str, *options: tuple[str, str]) -> str:
        """Return the command that does a task."""
        given = [("protected", one) for one in self.protected] + [*options]
        if name != "new":  # which has --classes
            given += [("positive", one) for one in self.positive]
        if name != "audit" and self.keep:
            given.append(("keep", ",".join(self.keep)))
        given += [("missing-groups", self.missing_groups)] if self.missing_groups else []
        form = {} if self.form is None else asdict(self.form)
        given += [(option, value) for option, value in form.items() if value is not None]
        return shlex.join(["fairask", name, self.place, *(w for o, v in given for w in (f"--{o}", v))])


def examine_table(
    place: str,
    *,
    label: str | None = None,
    protected: str | Sequence[str] = (),
    predictions: str | None = None,
    positive: Sequence[str] = (),
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    missing_groups: MissingGroups | None = None,
    metric: AuditMetric = "tprp",
    tolerance: float = 0.1,
    form: TableFormat | None = None,
) -> Examination:
    """Look at a table of any kind, and say what it allows.

    Parameters
    ----------
    place : str
        A file, a folder of Parquet files, a URL, or a table of a database; a large one is sampled.
    label, protected, predictions : str
        Columns, as far as there are any: what is left out is not examined.
    positive, drop, keep, missing_groups
        As in :func:`fairask.tables.prepare`.
    metric, tolerance : str, float
        The question: which rates may differ, and by how much.
    form : TableFormat, optional
        How the file is written.
    """
    plan = AuditPlan(metric=metric, tolerance=tolerance)
    if missing_groups not in (None, "drop", "own"):
        raise TableError(
            f"--missing-groups {missing_groups!r} is not for a look at a table", "Give drop or own"
        )
    table, _, notes = read_place(place, form)
    specs = as_specs(protected)
    wanted = [("label", label), ("predictions", predictions), *(("drop", d) for d in drop)]
    check_columns(table.column_names, [(option, name) for option, name in wanted if name])
    asked = _Asked(
        place, table, label, specs, predictions, positive, column_list(drop, table.column_names),
        column_list(keep, table.column_names), missing_groups, plan.metric, plan.tolerance, form,
    )  # fmt: skip
    grouped = protected_columns(specs, table.column_names) if specs else []
    found = Examination()
    size = f"{table.num_rows:,} rows, {table.num_columns:,} columns"
    found.add("table", "ok", size)
    for note in notes:
        found.add("reading", "warn", note)
    encoder = _columns(asked, {label, predictions, *grouped, *asked.drop}, found)
    groups = _groups(asked, found) if specs else None
    answers = _labels(asked, found) if label else None
    if groups is not None and answers is not None:
        _rates(asked, groups, answers, found)
    if encoder is not None:
        _leaks(asked, encoder, groups, answers, found)
    audited = _predictions(asked, found) if predictions and groups is not None else None
    if audited is not None and label and groups is not None:
        told = _tried(found, "known", lambda: _known(asked))
        if answers is None and told is not None:  # one kind of label, of which an audit may decide
            _rates(asked, groups, told, found)
    _tasks(asked, encoder, groups, answers, audited, found)
    return found


def _tried(found: Examination, what: str, work: Callable[[], Done]) -> Done | None:
    """Return what the work returns; an error that a user can put right is a finding, and None is returned."""
    try:
        return work()
    except UserError as error:
        found.add(what, "blocked", error.what, error.remedy)
        return None


def _columns(asked: _Asked, out: set[str | None], found: Examination) -> Encoder | None:
    """Look at the columns that a model would learn from."""
    names = [name for name in asked.table.column_names if name not in out]
    encoder = _tried(found, "columns", lambda: fit_encoder(asked.table, names, keep=asked.keep))
    if encoder is None:
        return None
    features = len(encoder.feature_names_out)
    made = f"{features:,} feature{'' if features == 1 else 's'}"
    found.add("columns", "ok", f"{len(encoder.columns):,} can be learned from, as {made}")
    constant = [name for name, why in encoder.left_out.items() if why == CONSTANT]
    if constant:
        found.add("columns", "warn", f"left out, one value only: {listed(constant)}")
    for name, why in encoder.unusable.items():
        reason, _, remedy = why.partition("; ")
        found.add("columns", "warn", f"left out, {reason}: {name}", remedy)
    return encoder


def _groups(asked: _Asked, found: Examination) -> npt.NDArray[np.str_] | None:
    """Count the groups, and return that of each row; an empty text where the row is left out."""
    named = ", ".join(asked.protected)

    def read() -> GroupColumns:
        kept = sort_out_missing(asked.table, asked.protected, asked.missing_groups, notes)
        return GroupColumns.in_table(asked.table.filter(kept), asked.protected)

    notes: list[str] = []
    columns = _tried(found, "groups", read)
    if columns is None:
        return None
    shown = ", ".join(f"{name} {n:,}" for name, n in zip(columns.names, columns.rows, strict=True))
    found.add("groups", "ok", f"by {named}: {shown}")
    for note in group_notes(named, dict(zip(columns.values, columns.rows, strict=True))):
        what, _, remedy = note.partition("; ")
        found.add("groups", "warn", what, remedy)
    for note in notes:
        what, _, remedy = note.partition("; ")
        found.add("groups", "warn", what, remedy)
    if few := few_rows_note(dict(zip(columns.names, columns.rows, strict=True)), BUDGET):
        what, _, remedy = few.partition("; ")
        found.add("rows", "warn", what, remedy)
    known = columns.known(asked.table.combine_chunks())
    return np.array(["" if group is None else str(group) for group in known])


def _labels(asked: _Asked, found: Examination) -> npt.NDArray[np.int64] | None:
    """Return the label of each row, 0 or 1, and -1 where it has none."""
    assert asked.label is not None
    cells, notes = texts(asked.table.column(asked.label)), list[str]()
    positive = _tried(
        found, "labels", lambda: find_positive(str(asked.label), cells, asked.positive or None, notes)
    )
    if positive is None:
        return None
    answers = np.array([-1 if cell is None else int(cell in positive) for cell in cells], dtype=np.int64)
    known = int((answers >= 0).sum())
    share = float((answers == 1).sum() / known)
    said = f"{known:,} of {len(answers):,} rows have one, {share:.1%} of them positive"
    found.add("labels", "ok", said)
    for note in notes:
        found.add("labels", "warn", note)
    if known < len(answers):
        remedy = "if accepted rows alone have one, say so: fairask audit --observed"
        found.add("labels", "warn", f"{len(answers) - known:,} rows have none", remedy)
    return answers


def _rates(
    asked: _Asked, groups: npt.NDArray[np.str_], answers: npt.NDArray[np.int64], found: Examination
) -> None:
    """Say whether each group has the labels that its rates are made of, and what gap they can tell."""
    names = [str(name) for name in np.unique(groups) if name]
    for value in QUESTIONS[asked.metric].labels:
        kind = "positive" if value else "negative"
        have = {name: int(((groups == name) & (answers == value)).sum()) for name in names}
        share = max(sum(have.values()) / max(1, int((answers >= 0).sum())), 1e-3)
        for name, n in have.items():
            if n >= FEWEST_LABELS:
                continue
            # What the group's own labels say counts, and the table's share as one label more.
            own = (n + share) / (int(((groups == name) & (answers >= 0)).sum()) + 1)
            more = math.ceil((FEWEST_LABELS - n) / own)
            rate = f"{'true' if value else 'false'} positive rate"
            if n:
                few = (
                    f"only {n} {kind} label{'' if n == 1 else 's'}: {FEWEST_LABELS} or more tell of a {rate}"
                )
            else:
                few = f"no {kind} labels: it has no {rate}, and a gap of 0 would mean nothing"
            what = f"group {name!r} has {few}"
            remedy = f"label about {more:,} more rows of it, merge it with another, or compare --metric dp"
            found.add("rates", "blocked", what, remedy)
        (smallest, small), (_, second), *_ = sorted(have.items(), key=lambda item: item[1])
        if small < FEWEST_LABELS:
            continue
        # Of all pairs, the gap of the two smallest groups is known worst.
        width = _half_width(small, second)
        shown = listed([f"{name} {n:,}" for name, n in have.items()])
        what = f"{kind} labels: {shown}; from them a gap is known within {width:.2f}"
        if width <= asked.tolerance:
            found.add("rates", "ok", what)
        else:
            remedy = _more_labels(asked.tolerance, small, second, repr(smallest), share, kind)
            found.add("rates", "warn", what, remedy)


def _half_width(a: int, b: int) -> float:
    """Half the 95 % interval of a difference of two rates near one half, from so many labels of each."""
    return 1.96 * math.sqrt(0.25 / a + 0.25 / b)


def _more_labels(tolerance: float, small: int, second: int, group: str, share: float, kind: str) -> str:
    """Say how many labels would tell a gap within the tolerance."""
    needed = 0.25 * (1.96 / tolerance) ** 2  # of a group beside one whose rate is known
    if needed < second:
        more, of = math.ceil(1 / (1 / needed - 1 / second)) - small, f"more {kind} labels of {group}"
    else:
        more, of = math.ceil(2 * needed), f"{kind} labels of each group"
    return f"{more:,} {of} tell {tolerance:g}: about {math.ceil(more / share):,} rows"


def _leaks(
    asked: _Asked,
    encoder: Encoder,
    groups: npt.NDArray[np.str_] | None,
    answers: npt.NDArray[np.int64] | None,
    found: Examination,
) -> None:
    """Name copies of rows, and columns that give the label or the group away."""
    X = encoder.transform(asked.table)
    names = encoder.feature_names_out
    if len(X) <= _MOST_COMPARED:
        copies = len(X) - len(np.unique(X, axis=0))
        if copies:
            what = f"rows that equal another one in all columns that can be learned from: {copies:,}"
            remedy = "if they are the same cases, keep one of each; if not, nothing"
            found.add("copies", "warn", what, remedy)
    if answers is not None:
        known = answers >= 0
        telling = columns_that_tell(X[known], answers[known], names)
        if telling:
            found.add("leaks", "warn", leaks_sentence(telling))
    if groups is not None:
        for note in group_leaks(X[groups != ""], groups[groups != ""], names):
            what, _, remedy = note.partition(": ")
            found.add("leaks", "warn", what, remedy)


def _predictions(asked: _Asked, found: Examination) -> AuditTable | None:
    """Open the table as an audit does, and count who is accepted."""

    def read() -> AuditTable:
        assert asked.predictions is not None
        table = open_audit_table(
            asked.place, predictions=asked.predictions, protected=asked.protected,
            positive=asked.positive or None, missing_groups=asked.missing_groups, form=asked.form,
        )  # fmt: skip
        table.source.close()
        return table

    table = _tried(found, "predictions", read)
    if table is None:
        return None
    pool = table.pool
    shown = []
    for code, name in enumerate(pool.names):
        mine = (pool.group == code) & (pool.label != OUT)
        accepted, size = int(pool.counts[mine & (pool.decision[0] == 1)].sum()), int(pool.counts[mine].sum())
        shown.append(f"{name} {accepted:,} of {size:,} ({accepted / max(size, 1):.1%})")
        if not accepted or accepted == size:
            what = f"the model gives all rows of group {name!r} the same answer"
            remedy = "an audit of it is possible, and tells little: look at the model first"
            found.add("predictions", "warn", what, remedy)
    found.add("predictions", "ok", "accepted: " + ", ".join(shown))
    for hint in table.hints:
        found.add("predictions", "warn", hint)
    return table


def _known(asked: _Asked) -> npt.NDArray[np.int64]:
    """Return the label of each row as an audit of known labels reads it, -1 where it has none."""
    assert asked.predictions is not None
    table = open_audit_table(
        asked.place, predictions=asked.predictions, protected=asked.protected, known=asked.label,
        positive=asked.positive or None, missing_groups=asked.missing_groups, form=asked.form,
    )  # fmt: skip
    table.source.close()
    cells = texts(asked.table.column(str(asked.label)))
    code = {cell: table.classes.code(cell) for cell in set(cells) if cell is not None}
    return np.array([-1 if cell is None else int(code[cell] or 0) for cell in cells], dtype=np.int64)


def _tasks(
    asked: _Asked,
    encoder: Encoder | None,
    groups: npt.NDArray[np.str_] | None,
    answers: npt.NDArray[np.int64] | None,
    audited: AuditTable | None,
    found: Examination,
) -> None:
    """Say what can be done, by which command, and what is in the way."""

    def add(what: str, done: str, needs: dict[str, bool], parts: set[str], words: str) -> None:
        lacks = [option for option, given in needs.items() if not given]
        blocks = [f for f in found.findings if f.state == "blocked" and f.what in parts]
        if lacks:
            found.tasks.append(Finding(what, "missing", f"{done}: give {' and '.join(lacks)}"))
        elif blocks:
            found.tasks.append(
                Finding(what, "blocked", f"{done}: first put right what blocks the {blocks[0].what}")
            )
        else:
            found.tasks.append(Finding(what, "ok", done, words))

    protected, label = {"--protected": bool(asked.protected)}, {"--label": asked.label is not None}
    predictions = {"--predictions": asked.predictions is not None}
    metric = () if asked.metric == "tprp" else (("metric", asked.metric),)
    goal = (*metric, *((("tolerance", f"{asked.tolerance:g}"),) if asked.tolerance != 0.1 else ()))
    told = (("label", asked.label or ""),)
    unused = [*asked.drop, *([asked.predictions] if asked.predictions else [])]
    known = [*unused, *([asked.label] if asked.label else [])]
    add(
        "train", "choose rows to label, and learn from them", protected, {"columns", "groups"},
        asked.command("new", ("classes", _classes(asked, answers)), *goal, *_dropped(known)),
    )  # fmt: skip
    add(
        "simulate", "see what labels would buy", label | protected, {"columns", "groups", "labels", "rates"},
        asked.command("simulate", *told, *goal, *_dropped(unused)),
    )  # fmt: skip
    needs, parts = predictions | protected, {"groups", "predictions"}
    if answers is not None and (answers >= 0).all():  # labels that do not exist, no audit can find
        parts = parts | {"rates"}
    said = (("predictions", asked.predictions or ""), *goal)
    free = "" if QUESTIONS[asked.metric].labels else ": at once, since selection needs no labels"
    add("audit", "certify or refute these predictions" + free, needs, parts, asked.command("audit", *said))
    if audited is not None and found.tasks[-1].state == "ok" and QUESTIONS[asked.metric].labels:
        found.tasks[-1] = _labels_of_an_audit(asked, audited, found.tasks[-1])
    now = "decide from the labels of this table, if they are a random part of it"
    labels = ("known", asked.label or "")
    add("audit now", now, needs | label, parts | {"known", "rates"}, asked.command("audit", *said, labels))


def _classes(asked: _Asked, answers: npt.NDArray[np.int64] | None) -> str:
    """Name the two labels, the positive one last; NO,YES where the table does not say."""
    if answers is None or asked.label is None:
        return "NO,YES"
    cells = np.array([cell or "" for cell in texts(asked.table.column(asked.label))])
    no, yes = (np.unique(cells[answers == value]).tolist() for value in (0, 1))
    plain = len(no) == len(yes) == 1 and "," not in no[0] + yes[0]
    return f"{no[0]},{yes[0]}" if plain else "NO,YES"


def _dropped(columns: Sequence[str]) -> list[tuple[str, str]]:
    return [("drop", ",".join(columns))] if columns else []


def _labels_of_an_audit(asked: _Asked, audited: AuditTable, task: Finding) -> Finding:
    """Add to a task how many labels it takes, or which tolerance all labels of the table can certify."""
    plan = AuditPlan(metric=asked.metric, tolerance=asked.tolerance)
    alike, half = _enough(audited, plan)
    if alike is not None:
        sure = f"about {alike:,} labels certify {asked.tolerance:g} in 8 of 10 audits if the groups are alike"
        if half is not None:
            apart = "also" if half == alike else f"{half:,}"
            sure += f", {apart} if they are half the tolerance apart"
        return Finding(task.what, "ok", f"{task.found}: {sure}", task.remedy)
    for wider in (t for t in _WIDER if t > asked.tolerance):
        alike, _ = _enough(audited, AuditPlan(metric=asked.metric, tolerance=wider))
        if alike is not None:
            remedy = f"--tolerance {wider:g} takes about {alike:,} labels; or give a table with more rows"
            break
    else:
        remedy = "give a table with more rows of the smallest group, or merge groups"
    most = min(audited.rows, 3200)
    what = (
        f"{task.found}: {most:,} labels seldom certify {asked.tolerance:g} here, even if the groups are alike"
    )
    return Finding(task.what, "blocked", what, remedy)


def _enough(audited: AuditTable, plan: AuditPlan) -> tuple[int | None, int | None]:
    """Fewest labels that certify in 8 of 10 audits: groups alike, and half a tolerance apart."""
    table = audited.plan(plan, 200)
    rows = [row for plans in table.by_budget.values() for row in plans if not row.score]
    alike = next((row.budget for row in rows if row.certify_alike >= CHANCE), None)
    return alike, next((row.budget for row in rows if row.certify_half >= CHANCE), None)
