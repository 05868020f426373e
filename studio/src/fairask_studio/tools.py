"""Tools outside the study where people label: links, rows that were sent, answers that came back.

A tool may tell the same answer many times, late and in any order. An answer has a reference (the tool's
number of it) and a version that grows with each change. What was taken, and of which version, is in the log:
telling it again changes nothing, whatever process is told and however often any of them is killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fairask_studio import events as happened
from fairask_studio.config import LONGEST_NOTE, check_person
from fairask_studio.errors import NotYoursError, StudyError
from fairask_studio.events import SKIP, Document, Event, Happening

if TYPE_CHECKING:
    from fairask_studio.state import State
    from fairask_studio.store.transaction import Transaction


@dataclass(frozen=True)
class TakenAnswer:
    """The last that was taken of one answer in a tool."""

    row: int
    who: str
    version: int
    code: int  #: -1 for a skip, else the position of the class
    gone: bool = False  #: deleted there, and withdrawn here


@dataclass(frozen=True)
class Refused:
    """An answer that was not taken."""

    link: str
    ref: str
    version: int
    row: int | None
    label: str | None
    who: str
    at: str
    reason: str
    full: bool = False  #: whether the row had all its answers


@dataclass
class Outside:
    """Links, rows that were sent by each, and answers by link and reference."""

    links: dict[str, happened.ToolLinked] = field(default_factory=dict)
    sent: dict[str, set[int]] = field(default_factory=dict)
    taken: dict[tuple[str, str], TakenAnswer] = field(default_factory=dict)
    refused: dict[tuple[str, str], Refused] = field(default_factory=dict)

    def apply(self, event: Event, what: Happening) -> None:
        """Take one event into account."""
        match what:
            case happened.ToolLinked():
                self.links[what.link] = what
            case happened.RowsSent(link=link, rows=rows):
                self.sent.setdefault(link, set()).update(rows)
            case happened.AnswerRefused(origin=origin):
                refused = Refused(
                    origin["link"], origin["ref"], origin["version"], what.row, what.label, event.who,
                    event.at, what.reason, bool(what.full),
                )  # fmt: skip
                self.refused[refused.link, refused.ref] = refused
            case happened.RowSkipped(row=row, origin=origin) if origin is not None:
                self._take(origin, TakenAnswer(row, event.who, origin["version"], SKIP))
            case (
                happened.RowLabelled(row=row, label=code, origin=origin)
                | happened.RowCorrected(row=row, label=code, origin=origin)
            ) if origin is not None:
                self._take(origin, TakenAnswer(row, event.who, origin["version"], code))
            case happened.AnswerWithdrawn(row=row, origin=origin):
                if origin is not None:
                    self._take(origin, TakenAnswer(row, event.who, origin["version"], SKIP, gone=True))
                # There is room again for an answer that came when the row was full.
                for key in [key for key, old in self.refused.items() if old.row == row and old.full]:
                    del self.refused[key]

    def _take(self, origin: Document, answer: TakenAnswer) -> None:
        key = (origin["link"], origin["ref"])
        self.taken[key] = answer
        self.refused.pop(key, None)


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


class AnswerReceiver:
    """Takes answers inside one transaction: each is taken, known already, or refused with a reason."""

    def __init__(
        self, turn: Transaction, state: State, link: str, codes: Mapping[int, str], done: Intake
    ) -> None:
        self.turn, self.state, self.link, self.codes, self.done = turn, state, link, codes, done
        # The state holds what was there when the transaction began; these are newer.
        self._taken: dict[str, TakenAnswer] = {}
        self._refused: dict[str, tuple[int, str | None]] = {}

    def take(self, answer: OutsideAnswer) -> None:
        """Take one answer into the log."""
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
        self.turn.append(before.who, happened.AnswerWithdrawn(before.row, self._origin(answer)))
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
            note, origin = answer.note[:LONGEST_NOTE] or None, self._origin(answer)
            skipped = happened.RowSkipped(row, note, origin)
            said_now = skipped if code == SKIP else happened.RowLabelled(row, code, note, origin)
            self.turn.append(who, said_now)
            self.done.new += 1
        elif before is None or answer.version <= before.version:
            raise StudyError(
                f"{who} has said {config.class_name(said)!r} about row {row}, and answer {answer.ref} "
                f"says {config.class_name(code)!r}"
            )
        else:
            self.turn.change_answer(row, who, code)
            changed = happened.RowCorrected(row, code, decides=False, origin=self._origin(answer))
            self.turn.append(who, changed)
            self.done.corrected += 1
        self._note(answer, TakenAnswer(row, who, answer.version, code))

    def _note(self, answer: OutsideAnswer, taken: TakenAnswer) -> None:
        self._taken[answer.ref] = taken
        self._refused.pop(answer.ref, None)

    def _refuse(self, answer: OutsideAnswer, reason: str, full: bool) -> None:
        who = answer.who if _can_be_name(answer.who) else self.link
        row = answer.row if isinstance(answer.row, int) else None
        refused = happened.AnswerRefused(self._origin(answer), reason[:500], row, answer.label, full or None)
        self.turn.append(who, refused)
        self._refused[answer.ref] = (answer.version, answer.label)
        self.done.refused.append(reason)


def _can_be_name(who: str) -> bool:
    try:
        check_person(who)
    except StudyError:
        return False
    return True
