"""Reading a file: is it what its name says, is it whole, is its text readable."""

from __future__ import annotations

import codecs
from os import PathLike
from pathlib import Path
from typing import Any

from fairask.tables._problem import TableProblem

__all__ = ["CSV_SUFFIXES", "PARQUET_SUFFIXES", "read_file"]

CSV_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet", ".pq")
#: What a field may hold; more is a quote that was never closed, or no table.
LONGEST_FIELD = 1 << 17
#: Cells that mean "unknown".
MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-NaN", "<NA>")

_SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive (an Excel workbook is one)",
    b"\x1f\x8b": "a gzip archive",
    b"ARROW1": "an Arrow (Feather) file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
}


def read_file(path: str | PathLike[str], *, encoding: str = "utf-8") -> Any:
    """Read a CSV (.csv, .tsv, .txt) or Parquet (.parquet, .pq) file into a pyarrow table.

    Raises
    ------
    TableProblem
        If the file is missing, empty, ragged, truncated, in another encoding, or not what its name says.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("a;b\\n1;x\\n2;y\\n")
    ...     read_file(file).to_pydict()
    {'a': [1, 2], 'b': ['x', 'y']}
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in CSV_SUFFIXES + PARQUET_SUFFIXES:
        known = ", ".join(CSV_SUFFIXES + PARQUET_SUFFIXES)
        raise TableProblem(
            f"{file.name} is not known to be a table by its name", f"Give a file that ends in {known}"
        )
    if not file.exists():
        near = _nearest(file)
        raise TableProblem(f"there is no file {file}", f"Did you mean {near}?" if near else "Check the path")
    if not file.is_file():
        raise TableProblem(f"{file} is a folder", "Give a CSV or Parquet file")
    try:
        with file.open("rb") as stream:
            head = stream.read(64)
    except OSError as error:
        raise TableProblem(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error
    if not head:
        raise TableProblem(f"{file.name} is empty", "Give a file with a header line and rows")
    kind = next((words for start, words in _SIGNATURES.items() if head.startswith(start)), None)
    table = _read_parquet(file, kind) if suffix in PARQUET_SUFFIXES else _read_csv(file, kind, head, encoding)
    return _named(file, table)


def _read_parquet(file: Path, kind: str | None) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    if kind != _SIGNATURES[b"PAR1"]:
        raise TableProblem(
            f"{file.name} is {kind or 'not a Parquet file'}, though its name says Parquet",
            f"Rename it if it is CSV ({file.stem}.csv), or export it again as Parquet",
        )
    try:
        return parquet.read_table(file, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise TableProblem(
            f"{file.name} is a damaged or truncated Parquet file", "Copy or export it again"
        ) from error


def _read_csv(file: Path, kind: str | None, head: bytes, encoding: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    if kind is not None:
        todo = (
            f"Rename it to {file.stem}.parquet"
            if "Parquet" in kind
            else "Unpack it or export it as CSV (UTF-8) first"
        )
        raise TableProblem(f"{file.name} is {kind}, though its name says text", todo)
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise TableProblem(
            f"{file.name} is a web page, not a table", "Download the file itself, not the page about it"
        )
    header = _check_text(file, head, encoding)
    bad: list[Any] = []

    def note(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        return csv.read_csv(
            file,
            # One block, or a long field could straddle two; one thread, or rows have no numbers.
            read_options=csv.ReadOptions(
                use_threads=False,
                encoding=encoding,
                block_size=min(max(file.stat().st_size + 1, 1 << 20), 1 << 30),
            ),
            parse_options=csv.ParseOptions(
                delimiter=_delimiter(header), newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=csv.ConvertOptions(null_values=list(MISSING), strings_can_be_null=True),
        )
    except pa.ArrowException as error:
        if bad:
            row = bad[0]
            at = f"data row {row.number - 1}" if row.number else "a row"
            raise TableProblem(
                f"{file.name}: {at} has {row.actual_columns} fields, the header has {row.expected_columns}",
                "The file is truncated, or a field holds an unquoted separator: mend that row",
            ) from error
        if "Empty CSV" in str(error):
            raise TableProblem(f"{file.name} is empty", "Give a file with a header line and rows") from error
        raise TableProblem(
            f"{file.name} cannot be read as CSV: {str(error).splitlines()[0]}",
            "Export it again as CSV (UTF-8)",
        ) from error


def _check_text(file: Path, head: bytes, encoding: str) -> str:
    """Decode all of it once, so that a wrong encoding has a line number; return the first line."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise TableProblem(
            f"unknown encoding {encoding!r}", "--encoding takes names like utf-8, latin-1 or cp1252"
        ) from None
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and not encoding.lower().startswith("utf-16"):
        raise TableProblem(f"{file.name} is UTF-16 text, not {encoding}", "Add --encoding utf-16")
    lines, first = 1, ""
    with file.open("rb") as stream:
        while True:
            block = stream.read(1 << 22)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = lines + error.object[: error.start].count(b"\n")
                raise TableProblem(
                    f"{file.name} is not {encoding}: byte 0x{error.object[error.start]:02x} in line {line}",
                    "Say what it is, e.g. --encoding latin-1 or --encoding cp1252",
                ) from None
            if "\0" in text:
                line = lines + text[: text.index("\0")].count("\n")
                raise TableProblem(
                    f"{file.name} is not text: line {line} has a zero byte", "Export it again as CSV (UTF-8)"
                )
            if not first:
                first = text.removeprefix("\ufeff").lstrip("\r\n").split("\n", 1)[0]
            lines += text.count("\n")
            if not block:
                return first


def _delimiter(header: str) -> str:
    return max((",", ";", "\t"), key=header.count)


def _named(file: Path, table: Any) -> Any:
    """Check the header and that there are rows; name columns that have no name."""
    names = [" ".join(str(n).split()) or f"(unnamed {i + 1})" for i, n in enumerate(table.column_names)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise TableProblem(f"{file.name} has more than one column {twice[0]!r}", "Rename one of them")
    if not table.num_rows:
        raise TableProblem(f"{file.name} has a header and no rows", "Give a file with rows")
    if table.num_columns < 2:
        raise TableProblem(
            f"{file.name} has one column only, {names[0]!r}",
            "Fields are separated by commas, semicolons or tabs",
        )
    table = table.rename_columns(names)
    _check_fields(file, table)
    return table


def _check_fields(file: Path, table: Any) -> None:
    import pyarrow as pa
    from pyarrow import compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            lengths = pc.utf8_length(column)
            longest = pc.max(lengths).as_py()
            if longest is not None and longest > LONGEST_FIELD:
                row = pc.index(lengths, longest).as_py() + 1
                raise TableProblem(
                    f"{file.name}: column {name[:60]!r} has {longest:,} characters in data row {row}",
                    f"Fields may have {LONGEST_FIELD:,}: look for a quote that is never closed",
                )


def _nearest(file: Path) -> str | None:
    import difflib

    if not file.parent.is_dir():
        return None
    names = [p.name for p in file.parent.iterdir() if p.suffix.lower() in CSV_SUFFIXES + PARQUET_SUFFIXES]
    near = difflib.get_close_matches(file.name, names, n=1)
    return str(file.with_name(near[0])) if near else None
