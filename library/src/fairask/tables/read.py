"""Reading a table of any kind into memory: text, Parquet, workbooks, databases, archives and data frames."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from fairask.tables.delimited import read_delimited
from fairask.tables.encodings import decode
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow
from fairask.tables.formats import TableFormat
from fairask.tables.frames import frame_table
from fairask.tables.limits import MOST_UNPACKED
from fairask.tables.records import read_records
from fairask.tables.stores import (
    choose,
    is_dataset_folder,
    read_dataset_folder,
    read_duckdb,
    read_sqlite,
    read_workbook,
)
from fairask.tables.understood import understood

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet", ".pq")
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_PLAIN_SUFFIXES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES, *_JSON_SUFFIXES)
_DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
#: Names of files that can be read.
SUFFIXES = (*_PLAIN_SUFFIXES, ".gz", ".zip", ".xlsx", *_DATABASES)

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


def read_table(source: Arrow, form: TableFormat | None = None) -> Arrow:
    """Read a table into memory.

    Parameters
    ----------
    source : path, mapping of columns, or data frame
        A file is CSV (.csv, .tsv, .txt), Parquet (.parquet, .pq), JSON (.json, .jsonl), an Excel workbook
        (.xlsx), an SQLite or DuckDB database, or one of the first three in .gz or .zip; a folder is one of
        Hugging Face's datasets. A frame is of pandas, polars, pyarrow or any library that narwhals knows.
    form : TableFormat, optional
        How the file is written; what is not said is recognised.

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
    ...     _ = file.write_text("a;b\\n1,5;x\\n2;y\\n")
    ...     read_table(file).to_pydict()
    {'a': [1.5, 2.0], 'b': ['x', 'y']}
    """
    return read_noted(source, form)[0]


def read_noted(source: Arrow, form: TableFormat | None = None) -> tuple[Arrow, list[str]]:
    """Read a table as :func:`read_table` does, and say what was recognised that its owner should know."""
    import pyarrow as pa

    form, notes = form or TableFormat(), list[str]()
    if isinstance(source, str | PathLike):
        file = Path(source)
        table, name = _read_file(file, form, notes), file.name
    else:
        name = "the table"
        try:
            if isinstance(source, Mapping):
                table = pa.table({column: list(values) for column, values in source.items()})
            else:
                table = frame_table(source)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TableError(
                f"the columns cannot be a table: {error}", "Give columns of equal length, each of one type"
            ) from error
    check_names(name, table.column_names)
    if not table.num_rows:
        raise TableError(f"{name} has a header and no rows", "Give a table with rows")
    if form.vectors is not None:
        table = _with_vectors(table, Path(form.vectors))
    return table.combine_chunks(), notes


def check_names(source: str, names: list[str]) -> None:
    """Raise TableError for a table with fewer than two columns, or two of one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(f"{source} has more than one column {twice[0]!r}", "Rename one of them")
    if len(names) < 2:
        raise TableError(
            f"{source} has one column only, {', '.join(map(repr, names))}",
            "Fields are separated by commas, semicolons, tabs or bars; --delimiter says another sign",
        )


def file_digest(path: Path, *, hidden: bool = True) -> str:
    """Return the sha256 of a file, or of the names and files of a folder.

    Without ``hidden``, files that a reader of Parquet does not open are left out.
    """
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file() and (hidden or p.name[0] not in "._")):
        total.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file)}\0".encode())
    return total.hexdigest()


def _read_file(file: Path, form: TableFormat, notes: list[str]) -> Arrow:
    if file.is_dir() and is_dataset_folder(file):
        return read_dataset_folder(file, form.sheet)
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
    if suffix in _DATABASES:
        return understood(_read_database(file, head, form), form, notes, typed=True)
    if suffix == ".xlsx":
        if not head.startswith(b"PK"):
            kind = _kind(head) or "no workbook"
            raise TableError(f"{file.name} is {kind}, though its name says .xlsx", "Save it as .xlsx")
        return understood(read_workbook(file, form.sheet, notes), form, notes, typed=True)
    if suffix == ".gz":
        return _read_content(file.stem, _unpacked(file), form, notes)
    if suffix == ".zip":
        return _read_content(*_member(file, form.sheet), form, notes)
    return _read_content(file.name, file.read_bytes(), form, notes)


