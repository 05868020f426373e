"""Limits on one person: rows skipped, answers in a minute, wrong answers to gold rows.

They hold in the studio. What was answered is kept; an owner is warned by an event, and may reopen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairask_studio._errors import StudyError
from fairask_studio.events import LimitReached
from fairask_studio.known import gold_figures
from fairask_studio.state import State
from fairask_studio.times import now

if TYPE_CHECKING:
    from fairask_studio.study import Study

#: The owners are warned of the same person and limit once in so many seconds.
_SILENCE = 3600.0


def check_skips(study: Study, who: str) -> None:
    """Raise StudyError, and warn the owners, if this person may skip no more rows."""
    with study.lock:
        state = study.state()
        most, skips = state.config.most_skips, state.skips[who]
    if most and skips >= most:
        _warn(study, "skips", who, skips)
        raise StudyError(
            f"you have skipped {skips} rows, which is the most in this study",
            "Label this row, or ask an owner of the study",
        )


def is_too_fast(study: Study, who: str) -> bool:
    """Whether this person has given as many answers in a minute as the study allows; warn the owners then."""
    with study.lock:
        state = study.state()
        most, minute, count = state.config.most_per_minute, now(-60.0), 0
        if most:
            for row in reversed(state.recent.get(who, {})):
                if state.answers[row][who].at < minute or count == most:
                    break
                count += 1
    if not most or count < most:
        return False
    _warn(study, "pace", who, count)
    return True


def check_gold(study: Study, who: str) -> None:
    """Warn the owners if this person answers too few gold rows rightly."""
    with study.lock:
        found = gold_figures(study.state(), who)
    if found is not None and found["below"]:
        _warn(study, "gold", who, found["asked"] - found["right"])


def _warn(study: Study, what: str, who: str, count: int) -> None:
    with study.lock:
        known = _warned(study.state(), what, who)
    if not known:
        with study.turn() as (turn, state):
            if not _warned(state, what, who):
                turn.append("fairask", LimitReached(what, who, count))


def _warned(state: State, what: str, who: str) -> bool:
    last = now(-_SILENCE)
    return any(at > last and (past.what, past.name) == (what, who) for at, past in state.warned)
