"""The part of the API for annotators: next rows, answers, corrections, answers taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request

from fairask.studio._access import Me
from fairask.studio._models import (
    Card,
    CardField,
    GivenAnswer,
    LabelProgress,
    NewAnswer,
    NewLabel,
    Next,
    Wanted,
)
from fairask.studio._stopgap import Stopgap
from fairask.study import NotYoursError, Study, StudyError
from fairask.study.config import ColumnInfo
from fairask.study.events import SKIP
from fairask.study.files import shown_columns
from fairask.study.limits import check_skips, is_too_fast

__all__ = ["RowNumber", "card", "router", "was_given"]

router = APIRouter(tags=["labelling"])
RowNumber = Annotated[int, Path(ge=0, le=2**31 - 1)]

#: Characters of a cell that are sent, by how it is shown; a cell can have megabytes, and the rest is a link.
LONGEST_CELL = 2000
LONGEST_TEXT = 100_000


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
    text = "" if value is None else str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        text = str(int(value))
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
    visible = set(shown_columns(study.config))
    fields = [_shown(column, cells[column.name]) for column in study.config.columns if column.name in visible]
    return Card(row=row, fields=fields)


def _progress(study: Study, who: str) -> LabelProgress:
    people = study.store.waiting(max_age=1.0).people
    with study.lock:
        state = study.state()
        labels = state.answered - state.skipped
        mine = state.by.get(who, 0)
        return LabelProgress(
            labels=labels,
            budget=state.budget,
            batch=state.batches,
            people=people,
            mine=mine,
            complete=labels >= state.budget,
        )


def was_given(study: Study, row: int, who: str) -> bool:
    """Whether a person holds a row, held it, or has answered it."""
    with study.lock:
        if who in study.state().answers.get(row, {}):
            return True
    with study.store.read() as turn:
        return turn.was_handed(row, who)


@router.post("/next")
def next_rows(request: Request, wanted: Wanted, me: Me) -> Next:
    """Hold the next rows for me, and renew those I hold; the same rows come back until answered."""
    study = study_of(request)
    if is_too_fast(study, me.name):
        return Next(cards=[], progress=_progress(study, me.name), training=False, notice=_FAST)
    rows = study.lease(me.name, wanted.count)
    progress = _progress(study, me.name)
    with study.lock:
        coming = not rows and study.state().undrawn > 0
        news = study.state().flags.news(me.name)
    late = coming and study.store.training().error is not None
    stopgap: Stopgap = request.app.state.stopgap
    if rows:
        stopgap.found(study)
    elif coming and stopgap.wait(study, me.name, stopped=late):
        rows = study.lease(me.name, wanted.count)
        coming = late = False
    return Next(
        cards=[card(study, row) for row in rows],
        progress=progress,
        training=coming and not late,
        notice=_LATE if late else "",
        hold=study.config.lease_seconds,
        news=news,
        retry=stopgap.retry,
    )


@router.get("/progress")
def progress(request: Request, me: Me) -> LabelProgress:
    """Return how many labels there are."""
    return _progress(study_of(request), me.name)


@router.post("/answers", status_code=201)
def answer(request: Request, given: NewAnswer, me: Me) -> LabelProgress:
    """Answer a row I hold, or skip it; saying the same again changes nothing."""
    study = study_of(request)
    if given.label is not None:
        study.config.class_code(given.label, given.row)  # a wrong label is said before anything else
    study.config.check_row(given.row)
    if given.label is not None and given.reason:
        raise StudyError("a reason belongs to a row that is skipped", "Leave out the label or the reason")
    with study.store.read() as turn:
        if not turn.was_handed(given.row, me.name):
            raise NotYoursError(
                f"row {given.row} was not given to you, or is with somebody else; load the page again"
            )
    if given.label is None:
        check_skips(study, me.name)
        study.skip([given.row], me.name, notes=[given.note], reason=given.reason.strip())
    else:
        study.tell([given.row], [given.label], me.name, notes=[given.note])
    return _progress(study, me.name)


@router.get("/answers")
def my_answers(request: Request, me: Me) -> list[GivenAnswer]:
    """My last five answers, newest first."""
    study = study_of(request)
    with study.lock:
        recent = list(study.state().recent.get(me.name, {}))[-5:]
    return [_given(study, row, me.name) for row in reversed(recent)]


def _given(study: Study, row: int, who: str) -> GivenAnswer:
    with study.lock:
        found = study.state().answers.get(row, {}).get(who)
    if found is None:
        raise HTTPException(404, f"you have not answered row {row}")
    label = None if found.code == SKIP else study.config.classes[found.code]
    return GivenAnswer(row=row, label=label, at=found.at, note=found.note)


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
    study.tell([row], [correction.label], me.name, correct=True)
    return _given(study, row, me.name)


@router.delete("/answers/{row}")
def take_back(request: Request, row: RowNumber, me: Me) -> Card:
    """Take my answer back; the row is mine to answer again."""
    study = study_of(request)
    _given(study, row, me.name)
    study.withdraw(row, me.name)
    return card(study, row)
