"""A file of any format becomes an Arrow table: text, JSON, Parquet, workbooks, databases, archives."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import hashlib
import io
import json
import math
import re
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from fairask.documents import (
    MOST_UNPACKED,
    check_archive,
    most_unpacked,
    parse_json,
    read_json,
    reading,
    too_much,
)
from fairask.errors import TableError, UserError, suggest
from fairask.tables.arrow import Arrow, decoded, frame_table, is_text, optional
from fairask.tables.cells import (
    MISSING,
    Reading,
    has_decimal_comma,
    is_number,
    mixed_column,
    read_cells,
    recognise_all,
    text_of,
)


@dataclass(frozen=True)
class TableFormat:
    """How the cells of a file are written; None where it is to be recognised.

    Attributes
    ----------
    encoding : str, optional
        Of text. By default UTF-8, or UTF-16 by its mark or zero bytes, or else Windows-1252.
    delimiter : str, optional
        Between fields; by default a comma, semicolon, tab or bar, whichever the header has most of.
    decimal : str, optional
        The decimal sign, ``"."`` or ``","``.
    thousands : str, optional
        What stands between thousands: ``","``, ``"."``, ``"'"`` or a blank.
    sheet : str, optional
        The sheet of a workbook, the table of a database, the file of an archive or the split of a dataset.
    vectors : str, optional
        An ``.npy`` file with one row of numbers (an embedding) for each row of the table.

    Examples
    --------
    >>> TableFormat(decimal=",", thousands=".").delimiter is None
    True
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    vectors: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise TableError(
                f"--delimiter {self.delimiter!r} is not one sign", "Give one, such as ';' or '|'"
            )
        if self.decimal not in (None, ".", ","):
            raise TableError(f"--decimal {self.decimal!r} is unknown", "Give '.' or ','")
        if self.thousands not in (None, ".", ",", "'", " "):
            raise TableError(f"--thousands {self.thousands!r} is unknown", "Give ',', '.', \"'\" or a blank")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(f"--decimal and --thousands are both {self.decimal!r}", "Give two signs")


class _Text(NamedTuple):
    """How a text was written that a table was read from."""

    encoding: str
    delimiter: str


#: A table whose cells stay as they are, and how its text was written, if it was one.
_Raw = tuple[Arrow, _Text | None]


#: Where the schema of a table that was a text says how it was written.
_WRITTEN_AS = b"fairask: written as"


def written_as(schema: Arrow) -> dict[str, str]:
    """Return encoding, delimiter and decimal sign of the text that a table of this schema was read from.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("a;b\\n1,5;x\\n")
    ...     written_as(read_table(file).schema)
    {'encoding': 'utf-8', 'delimiter': ';', 'decimal': ','}
    """
    said = (schema.metadata or {}).get(_WRITTEN_AS, b"{}")
    return {str(name): str(value) for name, value in json.loads(said).items()}


