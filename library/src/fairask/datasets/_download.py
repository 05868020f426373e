"""Download one file over HTTP, by pooch's downloader protocol; a download that broke off is resumed."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from fairask.datasets._errors import DownloadError

if TYPE_CHECKING:
    from requests import Response

#: Bytes written at a time: what a broken connection can lose of what had come.
CHUNK = 1 << 13


class ProgressBar(Protocol):
    """What the downloader needs of a progress bar; tqdm's has it."""

    total: Any

    def update(self, n: int) -> Any:
        """Move on by ``n`` bytes."""

    def close(self) -> Any:
        """End the bar."""


class ResumingDownloader:
    """Download a URL into ``part`` and move it to its place when it is complete.

    An interrupted download leaves ``part`` behind with a note of where it came from, and the next one asks
    the server for the rest only. ``If-Range`` makes a server whose file has changed since send it whole.

    Parameters
    ----------
    part : Path
        Where the unfinished file lives.
    timeout : float
        Seconds to wait for a connection, and for the next bytes.
    progress : bool or ProgressBar
        True draws a tqdm bar on standard error.
    """

    def __init__(self, part: Path, *, timeout: float, progress: bool | ProgressBar = False) -> None:
        self.part = part
        self.note = part.with_name(part.name + ".json")
        self.timeout = timeout
        self.progress = progress
        #: Whether the last call continued an earlier one.
        self.resumed = False

    def __call__(self, url: str, output_file: str, pooch: object = None) -> None:
        """Download ``url`` to ``output_file``."""
        import requests

        try:
            with self._request(url) as response:
                self._receive(url, response)
        except requests.Timeout as error:
            raise self._stalled(url) from error
        except requests.ConnectionError as error:
            # While a body streams, requests reports a read timeout as a connection error.
            if "timed out" in str(error).lower():
                raise self._stalled(url) from error
            raise DownloadError(
                f"{url}: cannot be reached, or the connection broke ({error})", self._kept()
            ) from error
        except requests.exceptions.ChunkedEncodingError as error:
            raise DownloadError(f"{url}: the download was truncated ({error})", self._kept()) from error
        except requests.RequestException as error:
            raise DownloadError(f"{url}: the request failed ({error})", self._kept()) from error
        self.part.replace(output_file)
        self.note.unlink(missing_ok=True)

    def discard(self) -> None:
        """Forget an unfinished download."""
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def _request(self, url: str) -> Response:
        import requests

        # With compressed transfer, offsets and lengths would not be those of the file.
        headers = {"Accept-Encoding": "identity"}
        validator = self._validator(url)
        have = self._have()
        if validator is not None and have:
            headers |= {"Range": f"bytes={have}-"} | ({"If-Range": validator} if validator else {})
        response = requests.get(url, headers=headers, stream=True, timeout=self.timeout)
        if response.status_code == 416:
            # The kept bytes are no beginning of the server's file: start again.
            response.close()
            self.discard()
            headers.pop("Range", None)
            headers.pop("If-Range", None)
            response = requests.get(url, headers=headers, stream=True, timeout=self.timeout)
        if response.status_code >= 400:
            response.close()
            raise DownloadError(
                f"{url}: the server answered {response.status_code} ({response.reason})",
                "The file may have moved; nothing was changed",
            )
        return response

    def _receive(self, url: str, response: Response) -> None:
        start = _range_start(response)
        self.resumed = start is not None and start == self._have() and start > 0
        if not self.resumed:
            if start:
                raise DownloadError(
                    f"{url}: the server sent a part of the file that was not requested", self._kept()
                )
            self.discard()
        have = self._have()
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        etag = response.headers.get("ETag", "")
        # A weak tag does not promise equal bytes, so it cannot guard a resumed download.
        strong = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
        self.note.write_text(json.dumps({"url": url, "validator": strong}), encoding="utf-8")
        with self.part.open("ab") as file, _Bar(self.progress, total, have) as bar:
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
        if total is not None and self._have() < total:
            raise DownloadError(
                f"{url}: the download was truncated after {self._have():,} of {total:,} bytes", self._kept()
            )

    def _validator(self, url: str) -> str | None:
        """Return what identifies the version begun (maybe ""), or None if there is nothing to resume."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(note, dict) or note.get("url") != url:
            return None
        return str(note.get("validator", ""))

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _kept(self) -> str:
        have = self._have()
        if have:
            return f"{have:,} bytes are kept: run the same again to resume"
        return "Nothing was changed: check the address and the network, then run the same again"

    def _stalled(self, url: str) -> DownloadError:
        return DownloadError(
            f"{url}: the server stalled and sent nothing for {self.timeout:g} s", self._kept()
        )


class _Bar:
    """tqdm's bar, the caller's, or none, behind one interface."""

    def __init__(self, progress: bool | ProgressBar, total: int | None, have: int) -> None:
        self.bar: ProgressBar | None = None
        if progress is True:
            from tqdm import tqdm

            self.bar = tqdm(total=total, initial=have, unit="B", unit_scale=True)
        elif progress is not False:
            self.bar = progress
            progress.total = total
            progress.update(have)

    def update(self, n: int) -> None:
        if self.bar is not None:
            self.bar.update(n)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()


def _range_start(response: Response) -> int | None:
    """Return the first byte's offset of a partial answer, None for a whole one."""
    if response.status_code != 206:
        return None
    given = response.headers.get("Content-Range", "")
    unit, _, span = given.partition(" ")
    first = span.partition("-")[0]
    return int(first) if unit == "bytes" and first.isdigit() else None
