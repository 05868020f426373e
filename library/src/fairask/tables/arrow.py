"""Data frames of every library as Arrow tables: what their columns are called, and which kind each one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairask.errors import MissingExtra, TableError
from fairask.metrics import Matrix

#: An object of pyarrow, which has no type stubs.
Arrow: TypeAlias = Any
#: What a column can be: a pyarrow array, or a plain sequence.
Column: TypeAlias = Arrow | Sequence[object] | npt.NDArray[np.generic]
#: A matrix of features: float32 in a pool, float64 in memory.
Out: TypeAlias = npt.NDArray[np.floating]


def optional(module: str, extra: str) -> ModuleType:
    """Import a module, or raise an error that names the extra that installs it.

    >>> optional("math", "parquet").sqrt(4.0)
    2.0
    >>> optional("no_such_module", "ibis")
    Traceback (most recent call last):
        ...
    fairask.errors.MissingExtra: no_such_module is not installed; pip install 'fairask[ibis]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{module} is not installed", extra) from error


def kind_of(kind: Arrow) -> str | None:
    """Return the kind of column that a pyarrow type is; None if nothing can be learned from it.

    >>> import pyarrow as pa
    >>> kind_of(pa.int8()), kind_of(pa.dictionary(pa.int8(), pa.string())), kind_of(pa.list_(pa.float32()))
    ('number', 'category', 'vector')
    """
    types = optional("pyarrow", "parquet").types
    if types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_temporal(kind) and not types.is_interval(kind):
        return "date"
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if any(is_kind(kind) for is_kind in lists) and types.is_floating(kind.value_type):
        return "vector"
    return "category" if is_text(kind) or types.is_null(kind) else None


def is_text(kind: Arrow) -> bool:
    """Whether a pyarrow type is one of its three types of text."""
    types = optional("pyarrow", "parquet").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def column_names(X: Matrix) -> list[str] | None:
    """Return the names of a data frame's columns; None where there are none, as in an array.

    >>> column_names([[1.0, 2.0]]) is None
    True
    """
    if type(X).__module__.startswith("pandas") and np.ndim(X) == 2 and X.columns.has_duplicates:
        twice = X.columns[X.columns.duplicated()][0]
        raise TableError(f"the data frame has more than one column {twice!r}", "Rename one of them")
    from sklearn.utils.validation import _get_feature_names  # slow to import; reading a table needs none

    names = _get_feature_names(X)
    return None if names is None else [str(name) for name in names]


def frame_table(frame: Arrow, columns: Sequence[str] | None = None) -> Arrow:
    """Return a data frame or a mapping of columns, or some of its columns, as a pyarrow table.

    >>> import polars
    >>> frame_table(polars.DataFrame({"a": [1, 2], "b": ["x", None]})).to_pydict()
    {'a': [1, 2], 'b': ['x', None]}
    """
    pa = optional("pyarrow", "parquet")
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    elif isinstance(frame, Mapping):
        frame = pa.table({name: list(values) for name, values in frame.items()})
    nw = optional("narwhals", "parquet")
    try:
        known = nw.maybe_reset_index(nw.from_native(frame))
    except TypeError as error:
        raise TableError(
            f"a {type(frame).__name__} is not a data frame",
            "Give pandas, polars, pyarrow or a mapping of columns",
        ) from error
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    names = [str(name) for name in known.columns]
    if columns is not None:
        gone = [name for name in columns if name not in names]
        if gone:
            raise TableError(
                f"the data frame has no column {gone[0]!r}", f"Give columns {', '.join(map(repr, columns))}"
            )
        known = known.select(list(columns))
    try:
        return known.to_arrow()
    except (pa.ArrowException, TypeError) as error:
        # pandas' sparse columns are a TypeError of pyarrow.
        why = "; ".join(map(str, error.args))
        raise TableError(
            f"the data frame cannot be used: {why}",
            "Give columns of one type each, none of them sparse",
        ) from error


#: Most bytes of a column of texts that was read as a dictionary, when it is written out.
_MOST_TEXT = 1 << 30


def decoded(source: str, table: Arrow, schema: Arrow) -> Arrow:
    """Return a table, or batch, of this schema: texts that were read as dictionaries become plain texts.

    A few long texts that occur in many rows are refused where written out they would take a gigabyte.

    >>> import pyarrow as pa
    >>> coded = pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode()})
    >>> decoded("t.parquet", coded, pa.schema([("a", pa.string())])).to_pydict()
    {'a': ['x', 'y', 'x']}
    """
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    columns = []
    for name, column, kind in zip(schema.names, table.columns, schema.types, strict=True):
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
            size = 0
            for chunk in getattr(column, "chunks", [column]):
                chunk.dictionary.validate(full=True)  # that its bytes are UTF-8
                lengths = pc.binary_length(chunk.dictionary)
                size += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
            if size > _MOST_TEXT:
                raise TableError(
                    f"{source}: the texts of column {name!r} take {size:,} bytes in {len(column):,} rows",
                    "Leave the column out, or shorten its texts",
                )
            column = column.cast(kind)
        columns.append(column)
    return type(table).from_arrays(columns, schema=schema)
