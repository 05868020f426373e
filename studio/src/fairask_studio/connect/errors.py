"""What can go wrong between a study and a tool, and will pass."""

from __future__ import annotations


class ToolUnreachable(Exception):
    """The tool cannot be reached now, or asks to be left alone for a while; the same is tried again later.

    What will not pass (a wrong token, a project that is gone) is a :class:`fairask.errors.UserError`.
    """

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.wait = wait  #: seconds that the tool asked for
