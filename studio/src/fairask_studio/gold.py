"""Rows whose answer is known: worked examples, practice for new people, gold rows among the others.

None of it is a label. Answers to such rows are events of their own. They never reach the draw log, so they do
not train, do not count against the budget, and change neither a draw nor a propensity. A known row may still
be drawn like any other, and is then answered like any other.

Nothing that an annotator is sent, and no refusal, differs between a gold row and a drawn one: each has its
place among the rows that come next, keeps its note, counts in the bar, and against the limits on skips and
pace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairask.audit.bounds.proportions import wilson
from fairask.people import LabelError, People, TooFewGold
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
#: How many rows a person is given ahead, at most; and how many gold rows may be late.
MOST_AHEAD, _MOST_LATE = 10, 5
#: Gold rows that a person has answered before a warning is worth it; the interval beside their share: 95 %.
_FEWEST, _Z = 10, 1.959964
#: Gold rows of each group and label from which an audit takes what they say of wrong labels.
FEWEST_GOLD = 20


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
    note: str = ""


@dataclass
class KnownRows:
    """Known rows, and the answers of each person to them, latest last."""

    rows: dict[int, KnownRow] = field(default_factory=dict)
    marked: dict[int, int] = field(default_factory=dict)  #: the event that first marked each of them
    answers: dict[str, dict[int, KnownAnswer]] = field(default_factory=dict)

    def apply(self, event: Event, what: Happening) -> None:
        """Take one event into account."""
        match what:
            case happened.KnownMarked():
                columns = (what.rows, what.labels, what.uses, what.reasons)
                for row, label, use, why in zip(*columns, strict=True):
                    self.rows[row] = KnownRow(row, label, use, why)
                    self.marked.setdefault(row, event.id)
            case happened.KnownRemoved(rows=rows):
                for row in rows:
                    del self.rows[row], self.marked[row]
            case happened.KnownAnswered(row=row, label=None):
                del self.answers[event.who][row]
            case happened.KnownAnswered(row=row, label=int(code), use=use, number=number, note=note):
                mine = self.answers.setdefault(event.who, {})
                given = KnownAnswer(code, event.at, use, number, note or "")
                # A correction keeps time and note, as that of a label does.
                mine[row] = replace(mine[row], code=code) if row in mine else given

    def count(self, who: str) -> int:
        """Count a person's answers to gold rows."""
        return sum(answer.use == GOLD for answer in self.answers.get(who, {}).values())

    def skips(self, who: str) -> int:
        """Count the gold rows that a person skipped."""
        mine = self.answers.get(who, {}).values()
        return sum(answer.use == GOLD and answer.code == SKIP for answer in mine)

    def of_use(self, use: str) -> list[KnownRow]:
        """Return the rows of one use, in the order in which they were marked."""
        return [known for known in self.rows.values() if known.use == use]

    def practice(self, who: str, given: int) -> list[KnownRow]:
        """Return the practice rows left for a person who has given so many answers; none after the first."""
        mine = self.answers.get(who, {})
        return [] if given else [known for known in self.of_use(PRACTICE) if known.row not in mine]


