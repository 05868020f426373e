"""Whole cells of a row for whoever may see the row: texts, and images and audio from allowed places.

A browser never fetches a file from elsewhere: it would tell that place who labels what. The studio fetches
it, from the hosts and folders that whoever runs the studio has named, and from the folder ``media`` beside
the study's pool.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from fastapi import APIRouter, HTTPException, Request, Response

from fairask_studio import StudyError
from fairask_studio.connect.outside import check_address, outside_client
from fairask_studio.pages.access import Me, least_role, may
from fairask_studio.pages.api import RowNumber, study_of
from fairask_studio.pages.label import was_given
from fairask_studio.store.people import Person
from fairask_studio.store.postgres import is_url

router = APIRouter(tags=["labelling"])

#: Bytes of an image or a recording.
LARGEST = 20 << 20

_SECONDS, _AT_ONCE = 10.0, 6

#: An image takes four bytes of a browser's memory per pixel.
_MOST_PIXELS = 100_000_000

#: Parts of a JPEG before its size; cameras write some dozens.
_MOST_PARTS = 10_000

#: How files begin; the media type of others needs a second look.
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"ID3": "audio/mpeg",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_MP4 = (b"M4A", b"M4B", b"mp4", b"iso", b"dash", b"3gp")

#: What may be shown as what, in words.
KINDS_OF = {"image": "PNG, JPEG, GIF or WebP image", "audio": "WAV, MP3, Ogg, M4A or FLAC recording"}


def media_kind(data: bytes) -> str | None:
    """Return the media type of an image or a recording by its first bytes; None for anything else.

    Examples
    --------
    >>> media_kind(b"GIF89a..."), media_kind(b"<svg onload=alert(1)>")
    ('image/gif', None)
    >>> media_kind(b"RIFF....WAVEfmt "), media_kind(b"\\xff\\xfb\\x90"), media_kind(b"....ftypM4A ")
    ('audio/wav', 'audio/mpeg', 'audio/mp4')
    """
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12])
    if data[4:8] == b"ftyp" and data[8:12].startswith(_MP4):
        return "audio/mp4"
    if data[:1] == b"\xff" and data[1:2] in (b"\xfb", b"\xfa", b"\xf3", b"\xf2"):
        return "audio/mpeg"
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), None)


def image_pixels(data: bytes) -> int:
    """Return how many pixels an image says that it has: a small file can be too much for a browser.

    Examples
    --------
    >>> image_pixels(b"GIF89a" + bytes([0, 1, 0, 2]))
    131072
    >>> image_pixels(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(8) + (40_000).to_bytes(4) + (40_000).to_bytes(4))
    1600000000
    >>> image_pixels(b"RIFF....WEBPVP8 " + bytes(10) + b"\\xff\\x3f\\xff\\x3f")
    268402689
    """
    if data.startswith(b"\x89PNG"):
        return int.from_bytes(data[16:20]) * int.from_bytes(data[20:24])
    if data.startswith(b"GIF8"):
        return int.from_bytes(data[6:8], "little") * int.from_bytes(data[8:10], "little")
    if data.startswith(b"RIFF"):
        if data[12:16] == b"VP8 ":
            wide, high = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (26, 28))
            return wide * high
        if data[12:16] == b"VP8L":
            sides = int.from_bytes(data[21:25], "little")
            return (1 + (sides & 0x3FFF)) * (1 + (sides >> 14 & 0x3FFF))
        if data[12:16] != b"VP8X":
            return 0
        return (1 + int.from_bytes(data[24:27], "little")) * (1 + int.from_bytes(data[27:30], "little"))
    at = 2
    for _ in range(_MOST_PARTS):
        if not data.startswith(b"\xff\xd8") or at + 9 > len(data) or data[at] != 0xFF:
            break
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 5 : at + 7]) * int.from_bytes(data[at + 7 : at + 9])
        at += 2 + max(int.from_bytes(data[at + 2 : at + 4]), 2)
    return 0


@dataclass(frozen=True)
class Media:
    """Places from which images and recordings are shown.

    Attributes
    ----------
    hosts : frozenset of str
        ``https://media.example.org`` or ``http://localhost:9000``: scheme, host and port.
    folders : tuple of Path
        Folders in which a cell's relative path is looked up.
    """

    hosts: frozenset[str] = frozenset()
    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, places: list[str], target: str) -> Media:
        """Make it from what the command line names; StudyError for a folder that is not there."""
        hosts = [place.rstrip("/") for place in places if "://" in place]
        for host in hosts:
            check_address(host, "--media")
            if urlsplit(host).path:
                raise StudyError(f"--media {host!r} is not a host; give one as in https://media.example.org")
        folders = [Path(place) for place in places if "://" not in place]
        for folder in folders:
            if not folder.is_dir():
                raise StudyError(f"--media {str(folder)!r} is neither a folder nor a host")
        beside = [] if is_url(target) else [Path(target) / "media"]
        return cls(frozenset(hosts), (*folders, *beside))

    def read(self, place: str) -> bytes:
        """Return the bytes of a file; HTTPException in words if there is none, or if it is not allowed."""
        data = self._fetch(place) if "://" in place else self._open(place)
        if len(data) > LARGEST:
            raise HTTPException(413, f"the file is larger than {LARGEST >> 20} MB")
        return data

    def _open(self, name: str) -> bytes:
        for folder in self.folders:
            # What no file can be called, links in a circle, or a file that must not be read.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                path = (folder / name).resolve()
                if path.is_relative_to(folder.resolve()) and path.is_file():
                    with path.open("rb") as file:
                        return file.read(LARGEST + 1)
        raise HTTPException(
            404,
            f"The file {name!r} is missing: an owner can put it beside the pool or into a folder of --media.",
        )

    def _fetch(self, address: str) -> bytes:
        try:
            parts = urlsplit(address)
        except ValueError as error:
            raise HTTPException(404, f"{address[:80]!r} is not an address") from error
        host = f"{parts.scheme}://{parts.netloc}"
        if host not in self.hosts:
            raise HTTPException(
                403, f"files from {host} are not allowed; start the studio with --media {host}"
            )
        data, until = b"", time.monotonic() + _SECONDS
        try:
            # Redirects are not followed: they could lead to a host that is not allowed.
            with (
                outside_client(list(self.hosts), _SECONDS) as client,
                client.stream("GET", address) as found,
            ):
                found.raise_for_status()
                for part in found.iter_bytes():
                    data += part
                    if len(data) > LARGEST:
                        break
                    if time.monotonic() > until:  # a byte now and then
                        raise HTTPException(502, f"{host} did not give the file within {_SECONDS:.0f} s")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise HTTPException(502, f"{host} did not give the file: {error}") from error
        return data


_TURN = threading.BoundedSemaphore(_AT_ONCE)


@router.get(
    "/cells/{row}/{column:path}",
    response_class=Response,
    responses={
        200: {"content": {"image/*": {}, "audio/*": {}, "text/plain": {}}},
        502: {"description": "No file came."},
    },
)
def cell(request: Request, row: RowNumber, column: str, me: Me) -> Response:
    """A whole cell of a row that I may see: an image or a recording as bytes, anything else as text."""
    study = study_of(request)
    if row >= study.config.rows:
        raise HTTPException(404, f"no row {row}")
    if not _sees_rows(me) and not was_given(study, row, me.name):
        raise HTTPException(403, f"row {row} was not given to you")
    known = {c.name: c for c in study.config.columns if c.name in study.config.shown}
    if column not in known:
        raise HTTPException(404, f"no column {column!r} is shown")
    value = study.row(row)[column]
    text = "" if value is None else str(value)
    display = known[column].display
    if display not in KINDS_OF:
        return Response(text, media_type="text/plain; charset=utf-8")
    if not _TURN.acquire(timeout=2.0):
        raise HTTPException(503, "too many files at once; try again", {"Retry-After": "2"})
    try:
        media: Media = request.app.state.media
        data = media.read(text)
        kind = media_kind(data) or ""
        if not kind.startswith(display):
            raise HTTPException(404, f"{Path(text).name[:80]!r} is no {KINDS_OF[display]}")
        if image_pixels(data) > _MOST_PIXELS:
            raise HTTPException(413, f"the image has more than {_MOST_PIXELS:,} pixels")
    except HTTPException as error:
        if _sees_rows(me):
            raise
        # The name of a file may tell the group.
        words = "the image cannot be shown" if display == "image" else "the recording cannot be played"
        raise HTTPException(error.status_code, f"{words}; an owner is told why") from error
    finally:
        _TURN.release()
    # The next person at this browser has another cookie, and asks the studio again.
    headers = {"cache-control": "private, max-age=3600", "vary": "Cookie"}
    return Response(data, media_type=kind, headers=headers)


def _sees_rows(me: Person) -> bool:
    return may(me.role, least_role("GET", "/rows/{row}"))
