"""Rows whose answer is known: worked examples, practice for new people, gold rows among the others.

None of it is a label. Answers to such rows are events of their own. They never reach the draw log, so they do
not train, do not count against the budget, and change neither a draw nor a propensity. A known row may still
be drawn like any other, and is then answered like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING

from fairask.audit.bounds.proportions import wilson
from fairask_studio import events as happened
from fairask_studio._errors import NotYoursError, StudyError
from fairask_studio.config import Config, check_person
from fairask_studio.events import SKIP, Document, Event, Happening

if TYPE_CHECKING:
    from fairask_studio.state import State
    from fairask_studio.study import Study

EXAMPLE, PRACTICE, GOLD = "example", "practice", "gold"
#: What a known row is for: shown in the guidelines; asked of new people, who are then told; mixed in unsaid.
USES = (EXAMPLE, PRACTICE, GOLD)
#: Known rows of a study, and characters of an explanation.
_MOST, _LONGEST = 5000, 2000
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

    def to_data(self) -> Document:
        """Return plain values for a snapshot."""
        return {
            "rows": [astuple(known) for known in self.rows.values()],
            "answers": [
                [who, row, *astuple(answer)]
                for who, mine in self.answers.items()
                for row, answer in mine.items()
            ],
        }

    @classmethod
    def from_data(cls, data: Document) -> KnownRows:
        """Rebuild from :meth:`to_data`."""
        known = cls({row: KnownRow(row, *rest) for row, *rest in data["rows"]})
        for who, row, *rest in data["answers"]:
            known.answers.setdefault(who, {})[row] = KnownAnswer(*rest)
        return known


def gold_due(state: State, who: str, held: Sequence[int] = ()) -> KnownRow | None:
    """Return the gold row that is due for a person, not one of those held; the same one until it is answered.

    Of each ``gold_every`` answers of a person one is to a gold row. Its place among them follows from the
    study's seed, the person and the number of the answer, so that nobody can foresee it.
    """
    if _gold_place(state, who) is None:
        return None
    mine = state.known.answers.get(who, {})
    left = [
        gold
        for gold in state.known.of_use(GOLD)
        if gold.row not in mine and gold.row not in held and who not in state.answers.get(gold.row, {})
    ]
    return min(left, key=lambda gold: _spread(state.config, who, f"row {gold.row}"), default=None)


def _gold_place(state: State, who: str) -> int | None:
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


def answer_known(study: Study, row: int, code: int | None, who: str) -> KnownRow:
    """Record a person's answer to a known row that is due or was answered before; None takes it back."""
    check_person(who)
    with study.turn() as (turn, state):
        before = state.known.answers.get(who, {}).get(row)
        due = None if before is not None else due_row(state, who, row)
        if before is None and due is None:
            raise NotYoursError(
                f"row {row} was not given to you, or is with somebody else; load the page again"
            )
        use = before.use if before is not None else due.use if due is not None else GOLD
        known = state.known.rows.get(row) or KnownRow(row, SKIP, use)
        place = _gold_place(state, who) if before is None and use == GOLD else None
        number = before.number if before is not None else place or 0
        if before is None or before.code != code:
            turn.append(who, happened.KnownAnswered(row, code, use, number))
    return known


def mark_known(study: Study, rows: Sequence[KnownRow], who: str = "owner") -> int:
    """Mark rows with their answers; a row that is marked already is marked anew. All of them, or none.

    Returns the number of known rows.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> with Study.create(tempfile.mkdtemp() + "/loans", pool, protected="sex") as study:
    ...     mark_known(study, [KnownRow(2, 1, "gold"), KnownRow(3, 0, "example", "Too old.")])
    2
    """
    check_person(who)
    seen: set[int] = set()
    for known in rows:
        _check(study.config, known)
        if known.row in seen:
            raise StudyError(f"row {known.row} is marked more than once")
        seen.add(known.row)
    if not rows:
        raise StudyError("no row to mark")
    with study.turn() as (turn, state):
        if len(seen | state.known.rows.keys()) > _MOST:
            raise StudyError(f"more than {_MOST:,} rows with known answers")
        columns = zip(*(astuple(known) for known in rows), strict=True)
        turn.append(who, happened.KnownMarked(*(list(column) for column in columns)))
    with study.lock:
        return len(study.state().known.rows)


def _check(config: Config, known: KnownRow) -> None:
    config.check_row(known.row)
    if known.label not in (0, 1):
        raise StudyError(f"the answer to row {known.row} is not one of {list(config.classes)}")
    if known.use not in USES:
        raise StudyError(f"use {known.use!r} of row {known.row} is unknown; known: {', '.join(USES)}")
    if len(known.why) > _LONGEST:
        raise StudyError(
            f"the explanation of row {known.row} has {len(known.why):,} characters; {_LONGEST:,} at most"
        )


def unmark_known(study: Study, rows: Sequence[int], who: str = "owner") -> int:
    """Take marks away; answers to these rows stay in the log. Returns the number of known rows left."""
    check_person(who)
    with study.turn() as (turn, state):
        for row in rows:
            if row not in state.known.rows:
                raise StudyError(f"row {row} has no known answer")
        if rows:
            turn.append(who, happened.KnownRemoved(sorted(set(rows))))
    with study.lock:
        return len(study.state().known.rows)


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
