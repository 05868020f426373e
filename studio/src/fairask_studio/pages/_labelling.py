"""The part of the API for annotators: next rows, answers, corrections, answers taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request

from fairask_studio import Study, StudyError
from fairask_studio.columns import ColumnInfo
from fairask_studio.events import SKIP
from fairask_studio.gold import EXAMPLE, GOLD, PRACTICE, KnownRow, due_row, gold_due
from fairask_studio.pages._access import Me
from fairask_studio.pages._models import (
    Card,
    CardField,
    GivenAnswer,
    KnownVerdict,
    LabelProgress,
    NewAnswer,
    NewLabel,
    Next,
    Saved,
    Wanted,
)
from fairask_studio.pages._rights import may
from fairask_studio.pages._stopgap import Stopgap
from fairask_studio.store import Person

router = APIRouter(tags=["labelling"])
RowNumber = Annotated[int, Path(ge=0, le=2**31 - 1)]

#: Characters of a cell that are sent, by how it is shown; a cell can have megabytes, and the rest is a link.
LONGEST_CELL = 2000
LONGEST_TEXT = 100_000


#: Seconds for which the state may be old when a row is given: one request reads the log once.
_AGE = 0.2
_LATE = (
    "The program that chooses rows has stopped and is being started again. Your answers are saved. "
    "This page looks again by itself."
)
_FAST = (
    "You have answered more rows in a minute than this study allows. Your answers are saved. "
    "The next row comes in a moment."
)


def study_of(request: Request) -> Study:
    """Return the app's study."""
    study: Study = request.app.state.study
    return study


def _shown(column: ColumnInfo, value: object) -> CardField:
    text = column.code_of(value)
    words = column.values.get(text, text)
    title = column.title or column.name.replace("_", " ")
    display = column.display or ("number" if column.kind == "number" else "text")
    longest = LONGEST_TEXT if display in ("long", "markdown") else LONGEST_CELL
    return CardField(
        name=column.name,
        title=title,
        unit=column.unit,
        value=words[:longest],
        length=len(words),
        display="text" if text in column.values and display == "number" else display,
    )


def card(study: Study, row: int) -> Card:
    """Return a row as annotators see it: no scores; the protected attribute only if the study shows it."""
    cells = study.row(row)
    visible = set(study.config.shown)
    fields = [_shown(column, cells[column.name]) for column in study.config.columns if column.name in visible]
    return Card(row=row, fields=fields)


def _progress(study: Study, who: str) -> LabelProgress:
    people = study.store.waiting(max_age=1.0).people
    with study.lock:
        state = study.state(_AGE)
        labels = state.answered - state.skipped
        gold = state.known.count(who)
        mine = state.by.get(who, 0) + gold
        return LabelProgress(
            # Gold rows move the bar as well: it must not tell them apart.
            labels=max(labels, min(labels + gold, state.budget)),
            budget=state.budget,
            batch=state.batches,
            people=people,
            mine=mine,
            complete=labels >= state.budget,
        )


def was_given(study: Study, row: int, who: str) -> bool:
    """Whether a person holds a row, held it, or has answered it."""
    with study.lock:
        state = study.state()
        if who in state.answers.get(row, {}) or row in state.known.answers.get(who, {}):
            return True
        if state.known.rows.get(row) in state.known.of_use(EXAMPLE) or due_row(state, who, row) is not None:
            return True
    with study.store.read() as turn:
        return turn.was_handed(row, who)


@router.post("/next")
def next_rows(request: Request, wanted: Wanted, me: Me) -> Next:
    """Hold the next rows for me, and renew those I hold; the same rows come back until answered."""
    study = study_of(request)
    if study.is_too_fast(me.name):
        return Next(cards=[], progress=_progress(study, me.name), training=False, notice=_FAST)
    practice = _practice(study, me)
    if practice:
        shown = card(study, practice[0].row).model_copy(update={"practice": len(practice)})
        hold = study.config.lease_seconds
        return Next(
            cards=[shown],
            progress=_progress(study, me.name),
            training=False,
            notice="",
            hold=hold,
            news=_news(study, me),
        )
    rows = study.lease(me.name, wanted.count)
    progress = _progress(study, me.name)
    with study.lock:
        coming = not rows and study.state(_AGE).undrawn > 0
    late = coming and study.store.training().error is not None
    stopgap: Stopgap = request.app.state.stopgap
    if rows:
        stopgap.found(study)
    elif coming and stopgap.wait(study, me.name, stopped=late):
        rows = study.lease(me.name, wanted.count)
        coming = late = False
    rows = _with_gold(study, me, rows)
    return Next(
        cards=[card(study, row) for row in rows],
        progress=progress,
        training=coming and not late,
        notice=_LATE if late else "",
        hold=study.config.lease_seconds,
        news=_news(study, me),
        retry=stopgap.retry,
    )


def _news(study: Study, me: Person) -> int:
    with study.lock:
        return study.state(_AGE).flags.news(me.name)


