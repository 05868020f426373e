"""Where a table's files are: in the package, in the folder FAIRASK_DATA, or in the user's cache."""

from __future__ import annotations

import hashlib
import lzma
import os
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path
from types import ModuleType

from fairask.datasets._errors import DatasetNotFound, wrong_table
from fairask.datasets._spec import Spec

#: A folder with the files in the layout ``drug/drug_consumption.data``, ``bank/bank.csv``, ...
FOLDER_VARIABLE = "FAIRASK_DATA"
#: Where downloads go, instead of the operating system's cache folder.
CACHE_VARIABLE = "FAIRASK_CACHE"


@dataclass(frozen=True)
class Location:
    """Where a dataset was found: ``place`` is "embedded", "folder" or "cache"."""

    place: str
    paths: tuple[Path, ...]


def cache_folder() -> Path | None:
    """Return the folder of downloaded tables; None where nothing says which it is.

    It is ``FAIRASK_CACHE`` if set, else the operating system's (which pooch knows).
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return Path(pooch.os_cache("fairask")) if (pooch := find_pooch()) is not None else None


def find_pooch() -> ModuleType | None:
    """Return pooch, which an extra brings, or None."""
    try:
        import pooch
    except ImportError:
        return None
    module: ModuleType = pooch
    return module


def data_folder() -> Path | None:
    """Return the folder that ``FAIRASK_DATA`` names, or None; a name that is not a folder is an error."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise DatasetNotFound(
            f"{FOLDER_VARIABLE} is set to {chosen!r}, which is not a folder", "Name a folder, or unset it"
        )
    return folder


def locate(spec: Spec) -> Location | None:
    """Return where ``spec``'s files are, or None."""
    if spec.embedded:
        return Location("embedded", ())
    for place, folder in (("folder", data_folder()), ("cache", cache_folder())):
        if folder is not None:
            paths = tuple(folder / file for file in spec.files)
            if all(path.is_file() for path in paths):
                return Location(place, paths)
    return None


def how_to_get(spec: Spec) -> str:
    """Say what to run or which file to put where, for a table that is not on this machine."""
    folder = data_folder()
    target = (folder or Path(f"${FOLDER_VARIABLE}")) / spec.files[0]
    hint = "" if folder else f", where the environment variable {FOLDER_VARIABLE} names a folder of yours"
    if spec.url is None:
        cache = cache_folder()
        also = f", or as {cache / spec.files[0]}" if cache is not None else ""
        return f"{spec.manual} and save it as {target}{hint}{also}"
    extra = "" if find_pooch() is not None else " (first: pip install 'fairask[bench]')"
    return f"run `fairask datasets pull {spec.name}`{extra}, or save {spec.url} as {target}{hint}"


def read_texts(spec: Spec, location: Location) -> list[str]:
    """Return the texts of the files; an embedded file's sha256 is checked each time."""
    if location.place == "embedded":
        return [_read_embedded(file, sha) for file, sha in zip(spec.files, spec.sha256, strict=True)]
    texts = []
    for path in location.paths:
        try:
            texts.append(path.read_bytes().decode(spec.encoding))
        except UnicodeDecodeError as error:
            raise wrong_table(f"{path}: this is not text in {spec.encoding} (byte {error.start})") from None
    return texts


def _read_embedded(file: str, sha256: str) -> str:
    name = Path(file).name
    packed = package_files("fairask.datasets").joinpath("tables", f"{name}.xz").read_bytes()
    try:
        content = lzma.decompress(packed)
    except lzma.LZMAError as error:
        raise wrong_table(f"the embedded table {name} is damaged ({error}); reinstall fairask") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise wrong_table(f"the embedded table {name} was changed (its sha256 is wrong); reinstall fairask")
    return content.decode("utf-8")