def _read_content(name: str, content: bytes, form: TableFormat, notes: list[str]) -> Arrow:
    """Read text, JSON or Parquet, by the name of the file."""
    suffix = Path(name).suffix.lower()
    if suffix not in _PLAIN_SUFFIXES:
        raise TableError(
            f"the archive holds {name!r}, which is not known to be a table by its name",
            f"Pack a file that ends in {', '.join(_PLAIN_SUFFIXES)}",
        )
    if suffix in PARQUET_SUFFIXES:
        return _read_parquet(name, content)
    _check_kind(name, _kind(content[:64]), content[:64])
    text = decode(name, content, form.encoding, notes)
    if suffix in _JSON_SUFFIXES:
        return understood(read_records(name, text, lines=suffix != ".json"), form, notes, typed=True)
    return read_delimited(name, text, form, notes)


def _kind(head: bytes) -> str | None:
    return next((words for start, words in _SIGNATURES.items() if head.startswith(start)), None)


def _check_kind(name: str, kind: str | None, head: bytes) -> None:
    """Raise TableError for a file that is not text."""
    if kind is not None:
        parquet = kind == _SIGNATURES[_PARQUET]
        remedy = (
            f"Rename it to {Path(name).stem}.parquet"
            if parquet
            else "Give it the name that says so (.gz, .zip, .xlsx), or export it as CSV (UTF-8)"
        )
        raise TableError(f"{name} is {kind}, though its name says text", remedy)
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise TableError(
            f"{name} is a web page, not a table", "Download the file itself, not the page about it"
        )


def _read_parquet(name: str, content: bytes) -> Arrow:
    import pyarrow as pa
    from pyarrow import parquet

    kind = _kind(content[:64])
    if kind != _SIGNATURES[_PARQUET]:
        raise TableError(
            f"{name} is {kind or 'not a Parquet file'}, though its name says Parquet",
            f"Rename it if it is CSV ({Path(name).stem}.csv), or export it again as Parquet",
        )
    try:
        return parquet.read_table(pa.BufferReader(content), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{name} is a damaged or truncated Parquet file", "Copy or export it again"
        ) from error


def _read_database(file: Path, head: bytes, form: TableFormat) -> Arrow:
    if head.startswith(b"SQLite format 3"):
        return read_sqlite(file, form.sheet)
    if head[8:12] == b"DUCK":
        return read_duckdb(file, form.sheet)
    raise TableError(
        f"{file.name} is {_kind(head) or 'no database'}, though its name says so",
        "Give an SQLite or DuckDB database, or give the file the name of what it is",
    )


def _unpacked(file: Path) -> bytes:
    try:
        with gzip.open(file) as stream:
            content = stream.read(MOST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{file.name} is a damaged gzip archive: {error}", "Copy it again") from error
    return _within(file.name, content)


def _member(file: Path, wanted: str | None) -> tuple[str, bytes]:
    """Return name and content of the table in a zip archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            known = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
            tables = [n for n in known if Path(n).suffix.lower() in _PLAIN_SUFFIXES]
            name = choose(file.name, "table", tables, wanted)
            with archive.open(name) as stream:
                return Path(name).name, _within(file.name, stream.read(MOST_UNPACKED + 1))
    except (zipfile.BadZipFile, OSError, zlib.error, RuntimeError) as error:
        # zipfile raises RuntimeError for an archive with a password.
        raise TableError(f"{file.name} cannot be unpacked: {error}", "Unpack it first") from error


def _within(name: str, content: bytes) -> bytes:
    if len(content) > MOST_UNPACKED:
        raise TableError(f"{name} holds more than {MOST_UNPACKED:,} bytes", "Store it as Parquet")
    return content


def _with_vectors(table: Arrow, file: Path) -> Arrow:
    """Add a column of vectors from an ``.npy`` file, named like the file."""
    import pyarrow as pa

    try:
        matrix = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
    except (OSError, ValueError) as error:
        raise TableError(f"--vectors: {file} cannot be read: {error}", "Give an .npy file") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise TableError(
            f"--vectors: {file.name} has shape {matrix.shape} and type {matrix.dtype}",
            "Give one row of numbers for each row of the table",
        )
    if len(matrix) != table.num_rows:
        raise TableError(
            f"--vectors: {file.name} has {len(matrix):,} rows, the table has {table.num_rows:,}",
            "Give one row of numbers for each row of the table, in its order",
        )
    if file.stem in table.column_names:
        raise TableError(f"the table has a column {file.stem!r} already", f"Rename {file.name}")
    flat = pa.array(np.ascontiguousarray(matrix, dtype=np.float32).reshape(-1))
    return table.append_column(file.stem, pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1]))


def _nearest(file: Path) -> str | None:
    if not file.parent.is_dir():
        return None
    names = [p.name for p in file.parent.iterdir() if p.suffix.lower() in SUFFIXES]
    near = difflib.get_close_matches(file.name, names, n=1)
    return str(file.with_name(near[0])) if near else None
