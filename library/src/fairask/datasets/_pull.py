"""Download a table from its official source into the cache, after its content was checked.

The sha256 of the official archives' own files is not pinned: the copies that the benchmark was made with have
another header or fewer columns. What is pinned is the sha256 of the parsed table (names, features, labels and
groups, in row order), which is the same for every form of the file and differs if one value does.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairask.datasets._catalog import CATALOG, SYNTHETIC, check_name, names
from fairask.datasets._download import ProgressBar, ResumingDownloader
from fairask.datasets._errors import DatasetNotFound, DownloadError, TableError
from fairask.datasets._load import read
from fairask.datasets._spec import Spec
from fairask.datasets.files import CACHE_VARIABLE, Location, cache_folder, find_pooch, how_to_get, locate
from fairask.errors import MissingExtra

#: A mirror with the files in the layout of ``FAIRASK_DATA``, instead of the official sources.
URL_VARIABLE = "FAIRASK_DATA_URL"


@dataclass(frozen=True)
class PullResult:
    """The result of a pull.

    Attributes
    ----------
    name : str
        The dataset.
    action : str
        "embedded" or "generated" (nothing to do), "present", "downloaded", "resumed", "manual" (no automatic
        download: ``message`` says what to do) or "failed" (``message`` says why).
    path : Path or None
        The file, where there is one.
    message : str
        A sentence for people.
    """

    name: str
    action: str
    path: Path | None
    message: str


def pull(
    name: str,
    *,
    base_url: str | None = None,
    progress: bool | ProgressBar = True,
    timeout: float = 30.0,
    verify: bool = True,
    force: bool = False,
) -> PullResult:
    """Download a table into the cache, checked before it gets there.

    A download that breaks off is resumed by the next call. Whatever goes wrong, the cache holds after
    the call what it held before it.

    Parameters
    ----------
    name : str
        One of ``names()``.
    base_url : str, optional
        A mirror in the layout of ``FAIRASK_DATA`` (``<base_url>/drug/drug_consumption.data``); default the
        environment variable ``FAIRASK_DATA_URL``, else the official source.
    progress : bool or ProgressBar
        Draw a bar on standard error, or report to an object with ``total``, ``update`` and ``close``.
    timeout : float
        Seconds without a byte after which the server counts as stalled.
    verify : bool
        Check the content against the published table, to the last value; False accepts another release.
    force : bool
        Download even if the table is there.

    Returns
    -------
    PullResult

    Raises
    ------
    DownloadError
        If the server cannot be reached, answers with an error, stalls, or sends something else.
    DatasetNotFound
        If there is no automatic download (bank) and the file is not there.

    Examples
    --------
    >>> pull("german").action
    'embedded'
    """
    if not timeout > 0:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
    if check_name(name) == SYNTHETIC:
        return PullResult(name, "generated", None, "generated when loaded: nothing to download")
    spec = CATALOG[name]
    location = locate(spec)
    if location is not None and location.place == "embedded":
        return PullResult(name, "embedded", None, "part of the package: nothing to download")
    if location is not None and not force and _is_good(spec, location, verify):
        return PullResult(name, "present", location.paths[0], f"already here: {location.paths[0]}")
    url = _url(spec, base_url)
    cache = _require_cache()
    try:
        return _fetch(spec, url, cache / spec.files[0], progress, timeout, verify)
    except OSError as error:
        raise DownloadError(
            f"cannot write to the cache folder {cache} ({error})", f"{CACHE_VARIABLE} can name another folder"
        ) from error


def pull_all(
    which: Iterable[str] | None = None,
    *,
    base_url: str | None = None,
    progress: bool | ProgressBar = True,
    timeout: float = 30.0,
    verify: bool = True,
    force: bool = False,
) -> list[PullResult]:
    """Pull several tables (default: all); the others are pulled even if one fails.

    Takes the arguments of :func:`pull`. Unknown names raise before anything is downloaded.

    Examples
    --------
    >>> [(r.name, r.action) for r in pull_all(["adult", "synthetic"])]
    [('adult', 'embedded'), ('synthetic', 'generated')]
    """
    chosen = names() if which is None else [check_name(name) for name in which]
    results = []
    for name in chosen:
        try:
            result = pull(
                name, base_url=base_url, progress=progress, timeout=timeout, verify=verify, force=force
            )
        except DatasetNotFound as error:
            result = PullResult(name, "manual", None, str(error))
        except DownloadError as error:
            result = PullResult(name, "failed", None, str(error))
        results.append(result)
    return results


def _fetch(
    spec: Spec, url: str, target: Path, progress: bool | ProgressBar, timeout: float, verify: bool
) -> PullResult:
    import pooch

    target.parent.mkdir(parents=True, exist_ok=True)
    downloader = ResumingDownloader(
        target.with_name(target.name + ".part"), timeout=timeout, progress=progress
    )
    fresh = target.with_name(target.name + ".new")
    while True:
        # pooch takes a file that is there for the download itself.
        fresh.unlink(missing_ok=True)
        with _quiet(pooch.get_logger()):
            pooch.retrieve(url, known_hash=None, fname=fresh.name, path=fresh.parent, downloader=downloader)
        try:
            read(spec, Location("cache", (fresh,)), verify=verify)
        except TableError as error:
            if downloader.resumed:
                # The beginning may be of another version than the end: download the whole file.
                continue
            reason = str(error).removeprefix(f"{fresh}: ")
            raise DownloadError(
                f"{url}: what came is not the published {spec.name} table: {reason}",
                "It was deleted; try again later, or save the published file yourself",
            ) from error
        else:
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
        action = "resumed" if downloader.resumed else "downloaded"
        return PullResult(spec.name, action, target, f"{action}, checked, and saved as {target}")


def _is_good(spec: Spec, location: Location, verify: bool) -> bool:
    """Whether the file can be used. A bad file in the user's own folder is an error: it is not replaced."""
    try:
        read(spec, location, verify=verify)
    except TableError as error:
        if location.place == "folder":
            raise DownloadError(
                str(error), "Repair or remove this file: it is read before the cache"
            ) from error
        return False
    return True


def _url(spec: Spec, base_url: str | None) -> str:
    base = base_url or os.environ.get(URL_VARIABLE)
    if base:
        if not base.startswith(("http://", "https://")):
            raise ValueError(f"base_url must start with http:// or https://, got {base!r}")
        return f"{base.rstrip('/')}/{spec.files[0]}"
    if spec.url is None:
        raise DatasetNotFound(f"the {spec.name} table is not on this machine", how_to_get(spec))
    return spec.url


def _require_cache() -> Path:
    if find_pooch() is None:
        raise MissingExtra("downloading tables needs pooch", "bench")
    cache = cache_folder()
    assert cache is not None  # pooch is there, so there is a folder
    return cache


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from advising which hash to pin; the content is checked here."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
