"""The page where people label: next rows, answers, corrections, flags, worked examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from pydantic import BaseModel, Field

from fairask_studio import Study, StudyError
from fairask_studio.columns import ColumnInfo
from fairask_studio.config import LONGEST_REASON
from fairask_studio.errors import NotYoursError
from fairask_studio.events import SKIP
from fairask_studio.flags import Flag
from fairask_studio.gold import EXAMPLE, GOLD, MOST_AHEAD, PRACTICE, KnownRow, due_row, gold_ahead
from fairask_studio.pages.access import Me, least_role, may
from fairask_studio.pages.api import Row, RowNumber, Strict, Text, study_of
from fairask_studio.pages.stopgap import Stopgap
from fairask_studio.store.people import Person

router = APIRouter(tags=["labelling"])


class Wanted(Strict):
    """How many rows to hold."""

    count: Annotated[int, Field(ge=1, le=MOST_AHEAD)] = 2


class NewAnswer(Strict):
    """An answer to a row: a class, or null to skip the row."""

    row: Row
    label: Annotated[Text, Field(max_length=60)] | None
    note: Annotated[Text, Field(max_length=2000)] = ""
    reason: Annotated[Text, Field(max_length=LONGEST_REASON)] = ""  #: why the row is skipped


class NewLabel(Strict):
    """Another class for a row."""

    label: Annotated[Text, Field(max_length=60)]


class CardField(BaseModel):
    """One cell, in words."""

    name: str
    title: str
    unit: str
    value: str
    length: int  #: characters of the whole cell; more than ``value`` has when it was cut
    display: str  #: number, date, text, long, link, image, audio or markdown


class LabelProgress(BaseModel):
    """How many labels there are, for the bar above the card."""

    labels: int
    budget: int
    batch: int
    people: int
    mine: int  #: labels by this person
    skipped: int  #: rows that this person skipped
    complete: bool


class Card(BaseModel):
    """A row to label."""

    row: int
    fields: list[CardField]
    practice: int = 0  #: of a practice row: how many are left, this one included


class KnownVerdict(BaseModel):
    """What is told after the answer to a practice row."""

    right: bool
    label: str
    why: str


class Saved(LabelProgress):
    """Progress after an answer; after that to a practice row also the right one."""

    practice: KnownVerdict | None = None


class Next(BaseModel):
    """The rows this person holds now."""

    cards: list[Card]
    progress: LabelProgress
    training: bool  #: whether more rows are being drawn
    notice: str  #: why no rows come, in words; empty if all is well
    hold: float = 60.0  #: seconds for which the rows are held
    news: int = 0  #: number of the last event of others in this person's threads about rows
    retry: float = 0.4  #: seconds until it is worth asking again, if there is no row


class GivenAnswer(BaseModel):
    """An answer this person gave."""

    row: int
    label: str | None
    at: str
    note: str


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


def _shown(column: ColumnInfo, value: object) -> CardField:
    text = column.code_of(value)
    words = column.values.get(text, text)
    title = column.title or column.name.replace("_", " ")
    display = column.display or ("number" if column.kind == "number" else "text")
    if display in ("image", "audio") and words:
        words = display  # the name of its file may tell the group; the page asks by row and column
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
    return Card(row=row, fields=fields_of(study, study.row(row)))


def fields_of(study: Study, cells: Mapping[str, object]) -> list[CardField]:
    """Return the cells of a row that annotators see, in words."""
    visible = set(study.config.shown)
    return [_shown(column, cells[column.name]) for column in study.config.columns if column.name in visible]


def _progress(study: Study, who: str) -> LabelProgress:
    people = study.store.waiting(max_age=1.0).people
    with study.lock:
        state = study.state(_AGE)
        labels = state.answered - state.skipped
        gold = state.known.count(who)
        # A skip is no answer, and only one answer to a row in ``overlap`` makes a label.
        skipped = state.skips[who] + state.known.skips(who)
        mine = state.by.get(who, 0) + gold - skipped
        moved = (gold - state.known.skips(who)) // state.config.overlap
        return LabelProgress(
            # Gold rows move the bar as well: it must not tell them apart.
            labels=max(labels, min(labels + moved, state.budget)),
            budget=state.budget,
            batch=state.batches,
            people=people,
            mine=mine,
            skipped=skipped,
            complete=labels >= state.budget,
        )


def was_given(study: Study, row: int, who: str) -> bool:
    """Whether a person holds a row, held it, or has answered it."""
    held = study.store.pending(who)
    with study.lock:
        state = study.state()
        if who in state.answers.get(row, {}) or row in state.known.answers.get(who, {}):
            return True
        known = state.known.rows.get(row)
        if (known is not None and known.use == EXAMPLE) or due_row(state, who, row, held) is not None:
            return True
    with study.store.read() as turn:
        return turn.was_handed(row, who)


@router.post("/next")
def next_rows(request: Request, wanted: Wanted, me: Me) -> Next:
    """Hold the next rows for me, and renew those I hold; the same rows come back until answered."""
    study = study_of(request)
    too_fast = study.is_too_fast(me.name)
    progress = _progress(study, me.name)
    if too_fast:
        return Next(cards=[], progress=progress, training=False, notice=_FAST)
    if practice := _practice(study, me):
        shown = card(study, practice[0].row).model_copy(update={"practice": len(practice)})
        hold, news = study.config.lease_seconds, _news(study, me)
        return Next(cards=[shown], progress=progress, training=False, notice="", hold=hold, news=news)
    gold = _gold(study, me, wanted.count, progress.complete)
    # A row that a gold one stands before is not held yet: it could be found, and tell.
    rows = study.lease(me.name, wanted.count - len(gold)) if wanted.count > len(gold) else []
    if any(known.row in rows for known, _ in gold.values()):
        gold = _gold(study, me, wanted.count, progress.complete)
    with study.lock:
        coming = not rows and not gold and study.state(_AGE).undrawn > 0
    late = coming and study.store.training().error is not None
    stopgap: Stopgap = request.app.state.stopgap
    if rows:
        stopgap.found(study)
    elif coming and stopgap.wait(study, me.name, stopped=late):
        rows = study.lease(me.name, wanted.count)
        coming = late = False
    for ahead, (known, _) in gold.items():
        rows.insert(ahead, known.row)
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


def _gold(study: Study, me: Person, count: int, complete: bool) -> dict[int, tuple[KnownRow, int]]:
    """Return the gold rows among the next ones of a person, by how many rows come before each.

    Asked again, the rows come in the same order: one that jumped ahead would be known as gold.
    """
    if may(me.role, "owner") or complete:
        return {}
    held = study.store.pending(me.name)
    with study.lock:
        return gold_ahead(study.state(_AGE), me.name, held, count)


@router.post("/answers", status_code=201)
def answer(request: Request, given: NewAnswer, me: Me) -> Saved:
    """Answer a row I hold, or skip it; saying the same again changes nothing.

    The answer to a practice row is not a label; the right one comes back.
    """
    study = study_of(request)
    if given.label is not None:
        study.config.class_code(given.label, given.row)  # a wrong label is said before anything else
    study.config.check_row(given.row)
    _check_first(study, given, me.name)
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


def _check_first(study: Study, given: NewAnswer, who: str) -> None:
    """Raise if this person has answered the row otherwise, in another tab say."""
    with study.lock:
        before = study.state(_AGE).answers.get(given.row, {}).get(who)
    if before is not None and before.code != SKIP and given.label is not None:
        label = study.config.classes[before.code]
        if label != given.label:
            raise NotYoursError(
                f"you have answered row {given.row} already: {label}", "To change that, look at it again"
            )


def _saved(study: Study, who: str, verdict: KnownVerdict | None = None) -> Saved:
    return Saved(**_progress(study, who).model_dump(), practice=verdict)


def _answer_known(study: Study, given: NewAnswer, me: Person) -> Saved:
    """Take an answer to a known row; of a practice row the right answer is told."""
    code = SKIP if given.label is None else study.config.class_code(given.label, given.row)
    if code == SKIP:
        study.check_skips(me.name)
    known = study.answer_known(given.row, code, me.name, given.note)
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
    found = [_given(study, row, me.name)[0] for row in recent]
    return sorted(found, key=lambda given: given.at, reverse=True)[:5]


def _given(study: Study, row: int, who: str) -> tuple[GivenAnswer, bool]:
    """Return a person's answer to a row, and whether it is a check of a gold row, and no label."""
    with study.lock:
        state = study.state()
        given = state.answers.get(row, {}).get(who)
        check = state.known.answers.get(who, {}).get(row)
    found = given or check
    if found is None or (given is None and check is not None and check.use != GOLD):
        raise HTTPException(404, f"you have not answered row {row}")
    label = None if found.code == SKIP else study.config.classes[found.code]
    return GivenAnswer(row=row, label=label, at=found.at, note=found.note), given is None


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
    _, is_check = _given(study, row, me.name)
    if is_check:
        study.answer_known(row, study.config.class_code(correction.label, row), me.name, correct=True)
        study.check_gold(me.name)
    else:
        study.tell([row], [correction.label], me.name, correct=True)
    return _given(study, row, me.name)[0]


