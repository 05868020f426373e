"""Reading a table of any kind: a CSV or Parquet file, Label Studio's JSON, or columns in memory."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from fairask.data.delimited import read_delimited
from fairask.data.errors import TableError
from fairask.data.extras import Arrow

__all__ = ["PARQUET_SUFFIXES", "SUFFIXES", "check_names", "file_digest", "read_table"]

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet", ".pq")
#: Names of files that can be read.
SUFFIXES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES, ".json")

_PARQUET = b"PAR1"
_SIGNATURES = {
    _PARQUET: "a Parquet file",
    b"PK\x03\x04": "a zip archive (an Excel workbook is one)",
    b"\x1f\x8b": "a gzip archive",
    b"ARROW1": "an Arrow (Feather) file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
}


def read_table(source: Arrow, *, encoding: str = "utf-8") -> Arrow:
    """Read a table into memory.

    Parameters
    ----------
    source : path, mapping of columns, pandas.DataFrame or pyarrow.Table
        A file is CSV (.csv, .tsv, .txt), Parquet (.parquet, .pq) or Label Studio's JSON (.json).
    encoding : str
        Of CSV.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    TableError
        If the file is missing, empty, ragged, truncated, in another encoding, or not what its name says.

    Examples
    --------
    >>> read_table({"a": [1, 2], "b": ["x", "y"]}).num_rows
    2
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("a;b\\n1;x\\n2;y\\n")
    ...     read_table(file).to_pydict()
    {'a': [1, 2], 'b': ['x', 'y']}
    """
    import pyarrow as pa

    if isinstance(source, str | PathLike):
        file = Path(source)
        table, name = _read_file(file, encoding), file.name
    else:
        name = "the table"
        try:
            if isinstance(source, Mapping):
                table = pa.table({column: list(values) for column, values in source.items()})
            else:
                table = source if isinstance(source, pa.Table) else pa.Table.from_pandas(source)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TableError(
                f"the columns cannot be a table: {error}", "Give columns of equal length, each of one type"
            ) from error
    check_names(name, table.column_names)
    if not table.num_rows:
        raise TableError(f"{name} has a header and no rows", "Give a table with rows")
    return table.combine_chunks()


def check_names(source: str, names: list[str]) -> None:
    """Raise TableError for a table with fewer than two columns, or two of one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(f"{source} has more than one column {twice[0]!r}", "Rename one of them")
    if len(names) < 2:
        raise TableError(
            f"{source} has one column only, {', '.join(map(repr, names))}",
            "Fields are separated by commas, semicolons or tabs",
        )


def file_digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_file(file: Path, encoding: str) -> Arrow:
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise TableError(
            f"{file.name} is not known to be a table by its name",
            f"Give a file that ends in {', '.join(SUFFIXES)}",
        )
    if not file.exists():
        near = _nearest(file)
        raise TableError(f"there is no file {file}", f"Did you mean {near}?" if near else "Check the path")
    if not file.is_file():
        raise TableError(f"{file} is a folder", "Give a CSV or Parquet file")
    try:
        with file.open("rb") as stream:
            head = stream.read(64)
    except OSError as error:
        raise TableError(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error
    if not head:
        raise TableError(f"{file.name} is empty", "Give a file with a header line and rows")
    kind = next((words for start, words in _SIGNATURES.items() if head.startswith(start)), None)
    if suffix in PARQUET_SUFFIXES:
        return _read_parquet(file, kind)
    _check_kind(file, kind, head)
    return _read_tasks(file) if suffix == ".json" else read_delimited(file, encoding)


def _check_kind(file: Path, kind: str | None, head: bytes) -> None:
    """Raise TableError for a file that is not text."""
    if kind is not None:
        parquet = kind == _SIGNATURES[_PARQUET]
        remedy = (
            f"Rename it to {file.stem}.parquet" if parquet else "Unpack it or export it as CSV (UTF-8) first"
        )
        raise TableError(f"{file.name} is {kind}, though its name says text", remedy)
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise TableError(
            f"{file.name} is a web page, not a table", "Download the file itself, not the page about it"
        )


def _read_parquet(file: Path, kind: str | None) -> Arrow:
    import pyarrow as pa
    from pyarrow import parquet

    if kind != _SIGNATURES[_PARQUET]:
        raise TableError(
            f"{file.name} is {kind or 'not a Parquet file'}, though its name says Parquet",
            f"Rename it if it is CSV ({file.stem}.csv), or export it again as Parquet",
        )
    try:
        return parquet.read_table(file, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{file.name} is a damaged or truncated Parquet file", "Copy or export it again"
        ) from error


def _read_tasks(file: Path) -> Arrow:
    """Read Label Studio's tasks, or a plain list of objects."""
    import pyarrow as pa

    remedy = "Give a JSON list of tasks, each with its fields under 'data'"
    try:
        tasks = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise TableError(f"{file.name} is damaged or no JSON: {error}", remedy) from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise TableError(f"{file.name} is no list of tasks", remedy)
    rows = [task["data"] if isinstance(task.get("data"), dict) else task for task in tasks]
    plain = [
        {
            name: v if v is None or isinstance(v, str | int | float) else json.dumps(v, ensure_ascii=False)
            for name, v in row.items()
        }
        for row in rows
    ]
    try:
        return pa.Table.from_pylist(plain)
    except pa.ArrowException as error:
        raise TableError(f"{file.name}: a field has values of different types: {error}", remedy) from error


def _nearest(file: Path) -> str | None:
    if not file.parent.is_dir():
        return None
    names = [p.name for p in file.parent.iterdir() if p.suffix.lower() in SUFFIXES]
    near = difflib.get_close_matches(file.name, names, n=1)
    return str(file.with_name(near[0])) if near else None
