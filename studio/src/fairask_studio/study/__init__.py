"""Studies: a fair active learner on an append-only log, for a folder or a PostgreSQL database."""

try:
    from fairask.tables import read_table as read_pool
    from fairask_studio.study._errors import NotYoursError, StudyError
    from fairask_studio.study._reference import PoolReference, refer
    from fairask_studio.study._source import choose_pool, read_words
    from fairask_studio.study.config import ColumnInfo, Config
    from fairask_studio.study.exporting import export, load_model
    from fairask_studio.study.model import TableModel
    from fairask_studio.study.state import State
    from fairask_studio.study.store import People, Repair, Store
    from fairask_studio.study.study import Receipt, Study
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    message = f"studies need {error.name}: pip install 'fairask-studio'"
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
