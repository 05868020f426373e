"""Warnings and error helpers: every warning of this package can be filtered by its category."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "EmptyCellWarning",
    "FairaskWarning",
    "InfeasibleWarning",
    "InterpolationWarning",
    "NoDisagreementWarning",
    "NotConvergedWarning",
]


class FairaskWarning(UserWarning):
    """Base of all warnings that fairask emits."""


class EmptyCellWarning(FairaskWarning):
    """A (group, label) cell holds no labelled weight, so its rate is unknown and unconstrained."""


class InterpolationWarning(FairaskWarning):
    """The model reproduces its sample exactly, so the in-sample constraint binds nothing."""


class InfeasibleWarning(FairaskWarning):
    """No classifier within the tolerance was found on the sample."""


class NoDisagreementWarning(FairaskWarning):
    """The perturbed classifiers agree on the whole pool, so there is no disagreement to sample."""


class NotConvergedWarning(FairaskWarning):
    """A strategy that learns how to choose has not learned to, and chooses all the same, as told."""


def suggest(given: object, known: Iterable[str]) -> str:
    """Return a hint naming the nearest known name, or the known names.

    Examples
    --------
    >>> suggest("gender", ["sex", "genre"])
    "did you mean 'genre'?"
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
