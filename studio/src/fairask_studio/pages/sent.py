"""Files that are sent to make a study of: a table, images and recordings that it names, their embeddings.

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
from itertools import count
from pathlib import Path, PurePosixPath

import pyarrow as pa

from fairask.documents import most_unpacked, reading
from fairask.tables import TableFormat
from fairask.tables.formats import read_noted
from fairask_studio import StudyError
from fairask_studio.columns import IMAGES, RECORDINGS
from fairask_studio.pages.media import KINDS_OF, LARGEST, media_kind
from fairask_studio.store.postgres import is_url

#: Names of tables in a zip or a folder.
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".jsonl", ".ndjson", ".json")

#: Files and bytes of one table, unpacked.
_MOST, _BYTES = 100_000, 4 << 30

#: Characters of a name that are kept: most file systems take 255 bytes.
_LONGEST = 60


class SentFiles:
    """The files of one table, in a folder that goes when nothing needs it any more."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self._place, ignore_errors=True)
        self._table: Path | None = None
        self._vectors: Path | None = None
        self._media: dict[str, Path] = {}
        self._short: dict[str, set[str]] = {}
        self._bytes, self._numbers = 0, count()

    def __len__(self) -> int:
        """How many images and recordings there are."""
        return len(self._media)

    def kinds(self) -> str:
        """Say what they are."""
        pictures = {path.suffix in IMAGES for path in self._media.values()}
        return (
            "images and recordings" if len(pictures) > 1 else "images" if True in pictures else "recordings"
        )

    def read(self) -> tuple[pa.Table, list[str]]:
        """Read the table, or make one of the files' names and folders if there is none."""
        if self._table is None:
            self._table = self._place / "files.csv"
            self._table.write_text(self._listed(), encoding="utf-8")
        form = None if self._vectors is None else TableFormat(vectors=str(self._vectors))
        return read_noted(self._table, form)

    def take(self, name: str, data: bytes) -> None:
        """Take a table, or a zip with everything."""
        if name.lower().endswith(".zip") and self._unpack(data):
            return
        folder = self._place / "table"  # errors name the file as it was sent
        folder.mkdir(exist_ok=True)
        self._table = folder / Path(name).name[-_LONGEST:]
        self._table.write_bytes(data)

    def add(self, name: str, data: bytes) -> None:
        """Add an image, a recording, or an .npy file with a row for each row of the table."""
        path = PurePosixPath(name)
        if not _can_be_file(path):
            raise StudyError(f"{name[:80]!r} cannot be the name of a file", "Use names without '..'")
        self._bytes += len(data)
        if self._bytes > _BYTES or len(self._media) >= _MOST:
            raise StudyError(
                f"more than {_MOST:,} files, or {_BYTES >> 30} GB",
                "Put them into a folder, and start the studio with --media FOLDER",
            )
        if path.suffix.lower() == ".npy":
            self._vectors = self._place / path.name[-_LONGEST:]
            self._vectors.write_bytes(data)
            return
        kind = "audio" if path.suffix.lower() in RECORDINGS else "image"
        if len(data) > LARGEST or not (media_kind(data) or "").startswith(kind):
            raise _no_medium(name)
        # A number of its own for each: browsers send several at once, and one again whose reply was lost.
        number = self._place / f"{next(self._numbers)}{path.suffix.lower()[:_LONGEST]}"
        number.write_bytes(data)
        self._media[str(path)] = number
        self._short.setdefault(path.name, set()).add(str(path))

    def find(self, cell: str) -> Path | None:
        """Return the file that a cell names: by its path, or by its name if no other has it."""
        path = PurePosixPath(cell)
        if not _can_be_file(path):  # nor could it be put beside the pool
            return None
        known = {str(path)} & self._media.keys() or self._short.get(path.name, set())
        return self._media[min(known)] if len(known) == 1 else None

    def missing(self, cells: Iterable[str]) -> list[str]:
        """Return the names that no file has."""
        return [
            cell for cell in dict.fromkeys(cells) if cell and "://" not in cell and self.find(cell) is None
        ]

    def copy_to(self, target: str, cells: Iterable[str]) -> None:
        """Put the files that cells name where the studio looks for them: beside the pool, by these names."""
        if self._media and is_url(target):
            raise StudyError(
                "a study in a database keeps no images and no audio",
                "Send the table alone, and start the studio with --media FOLDER",
            )
        folder = (Path(target) / "media").resolve()
        for cell in dict.fromkeys(cells):
            found = self.find(cell)
            if found is not None and (path := (folder / cell).resolve()).is_relative_to(folder):
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(found, path)
                except (
                    OSError
                ) as error:  # the disk is full, or another cell names a file where a folder must be
                    raise StudyError(
                        f"the file of {cell[:80]!r} cannot be put beside the pool: {error.strerror}"
                    ) from error

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
            others = [
                entry for entry in inside if entry.filename.lower().endswith((*IMAGES, *RECORDINGS, ".npy"))
            ]
            if not others:
                return False
            if len(tables) > 1:
                named = ", ".join(entry.filename for entry in tables[:5])
                raise StudyError(f"the zip holds {len(tables)} tables: {named}", "Leave one in it")
            most = most_unpacked(len(data), _BYTES)
            if sum(entry.file_size for entry in inside) > most:
                raise StudyError(f"the zip unpacks to more than {most:,.0f} bytes", "Choose the folder")
            for entry in others:
                if entry.file_size > LARGEST and entry.filename.lower().endswith((*IMAGES, *RECORDINGS)):
                    raise _no_medium(entry.filename)
                self.add(entry.filename, _unpacked(packed, entry))
            for entry in tables:
                self.take(PurePosixPath(entry.filename).name, _unpacked(packed, entry))
        return True

    def _listed(self) -> str:
        """Return a table of the files, in the order of their names: path and, if they differ, folder."""
        names = sorted(self._media)
        head = self.kinds().removesuffix("s")
        if " and " in head:
            raise StudyError(
                "there are both images and recordings, and no table", "Add a table that names them"
            )
        folders = [PurePosixPath(name).parent.name for name in names]
        lines = io.StringIO()
        table = csv.writer(lines)
        if len(set(folders)) > 1:
            table.writerows([[head, "folder"], *zip(names, folders, strict=True)])
        else:
            table.writerows([[head], *([name] for name in names)])
        return lines.getvalue()


def _can_be_file(path: PurePosixPath) -> bool:
    """Whether a file within a folder can be called so on all systems that the studio runs on."""
    parts = [part.encode("utf-8", "replace") for part in path.parts]
    plain = not path.is_absolute() and bool(parts) and b".." not in parts
    return plain and all(len(part) < 256 and 0 not in part for part in parts)


def _no_medium(name: str) -> StudyError:
    kind = "audio" if name.lower().endswith(RECORDINGS) else "image"
    return StudyError(
        f"{name[:80]!r} is no {KINDS_OF[kind]} of at most {LARGEST >> 20} MB",
        "Leave it out or export it again",
    )


def _unpacked(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return a file of a zip, and no more of it than the zip says that it has."""
    with packed.open(entry) as file:
        return file.read(entry.file_size)
