"""Reading CSV and other delimited text, with errors that name the row."""

from __future__ import annotations

import codecs
from pathlib import Path

from fairask.data.errors import TableError
from fairask.data.extras import Arrow
from fairask.data.limits import LONGEST_FIELD

__all__ = ["read_delimited"]

#: Cells that mean "unknown".
_MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-NaN", "<NA>")


def read_delimited(file: Path, encoding: str) -> Arrow:
    """Read a file whose fields are separated by commas, semicolons or tabs; name columns without a name."""
    import pyarrow as pa
    from pyarrow import csv

    header = _check_text(file, encoding)
    bad: list[Arrow] = []

    def note(row: Arrow) -> str:
        bad.append(row)
        return "error"

    try:
        table = csv.read_csv(
            file,
            # One block, or a long field could straddle two; one thread, or rows have no numbers.
            read_options=csv.ReadOptions(
                use_threads=False,
                encoding=encoding,
                block_size=min(max(file.stat().st_size + 1, 1 << 20), 1 << 30),
            ),
            parse_options=csv.ParseOptions(
                delimiter=max((",", ";", "\t"), key=header.count),
                newlines_in_values=True,
                invalid_row_handler=note,
            ),
            convert_options=csv.ConvertOptions(null_values=list(_MISSING), strings_can_be_null=True),
        )
    except pa.ArrowException as error:
        if bad:
            row = bad[0]
            at = f"data row {row.number - 1}" if row.number else "a row"
            raise TableError(
                f"{file.name}: {at} has {row.actual_columns} fields, the header has {row.expected_columns}",
                "The file is truncated, or a field holds an unquoted separator: correct that row",
            ) from error
        if "Empty CSV" in str(error):
            raise TableError(f"{file.name} is empty", "Give a file with a header line and rows") from error
        raise TableError(
            f"{file.name} cannot be read as CSV: {str(error).splitlines()[0]}",
            "Export it again as CSV (UTF-8)",
        ) from error
    names = [" ".join(str(n).split()) or f"(unnamed {i + 1})" for i, n in enumerate(table.column_names)]
    table = table.rename_columns(names)
    _check_fields(file, table)
    return table


def _check_text(file: Path, encoding: str) -> str:
    """Decode all of it once, so that a wrong encoding has a line number; return the first line."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise TableError(
            f"unknown encoding {encoding!r}", "--encoding takes names like utf-8, latin-1 or cp1252"
        ) from None
    lines, first = 1, ""
    with file.open("rb") as stream:
        while True:
            block = stream.read(1 << 22)
            if (
                lines == 1
                and block[:2] in (b"\xff\xfe", b"\xfe\xff")
                and not encoding.lower().startswith("utf-16")
            ):
                raise TableError(f"{file.name} is UTF-16 text, not {encoding}", "Add --encoding utf-16")
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = lines + error.object[: error.start].count(b"\n")
                raise TableError(
                    f"{file.name} is not {encoding}: byte 0x{error.object[error.start]:02x} in line {line}",
                    "Say what it is, e.g. --encoding latin-1 or --encoding cp1252",
                ) from None
            if "\0" in text:
                line = lines + text[: text.index("\0")].count("\n")
                raise TableError(
                    f"{file.name} is not text: line {line} has a zero byte", "Export it again as CSV (UTF-8)"
                )
            if not first:
                first = text.removeprefix("\ufeff").lstrip("\r\n").split("\n", 1)[0]
            lines += text.count("\n")
            if not block:
                return first


def _check_fields(file: Path, table: Arrow) -> None:
    import pyarrow as pa
    from pyarrow import compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            lengths = pc.utf8_length(column)
            longest = pc.max(lengths).as_py()
            if longest is not None and longest > LONGEST_FIELD:
                row = pc.index(lengths, longest).as_py() + 1
                raise TableError(
                    f"{file.name}: column {name[:60]!r} has {longest:,} characters in data row {row}",
                    f"Fields may have {LONGEST_FIELD:,}: look for a quote that is never closed",
                )