@router.delete("/answers/{row}")
def take_back(request: Request, row: RowNumber, me: Me) -> Card:
    """Take my answer back; the row is mine to answer again."""
    study = study_of(request)
    _, is_check = _given(study, row, me.name)
    if is_check:
        study.answer_known(row, None, me.name)
    else:
        study.withdraw(row, me.name)
    return card(study, row)


_Words = Annotated[Text, Field(max_length=2000)]

FlagNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


class NewFlag(Strict):
    """A question about a row."""

    row: Row
    text: _Words


class FlagReply(Strict):
    """What to write into a thread, and whether that resolves the flag."""

    text: _Words = ""
    resolve: bool = False


class FlagComment(BaseModel):
    """What somebody wrote."""

    at: str
    who: str
    text: str


class FlagThread(BaseModel):
    """A flag with its comments, oldest first."""

    id: int
    row: int
    who: str
    open: bool
    waits: bool  #: whether the person who flagged waits for an answer
    resolved_by: str
    comments: list[FlagComment]


def _reviews(me: Person) -> bool:
    return may(me.role, least_role("GET", "/flags"))


def _thread(flag: Flag) -> FlagThread:
    return FlagThread.model_validate(flag.to_dict())


@router.get("/flags")
def all_flags(request: Request, me: Me, row: Row | None = None) -> list[FlagThread]:
    """Return the flags of everybody, or those of one row: open ones first, newest first."""
    study = study_of(request)
    with study.lock:
        flags = study.state().flags
        found = list(flags.known.values()) if row is None else flags.of_row(row)
    return [_thread(flag) for flag in sorted(found, key=lambda flag: (not flag.open, -flag.id))[:500]]


