"""Sheets for people: written whole, with no cell that runs as a formula, and checked when they come back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fairask.errors import UserError
from fairask.report.words import visible
from fairask.tables.arrow import optional
from fairask.tables.cells import is_number, text_of, with_point
from fairask.tables.formats import DELIMITERS

if sys.platform != "win32":
    import fcntl

#: Characters per cell of a sheet; pools of Parquet can have longer ones than text files may.
_LONGEST_CELL = 1 << 27
#: Characters per cell of an Excel workbook.
_LONGEST_EXCEL = 32_767
#: How a formula begins: a sign (also full-width) after any blanks.
_SIGN = r"[^\S\t\r\n]*[=+\-@|%＝＋－＠｜％]"
#: Places of text that get an apostrophe: before a formula or a tab or line break at the beginning, and before
#: a formula after ";", a tab or a line break, where some spreadsheets begin a cell whatever the file says.
#: Apostrophes that stand there already are kept, so that the guard can be undone.
_GUARDED = re.compile(rf"\A(?='*(?:[\t\r\n]|{_SIGN}))|(?<=[;\t\r\n])(?='*{_SIGN})")
_GUARD = re.compile(rf"\A'(?='*(?:[\t\r\n]|{_SIGN}))|(?<=[;\t\r\n])'(?='*{_SIGN})")


def safe_cell(value: object) -> object:
    """Return a cell that no spreadsheet runs: an apostrophe goes before what could begin a formula.

    Control characters are shown. Numbers stay as they are, also as text; None becomes an empty cell.

    >>> [safe_cell(value) for value in ("=1+1", " =1", "x;=1+1", "-5", -5, "plain")]
    ["'=1+1", "' =1", "x;'=1+1", '-5', -5, 'plain']
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = visible(str(value))
    return text if is_number(text) and text.strip() == text else _GUARDED.sub("'", text)


def plain_cell(value: str) -> str:
    """Undo :func:`safe_cell`.

    >>> plain_cell("'=1+1"), plain_cell("x;'=1+1"), plain_cell("'tis")
    ('=1+1', 'x;=1+1', "'tis")
    """
    return _GUARD.sub("", value)


def csv_text(
    names: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    line_end: str = "\r\n",
    delimiter: str = ",",
    decimal: str = ".",
) -> str:
    """Return rows as CSV that is safe to open in a spreadsheet.

    >>> csv_text(["row", "note"], [[1, "=A1"]])
    "row,note\\r\\n1,'=A1\\r\\n"
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end, delimiter=delimiter)
    writer.writerow([safe_cell(name) for name in names])
    for row in rows:
        cells = [safe_cell(value) for value in row]
        if decimal != ".":
            cells = [str(c).replace(".", decimal) if isinstance(c, float) else c for c in cells]
        writer.writerow(cells)
    return out.getvalue()


def workbook(names: Sequence[object], rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows as an Excel workbook in which no cell is a formula.

    >>> workbook(["row", "note"], [[1, "=A1"]])[:2]
    b'PK'
    """
    openpyxl = optional("openpyxl", "excel")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("rows")
    for row in ([*names], *rows):
        cells = [None if value is None else safe_cell(value) for value in row]
        for cell in cells:
            if isinstance(cell, str) and len(cell) > _LONGEST_EXCEL:
                raise UserError(
                    f"a text has {len(cell):,} characters, and a cell of Excel {_LONGEST_EXCEL:,} at most",
                    "Write the sheet as .csv or .jsonl",
                )
        sheet.append(cells)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def header_of(text: str, delimiter: str | None = None) -> tuple[list[str], str]:
    """Return the names in the first line of a text and the sign between its fields.

    >>> header_of("row;label\\r\\n1;yes\\r\\n")
    (['row', 'label'], ';')
    """
    line = text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    delimiter = delimiter or max(DELIMITERS, key=line.count)
    return next(csv.reader([line], delimiter=delimiter), []), delimiter


def read_sheet(text: str, delimiter: str | None = None) -> list[dict[str, str | None]]:
    """Return the rows of a sheet that people filled in, cell by cell as text: "NA" can be a label.

    Where fields are not separated by commas, numbers with a decimal comma get a point.

    >>> read_sheet("row;label;x\\n1;NA;2,5\\n")
    [{'row': '1', 'label': 'NA', 'x': '2.5'}]
    """
    _, delimiter = header_of(text, delimiter)
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


