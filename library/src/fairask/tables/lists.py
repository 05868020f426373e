"""Lists of numbers that stand in a column as text, as embeddings do in a CSV file."""

from __future__ import annotations

import json

from fairask.tables.extras import Arrow


def with_lists(table: Arrow, notes: list[str]) -> Arrow:
    """Return the table with columns of written lists of numbers as vectors; ``notes`` say which.

    Numbers are separated by commas, or by blanks as numpy prints them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> notes = []
    >>> with_lists(pa.table({"v": ["[1, 2.5]", "[0.5 1.]"]}), notes).column("v").to_pylist()
    [[1.0, 2.5], [0.5, 1.0]]
    >>> notes
    ["lists of numbers were recognised: 'v'"]
    """
    import pyarrow as pa

    found = []
    for at, name in enumerate(table.column_names):
        column = table.column(name)
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        vectors: list[list[float] | None] = []
        for value in column.to_pylist():
            vector = None if value is None else _vector(value)
            if value is not None and vector is None:
                break
            vectors.append(vector)
        if len(vectors) == len(column):
            table = table.set_column(at, name, pa.array(vectors, pa.list_(pa.float64())))
            found.append(name)
    if found:
        notes.append(f"lists of numbers were recognised: {', '.join(map(repr, found))}")
    return table


def _vector(text: str) -> list[float] | None:
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        if "," in text:
            vector = [float(value) for value in json.loads(text)]
        else:
            vector = [float(value) for value in text[1:-1].split()]
    except (ValueError, TypeError):
        return None
    return vector if len(vector) > 1 else None
