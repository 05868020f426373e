"""What can go wrong with a study."""

from __future__ import annotations

from fairask.errors import UserError

__all__ = ["NotYoursError", "StudyError"]

_NOTHING_CHANGED = "Nothing was changed; see --help for what is accepted"


class StudyError(UserError):
    """The study cannot be made, opened or changed as asked.

    Examples
    --------
    >>> error = StudyError("no column 'gender'; did you mean 'genre'?")
    >>> error.what, error.remedy
    ("no column 'gender'", "did you mean 'genre'?")
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        said, _, rest = what.partition("; ")
        super().__init__(said, remedy or rest or _NOTHING_CHANGED)

    def __str__(self) -> str:
        return self.what if self.remedy == _NOTHING_CHANGED else super().__str__()


class NotYoursError(StudyError):
    """This person may not answer the row: never handed out, lease ended, or answered in full."""
