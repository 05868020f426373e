"""Answers that people gave in another tool: each is checked like the study's own, then taken or refused.

A tool may tell the same answer many times, late and in any order. An answer has a reference (the tool's
number of it) and a version that grows with each change. What was taken, and of which version, is in the log:
telling it again changes nothing, whatever process is told and however often any of them is killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fairask.tables.sheets import check_code
from fairask_studio._errors import NotYoursError, StudyError
from fairask_studio.config import check_person
from fairask_studio.events import (
    SKIP,
    AnswerRefused,
    AnswerWithdrawn,
    Document,
    RowCorrected,
    RowLabelled,
    RowSkipped,
)
from fairask_studio.outside import TakenAnswer
from fairask_studio.state import State
from fairask_studio.store import Transaction
from fairask_studio.study import Study

#: Answers per transaction: other writers wait for one.
_CHUNK = 200
_LONGEST_NOTE = 2000


@dataclass(frozen=True)
class OutsideAnswer:
    """One person's answer to a row, as a tool tells it."""

    ref: str  #: the tool's number of the answer
    version: int  #: grows with each change of the answer
    row: int
    who: str
    label: str | None = None  #: None: the person cannot label the row
    check: str | None = None  #: the row's check code, as it came back
    note: str = ""
    gone: bool = False  #: the answer was deleted in the tool


@dataclass
class Intake:
    """What became of answers: new, known already, corrected, withdrawn, or refused with a reason."""

    new: int = 0
    known: int = 0
    corrected: int = 0
    withdrawn: int = 0
    refused: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """Return the number of each."""
        return {**vars(self), "refused": len(self.refused)}


def row_codes(study: Study, rows: Iterable[int]) -> dict[int, str]:
    """Return the check codes of drawn rows, which come back with answers.

    A code follows from the study and the row's number. It is made of no cell, so it says nothing of the
    protected attribute.
    """
    with study.lock:
        state = study.state()
        made = {"study": f"{state.created} {state.config.pool_sha256}"}
        return {row: check_code(row, made) for row in rows if row in state.log.position}


def receive(study: Study, link: str, answers: Iterable[OutsideAnswer]) -> Intake:
    """Take answers of a linked tool into the log: each is taken, known already, or refused with a reason.

    Examples
    --------
    >>> import tempfile
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> with Study.create(tempfile.mkdtemp() + "/loans", pool, protected="sex", random_state=0) as study:
    ...     row = study.draw(1).indices.tolist()[0]
    ...     answer = OutsideAnswer("17", 1, row, "ada", "1", row_codes(study, [row])[row])
    ...     receive(study, "tool", [answer, answer]).counts()
    {'new': 1, 'known': 1, 'corrected': 0, 'withdrawn': 0, 'refused': 0}
    """
    waiting, done = list(answers), Intake()
    for start in range(0, len(waiting), _CHUNK):
        part = waiting[start : start + _CHUNK]
        codes = row_codes(study, {answer.row for answer in part})
        with study.turn() as (turn, state):
            desk = _Desk(turn, state, link, codes, done)
            for answer in part:
                desk.take(answer)
    return done


class _Desk:
    """Takes answers inside one transaction."""

    def __init__(
        self, turn: Transaction, state: State, link: str, codes: Mapping[int, str], done: Intake
    ) -> None:
        self.turn, self.state, self.link, self.codes, self.done = turn, state, link, codes, done
        # The state holds what was there when the transaction began; these are newer.
        self._taken: dict[str, TakenAnswer] = {}
        self._refused: dict[str, tuple[int, str | None]] = {}

    def take(self, answer: OutsideAnswer) -> None:
        before = self._taken.get(answer.ref) or self.state.outside.taken.get((self.link, answer.ref))
        late = before is not None and not answer.gone and answer.version < before.version
        if late or (before is not None and before.gone):
            self.done.known += 1
        elif answer.gone:
            self._withdraw(answer, before)
        elif self._was_refused(answer):
            self.done.known += 1
        else:
            try:
                self._book(answer, before)
            except StudyError as error:
                self._refuse(answer, str(error), isinstance(error, NotYoursError))

    def _origin(self, answer: OutsideAnswer) -> Document:
        return {"link": self.link, "ref": answer.ref, "version": answer.version}

    def _was_refused(self, answer: OutsideAnswer) -> bool:
        old = self.state.outside.refused.get((self.link, answer.ref))
        said = self._refused.get(answer.ref) or (None if old is None else (old.version, old.label))
        return said is not None and (answer.version < said[0] or (answer.version, answer.label) == said)

    def _withdraw(self, answer: OutsideAnswer, before: TakenAnswer | None) -> None:
        if before is None or not self.turn.answers_of(before.who, [before.row]):
            self.done.known += 1  # it was never taken, or withdrawn in the study
            return
        self.turn.open_again([(before.row, before.who)])
        self.turn.append(before.who, AnswerWithdrawn(before.row, self._origin(answer)))
        self._note(answer, replace(before, version=answer.version, gone=True))
        self.done.withdrawn += 1

    def _book(self, answer: OutsideAnswer, before: TakenAnswer | None) -> None:
        config, row, who = self.state.config, answer.row, check_person(answer.who)
        config.check_row(row)
        if row not in self.codes:
            raise StudyError(f"row {row} was never asked for")
        if answer.check != self.codes[row]:
            raise StudyError(
                f"the check code of row {row} is {answer.check!r} and not that of this study's row: the "
                "task was changed, or belongs to another study"
            )
        code = SKIP if answer.label is None else config.class_code(answer.label, row)
        if before is not None and (before.row, before.who) != (row, who):
            raise StudyError(
                f"answer {answer.ref} was {before.who}'s of row {before.row} before and is {who}'s of row "
                f"{row} now"
            )
        said = self.turn.answers_of(who, [row]).get(row)
        # The same version again: whatever the study has done with the answer since then stays.
        told_before = before is not None and (answer.version, code) == (before.version, before.code)
        if said == code or told_before:
            self.done.known += 1
            return
        if said is None:
            self.turn.answer(row, who, code)
            note, origin = answer.note[:_LONGEST_NOTE] or None, self._origin(answer)
            happened = RowSkipped(row, note, origin) if code == SKIP else RowLabelled(row, code, note, origin)
            self.turn.append(who, happened)
            self.done.new += 1
        elif before is None or answer.version <= before.version:
            raise StudyError(
                f"{who} has said {config.class_name(said)!r} about row {row}, and answer {answer.ref} "
                f"says {config.class_name(code)!r}"
            )
        else:
            self.turn.change_answer(row, who, code)
            self.turn.append(who, RowCorrected(row, code, decides=False, origin=self._origin(answer)))
            self.done.corrected += 1
        self._note(answer, TakenAnswer(row, who, answer.version, code))

    def _note(self, answer: OutsideAnswer, taken: TakenAnswer) -> None:
        self._taken[answer.ref] = taken
        self._refused.pop(answer.ref, None)

    def _refuse(self, answer: OutsideAnswer, reason: str, full: bool) -> None:
        who = answer.who if _can_be_name(answer.who) else self.link
        row = answer.row if isinstance(answer.row, int) else None
        refused = AnswerRefused(self._origin(answer), reason[:500], row, answer.label, full or None)
        self.turn.append(who, refused)
        self._refused[answer.ref] = (answer.version, answer.label)
        self.done.refused.append(reason)


def _can_be_name(who: str) -> bool:
    try:
        check_person(who)
    except StudyError:
        return False
    return True
