"""Errors that say what is wrong and what to do, and warnings that can be filtered by category."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ConstantWarning",
    "FairaskWarning",
    "InfeasibleWarning",
    "InputWarning",
    "InterpolationWarning",
    "NotConvergedWarning",
    "SampleWarning",
    "UserError",
]


class UserError(ValueError):
    """Something that was given cannot be used.

    Every error that a user can cause and put right is of this class or a subclass. The command line prints
    ``what`` and ``remedy`` on two lines and exits with code 2; the studio shows them in the page.

    Parameters
    ----------
    what : str
        What is wrong: names the argument, file or column, and the value that was given.
    remedy : str
        What to do about it.

    Examples
    --------
    >>> error = UserError("no column 'gender'", "did you mean 'genre'?")
    >>> error.what, error.remedy
    ("no column 'gender'", "did you mean 'genre'?")
    >>> print(error)
    no column 'gender'; did you mean 'genre'?
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what, self.remedy = what, remedy

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str]]:
        return type(self), (self.what, self.remedy)


class TableError(UserError):
    """A file, or one of its columns, cannot be used.

    Examples
    --------
    >>> TableError("x.csv is empty", "Give a file with rows").remedy
    'Give a file with rows'
    """


class MissingExtra(UserError, ImportError):
    """Something needs an optional package that is not installed; the remedy names the extra.

    Examples
    --------
    >>> raise MissingExtra("strategy 'panda' needs PyTorch", "panda")
    Traceback (most recent call last):
    fairask.errors.MissingExtra: strategy 'panda' needs PyTorch; pip install 'fairask[panda]'
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, f"pip install 'fairask[{extra}]'")
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)


class FairaskWarning(UserWarning):
    """Base of all warnings that fairask emits."""


class ColumnWarning(FairaskWarning):
    """A column of a data frame was left out, because a model cannot learn from it."""


class ConstantWarning(FairaskWarning):
    """The model answers the same for everybody: within the tolerance, and of no use."""


class EmptyCellWarning(FairaskWarning):
    """A rate has no labelled weight, so it is unknown and unconstrained."""


class InputWarning(FairaskWarning):
    """Rows given to a model are unlike those it was fitted on, or lack what its decisions need."""


class InterpolationWarning(FairaskWarning):
    """The model reproduces its sample exactly, so the constraint on the sample has no effect."""


class InfeasibleWarning(FairaskWarning):
    """No classifier within the tolerance was found on the sample."""


class DisagreementWarning(FairaskWarning):
    """The labels alone contradict what the pool says of a gap."""


class NoDisagreementWarning(FairaskWarning):
    """The perturbed classifiers agree on the whole pool, so there is no disagreement to sample."""


class NotConvergedWarning(FairaskWarning):
    """The policy did not converge; it is used because ``unconverged='use'``."""


class SampleWarning(FairaskWarning):
    """The pool is a uniform sample of a larger table, or holds few rows of a rare group."""


#: Names that a hint lists: a table may have thousands of columns.
_NAMED = 40


def suggest(given: object, known: Iterable[str]) -> str:
    """Return a hint naming the nearest known name, or the known names.

    Examples
    --------
    >>> suggest("gender", ["sex", "genre"])
    "did you mean 'genre'?"
    >>> suggest("rate", ["Rate", "race"])
    "did you mean 'Rate'?"
    >>> suggest("x", (f"column {i}" for i in range(100, 200)))[-24:]
    ', column 139 and 60 more'
    """
    names = sorted(known)
    near = [name for name in names if name.casefold() == str(given).casefold()] or difflib.get_close_matches(
        str(given), names, n=1, cutoff=0.5
    )
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names[:_NAMED])}{more}"
