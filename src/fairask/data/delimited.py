"""Reading CSV and other delimited text, with errors that name the row."""

from __future__ import annotations

from fairask.data.errors import TableError
from fairask.data.extras import Arrow
from fairask.data.formats import TableFormat
from fairask.data.limits import LONGEST_FIELD
from fairask.data.written import with_numbers

__all__ = ["read_delimited"]

#: Cells that mean "unknown".
_MISSING = ("", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-NaN", "<NA>")
_DELIMITERS = (",", ";", "\t", "|")


def read_delimited(name: str, text: str, form: TableFormat, notes: list[str]) -> Arrow:
    """Read text whose fields are separated by one sign; name columns without a name."""
    import pyarrow as pa
    from pyarrow import csv

    header = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = form.delimiter or max(_DELIMITERS, key=header.count)
    bad: list[Arrow] = []

    def note(row: Arrow) -> str:
        bad.append(row)
        return "error"

    content = text.encode()
    # With a sign between thousands, 1.234 is a whole number: numbers are read as text first.
    plain = {n: pa.string() for n in _names(header, delimiter)} if form.thousands == "." else None
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            # One block, or a long field could straddle two; one thread, or rows have no numbers.
            read_options=csv.ReadOptions(
                use_threads=False, block_size=min(max(len(content) + 1, 1 << 20), 1 << 30)
            ),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=csv.ConvertOptions(
                null_values=list(_MISSING), strings_can_be_null=True, column_types=plain
            ),
        )
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
    return with_numbers(table, form, delimiter, notes) if len(set(names)) == len(names) else table


def _names(header: str, delimiter: str) -> list[str]:
    import csv

    return next(csv.reader([header.rstrip("\r")], delimiter=delimiter), [])


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