@router.get("/flags/mine")
def my_flags(request: Request, me: Me) -> list[FlagThread]:
    """Return my own flags with their answers, newest first."""
    study = study_of(request)
    with study.lock:
        return [_thread(flag) for flag in study.state().flags.of_person(me.name)[:100]]


@router.post("/flags", status_code=201)
def flag(request: Request, new: NewFlag, me: Me) -> FlagThread:
    """Ask the owners about a row that I was given; a flag of mine that is open gets another comment."""
    study = study_of(request)
    study.config.check_row(new.row)
    if not _reviews(me) and not was_given(study, new.row, me.name):
        raise NotYoursError(f"row {new.row} was not given to you")
    return _thread(study.flag(new.row, new.text, me.name))


@router.post("/flags/{flag}", status_code=201)
def reply(request: Request, flag: FlagNumber, said: FlagReply, me: Me) -> FlagThread:
    """Write into a thread, mine or as a reviewer anybody's; or resolve it."""
    study = study_of(request)
    with study.lock:
        known = study.state().flags.known.get(flag)
    if known is None or (known.who != me.name and not _reviews(me)):
        raise HTTPException(404, f"no flag of yours has the number {flag}")
    return _thread(study.answer_flag(flag, said.text, me.name, resolve=said.resolve))


class WorkedExample(BaseModel):
    """A row with its answer and why it is right, as annotators see it."""

    card: Card
    label: str
    why: str


@router.get("/examples", tags=["labelling"])
def examples(request: Request, me: Me) -> list[WorkedExample]:
    """Return the worked examples of the guidelines."""
    study = study_of(request)
    with study.lock:
        found = study.state().known.of_use(EXAMPLE)
    classes = study.config.classes
    return [
        WorkedExample(card=card(study, one.row), label=classes[one.label], why=one.why) for one in found[:20]
    ]
