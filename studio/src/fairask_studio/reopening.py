"""Owners ask for rows again: rows that were skipped, or all answers of a person in some time.

Answers are taken out by an event that names each of them. They no longer count, their rows are free again,
and another event gives them back. The model is fitted anew when labels were among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairask_studio._audit import AUDIT
from fairask_studio._errors import StudyError
from fairask_studio.config import check_person
from fairask_studio.events import SKIP, AnswersReopened, AnswersRestored
from fairask_studio.state import State
from fairask_studio.times import utc

if TYPE_CHECKING:
    from fairask_studio.study import Study


@dataclass(frozen=True)
class AnswerFilter:
    """Which answers are meant: one person's or everybody's, of some time, all of them or only skips.

    Examples
    --------
    >>> AnswerFilter(name="bob", since="2026-11-15").since
    '2026-11-15T00:00:00.000Z'
    """

    name: str | None = None
    since: str | None = None
    until: str | None = None
    skips: bool = False

    def __post_init__(self) -> None:
        for bound in ("since", "until"):
            text = vars(self)[bound]
            if text is not None:
                object.__setattr__(self, bound, utc(text))
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise StudyError(f"the time ends at {self.until}, before it begins at {self.since}")
        if self.name is None and not self.skips:
            raise StudyError("whose answers?", "Name a person, or ask for skipped rows only")

    def find(self, state: State) -> list[tuple[int, str]]:
        """Return row and person of each answer that is meant. Rows that an owner decided keep theirs."""
        return [
            (row, who)
            for row, given in state.answers.items()
            for who, answer in given.items()
            if self.name in (None, who)
            and (answer.code == SKIP or not self.skips)
            and (self.since is None or answer.at >= self.since)
            and (self.until is None or answer.at < self.until)
            and row not in state.decided
        ]


@dataclass(frozen=True)
class Reopened:
    """What was reopened; ``event`` is its number, by which it can be given back, None if nothing was."""

    event: int | None
    answers: int
    labels: int  #: answers that were labels, and not skips


@dataclass(frozen=True)
class Restored:
    """How many answers were given back; ``taken`` are those whose rows others have answered meanwhile."""

    answers: int
    taken: int


def reopen(study: Study, wanted: AnswerFilter, who: str = "owner", *, look: bool = False) -> Reopened:
    """Take answers away, and ask for their rows again. With ``look`` only count them.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> with Study.create(tempfile.mkdtemp() + "/loans", pool, protected="sex") as study:
    ...     _ = study.skip(study.ask(3, who="bob"), who="bob")
    ...     reopen(study, AnswerFilter(skips=True)).answers, study.status()["skipped"]
    (3, 0)
    """
    check_person(who)
    with study.turn() as (turn, state):
        found = wanted.find(state)
        labels = [row for row, name in found if state.answers[row][name].code != SKIP]
        _check_audit(state, labels)
        if found and not look:
            turn.open_again(found)
            turn.append(
                who, AnswersReopened(found, wanted.name, wanted.since, wanted.until, wanted.skips or None)
            )
        return Reopened(turn.last, len(found), len(labels))


def give_back(study: Study, event: int, who: str = "owner") -> Restored:
    """Give the answers back that event ``event`` took away, where nobody else has answered meanwhile."""
    check_person(who)
    with study.turn() as (turn, state):
        taken = state.reopened.get(event)
        if not taken:
            known = [number for number, answers in state.reopened.items() if answers]
            raise StudyError(f"event {event} reopened nothing that could be given back; known: {known}")
        _check_audit(state, [row for (row, _), answer in taken.items() if answer.code != SKIP])
        back = [(row, name) for (row, name), a in taken.items() if turn.put_back(row, name, a.code)]
        if back:
            turn.append(who, AnswersRestored(event, back))
        return Restored(len(back), len(taken) - len(back))


def _check_audit(state: State, rows: list[int]) -> None:
    """Raise if an audit under way counts on the labels of these rows."""
    if state.audit is None:
        return
    entries = [state.log.entries[state.log.position[row]] for row in rows]
    known = [e.index for e in entries if e.component != AUDIT or e.batch < state.audit.batch]
    if known:
        raise StudyError(
            f"the audit under way counts on {len(known)} of these labels, row {known[0]} for example",
            "End the audit first",
        )
