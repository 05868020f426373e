"""fairask-studio: studies in which people label the rows that fairask chooses."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask_studio.errors import StudyError
    from fairask_studio.integrity import backup, verify, verify_certificate
    from fairask_studio.model import TableModel, load_model
    from fairask_studio.study import Study

__version__ = "0.3.0"

__all__ = [
    "Study",
    "StudyError",
    "TableModel",
    "backup",
    "load_model",
    "verify",
    "verify_certificate",
]

#: Where the names of this package are. They are imported when they are first used, so that the command line
#: does not wait for a database and a server that it may not need.
_HOMES = {
    "StudyError": "errors",
    **dict.fromkeys(("backup", "verify_certificate", "verify"), "integrity"),
    **dict.fromkeys(("TableModel", "load_model"), "model"),
    "Study": "study",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairask_studio' has no attribute {name!r}")
    # The name is one of ours, chosen at run time.
    found = globals()[name] = getattr(import_module(f"fairask_studio.{_HOMES[name]}"), name)
    return found
