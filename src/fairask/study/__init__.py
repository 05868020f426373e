"""Studies: a fair active learner on an append-only log, for a folder or a PostgreSQL database."""

try:
    from fairask.data import read_table as read_pool
    from fairask.study._errors import NotYoursError, StudyError
    from fairask.study._reference import PoolReference, refer
    from fairask.study._source import choose_pool, read_words
    from fairask.study.config import ColumnInfo, Config
    from fairask.study.exporting import export, load_model
    from fairask.study.model import TableModel
    from fairask.study.state import State
    from fairask.study.store import People, Repair, Store
    from fairask.study.study import Receipt, Study
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    message = f"studies need {error.name}: pip install 'fairask[studio]'"
    raise ModuleNotFoundError(message, name=error.name) from error

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
