"""Reading CSV and other delimited text, with errors that name the row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow
from fairask.tables.formats import TableFormat
from fairask.tables.headers import DELIMITERS, find_header
from fairask.tables.limits import LONGEST_FIELD
from fairask.tables.understood import understood
from fairask.tables.written import with_point

#: Cells that mean "unknown".
_MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-NaN", "<NA>")
#: Characters per cell of a sheet; pools of Parquet can have longer ones than text files may.
_LONGEST_CELL = 1 << 27


def header_of(text: str, delimiter: str | None = None) -> tuple[list[str], str]:
    """Return the names in the first line of a text and the sign between its fields.

    Examples
    --------
    >>> header_of("row;label\\r\\n1;yes\\r\\n")
    (['row', 'label'], ';')
    """
    line = text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    delimiter = delimiter or max(DELIMITERS, key=line.count)
    return next(csv.reader([line], delimiter=delimiter), []), delimiter


def read_cells(text: str) -> list[dict[str, str | None]]:
    """Return the rows of a sheet that people filled in, cell by cell as text: "NA" can be a label.

    Where fields are not separated by commas, numbers with a decimal comma get a point.

    Examples
    --------
    >>> read_cells("row;label;x\\n1;NA;2,5\\n")
    [{'row': '1', 'label': 'NA', 'x': '2.5'}]
    """
    _, delimiter = header_of(text)
    csv.field_size_limit(_LONGEST_CELL)
    rows: list[dict[str, str | None]] = list(
        csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    )
    if delimiter == ",":
        return rows
    return [
        {name: with_point(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        for row in rows
    ]


def read_delimited(name: str, text: str, form: TableFormat, notes: list[str]) -> Arrow:
    """Read text whose fields are separated by one sign; name columns without a name."""
    import pyarrow as pa

    text, delimiter = find_header(text, form.delimiter, notes)
    text = _without_blank_end(text, delimiter, notes)
    header, _ = header_of(text, delimiter)
    bad: list[Arrow] = []

    def note(row: Arrow) -> str:
        bad.append(row)
        return "error"

    content = text.encode()
    # With a sign between thousands, 1.234 is a whole number: numbers are read as text first.
    plain = dict.fromkeys(header, pa.string()) if form.thousands == "." else {}
    try:
        table = _parsed(content, delimiter, plain, note)
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
    return understood(table, form, notes, delimiter=delimiter)


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
            null_values=list(_MISSING), strings_can_be_null=True, column_types=types
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
