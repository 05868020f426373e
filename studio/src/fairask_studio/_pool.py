"""The pool of a study: what its columns are for, and its copy as Parquet."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from fairask.errors import suggest
from fairask.tables.arrow import kind_of
from fairask_studio._errors import StudyError
from fairask_studio._reference import PoolReference
from fairask_studio.config import ColumnInfo
from fairask_studio.events import Cell, Document


def check_columns(table: pa.Table | PoolReference, named: Iterable[str]) -> None:
    """Raise StudyError for a column that is not there."""
    for name in named:
        if name not in table.column_names:
            raise StudyError(f"no column {name!r}; {suggest(name, table.column_names)}")


def column_infos(
    schema: pa.Schema,
    protected: Sequence[str],
    *,
    hide: Iterable[str],
    words: Mapping[str, Document],
    idle: Collection[str] = (),
    displays: Mapping[str, str] | None = None,
) -> tuple[ColumnInfo, ...]:
    """Decide what each column is for; the columns named in ``words`` come first, in its order.

    ``idle`` columns cannot train a model, and are only shown. ``displays`` says how columns are shown where
    ``words`` does not.

    Examples
    --------
    >>> schema = pa.schema([("age", pa.int8()), ("sex", pa.string())])
    >>> infos = column_infos(schema, ["sex"], hide=[], words={})
    >>> [(info.name, info.kind, info.role) for info in infos]
    [('age', 'number', 'feature'), ('sex', 'text', 'protected')]
    """
    hidden = set(hide)
    infos = []
    for name in [*words, *(n for n in schema.names if n not in words)]:
        kind = "number" if kind_of(schema.field(name).type) == "number" else "text"
        unseen = name in hidden or kind_of(schema.field(name).type) == "vector"
        role = "protected" if name in protected else "hidden" if unseen else "feature"
        role = "shown" if role == "feature" and name in idle else role
        display = (displays or {}).get(name, "")
        # A number without meaning as a number is an identifier: no separators, no unit.
        display = "text" if display == "number" and role == "shown" else display
        infos.append(ColumnInfo(name, kind, role, **{"display": display, **words.get(name, {})}))
    return tuple(infos)


def to_parquet(table: pa.Table) -> tuple[bytes, str]:
    """Return the table as a Parquet file, and its sha256."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    data = buffer.getvalue()
    return data, hashlib.sha256(data).hexdigest()


def from_parquet(data: bytes, sha256: str) -> pa.Table:
    """Read a stored pool back; refuse one that is not what the study was made with."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise StudyError(
            f"the pool was changed after the study was made (sha256 {found[:12]}, recorded {sha256[:12]}); "
            "restore pool.parquet from a copy"
        )
    # Not from a Python file: a thread of pyarrow would close it, and abort if the interpreter ends just then.
    return pq.read_table(pa.BufferReader(data)).combine_chunks()


def rows_values(table: pa.Table) -> list[dict[str, Cell]]:
    """Return the cells of each row, by column; what is not a number or None is text.

    Examples
    --------
    >>> rows_values(pa.table({"age": [30, 40], "sex": ["f", "m"]}))[1]
    {'age': 40, 'sex': 'm'}
    """
    return [
        {k: v if v is None or type(v) in (int, float, str) else str(v) for k, v in values.items()}
        for values in table.to_pylist()
    ]