#: Most characters of a field. A longer one is usually a quote that is never closed.
LONGEST_FIELD = 1 << 20
#: Most bytes of JSON: its values in memory take ten times as much, or more.
_MOST_JSON = 1 << 28
#: Most columns of a table, and most cells where each is an object of its own (JSON, workbooks, SQLite).
MOST_COLUMNS, _MOST_CELLS = 100_000, 1 << 26
#: Rows per byte that a Parquet file may say it has, and rows that no file is suspected for.
_MOST_PER_BYTE, _FEW_ROWS = 10_000, 10_000_000
#: Steps of an SQLite query, a minute or so: a view can go on for ever.
_MOST_STEPS = 3_000_000_000

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
    text, name = None, "the table"
    try:
        if isinstance(source, str | PathLike):
            name = Path(source).name
            table, text = _read_file(Path(source), form, notes)
        else:
            table = frame_table(source)
        table = read_cells(
            table,
            notes,
            decimal=form.decimal,
            thousands=form.thousands,
            comma=text is None or text.delimiter == ",",
            typed=text is None,
        )
    except (pa.ArrowException, TypeError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise TableError(
            f"the columns cannot be a table: {error}", "Give columns of equal length, each of one type"
        ) from error
    if text is not None:
        readings = [Reading.of(field) for field in table.schema]
        comma = form.decimal == "," or any(reading and reading.decimal == "," for reading in readings)
        written = json.dumps({**text._asdict(), "decimal": "," if comma else "."})
        table = table.replace_schema_metadata({_WRITTEN_AS: written})
    check_names(name, table.column_names)
    if not table.num_rows:
        raise TableError(f"{name} has a header and no rows", "Give a table with rows")
    if form.vectors is not None:
        table = _with_vectors(table, Path(form.vectors))
    return table.combine_chunks(), notes


def read_raw(file: Path, form: TableFormat | None = None) -> Arrow:
    """Read a file whose cells stay as they are: a sheet that people filled in, where "1.5" may be a label.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.jsonl")
    ...     _ = file.write_text('{"row": 1, "label": "5 %"}')
    ...     read_raw(file).to_pydict()
    {'row': [1], 'label': ['5 %']}
    """
    return _read_file(file, form or TableFormat(), [])[0]


def sheet_content(file: Path, form: TableFormat | None = None) -> str | None:
    """Return the text of a file of fields with a sign between them, packed or not; None for other files."""
    form, packed = form or TableFormat(), file.stat().st_size
    with reading(file.name):
        if file.suffix.lower() == ".gz":
            with gzip.open(file) as stream:
                name, content = file.stem, _unpacked(file, stream, packed)
        elif file.suffix.lower() == ".zip":
            name, content = _member(file, form.sheet)
        else:
            name, content = file.name, b""
        if Path(name).suffix.lower() not in CSV_SUFFIXES:
            return None
        content = content or file.read_bytes()
        _check_kind(name, content[:64])
        text, _ = _decode(name, content, form.encoding, [])
        found = re.match(r"sep=.\r?\n", text)
        return text[found.end() :] if found else text


def check_names(source: str, names: list[str]) -> None:
    """Raise TableError for a table with fewer than two columns or too many, or two of one name."""
    _check_width(source, len(names))
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise TableError(f"{source} has more than one column {twice[0]!r}", "Rename one of them")
    if len(names) < 2:
        raise TableError(
            f"{source} has one column only, {', '.join(map(repr, names))}",
            "Fields are separated by commas, semicolons, tabs or bars; --delimiter says another sign",
        )


def _check_width(source: str, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise TableError(
            f"{source} has {columns:,} columns; {MOST_COLUMNS:,} at most",
            "Store wide rows as one column of vectors, or give the file beside the table with --vectors",
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


def _read_file(file: Path, form: TableFormat, notes: list[str]) -> _Raw:
    if file.is_dir() and is_dataset_folder(file):
        with reading(file.name, "Save it to disk again"):
            return _read_dataset_folder(file, form.sheet), None
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
    with reading(file.name):
        if suffix in _DATABASES:
            return _read_database(file, head, form), None
        if suffix == ".xlsx":
            if not head.startswith(b"PK"):
                kind = _kind(head) or "no workbook"
                raise TableError(f"{file.name} is {kind}, though its name says .xlsx", "Save it as .xlsx")
            return _read_workbook(file, form.sheet, notes), None
        if suffix == ".gz":
            with gzip.open(file) as stream:
                return _read_content(file.stem, _unpacked(file, stream, file.stat().st_size), form, notes)
        if suffix == ".zip":
            return _read_content(*_member(file, form.sheet), form, notes)
        return _read_content(file.name, file.read_bytes(), form, notes)


def _read_content(name: str, content: bytes, form: TableFormat, notes: list[str]) -> _Raw:
    """Read text, JSON or Parquet, by the name of the file."""
    suffix = Path(name).suffix.lower()
    if suffix not in _PLAIN_SUFFIXES:
        raise TableError(
            f"the archive holds {name!r}, which is not known to be a table by its name",
            f"Pack a file that ends in {', '.join(_PLAIN_SUFFIXES)}",
        )
    if suffix in PARQUET_SUFFIXES:
        return _read_parquet(name, content), None
    _check_kind(name, content[:64])
    text, encoding = _decode(name, content, form.encoding, notes)
    if suffix in _JSON_SUFFIXES:
        return _read_records(name, text, lines=suffix != ".json"), None
    return _read_delimited(name, text, encoding, form, notes)


def _kind(head: bytes) -> str | None:
    return next((words for start, words in _SIGNATURES.items() if head.startswith(start)), None)


def _check_kind(name: str, head: bytes) -> None:
    """Raise TableError for a file that is not text."""
    if (kind := _kind(head)) is not None:
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
    file = parquet.ParquetFile(pa.BufferReader(content))
    check_names(name, file.schema_arrow.names)  # Arrow cannot read a column whose name is there twice
    check_claims(name, file.metadata, len(content))
    # Texts as the file has them, each different one once: written out they could be any number of bytes.
    coded = [field.name for field in file.schema_arrow if is_text(field.type)]
    table = parquet.read_table(pa.BufferReader(content), use_threads=False, read_dictionary=coded)
    return decoded(name, table, file.schema_arrow)


def check_claims(name: str, footer: Arrow, size: int) -> None:
    """Raise TableError for a Parquet file that says it holds more than a file of its size does."""
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    unpacked = sum(max(group.total_byte_size, 0) for group in groups)
    rows = max(footer.num_rows, sum(group.num_rows for group in groups))
    if rows > max(_FEW_ROWS, _MOST_PER_BYTE * size) or unpacked > most_unpacked(size, math.inf):
        raise TableError(
            f"{name} says that its {size:,} bytes hold {rows:,} rows, {unpacked:,} bytes when unpacked",
            "Such files are made to fill a machine's memory; if it is one of yours, write it again without "
            "columns of one value",
        )


def _read_database(file: Path, head: bytes, form: TableFormat) -> Arrow:
    if head.startswith(b"SQLite format 3"):
        return _read_sqlite(file, form.sheet)
    if head[8:12] == b"DUCK":
        return _read_duckdb(file, form.sheet)
    raise TableError(
        f"{file.name} is {_kind(head) or 'no database'}, though its name says so",
        "Give an SQLite or DuckDB database, or give the file the name of what it is",
    )


def _unpacked(file: Path, stream: BinaryIO | Arrow, packed: int) -> bytes:
    """Return what a packed file holds, if it is not more than such a file should."""
    most, parts, size = most_unpacked(packed), list[bytes](), 0
    while part := stream.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > most:
            raise TableError(*too_much(file.name, most))
    return b"".join(parts)


def _member(file: Path, wanted: str | None) -> tuple[str, bytes]:
    """Return name and content of the table in a zip archive."""
    with zipfile.ZipFile(file) as archive:
        known = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
        tables = [n for n in known if Path(n).suffix.lower() in _PLAIN_SUFFIXES]
        name = _choose(file.name, "table", tables, wanted)
        if archive.getinfo(name).flag_bits & 1:
            raise TableError(f"{file.name} is locked with a password", "Unpack it first")
        with archive.open(name) as stream:
            return Path(name).name, _unpacked(file, stream, file.stat().st_size)


def _with_vectors(table: Arrow, file: Path) -> Arrow:
    """Add a column of vectors from an ``.npy`` file, named like the file."""
    import pyarrow as pa

    with reading(f"--vectors: {file}", "Give an .npy file"):
        matrix = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
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


_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def _decode(name: str, content: bytes, encoding: str | None, notes: list[str]) -> tuple[str, str]:
    """Return a file's text and its encoding; what is not said is recognised, and noted where it is not UTF-8.

    >>> notes = []
    >>> _decode("t.csv", "é".encode("latin-1"), None, notes)
    ('é', 'cp1252')
    >>> notes
    ['t.csv is not UTF-8 and was read as Windows-1252 (Latin-1); --encoding says otherwise']
    >>> _decode("t.csv", "a,b".encode("utf-16"), None, [])
    ('a,b', 'utf-16')
    >>> _decode("t.csv", b"a,b\\r1,2", None, [])
    ('a,b\\n1,2', 'utf-8')
    """
    if encoding is not None:
        text = _strictly(name, content, encoding)
    elif found := next((e for mark, e in _MARKS.items() if content.startswith(mark)), None):
        text, encoding = _strictly(name, content, found), found
    elif found := _without_mark(content):
        notes.append(f"{name} was read as UTF-16")
        text, encoding = _strictly(name, content, found), found
    else:
        try:
            text, encoding = content.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            # A byte that Windows-1252 leaves undefined is a control character of Latin-1.
            text, encoding = content.decode("cp1252", "replace"), "cp1252"
            if "\ufffd" in text:
                text, encoding = content.decode("latin-1"), "latin-1"
            notes.append(
                f"{name} is not UTF-8 and was read as Windows-1252 (Latin-1); --encoding says otherwise"
            )
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TableError(f"{name} is not text: line {line} has a zero byte", "Export it again as CSV (UTF-8)")
    if "\n" not in text:  # lines as Excel's "CSV (Macintosh)" ends them
        text = text.replace("\r", "\n")
    return text.removeprefix("\ufeff"), encoding


def _strictly(name: str, content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except LookupError:
        raise TableError(
            f"unknown encoding {encoding!r}", "--encoding takes names like utf-8, latin-1 or cp1252"
        ) from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise TableError(
            f"{name} is not {encoding}: byte 0x{content[error.start]:02x} in line {line}",
            "Leave --encoding out to have it recognised, or say what it is, e.g. --encoding latin-1",
        ) from None


def _without_mark(content: bytes) -> str | None:
    """Return UTF-16 if every second byte of the beginning is zero, as in Latin letters without a mark."""
    head = content[:400]
    half = len(head) // 2
    if half >= 4 and head[1::2].count(0) >= 0.9 * half and not head[::2].count(0):
        return "utf-16-le"
    if half >= 4 and head[::2].count(0) >= 0.9 * half and not head[1::2].count(0):
        return "utf-16-be"
    return None


#: Signs between fields that are recognised.
DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 20


def _find_header(text: str, delimiter: str | None, notes: list[str]) -> tuple[str, str]:
    """Return the text from the line of names on, and the sign between fields.

    A first line ``sep=;``, which Excel writes, names the sign. Lines above the names are left out.

    >>> notes = []
    >>> _find_header("sep=;\\na;b\\n1;2\\n", None, notes), notes
    (('a;b\\n1;2\\n', ';'), [])
    >>> _find_header("Loans of 2024\\n\\na,b,c\\n1,2,3\\n", None, notes)[0]
    'a,b,c\\n1,2,3\\n'
    >>> notes
    ['names of columns were found in line 3; the lines above were left out']
    """
    before = len(text) - len(text.lstrip("\r\n"))
    blank, text = text[:before].count("\n"), text[before:]
    if found := re.match(r"sep=(.)\r?\n", text):
        delimiter, text, blank = delimiter or found[1], text[found.end() :], blank + 1
    lines = text.split("\n", _LOOKED_AT)[:_LOOKED_AT]
    if delimiter is None:
        # A title has none of the signs, so that other lines decide.
        telling = next((line for line in lines if any(map(line.count, DELIMITERS))), lines[0])
        delimiter = max(DELIMITERS, key=telling.count)
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    rows, ends = list[list[str]](), list[int]()
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error:
        return text, delimiter
    if skipped := _below_title(rows):
        above = ends[skipped - 1]
        notes.append(
            f"names of columns were found in line {blank + above + 1}; the lines above were left out"
        )
        text = text.split("\n", above)[above]
    return text, delimiter


def _below_title(rows: Sequence[Sequence[object]]) -> int:
    """Return how many rows stand above the names of the columns.

    The first row is a title if at most half of its cells are filled, and a row below it has a different
    text in every cell.

    >>> _below_title([["Applicant", None, None], ["age", "sex", "paid"], [30, "f", 1]])
    1
    >>> _below_title([["age", "sex", "paid"], [30, "f", 1]])
    0
    """
    cells = [[text_of(value) for value in row] for row in rows[:_LOOKED_AT]]
    width = max(map(len, cells), default=0)
    if width < 3 or 2 * sum(value is not None for value in cells[0]) > width:
        return 0
    for at, row in enumerate(cells[1:-1], 1):
        names = [value for value in row if value is not None and not is_number(value)]
        if len(set(names)) == width and all(len(later) == width for later in cells[at + 1 :] if any(later)):
            return at
    return 0


def _read_delimited(name: str, text: str, encoding: str, form: TableFormat, notes: list[str]) -> _Raw:
    """Read text whose fields are separated by one sign; name columns without a name."""
    import pyarrow as pa

    text, delimiter = _find_header(text, form.delimiter, notes)
    text = _without_blank_end(text, delimiter, notes)
    header = next(csv.reader([text.split("\n", 1)[0].rstrip("\r")], delimiter=delimiter), [])
    _check_width(name, len(header))
    bad: list[Arrow] = []

    def note(row: Arrow) -> str:
        bad.append(row)
        return "error"

    content = text.encode()
    # With a sign between thousands, 1.234 is a whole number: numbers are read as text first.
    plain = dict.fromkeys(header, pa.string()) if form.thousands == "." else {}
    try:
        table = _parsed(content, delimiter, plain, note)
        if not plain and form.decimal is form.thousands is None and _has_decimal_comma(table, delimiter):
            doubles = [field.name for field in table.schema if pa.types.is_floating(field.type)]
            table = _parsed(content, delimiter, dict.fromkeys(doubles, pa.string()), note)
        codes = _codes(table, text, delimiter)
        if codes:
            texts = _parsed(content, delimiter, plain | dict.fromkeys(codes, pa.string()), note)
            table = _with_codes(table, texts, codes)
    except pa.ArrowException as error:
        if bad:
            row = bad[0]
            at = f"data row {row.number - 1}" if row.number else "a row"
            raise TableError(
                f"{name}: {at} has {row.actual_columns} fields, the header has {row.expected_columns}",
                "The file is truncated, or a field holds an unquoted separator: correct that row",
            ) from error
        if "Empty CSV" in str(error):
            raise TableError(f"{name} is empty", "Give a file with a header line and rows") from error
        raise TableError(
            f"{name} cannot be read as CSV: {str(error).splitlines()[0]}", "Export it again as CSV (UTF-8)"
        ) from error
    names = [" ".join(str(n).split()) or f"(unnamed {i + 1})" for i, n in enumerate(table.column_names)]
    table = table.rename_columns(names)
    _check_fields(name, table)
    return table, _Text(encoding, delimiter)


def _has_decimal_comma(table: Arrow, delimiter: str) -> bool:
    names = table.column_names
    columns = {
        name: column for name, column in zip(names, table.columns, strict=True) if names.count(name) == 1
    }
    return has_decimal_comma(recognise_all(columns, comma=delimiter == ",", typed=False))


def _parsed(
    content: bytes, delimiter: str, types: dict[str, Arrow], bad_row: Callable[[Arrow], str]
) -> Arrow:
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
        pa.BufferReader(content),
        # One block, or a long field could straddle two; one thread, or rows have no numbers.
        read_options=csv.ReadOptions(
            use_threads=False, block_size=min(max(len(content) + 1, 1 << 20), 1 << 30)
        ),
        parse_options=csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=bad_row
        ),
        convert_options=csv.ConvertOptions(
            null_values=list(MISSING), strings_can_be_null=True, column_types=types
        ),
    )


def _codes(table: Arrow, text: str, delimiter: str) -> list[str]:
    """Return columns of whole numbers if one of them may hold codes with leading zeros, such as 02134."""
    import pyarrow as pa

    sign = re.escape(delimiter)
    if not re.search(rf'(?:^|{sign}|")0[0-9]+(?:$|{sign}|"|\r)', text, re.MULTILINE):
        return []
    names = table.column_names
    return [
        name
        for name, column in zip(names, table.columns, strict=True)
        if pa.types.is_integer(column.type) and names.count(name) == 1
    ]


def _with_codes(table: Arrow, texts: Arrow, columns: list[str]) -> Arrow:
    """Return the table with codes as texts; ``texts`` has these columns as they are written."""
    from pyarrow import compute as pc

    for name in columns:
        written = texts.column(name)
        if pc.any(pc.match_substring_regex(written, r"^\s*0[0-9]+\s*$")).as_py():
            table = table.set_column(table.column_names.index(name), name, written)
    return table


def _without_blank_end(text: str, delimiter: str, notes: list[str]) -> str:
    """Return the text without rows of empty fields at its end, as spreadsheets write them."""
    whole = text.rstrip(delimiter + ' "\r\n')
    # Empty fields of the last row that has a value belong to it.
    end = text.find("\n", len(whole))
    rows = 0 if end < 0 else sum(delimiter in line for line in text[end + 1 :].split("\n"))
    if not rows:
        return text
    notes.append(f"{rows:,} empty row{'s' * (rows > 1)} at the end {'were' if rows > 1 else 'was'} left out")
    return text[: end + 1]


def _check_fields(file: str, table: Arrow) -> None:
    import pyarrow as pa
    from pyarrow import compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            lengths = pc.utf8_length(column)
            longest = pc.max(lengths).as_py()
            if longest is not None and longest > LONGEST_FIELD:
                row = pc.index(lengths, longest).as_py() + 1
                raise TableError(
                    f"{file}: column {name[:60]!r} has {longest:,} characters in data row {row}",
                    f"Fields may have {LONGEST_FIELD:,}: look for a quote that is never closed",
                )


def _read_records(name: str, text: str, *, lines: bool) -> Arrow:
    """Read a JSON list of tasks or objects, or one object per line; fields of inner objects are columns.

    >>> _read_records("t.jsonl", '{"a": 1}\\n{"a": 2, "b": [1.0]}\\n', lines=True).to_pydict()
    {'a': [1, 2], 'b': [None, [1.0]]}
    >>> _read_records("t.jsonl", '{"who": {"age": 30, "sex": "f"}}', lines=True).to_pydict()
    {'who.age': [30], 'who.sex': ['f']}
    """
    import pyarrow as pa

    remedy = "Give a JSON list of tasks, each with its fields under 'data', or .jsonl with an object per line"
    if len(text) > _MOST_JSON:
        raise TableError(f"{name} has more than {_MOST_JSON:,} characters of JSON", "Store it as Parquet")
    tasks: object
    if lines:
        tasks = [
            parse_json(line, name, line=number, remedy="Correct that line", kind=TableError)
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
    else:
        tasks = parse_json(text, name, remedy=remedy, kind=TableError)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise TableError(f"{name} is not a list of tasks", remedy)
    rows = [_flat(task["data"] if isinstance(task.get("data"), dict) else task) for task in tasks]
    names = dict.fromkeys(field for row in rows for field in row)
    _check_cells(name, len(rows) * len(names))
    return pa.table(
        {column: mixed_column(name, column, [row.get(column) for row in rows]) for column in names}
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


def _check_cells(name: str, cells: int) -> None:
    if cells > _MOST_CELLS:
        raise TableError(f"{name} has {cells:,} cells; {_MOST_CELLS:,} at most", "Store it as Parquet")


def _choose(file: str, kind: str, names: Sequence[str], wanted: str | None) -> str:
    """Return the table to read of several, or raise TableError with their names.

    >>> _choose("a.db", "table", ["people"], None)
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


def _read_workbook(file: Path, sheet: str | None, notes: list[str]) -> Arrow:
    """Read a sheet of an Excel workbook; the first row, or one below a title, has the names of columns."""
    openpyxl = _needed("openpyxl", "excel", file)
    check_archive(file.name, file)
    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    try:
        name = _choose(file.name, "sheet", _filled(book) if sheet is None else book.sheetnames, sheet)
        rows, cells = list[Sequence[object]](), 0
        for row in _sheet_rows(book[name]):
            if any(v is not None for v in row):
                rows.append(row)
                cells += len(row)
                _check_cells(file.name, cells)
    finally:
        book.close()
    if not rows:
        raise TableError(f"{file.name}: sheet {name!r} is empty", "Give a sheet with a header and rows")
    if title := _below_title(rows):
        notes.append(f"names of columns were found below {title} other row{'s' * (title > 1)}")
        rows = rows[title:]
    last = (
        max(i for i, value in enumerate(rows[0]) if value is not None) + 1 if any(rows[0]) else len(rows[0])
    )
    _check_cells(file.name, len(rows) * last)
    header = [text_of(v) or f"(unnamed {i + 1})" for i, v in enumerate(rows[0][:last])]
    return _table(file.name, header, [row[:last] for row in rows[1:]])


def _sheet_rows(sheet: Arrow) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a sheet; what it says of its own size is not believed."""
    if hasattr(sheet, "reset_dimensions"):  # a sheet that is a chart has no cells
        sheet.reset_dimensions()
        yield from sheet.iter_rows(values_only=True)


def _filled(book: Arrow) -> list[str]:
    """Return the sheets with cells: a new workbook often has two empty ones."""
    return [name for name in book.sheetnames if any(any(row) for row in _sheet_rows(book[name]))]


def _read_sqlite(file: Path, table: str | None) -> Arrow:
    """Read a table or view of an SQLite database."""
    with closing(sqlite3.connect(f"file:{file.resolve().as_posix()}?mode=ro", uri=True)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(LONGEST_FIELD, 1 << 24))
        steps = iter(range(_MOST_STEPS // 1_000_000))
        database.set_progress_handler(lambda: next(steps, None) is None, 1_000_000)
        kinds = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        names = sorted(name for (name,) in database.execute(kinds))
        name = _choose(file.name, "table", names, table)
        found = database.execute(f"SELECT * FROM {_quoted(name)}")
        columns = [column[0] for column in found.description]
        rows = list[Sequence[object]]()
        while part := found.fetchmany(10_000):
            rows += part
            _check_cells(file.name, len(rows) * len(columns))
        return _table(file.name, columns, rows)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read_duckdb(file: Path, table: str | None) -> Arrow:
    """Read a table or view of a DuckDB database."""
    import pyarrow as pa

    duckdb = _needed("duckdb", "duckdb", file)
    # A view may name other files of this machine, or rows without end.
    closed = {"enable_external_access": "false"}
    with closing(duckdb.connect(str(file), read_only=True, config=closed)) as database:
        names = sorted(name for (name,) in database.execute("SHOW TABLES").fetchall())
        name = _choose(file.name, "table", names, table)
        stream = database.sql(f"SELECT * FROM {_quoted(name)}").to_arrow_reader(1 << 16)
        parts, rows, size = [], 0, 0
        for part in stream:
            parts.append(part)
            rows, size = rows + part.num_rows, size + part.nbytes
            _check_cells(file.name, rows * len(part.schema.names))
            if size > MOST_UNPACKED:
                raise TableError(*too_much(file.name, MOST_UNPACKED))
        return pa.Table.from_batches(parts, schema=stream.schema)


def is_dataset_folder(folder: Path) -> bool:
    """Whether a folder was written by ``save_to_disk`` of Hugging Face's datasets."""
    return (folder / "state.json").is_file() or (folder / "dataset_dict.json").is_file()


def _read_dataset_folder(folder: Path, split: str | None) -> Arrow:
    """Read a dataset that ``save_to_disk`` of Hugging Face's datasets has written, without that library."""
    import pyarrow as pa

    if (folder / "dataset_dict.json").is_file():
        splits = read_json(folder / "dataset_dict.json", kind=TableError)["splits"]
        folder = folder / _choose(folder.name, "split", splits, split)
    state = read_json(folder / "state.json", kind=TableError)
    parts = []
    for entry in state["_data_files"]:
        if Path(entry["filename"]).name != entry["filename"]:
            raise TableError(f"{folder.name} names a file that is not in it", "Save it to disk again")
        with pa.memory_map(str(folder / entry["filename"])) as source:
            parts.append(pa.ipc.open_stream(source).read_all())
    if state.get("_indices_data_files"):
        raise TableError(f"{folder} holds a selection of rows", "Call flatten_indices() before saving it")
    return pa.concat_tables(parts, promote_options="permissive").replace_schema_metadata(None)


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
        mixed_column(file, name, [row[at] if at < len(row) else None for row in rows])
        for at, name in enumerate(names)
    ]
    return pa.Table.from_arrays(columns, names=list(names))
