"""Files that others wrote: whatever keeps one from being read becomes one error that names it, and where."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairask.errors import TableError, UserError

#: Most bytes that a packed file may hold; of a small one at most so many times its size, or so many bytes.
MOST_UNPACKED, _TIMES, _UNSUSPECTED = 1 << 30, 200, 1 << 26
#: How JSON writes half of a character outside the first 65,536: alone it is no text.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def reading(
    name: str, remedy: str = "Copy or export it again", kind: type[UserError] = TableError
) -> Iterator[None]:
    """Turn what a reader raises for a damaged or hostile file into an error that names the file.

    Parsers raise errors of many kinds for such files, also ``RecursionError``, ``MemoryError`` and
    ``AssertionError``; the cause stays behind the error that is raised.

    >>> with reading("people.npy"):
    ...     [][0]
    Traceback (most recent call last):
    fairask.errors.TableError: people.npy is damaged, truncated or not what its name says: IndexError: list...
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise kind(f"{name} cannot be read: {error.strerror}", remedy) from error
        said = " ".join(str(error).split())[:200]
        why = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise kind(f"{name} is damaged, truncated or not what its name says: {why}", remedy) from error


def parse_json(
    content: str | bytes,
    name: str,
    *,
    line: int | None = None,
    remedy: str = "Correct it, or write it again",
    kind: type[UserError] = UserError,
) -> Any:
    """Return what a JSON document says, or raise an error that names the file and the place.

    Parameters
    ----------
    content : str or bytes
    name : str
        The file, for messages.
    line : int, optional
        Which line of the file this is, where each line is a document.
    remedy : str
    kind : type
        Of the error.

    Examples
    --------
    >>> parse_json('{"a": [1]}', "t.json")
    {'a': [1]}
    >>> parse_json("[1,\\n2", "t.json")
    Traceback (most recent call last):
    fairask.errors.UserError: t.json is not JSON: line 2, column 2: Expecting ',' delimiter; Correct it...
    >>> parse_json("[" * 100_000, "t.jsonl", line=7)
    Traceback (most recent call last):
    fairask.errors.UserError: t.jsonl is not JSON: line 7: lists or objects within one another go too deep...
    """
    at = "" if line is None else f"line {line:,}"
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        found = json.loads(text)
        if _HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeDecodeError as error:
        why = f"byte {error.start + 1:,} is not UTF-8"
    except UnicodeEncodeError as error:
        why = f"{error.object[error.start]!a} is half of a character"
    except RecursionError:
        why = "lists or objects within one another go too deep"
    except json.JSONDecodeError as error:
        at = f"line {line or error.lineno:,}, column {error.colno:,}"
        why = error.msg
    except ValueError as error:  # a whole number of more than 4,300 digits
        why = str(error).partition(";")[0]
    raise kind(f"{name} is not JSON: {at}{': ' * bool(at)}{why}", remedy) from None


def read_json(
    file: Path, *, remedy: str = "Correct it, or restore a copy", kind: type[UserError] = UserError
) -> Any:
    """Return what a JSON file says; see :func:`parse_json`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.json").write_text("[1, 2]")
    ...     read_json(Path(folder, "t.json"))
    [1, 2]
    """
    with reading(file.name, remedy, kind):
        return parse_json(file.read_bytes(), file.name, remedy=remedy, kind=kind)


def most_unpacked(packed: int, most: float = MOST_UNPACKED) -> float:
    """Return how many bytes a packed file of this size may hold; more is made to fill a machine's memory.

    >>> most_unpacked(1000), most_unpacked(1_000_000)
    (67108864, 200000000)
    """
    return min(most, max(_UNSUSPECTED, _TIMES * packed))


def too_much(name: str, most: float) -> tuple[str, str]:
    """Return what is wrong with a file that holds more, and the remedy."""
    return f"{name} holds more than {most:,.0f} bytes when it is unpacked", "Store it as Parquet"


def check_archive(name: str, file: Path | bytes, kind: type[UserError] = TableError) -> None:
    """Raise an error for a zip archive, a workbook or a model that would unpack to too much.

    >>> buffer = io.BytesIO()
    >>> with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    ...     archive.writestr("a", bytes(10**8))
    >>> check_archive("bomb.zip", buffer.getvalue())
    Traceback (most recent call last):
    fairask.errors.TableError: bomb.zip holds more than 67,108,864 bytes when it is unpacked; Store it as...
    """
    packed = len(file) if isinstance(file, bytes) else file.stat().st_size
    with zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file) as archive:
        # No more than this is read of a member, whatever follows.
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > (most := most_unpacked(packed)):
        raise kind(*too_much(name, most))
