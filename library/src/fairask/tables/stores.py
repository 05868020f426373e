"""Reading files that hold several tables: workbooks, databases, archives and datasets of Hugging Face."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fairask.errors import suggest
from fairask.tables.cells import cell_column
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow, optional
from fairask.tables.headers import below_title


def choose(file: str, kind: str, names: Sequence[str], wanted: str | None) -> str:
    """Return the table to read of several, or raise TableError with their names.

    Examples
    --------
    >>> choose("a.db", "table", ["people"], None)
    'people'
    """
    if wanted is not None:
        if wanted not in names:
            hint = suggest(wanted, names)
            raise TableError(f"{file} has no {kind} {wanted!r}", hint[0].upper() + hint[1:])
        return wanted
    if not names:
        raise TableError(f"{file} has no {kind}", "Give a file with a table in it")
    if len(names) > 1:
        shown = ", ".join(map(repr, names[:8]))
        raise TableError(f"{file} has {len(names)} {kind}s: {shown}", f"Say which: --sheet {names[0]}")
    return names[0]


def read_workbook(file: Path, sheet: str | None, notes: list[str]) -> Arrow:
    """Read a sheet of an Excel workbook; the first row, or one below a title, has the names of columns."""
    openpyxl = _needed("openpyxl", "excel", file)
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Exception as error:
        # openpyxl raises KeyError, ValueError, zipfile and XML errors alike for damaged files.
        raise TableError(f"{file.name} is a damaged workbook: {error}", "Save it again as .xlsx") from error
    try:
        name = choose(file.name, "sheet", _filled(book) if sheet is None else book.sheetnames, sheet)
        rows = [row for row in book[name].iter_rows(values_only=True) if any(v is not None for v in row)]
    finally:
        book.close()
    if not rows:
        raise TableError(f"{file.name}: sheet {name!r} is empty", "Give a sheet with a header and rows")
    if title := below_title(rows):
        notes.append(f"names of columns were found below {title} other row{'s' * (title > 1)}")
        rows = rows[title:]
    last = (
        max(i for i, value in enumerate(rows[0]) if value is not None) + 1 if any(rows[0]) else len(rows[0])
    )
    header = [str(v).strip() if v is not None else f"(unnamed {i + 1})" for i, v in enumerate(rows[0][:last])]
    return _table(file.name, header, [row[:last] for row in rows[1:]])


def _filled(book: Arrow) -> list[str]:
    """Return the sheets with cells: a new workbook often has two empty ones."""
    return [
        name for name in book.sheetnames if any(any(row) for row in book[name].iter_rows(values_only=True))
    ]


def read_sqlite(file: Path, table: str | None) -> Arrow:
    """Read a table or view of an SQLite database."""
    try:
        with sqlite3.connect(f"file:{file.resolve().as_posix()}?mode=ro", uri=True) as database:
            kinds = (
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
            names = sorted(name for (name,) in database.execute(kinds))
            name = choose(file.name, "table", names, table)
            quoted = '"' + name.replace('"', '""') + '"'
            found = database.execute(f"SELECT * FROM {quoted}")
            return _table(file.name, [column[0] for column in found.description], found.fetchall())
    except sqlite3.Error as error:
        raise TableError(f"{file.name} is a damaged SQLite database: {error}", "Copy it again") from error
    finally:
        database.close()


def read_duckdb(file: Path, table: str | None) -> Arrow:
    """Read a table or view of a DuckDB database."""
    duckdb = _needed("duckdb", "duckdb", file)
    try:
        database = duckdb.connect(str(file), read_only=True)
    except duckdb.Error as error:
        raise TableError(f"{file.name} is no DuckDB database: {error}", "Copy it again") from error
    try:
        names = sorted(name for (name,) in database.execute("SHOW TABLES").fetchall())
        name = choose(file.name, "table", names, table)
        quoted = '"' + name.replace('"', '""') + '"'
        return database.sql(f"SELECT * FROM {quoted}").to_arrow_table()
    finally:
        database.close()


def is_dataset_folder(folder: Path) -> bool:
    """Whether a folder was written by ``save_to_disk`` of Hugging Face's datasets."""
    return (folder / "state.json").is_file() or (folder / "dataset_dict.json").is_file()


def read_dataset_folder(folder: Path, split: str | None) -> Arrow:
    """Read a dataset that ``save_to_disk`` of Hugging Face's datasets has written, without that library."""
    import pyarrow as pa

    try:
        if (folder / "dataset_dict.json").is_file():
            splits = json.loads((folder / "dataset_dict.json").read_text("utf-8"))["splits"]
            folder = folder / choose(folder.name, "split", splits, split)
        state = json.loads((folder / "state.json").read_text("utf-8"))
        parts = []
        for entry in state["_data_files"]:
            with pa.memory_map(str(folder / entry["filename"])) as source:
                parts.append(pa.ipc.open_stream(source).read_all())
        if state.get("_indices_data_files"):
            raise TableError(f"{folder} holds a selection of rows", "Call flatten_indices() before saving it")
        return pa.concat_tables(parts, promote_options="permissive").replace_schema_metadata(None)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{folder} is a damaged dataset: {error}", "Save it to disk again") from error


def _needed(module: str, extra: str, file: Path) -> Arrow:
    try:
        return optional(module, extra)
    except ImportError as error:
        raise TableError(
            f"{file.name} cannot be read without {module}", f"pip install 'fairask[{extra}]'"
        ) from error


def _table(file: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> Arrow:
    """Return rows as a table; a column of mixed values becomes text."""
    import pyarrow as pa

    columns = [
        cell_column(file, name, [row[at] if at < len(row) else None for row in rows])
        for at, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=list(names))
