"""Rows whose answer is known: worked examples, practice for new people, gold rows among the others.

None of it is a label. Answers to such rows are events of their own. They never reach the draw log, so they do
not train, do not count against the budget, and change neither a draw nor a propensity. A known row may still
be drawn like any other, and is then answered like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairask.audit.bounds.proportions import wilson
from fairask_studio import events as happened
from fairask_studio.config import Config
from fairask_studio.errors import StudyError
from fairask_studio.events import SKIP, Document, Event, Happening

if TYPE_CHECKING:
    from fairask_studio.state import State

EXAMPLE, PRACTICE, GOLD = "example", "practice", "gold"
#: What a known row is for: shown in the guidelines; asked of new people, who are then told; mixed in unsaid.
USES = (EXAMPLE, PRACTICE, GOLD)
#: Known rows of a study, and characters of an explanation.
MOST_KNOWN, _LONGEST = 5000, 2000
#: Gold rows that a person has answered before a warning is worth it; the interval beside their share: 95 %.
_FEWEST, _Z = 10, 1.959964


@dataclass(frozen=True)
class KnownRow:
    """A row with its answer, what it is for, and why the answer is right."""

    row: int
    label: int  #: position of the class
    use: str
    why: str = ""


@dataclass(frozen=True)
class KnownAnswer:
    """What a person said about a known row."""

    code: int
    at: str
    use: str  #: what the row was for when it was asked
    number: int  #: of a gold row: the place among the person's answers that it stands for


@dataclass
class KnownRows:
    """Known rows, and the answers of each person to them, latest last."""

    rows: dict[int, KnownRow] = field(default_factory=dict)
    answers: dict[str, dict[int, KnownAnswer]] = field(default_factory=dict)

    def apply(self, event: Event, what: Happening) -> None:
        """Take one event into account."""
        match what:
            case happened.KnownMarked():
                columns = (what.rows, what.labels, what.uses, what.reasons)
                for row, label, use, why in zip(*columns, strict=True):
                    self.rows[row] = KnownRow(row, label, use, why)
            case happened.KnownRemoved(rows=rows):
                for row in rows:
                    del self.rows[row]
            case happened.KnownAnswered(row=row, label=None):
                del self.answers[event.who][row]
            case happened.KnownAnswered(row=row, label=int(code), use=use, number=number):
                self.answers.setdefault(event.who, {})[row] = KnownAnswer(code, event.at, use, number)

    def count(self, who: str, use: str = GOLD) -> int:
        """Count a person's answers to gold rows, or to rows of another use."""
        return sum(answer.use == use for answer in self.answers.get(who, {}).values())

    def of_use(self, use: str) -> list[KnownRow]:
        """Return the rows of one use, in the order in which they were marked."""
        return [known for known in self.rows.values() if known.use == use]

    def practice(self, who: str, given: int) -> list[KnownRow]:
        """Return the practice rows left for a person who has given so many answers; none after the first."""
        mine = self.answers.get(who, {})
        return [] if given else [known for known in self.of_use(PRACTICE) if known.row not in mine]


def gold_due(state: State, who: str, held: Sequence[int] = ()) -> KnownRow | None:
    """Return the gold row that is due for a person, not one of those held; the same one until it is answered.

    Of each ``gold_every`` answers of a person one is to a gold row. Its place among them follows from the
    study's seed, the person and the number of the answer, so that nobody can foresee it.
    """
    if gold_place(state, who) is None:
        return None
    mine = state.known.answers.get(who, {})
    left = [
        gold
        for gold in state.known.of_use(GOLD)
        if gold.row not in mine and gold.row not in held and who not in state.answers.get(gold.row, {})
    ]
    return min(left, key=lambda gold: _spread(state.config, who, f"row {gold.row}"), default=None)


def gold_place(state: State, who: str) -> int | None:
    """Return the place among a person's answers at which a gold row is due now; None if none is due."""
    every = state.config.gold_every
    if not every:
        return None
    number = state.by[who] + state.known.count(who)
    block, place = divmod(number, every)
    mine = state.known.answers.get(who, {}).values()
    asked = {answer.number // every for answer in mine if answer.use == GOLD}
    if block > 0 and block - 1 not in asked:
        return block * every - 1  # it is late: others were answered while it waited
    return None if block in asked or place < _spread(state.config, who, block) % every else number


def _spread(config: Config, who: str, what: object) -> int:
    text = f"{config.learner.random_state} {who} {what}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def due_row(state: State, who: str, row: int) -> KnownRow | None:
    """Return the known row that this person may answer now, if it is this one."""
    practice = state.known.practice(who, state.by[who])
    for known in practice[:1]:
        if known.row == row:
            return known
    found = state.known.rows.get(row)
    # Any gold row while one is due: rows that were marked meanwhile may have changed which one is next.
    return found if found is not None and found.use == GOLD and gold_due(state, who) is not None else None


def check_known(config: Config, known: KnownRow) -> None:
    """Raise StudyError unless the row can be marked."""
    config.check_row(known.row)
    if known.label not in (0, 1):
        raise StudyError(f"the answer to row {known.row} is not one of {list(config.classes)}")
    if known.use not in USES:
        raise StudyError(f"use {known.use!r} of row {known.row} is unknown; known: {', '.join(USES)}")
    if len(known.why) > _LONGEST:
        raise StudyError(
            f"the explanation of row {known.row} has {len(known.why):,} characters; {_LONGEST:,} at most"
        )


def gold_figures(state: State, who: str) -> Document | None:
    """Return how many gold rows a person answered rightly, with a 95 % interval; None before any.

    ``below`` says that the share is under the study's limit, after ten answers or more. Skipped gold rows are
    counted apart.
    """
    answers = [
        (answer.code, state.known.rows[row].label)
        for row, answer in state.known.answers.get(who, {}).items()
        if answer.use == GOLD and row in state.known.rows
    ]
    labels = [(code, label) for code, label in answers if code != SKIP]
    right, asked = sum(code == label for code, label in labels), len(labels)
    if not answers:
        return None
    low, high = wilson(right, asked, _Z) if asked else (0.0, 1.0)
    least = state.config.gold_least / 100
    return {
        "right": right,
        "asked": asked,
        "skipped": len(answers) - asked,
        "low": float(low),
        "high": float(high),
        "below": asked >= _FEWEST and right < least * asked,
    }
