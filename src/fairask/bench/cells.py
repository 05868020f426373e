"""Cell files: each finished cell is one small JSON file that appears whole or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from fairask.bench.methods import get_method
from fairask.bench.protocol import Cell, Result

__all__ = ["cell_path", "read_cell", "write_cell"]


def cell_path(folder: Path, cell: Cell) -> Path:
    """Where a cell's result lies; other settings of a method lie elsewhere.

    Examples
    --------
    >>> cell_path(Path("runs"), Cell("paper", "drug", "passive", 3)).name
    'trial-0003.json'
    """
    method = get_method(cell.method)
    name = f"{cell.method}-{method.digest}"
    return folder / cell.profile / cell.problem / name / f"trial-{cell.trial:04d}.json"


def write_cell(folder: Path, cell: Cell, result: Result) -> None:
    """Write a cell; a process killed in the middle leaves no half file under the final name."""
    path = cell_path(folder, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    content = {"cell": asdict(cell), "settings": get_method(cell.method).settings, "result": asdict(result)}
    scratch.write_text(json.dumps(content, sort_keys=True))
    scratch.replace(path)


def read_cell(path: Path) -> Result:
    """Read a cell's result.

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("smoke", "german", "passive", 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_cell(Path(folder), cell, Result([25], [0.5], [0.1], {"Female": [9]}))
    ...     read_cell(cell_path(Path(folder), cell)).accuracy
    [0.5]
    """
    try:
        return Result(**json.loads(path.read_text())["result"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a result file of the benchmark: {error}") from error
