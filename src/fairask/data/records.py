"""Reading JSON: Label Studio's tasks, lists of objects, and one object per line."""

from __future__ import annotations

import json

from fairask.data.errors import TableError
from fairask.data.extras import Arrow

__all__ = ["read_records"]


def read_records(name: str, text: str, *, lines: bool) -> Arrow:
    """Read a JSON list of tasks or objects, or one object per line.

    Examples
    --------
    >>> read_records("t.jsonl", '{"a": 1}\\n{"a": 2, "b": [1.0]}\\n', lines=True).to_pydict()
    {'a': [1, 2], 'b': [None, [1.0]]}
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
        raise TableError(f"{name} is no list of tasks", remedy)
    rows = [task["data"] if isinstance(task.get("data"), dict) else task for task in tasks]
    names = list(dict.fromkeys(column for row in rows for column in row))
    plain = [{column: _plain(row.get(column)) for column in names} for row in rows]
    try:
        return pa.Table.from_pylist(plain)
    except pa.ArrowException as error:
        raise TableError(f"{name}: a field has values of different types: {error}", remedy) from error


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
        raise TableError(f"{name}: line {number} is no JSON: {error}", "Correct that line") from error