def gold_ahead(state: State, who: str, held: Sequence[int], count: int) -> dict[int, tuple[KnownRow, int]]:
    """Return which of a person's next rows are gold: by how many rows come before, row and place.

    Of each ``gold_every`` rows of a person one is a gold row. Its place follows from the study's seed, the
    person and how many drawn rows come before, so that nobody can foresee it, and it stays where it is in
    whatever order the rows are answered. Which rows come follows from the log alone: the same ones until they
    are answered, whatever is marked meanwhile. ``held`` are the drawn rows that the person holds, in order.
    """
    every, known, found = state.config.gold_every, state.known, dict[int, tuple[KnownRow, int]]()
    mine = known.answers.get(who, {})
    left = [
        gold
        for gold in known.of_use(GOLD)
        if every
        and gold.row not in mine
        and gold.row not in held
        and who not in state.answers.get(gold.row, {})
    ]
    left.sort(key=lambda gold: (known.marked[gold.row], _spread(state.config, who, f"row {gold.row}")))
    asked = {answer.number // every for answer in mine.values() if answer.use == GOLD} if left else set()
    ranks = iter(_ranks(state, who, held, count)) if left else iter(())
    rank = next(ranks, None)
    for ahead in range(count):
        if rank is None or not left:
            break
        block, place = divmod(rank, every - 1)
        # Late ones come first: others were answered while they waited. Of rows marked late, only one is.
        oldest = max(block - _MOST_LATE, min(asked, default=block - 1), 0)
        late = [number for number in range(oldest, block) if number not in asked]
        if late:
            block = late[0]
        elif block in asked or place < _spread(state.config, who, block) % every:
            rank = next(ranks)
            continue
        asked.add(block)
        found[ahead] = left.pop(0), block * every + _spread(state.config, who, block) % every
    return found


def _ranks(state: State, who: str, held: Sequence[int], count: int) -> list[int]:
    """Return how many drawn rows a person was given before each of those held, and before later ones."""
    position = state.log.position
    answered = [position[row] for row in state.recent.get(who, {})]
    ranks = [
        i + len(answered) - sum(place > position[row] for place in answered)
        for i, row in enumerate(held[:count])
    ]
    return ranks + [len(answered) + len(held) + i for i in range(count + 1 - len(ranks))]


def _spread(config: Config, who: str, what: object) -> int:
    text = f"{config.learner.random_state} {who} {what}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def due_row(state: State, who: str, row: int, held: Sequence[int]) -> tuple[KnownRow, int] | None:
    """Return the known row that this person may answer now, and its place, if it is this one.

    No other gold row: whoever tried rows one after the other would learn which are gold.
    """
    for known in state.known.practice(who, state.by[who])[:1]:
        if known.row == row:
            return known, 0
    # What the person holds may have changed since the row was shown.
    for rows in (held, ()):
        for gold, place in gold_ahead(state, who, rows, MOST_AHEAD).values():
            if gold.row == row:
                return gold, place
    return None


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


def crew_of(state: State, groups: Sequence[object] | NDArray[np.object_]) -> People | None:
    """Return what answers and gold rows say of people's errors; None before any answer.

    ``groups`` is the group of each row of the pool. What an owner decided is no gold row: such rows were
    chosen for the answers that they had.
    """
    gold = {known.row: known.label for known in state.known.of_use(GOLD)}
    lines = [
        (row, who, answer.code, answer.at)
        for row, given in state.answers.items()
        for who, answer in given.items()
        if answer.code != SKIP
    ]
    lines += [
        (row, who, answer.code, answer.at)
        for who, mine in state.known.answers.items()
        for row, answer in mine.items()
        if answer.use == GOLD and answer.code != SKIP and row in gold
    ]
    if not lines:
        return None
    row, person, codes, at = (list(column) for column in zip(*lines, strict=True))
    names = dict(enumerate(state.config.classes))
    table = {
        "row": row,
        "person": person,
        "answer": [names[code] for code in codes],
        "group": [str(groups[r]) for r in row],
        "truth": [names[gold[r]] if r in gold else None for r in row],
        "at": [datetime.fromisoformat(moment).timestamp() for moment in at],
    }
    return People.from_answers(table, classes=(names[0], names[1]))


def crew_label_errors(state: State, crew: People | None) -> dict[Any, LabelError] | None:
    """Return how often labels are wrong; None where gold rows are too few to say it.

    Raises UserError where gold rows forbid to take labels as right, and do not say how often they are wrong.
    """
    if crew is None:
        return None
    settled = not any(state.is_tied(row) for row in state.answers)
    try:
        found = crew.label_errors(state.config.overlap, settled=settled)
    except TooFewGold:
        return None
    return found if min(min(error.rows) for error in found.values()) >= FEWEST_GOLD else None


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