def write_whole(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write a file so that it is complete or not there, even if the process is killed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), "done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    # A name of its own: two processes may write the same file, and a link of that name must not be followed.
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(content if isinstance(content, bytes) else content.encode())
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Let one process at a time work on a file or folder that is there; Windows has no such lock."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_next(path: Path, content: bytes, before: bytes | None) -> bytes:
    """Write the next state of a file, unless another process changed it after ``before`` was read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     seen = write_next(Path(folder, "a.json"), b"1", None)
    ...     write_next(Path(folder, "a.json"), b"2", None)
    Traceback (most recent call last):
    fairask.errors.UserError: another command changed a.json meanwhile, and nothing was written; Do it again
    """
    with alone(path.parent):
        if (path.read_bytes() if path.exists() else None) != before:
            raise UserError(
                f"another command changed {path.name} meanwhile, and nothing was written", "Do it again"
            )
        write_whole(path, content)
    return content


#: Name of the column of check codes.
CHECK = "check"
_NAMED = 5


def check_code(row: int, cells: Mapping[str, object]) -> str:
    """Return the check code of a row, nine letters and digits that follow from its number and its cells.

    >>> check_code(7, {"age": 30}), check_code(8, {"age": 30}) == check_code(7, {"age": 30})
    ('kfa9eb6fd', False)
    """
    text = json.dumps([int(row), sorted(cells.items())], ensure_ascii=False, default=str)
    # A letter in front: a spreadsheet reads digits with an "e" among them as a number.
    return "k" + hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class ReturnedRow:
    """A labelled row of a sheet that came back."""

    row: int  #: number of the row as the study or the audit counts
    shown: str  #: the number as the sheet has it
    code: str | None  #: its check code; None where the sheet has none
    cells: Mapping[str, object] = field(default_factory=dict)  #: the other cells that came back


def check_returned(
    file: str, returned: Sequence[ReturnedRow], known: Mapping[int, Mapping[str, object]]
) -> None:
    """Raise UserError unless every returned row is what the table says.

    A row with a check code must have the right one. Cells are compared with the table's: with the right code,
    a cell that differs and is that of another row of the sheet was moved; one that is no row's was written
    otherwise by a spreadsheet, which changes nothing. Without a code every cell must agree, and there must
    be one.

    Parameters
    ----------
    file : str
        Name of the sheet, for messages.
    returned : sequence of ReturnedRow
        Rows with a label.
    known : mapping
        Cells of the table by row number. Rows that are not in it are not checked.

    Examples
    --------
    >>> table = {0: {"age": 30}, 1: {"age": 40}}
    >>> check_returned("a.csv", [ReturnedRow(1, "1", check_code(1, table[1]))], table)
    >>> check_returned("a.csv", [ReturnedRow(1, "1", check_code(0, table[0]))], table)
    Traceback (most recent call last):
    fairask.errors.UserError: a.csv: 1 of 1 labelled rows are not those of the table, the first: row 1...
    """
    found = [row for row in returned if row.row in known]
    values: dict[str, set[str | None]] = {}
    for row in found:
        for name, value in known[row.row].items():
            values.setdefault(name, set()).add(_comparable(value))
    bare, wrong = [], []
    for row in found:
        cells = known[row.row]
        differ = [
            (name, _comparable(value))
            for name, value in row.cells.items()
            if name in cells and _comparable(value) != _comparable(cells[name])
        ]
        if row.code is not None:
            moved = [name for name, value in differ if value in values[name]]
            if row.code != check_code(row.row, cells) or moved:
                wrong.append(row)
        elif differ:
            wrong.append(row)
        elif not any(name in cells for name in row.cells):
            bare.append(row)
    if wrong:
        first = ", ".join(row.shown for row in wrong[:_NAMED]) + (", ..." if len(wrong) > _NAMED else "")
        raise UserError(
            f"{file}: {len(wrong):,} of {len(returned):,} labelled rows are not those of the table, the "
            f"first: row {first}",
            "Row numbers or cells have slipped: nothing was told. Label the sheet again as it was written, "
            "or give --unchecked if only its cells were edited",
        )
    if bare:
        raise UserError(
            f"{file} has neither the column {CHECK!r} nor other columns of the table, so nobody can tell "
            "whether its row numbers are right",
            f"Keep the column {CHECK!r} of the sheet, or give --unchecked",
        )


def _comparable(value: object) -> str | None:
    """Return a cell as it can be compared after a spreadsheet has saved it."""
    if value is None or value != value:
        return None
    text = visible(plain_cell(value)) if isinstance(value, str) else str(value)
    try:
        return f"{float(text):.10g}"
    except ValueError:
        found = text_of(text)
        return None if found is None else found.casefold()
