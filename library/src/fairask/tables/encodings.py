"""Which encoding a text file is in."""

from __future__ import annotations

import codecs

from fairask.tables.errors import TableError

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def decode(name: str, content: bytes, encoding: str | None, notes: list[str]) -> str:
    """Return a file's text; what is not said is recognised, and noted where it is not UTF-8.

    Examples
    --------
    >>> notes = []
    >>> decode("t.csv", "é".encode("latin-1"), None, notes), notes
    ('é', ['t.csv is not UTF-8 and was read as Windows-1252 (Latin-1); --encoding says otherwise'])
    >>> decode("t.csv", "a,b".encode("utf-16"), None, [])
    'a,b'
    """
    if encoding is not None:
        text = _strictly(name, content, encoding)
    elif found := next((e for mark, e in _MARKS.items() if content.startswith(mark)), None):
        text = _strictly(name, content, found)
    elif found := _without_mark(content):
        notes.append(f"{name} was read as UTF-16")
        text = _strictly(name, content, found)
    else:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            # A byte that Windows-1252 leaves undefined is a control character of Latin-1.
            text = content.decode("cp1252", "replace")
            text = content.decode("latin-1") if "\ufffd" in text else text
            notes.append(
                f"{name} is not UTF-8 and was read as Windows-1252 (Latin-1); --encoding says otherwise"
            )
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TableError(f"{name} is not text: line {line} has a zero byte", "Export it again as CSV (UTF-8)")
    return text.removeprefix("\ufeff")


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
