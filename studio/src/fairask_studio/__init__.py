"""fairask-studio: studies in which people label the rows that fairask chooses."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask.tables import read_table as read_pool
    from fairask_studio._errors import NotYoursError, StudyError
    from fairask_studio._reference import PoolReference, refer
    from fairask_studio._source import choose_pool, read_words
    from fairask_studio.config import ColumnInfo, Config
    from fairask_studio.exporting import export, load_model
    from fairask_studio.model import TableModel
    from fairask_studio.state import State
    from fairask_studio.store import People, Repair, Store
    from fairask_studio.study import Receipt, Study

__version__ = "0.2.0"

__all__ = [
    "ColumnInfo",
    "Config",
    "NotYoursError",
    "People",
    "PoolReference",
    "Receipt",
    "Repair",
    "State",
    "Store",
    "Study",
    "StudyError",
    "TableModel",
    "choose_pool",
    "export",
    "load_model",
    "read_pool",
    "read_words",
    "refer",
]

#: Where the names of this package are. They are imported when they are first used, so that the command line
#: does not wait for a database and a server that it may not need.
_HOMES = {
    "read_pool": ("fairask.tables", "read_table"),
    **dict.fromkeys(("NotYoursError", "StudyError"), ("fairask_studio._errors", None)),
    **dict.fromkeys(("PoolReference", "refer"), ("fairask_studio._reference", None)),
    **dict.fromkeys(("choose_pool", "read_words"), ("fairask_studio._source", None)),
    **dict.fromkeys(("ColumnInfo", "Config"), ("fairask_studio.config", None)),
    **dict.fromkeys(("export", "load_model"), ("fairask_studio.exporting", None)),
    "TableModel": ("fairask_studio.model", None),
    "State": ("fairask_studio.state", None),
    **dict.fromkeys(("People", "Repair", "Store"), ("fairask_studio.store", None)),
    **dict.fromkeys(("Receipt", "Study"), ("fairask_studio.study", None)),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairask_studio' has no attribute {name!r}")
    home, there = _HOMES[name]
    # The name is one of ours, chosen at run time.
    found = globals()[name] = getattr(import_module(home), there or name)
    return found
