"""Files that are sent to make a study of: a table, images that it names, numbers that describe them.

They come as a zip, or one by one from a folder that was chosen in the browser.
"""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pyarrow as pa

from fairask.documents import most_unpacked, reading
from fairask.tables import TableFormat
from fairask.tables.formats import read_noted
from fairask_studio import StudyError
from fairask_studio.pages.images import LARGEST, image_kind
from fairask_studio.store import is_url

#: Names of tables in a zip or a folder, and of images.
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".jsonl", ".ndjson", ".json")
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

#: Files and bytes of one table, unpacked.
_MOST, _BYTES = 100_000, 4 << 30

#: Characters of a name that are kept: most file systems take 255 bytes.
_LONGEST = 60


class SentFiles:
    """The files of one table, in a folder that goes when nothing needs it any more.

    Examples
    --------
    >>> sent = SentFiles()
    >>> sent.add("photos/1.gif", b"GIF89a...")
    >>> sent.find("1.gif").suffix, sent.find("2.gif")
    ('.gif', None)
    """

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        self._table: Path | None = None
        self._vectors: Path | None = None
        self._images: dict[str, Path] = {}
        self._short: dict[str, list[Path]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        """How many images there are."""
        return len(self._images)

    def read(self) -> tuple[pa.Table, list[str]]:
        """Read the table, or make one of the images' names and folders if there is none."""
        if self._table is None:
            self._table = self._place / "images.csv"
            self._table.write_text(self._listed(), encoding="utf-8")
        form = None if self._vectors is None else TableFormat(vectors=str(self._vectors))
        return read_noted(self._table, form)

    def take(self, name: str, data: bytes) -> None:
        """Take a table, or a zip with everything."""
        if name.lower().endswith(".zip") and self._unpack(data):
            return
        self._table = self._place / f"table-{Path(name).name[-_LONGEST:]}"
        self._table.write_bytes(data)

    def add(self, name: str, data: bytes) -> None:
        """Add an image, or an .npy file with a row for each row of the table."""
        path = PurePosixPath(name)
        if (
            path.is_absolute()
            or ".." in path.parts
            or not 0 < max(map(len, _bytes_of(path)), default=0) < 256
        ):
            raise StudyError(f"{name[:80]!r} cannot be the name of a file", "Use names without '..'")
        self._bytes += len(data)
        if self._bytes > _BYTES or len(self._images) >= _MOST:
            raise StudyError(
                f"more than {_MOST:,} images, or {_BYTES >> 30} GB",
                "Put them into a folder, and start the studio with --images FOLDER",
            )
        if path.suffix.lower() == ".npy":
            self._vectors = self._place / path.name[-_LONGEST:]
            self._vectors.write_bytes(data)
            return
        if len(data) > LARGEST or image_kind(data) is None:
            raise _no_image(name)
        number = self._place / f"{len(self._images)}{path.suffix.lower()[:_LONGEST]}"
        number.write_bytes(data)
        self._images[str(path)] = number
        self._short.setdefault(path.name, []).append(number)

    def find(self, cell: str) -> Path | None:
        """Return the image that a cell names: by its path, or by its name if no other has it."""
        found = self._images.get(str(PurePosixPath(cell))) if cell else None
        short = self._short.get(PurePosixPath(cell).name, [])
        return found or (short[0] if len(short) == 1 else None)

    def missing(self, cells: Iterable[str]) -> list[str]:
        """Return the names that no image has."""
        return [
            cell for cell in dict.fromkeys(cells) if cell and "://" not in cell and self.find(cell) is None
        ]

    def copy_to(self, target: str, cells: Iterable[str]) -> None:
        """Put the images that cells name where the studio looks for them: beside the pool, by these names."""
        if self._images and is_url(target):
            raise StudyError(
                "a study in a database keeps no images",
                "Send the table alone, and start the studio with --images FOLDER",
            )
        folder = (Path(target) / "images").resolve()
        for cell in dict.fromkeys(cells):
            found = self.find(cell)
            if found is not None and (path := (folder / cell).resolve()).is_relative_to(folder):
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, path)

    def _unpack(self, data: bytes) -> bool:
        """Take what is in a zip; False for one that holds nothing but a table."""
        # Each kind of damage has an error of its own; most of them are not zipfile's.
        with (
            reading("the zip", "Make it again, without a password", StudyError),
            zipfile.ZipFile(io.BytesIO(data)) as packed,
        ):
            inside = [
                entry
                for entry in packed.infolist()
                if not entry.is_dir() and not PurePosixPath(entry.filename).name.startswith(".")
                and "__MACOSX" not in entry.filename
            ]  # fmt: skip
            tables = [entry for entry in inside if entry.filename.lower().endswith(_TABLES)]
            others = [entry for entry in inside if entry.filename.lower().endswith((*_IMAGES, ".npy"))]
            if not others:
                return False
            if len(tables) > 1:
                named = ", ".join(entry.filename for entry in tables[:5])
                raise StudyError(f"the zip holds {len(tables)} tables: {named}", "Leave one in it")
            most = most_unpacked(len(data), _BYTES)
            if sum(entry.file_size for entry in inside) > most:
                raise StudyError(f"the zip unpacks to more than {most:,.0f} bytes", "Choose the folder")
            for entry in others:
                if entry.file_size > LARGEST and entry.filename.lower().endswith(_IMAGES):
                    raise _no_image(entry.filename)
                self.add(entry.filename, _unpacked(packed, entry))
            for entry in tables:
                self.take(PurePosixPath(entry.filename).name, _unpacked(packed, entry))
        return True

    def _listed(self) -> str:
        """Return a table of the images, in the order of their names: path and, if they differ, folder."""
        names = sorted(self._images)
        folders = [PurePosixPath(name).parent.name for name in names]
        lines = io.StringIO()
        table = csv.writer(lines)
        if len(set(folders)) > 1:
            table.writerows([["image", "folder"], *zip(names, folders, strict=True)])
        else:
            table.writerows([["image"], *([name] for name in names)])
        return lines.getvalue()


def _bytes_of(path: PurePosixPath) -> list[bytes]:
    return [part.encode("utf-8", "replace") for part in path.parts]


def _no_image(name: str) -> StudyError:
    return StudyError(
        f"{name[:80]!r} is no PNG, JPEG, GIF or WebP image of at most {LARGEST >> 20} MB",
        "Leave it out or export it again",
    )


def _unpacked(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return a file of a zip, and no more of it than the zip says that it has."""
    with packed.open(entry) as file:
        return file.read(entry.file_size)
