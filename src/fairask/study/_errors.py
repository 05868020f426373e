"""What can go wrong with a study, beyond wrong arguments."""

from __future__ import annotations

__all__ = ["NotYoursError", "StudyError"]


class StudyError(ValueError):
    """The study cannot be made, opened or changed as asked; the message says what is wrong; what to do.

    Examples
    --------
    >>> error = StudyError("no column 'gender'; did you mean 'genre'?")
    >>> error.what, error.todo
    ("no column 'gender'", "did you mean 'genre'?")
    """

    @property
    def what(self) -> str:
        """What is wrong."""
        return str(self).partition("; ")[0]

    @property
    def todo(self) -> str:
        """What to do about it."""
        return str(self).partition("; ")[2] or "Nothing was changed; see --help for what is accepted"


class NotYoursError(StudyError):
    """A row is not this person's to answer: never handed out, lease run out, or answered in full."""
