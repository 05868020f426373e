"""Which kind of column a pyarrow type is."""

from __future__ import annotations

from fairask.tables.extras import Arrow, optional


def kind_of(kind: Arrow) -> str | None:
    """Return the kind of column that a pyarrow type is; None if nothing can be learned from it.

    Examples
    --------
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
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    return "category" if any(is_kind(kind) for is_kind in texts) else None