def _practice(study: Study, me: Person) -> list[KnownRow]:
    """Return the practice rows left for a person who has not labelled yet. Owners know the answers."""
    if may(me.role, "owner"):
        return []
    with study.lock:
        state = study.state(_AGE)
        return state.known.practice(me.name, state.by[me.name])


def _with_gold(study: Study, me: Person, rows: list[int]) -> list[int]:
    """Return the rows to show: a gold row that is due takes the last place, and its row comes later."""
    if may(me.role, "owner") or not rows:
        return rows
    with study.lock:
        gold = gold_due(study.state(_AGE), me.name, rows)
    return rows if gold is None else [*rows[:-1], gold.row]


@router.get("/progress")
def progress(request: Request, me: Me) -> LabelProgress:
    """Return how many labels there are."""
    return _progress(study_of(request), me.name)


@router.post("/answers", status_code=201)
def answer(request: Request, given: NewAnswer, me: Me) -> Saved:
    """Answer a row I hold, or skip it; saying the same again changes nothing.

    The answer to a practice row is not a label; the right one comes back.
    """
    study = study_of(request)
    if given.label is not None:
        study.config.class_code(given.label, given.row)  # a wrong label is said before anything else
    study.config.check_row(given.row)
    if given.label is not None and given.reason:
        raise StudyError("a reason belongs to a row that is skipped", "Leave out the label or the reason")
    practice = _practice(study, me)
    with study.store.read() as turn:
        regular = turn.was_handed(given.row, me.name)
    if not regular or (practice and practice[0].row == given.row):
        return _answer_known(study, given, me)
    if given.label is None:
        study.check_skips(me.name)
        study.skip([given.row], me.name, notes=[given.note], reason=given.reason.strip())
    else:
        study.tell([given.row], [given.label], me.name, notes=[given.note])
    return _saved(study, me.name)


def _saved(study: Study, who: str, verdict: KnownVerdict | None = None) -> Saved:
    return Saved(**_progress(study, who).model_dump(), practice=verdict)


def _answer_known(study: Study, given: NewAnswer, me: Person) -> Saved:
    """Take an answer to a known row; of a practice row the right answer is told."""
    code = SKIP if given.label is None else study.config.class_code(given.label, given.row)
    known = study.answer_known(given.row, code, me.name)
    if known.use != PRACTICE:
        study.check_gold(me.name)
        return _saved(study, me.name)
    verdict = KnownVerdict(right=code == known.label, label=study.config.classes[known.label], why=known.why)
    return _saved(study, me.name, verdict)


@router.get("/answers")
def my_answers(request: Request, me: Me) -> list[GivenAnswer]:
    """My last five answers, newest first."""
    study = study_of(request)
    with study.lock:
        state = study.state()
        recent = list(state.recent.get(me.name, {}))[-5:]
        checks = state.known.answers.get(me.name, {})
        recent += [row for row, a in checks.items() if a.use == GOLD and row not in recent][-5:]
    found = [_given(study, row, me.name) for row in recent]
    return sorted(found, key=lambda given: given.at, reverse=True)[:5]


def _given(study: Study, row: int, who: str) -> GivenAnswer:
    with study.lock:
        state = study.state()
        found = state.answers.get(row, {}).get(who)
        check = state.known.answers.get(who, {}).get(row)
    if found is None and (check is None or check.use != GOLD):
        raise HTTPException(404, f"you have not answered row {row}")
    code, at = (
        (found.code, found.at) if found is not None else (check.code, check.at) if check else (SKIP, "")
    )
    label = None if code == SKIP else study.config.classes[code]
    return GivenAnswer(row=row, label=label, at=at, note="" if found is None else found.note)


def _is_check(study: Study, row: int, who: str) -> bool:
    """Whether a person's answer to this row is one to a gold row, and no label."""
    with study.lock:
        return who not in study.state().answers.get(row, {})


@router.get("/answers/{row}")
def my_answer(request: Request, row: RowNumber, me: Me) -> Card:
    """A row I answered, to look at again."""
    study = study_of(request)
    _given(study, row, me.name)
    return card(study, row)


@router.put("/answers/{row}")
def correct(request: Request, row: RowNumber, correction: NewLabel, me: Me) -> GivenAnswer:
    """Replace my answer to a row."""
    study = study_of(request)
    _given(study, row, me.name)
    if _is_check(study, row, me.name):
        study.answer_known(row, study.config.class_code(correction.label, row), me.name)
        study.check_gold(me.name)
    else:
        study.tell([row], [correction.label], me.name, correct=True)
    return _given(study, row, me.name)


@router.delete("/answers/{row}")
def take_back(request: Request, row: RowNumber, me: Me) -> Card:
    """Take my answer back; the row is mine to answer again."""
    study = study_of(request)
    _given(study, row, me.name)
    if _is_check(study, row, me.name):
        study.answer_known(row, None, me.name)
    else:
        study.withdraw(row, me.name)
    return card(study, row)
