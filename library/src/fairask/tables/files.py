"""Writing files: whole or not at all, and no cell that a spreadsheet runs as a formula."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

#: How a formula begins: a sign (also full-width) after any blanks.
_SIGN = r"[^\S\t\r\n]*[=+\-@|%＝＋－＠｜％]"
#: Places of text that get an apostrophe: before a formula or a tab or line break at the beginning, and before
#: a formula after ";", a tab or a line break, where some spreadsheets begin a cell whatever the file says.
#: Apostrophes that stand there already are kept, so that the guard can be undone.
_GUARDED = re.compile(rf"\A(?='*(?:[\t\r\n]|{_SIGN}))|(?<=[;\t\r\n])(?='*{_SIGN})")
_GUARD = re.compile(rf"\A'(?='*(?:[\t\r\n]|{_SIGN}))|(?<=[;\t\r\n])'(?='*{_SIGN})")


def safe_cell(value: object) -> object:
    """Return a cell that no spreadsheet runs: an apostrophe goes before what could begin a formula.

    Numbers stay as they are, also as text; None becomes an empty cell.

    Examples
    --------
    >>> [safe_cell(value) for value in ("=1+1", " =1", "x;=1+1", "-5", -5, "plain")]
    ["'=1+1", "' =1", "x;'=1+1", '-5', -5, 'plain']
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if _is_number(text) else _GUARDED.sub("'", text)


def plain_cell(value: str) -> str:
    """Undo :func:`safe_cell`.

    Examples
    --------
    >>> plain_cell("'=1+1"), plain_cell("x;'=1+1"), plain_cell("'tis")
    ('=1+1', 'x;=1+1', "'tis")
    """
    return _GUARD.sub("", value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text


def csv_text(names: Sequence[object], rows: Iterable[Sequence[object]], *, line_end: str = "\r\n") -> str:
    """Return rows as CSV that is safe to open in a spreadsheet.

    Examples
    --------
    >>> csv_text(["row", "note"], [[1, "=A1"]])
    "row,note\\r\\n1,'=A1\\r\\n"
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end)
    writer.writerow([safe_cell(name) for name in names])
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return out.getvalue()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is complete or not there, even if the process is killed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), "done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    scratch = path.with_name(f"{path.name}.part")
    try:
        with scratch.open("wb") as stream:
            stream.write(content if isinstance(content, bytes) else content.encode())
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
