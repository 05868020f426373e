"""The pool of a study: a table read from CSV, Parquet or Label Studio's JSON, kept as Parquet."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from fairask.errors import suggest
from fairask.study._errors import StudyError
from fairask.study._reference import MOST_LEVELS
from fairask.study.config import ColumnInfo
from fairask.tables.columns import refusal

__all__ = [
    "check_columns",
    "column_infos",
    "from_parquet",
    "idle_columns",
    "read_pool",
    "row_values",
    "to_parquet",
]

_FORMATS = (".csv", ".tsv", ".parquet", ".json")


def read_pool(path: str | Path) -> Any:
    """Read a table of unlabelled rows (CSV, TSV, Parquet, Label Studio's JSON).

    Parameters
    ----------
    path : path

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pool.csv"
    ...     _ = path.write_text("age,sex\\n30,f\\n40,m\\n")
    ...     read_pool(path).column_names
    ['age', 'sex']
    """
    path = Path(path)
    if not path.is_file():
        raise StudyError(f"no file {str(path)!r}")
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise StudyError(f"{path.name}: cannot read {suffix or 'a file without extension'}; {_known()}")
    try:
        if suffix == ".parquet":
            return checked(pq.read_table(path))
        if suffix == ".json":
            return checked(pa.Table.from_pylist(_tasks(json.loads(path.read_text("utf-8")))))
        # A row must fit in a block, and a cell may be megabytes of text.
        options = pacsv.ReadOptions(block_size=1 << 26)
        parsing = pacsv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
        return checked(pacsv.read_csv(path, options, parsing))
    except (pa.ArrowException, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise StudyError(f"{path.name} is damaged or not what its name says: {error}") from error


def _known() -> str:
    return "known: " + ", ".join(_FORMATS)


def _tasks(tasks: Any) -> list[dict[str, Any]]:
    """Rows of Label Studio's tasks (or of a plain list of objects)."""
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise StudyError("the JSON must be a list of tasks, each with its fields under 'data'")
    rows = [task["data"] if isinstance(task.get("data"), dict) else task for task in tasks]
    return [{k: v if isinstance(v, (str, int, float)) else _text(v) for k, v in r.items()} for r in rows]


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def checked(table: Any) -> Any:
    """Return the table if it can be a pool: rows, and columns with different names."""
    names = table.column_names
    if not table.num_rows:
        raise StudyError("the table has no rows")
    if any(not name.strip() for name in names):
        raise StudyError(f"column {next(i for i, n in enumerate(names, 1) if not n.strip())} has no name")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise StudyError(f"two columns are named {twice!r}")
    return table.combine_chunks()


def table_of(rows: Mapping[str, Iterable[Any]]) -> Any:
    """A pool from columns given in memory.

    Examples
    --------
    >>> table_of({"age": [30, 40], "sex": ["f", "m"]}).num_rows
    2
    """
    return checked(pa.table({name: list(values) for name, values in rows.items()}))


def idle_columns(table: Any) -> set[str]:
    """Columns that train nothing: text of too many different values, and whole numbers that name rows."""
    return {
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if (refusal(name, column) if pa.types.is_integer(column.type) else _is_rich_text(column))
    }


def _is_rich_text(column: Any) -> bool:
    return not _is_number(column.type) and len(column.unique()) > MOST_LEVELS


def check_columns(table: Any, named: Iterable[str]) -> None:
    """Raise StudyError for a column that is not there."""
    for name in named:
        if name not in table.column_names:
            raise StudyError(f"no column {name!r}; {suggest(name, table.column_names)}")


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def column_infos(
    schema: Any,
    protected: str,
    *,
    use_protected: bool,
    hide: Iterable[str],
    words: Mapping[str, Any],
    idle: Collection[str] = (),
    is_number: Callable[[Any], bool] = _is_number,
) -> tuple[ColumnInfo, ...]:
    """Decide what each column is for; the columns named in ``words`` come first, in its order.

    ``idle`` columns can train nothing, and are only shown; ``is_number`` tells the types of numbers.

    Examples
    --------
    >>> schema = table_of({"age": [30, 40], "sex": ["f", "m"]}).schema
    >>> infos = column_infos(schema, "sex", use_protected=False, hide=[], words={})
    >>> [(info.name, info.kind, info.role) for info in infos]
    [('age', 'number', 'feature'), ('sex', 'text', 'protected')]
    """
    names, hidden = schema.names, set(hide)
    infos = []
    for name in [*words, *(n for n in names if n not in words)]:
        number = is_number(schema.field(name).type)
        role = "feature"
        if name == protected:
            role = "protected"
        elif name in hidden:
            role = "hidden"
        elif name in idle:
            role = "shown"
        infos.append(ColumnInfo(name, "number" if number else "text", role, **words.get(name, {})))
    if not any(info.role == "feature" for info in infos) and not use_protected:
        raise StudyError(
            f"no column is left to learn from besides {protected!r}: text columns with more than "
            f"{MOST_LEVELS} different values are only shown"
        )
    return tuple(infos)


def to_parquet(table: Any) -> tuple[bytes, str]:
    """The table as a Parquet file, and its sha256."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    data = buffer.getvalue()
    return data, hashlib.sha256(data).hexdigest()


def from_parquet(data: bytes, sha256: str) -> Any:
    """Read a stored pool back; refuse one that is not what the study was made with."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise StudyError(
            f"the pool was changed after the study was made (sha256 {found[:12]}, recorded {sha256[:12]}); "
            "restore pool.parquet from a copy"
        )
    return pq.read_table(io.BytesIO(data)).combine_chunks()


def row_values(table: Any, row: int) -> dict[str, Any]:
    """The cells of one row, by column; what is not a number or None is text.

    Examples
    --------
    >>> row_values(table_of({"age": [30, 40], "sex": ["f", "m"]}), 1)
    {'age': 40, 'sex': 'm'}
    """
    (values,) = table.slice(row, 1).to_pylist()
    return {k: v if v is None or type(v) in (int, float, str) else str(v) for k, v in values.items()}
