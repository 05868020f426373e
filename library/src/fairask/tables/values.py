"""The values of a column: as text, and as codes of the different ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairask.tables.extras import Column, optional


def text_of(value: object) -> str | None:
    """Return a value as a person would write it; None where it is missing.

    Examples
    --------
    >>> [text_of(v) for v in (1.0, 2.5, True, " a  b ", " ", float("nan"), None)]
    ['1', '2.5', 'True', 'a b', None, None, None]
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).split()) or None


def is_number(text: str) -> bool:
    """Whether a text is a number as Python writes it.

    Examples
    --------
    >>> is_number("1e3"), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def texts(column: Column) -> list[str | None]:
    """Return a column's values as text; each different value is converted once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> texts(pa.chunked_array([[1.0, 2.5, None]])), texts(pa.chunked_array([[True]]))
    (['1', '2.5', None], ['True'])
    """
    values, codes = coded(column)
    found = np.array([*map(text_of, values), None], dtype=object)
    out: list[str | None] = found[codes].tolist()
    return out


def coded(column: Column) -> tuple[list[object], npt.NDArray[np.int64]]:
    """Return the different values of a column and each row's position among them, -1 where missing.

    Examples
    --------
    >>> coded(["b", "a", None, "b"])
    (['b', 'a'], array([ 0,  1, -1,  0]))
    """
    if isinstance(column, Sequence | np.ndarray):
        place: dict[object, int] = {}
        found = [-1 if v is None or v != v else place.setdefault(v, len(place)) for v in column]
        return list(place), np.array(found, dtype=np.int64)
    pa, pc = optional("pyarrow", "parquet"), optional("pyarrow.compute", "parquet")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    values = encoded.dictionary.to_pylist()
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    gone = [i for i, v in enumerate(values) if v is None or v != v]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes)
    return values, codes
