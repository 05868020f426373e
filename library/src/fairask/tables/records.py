"""Reading JSON: Label Studio's tasks, lists of objects, and one object per line."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fairask.tables.cells import cell_column
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow


def read_records(name: str, text: str, *, lines: bool) -> Arrow:
    """Read a JSON list of tasks or objects, or one object per line; fields of inner objects are columns.

    Examples
    --------
    >>> read_records("t.jsonl", '{"a": 1}\\n{"a": 2, "b": [1.0]}\\n', lines=True).to_pydict()
    {'a': [1, 2], 'b': [None, [1.0]]}
    >>> read_records("t.jsonl", '{"who": {"age": 30, "sex": "f"}}', lines=True).to_pydict()
    {'who.age': [30], 'who.sex': ['f']}
    """
    import pyarrow as pa

    remedy = "Give a JSON list of tasks, each with its fields under 'data', or .jsonl with an object per line"
    tasks: object
    if lines:
        tasks = [
            _line(name, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    else:
        try:
            tasks = json.loads(text)
        except ValueError as error:
            raise TableError(f"{name} is damaged or no JSON: {error}", remedy) from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise TableError(f"{name} is not a list of tasks", remedy)
    rows = [_flat(task["data"] if isinstance(task.get("data"), dict) else task) for task in tasks]
    names = dict.fromkeys(field for row in rows for field in row)
    return pa.table(
        {column: cell_column(name, column, [row.get(column) for row in rows]) for column in names}
    )


def _flat(fields: Mapping[str, object], within: str = "") -> dict[str, object]:
    out: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            out |= _flat(value, f"{within}{name}.")
        else:
            out[f"{within}{name}"] = _plain(value)
    return out


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list) and value and all(type(v) in (int, float) for v in value):
        return [float(v) for v in value]  # an embedding
    return json.dumps(value, ensure_ascii=False)


def _line(name: str, number: int, line: str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise TableError(f"{name}: line {number} is not JSON: {error}", "Correct that line") from error
