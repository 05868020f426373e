"""The studies of a folder: which there are, where each stands; making, copying, archiving, deleting."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fairask.data import read_noted
from fairask.data.kinds import kind_of
from fairask.data.limits import MOST_GROUPS
from fairask.errors import UserError
from fairask.study import Study, StudyError
from fairask.study.config import new_seed
from fairask.study.display import guess_displays
from fairask.study.events import Document, StudyCreated
from fairask.study.store import Store

__all__ = ["Shelf", "Uploaded"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_ARCHIVED, _UPLOADS = "archived", ".uploads"
#: Rows of a table that are shown before a study is made of it, and different values that are named.
_PREVIEW, _VALUES = 3, 12


@dataclass(frozen=True)
class Uploaded:
    """A table that was sent to make a study of."""

    id: str
    table: pa.Table
    notes: list[str]

    def described(self) -> Document:
        """Return rows, columns with how they would be shown, and some rows."""
        displays = guess_displays(self.table)
        return {
            "id": self.id,
            "rows": self.table.num_rows,
            "notes": self.notes,
            "columns": [self._column(name, displays[name]) for name in self.table.column_names],
            "preview": [
                {name: "" if value is None else str(value)[:20_000] for name, value in row.items()}
                for row in self.table.slice(0, _PREVIEW).to_pylist()
            ],
        }

    def _column(self, name: str, display: str) -> Document:
        values = self.table.column(name)
        plain = kind_of(values.type) not in (None, "vector")
        different = values.unique().drop_null() if plain else pa.chunked_array([pa.array([], pa.string())])
        few = 0 < len(different) <= _VALUES
        return {
            "name": name,
            "display": display,
            "different": len(different),
            "values": sorted(str(value) for value in different.to_pylist()) if few else [],
            "can_group": 2 <= len(different) <= MOST_GROUPS,
        }


class Shelf:
    """The studies in the folders of a folder.

    Examples
    --------
    >>> import tempfile
    >>> Shelf(tempfile.mkdtemp()).names()
    []
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._lock = threading.Lock()
        self._known: dict[str, tuple[tuple[int, ...], Document]] = {}
        self._uploads: dict[str, Uploaded] = {}

    def names(self) -> list[str]:
        """Return the names of all studies."""
        return sorted(
            path.parent.name for path in self.folder.glob("*/study.db") if _NAME.fullmatch(path.parent.name)
        )

    def place(self, name: str) -> Path:
        """Return the folder of a study; StudyError if there is none."""
        if name not in self.names():
            raise StudyError(f"no study {name!r} here")
        return self.folder / name

    def new_place(self, name: str) -> Path:
        """Return the folder for a new study; StudyError for a name that is taken or cannot be one."""
        if not _NAME.fullmatch(name):
            raise StudyError(f"{name!r} cannot be a name", "Use letters, digits, dots, dashes; no blank")
        if (self.folder / name).exists():
            raise StudyError(f"there is {name!r} already", "Choose another name")
        return self.folder / name

    def summary(self, name: str, study: Study | None = None) -> Document:
        """Return where a study stands; read again only when its files have changed."""
        place = self.place(name)
        files = [place / "study.db", place / "study.db-wal", place / _ARCHIVED]
        stamp = tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)
        with self._lock:
            known = self._known.get(name)
        if known is not None and known[0] == stamp and study is None:
            return known[1]
        found = _summary(name, (place / _ARCHIVED).exists(), place, study)
        with self._lock:
            self._known[name] = (stamp, found)
        return found

    def archive(self, name: str, archived: bool) -> None:
        """Put a study aside, or back; nothing of it is lost."""
        mark = self.place(name) / _ARCHIVED
        if archived:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)

    def copy(self, name: str, new: str, who: str) -> None:
        """Make a study of the same pool with the same settings, without labels and people."""
        target = self.new_place(new)
        with Study.open(self.place(name)) as study:
            state = study.state()
            config = {**state.config.to_dict(), "random_state": new_seed()}
            pool = None if state.pool is not None else study.store.read_pool()
            reference = state.pool
        Store.create(str(target), pool, StudyCreated(config, reference), who)

    def delete(self, name: str, typed: str) -> None:
        """Delete a study and its labels, if its name was typed."""
        if typed != name:
            raise StudyError("type the name of the study to delete it")
        shutil.rmtree(self.place(name))

    def upload(self, name: str, data: bytes) -> Uploaded:
        """Read a table that was sent; UserError in words if it cannot be read."""
        number = secrets.token_hex(8)
        folder = self.folder / _UPLOADS / number
        folder.mkdir(parents=True, mode=0o700)
        try:
            (folder / Path(name).name).write_bytes(data)
            table, notes = read_noted(folder / Path(name).name)
        except ValueError as error:
            raise (
                error if isinstance(error, UserError) else StudyError(f"{name} cannot be read: {error}")
            ) from error
        finally:
            shutil.rmtree(folder)
        found = Uploaded(number, table, list(notes))
        with self._lock:
            while len(self._uploads) >= 4:  # a table may be large
                self._uploads.pop(next(iter(self._uploads)))
            self._uploads[number] = found
        return found

    def uploaded(self, number: str) -> Uploaded:
        """Return a table that was sent before."""
        with self._lock:
            found = self._uploads.get(number)
        if found is None:
            raise StudyError("the table is not here any more", "Choose the file again")
        return found


def _summary(name: str, archived: bool, place: Path, study: Study | None) -> Document:
    try:
        if study is not None:
            status = study.status()
        else:
            with Study.open(place) as opened:
                status = opened.status()
    except UserError as error:
        return {"name": name, "archived": archived, "error": str(error)}
    model = status["model"]
    entries = [e for e in status["history"] if model is not None and e["digest"] == model["digest"]]
    estimate = entries[-1]["estimate"] if entries else None
    gap = None if estimate is None or estimate["violation"] is None else estimate["violation"]["value"]
    return {
        "name": name,
        "archived": archived,
        "error": None,
        "question": status["question"],
        "labels": status["labels"],
        "budget": status["budget"],
        "gap": gap,
        "tolerance": status["tolerance"],
        "accuracy": None if estimate is None else estimate["accuracy"]["value"],
        "state": _state(status),
        "people": status["people_now"],
        "created": status["created"],
    }


def _state(status: Document) -> str:
    if status["audit"] is not None:
        return "audit under way"
    if status["model"] is not None and status["model"]["certified"]:
        return "certified"
    if status["complete"]:
        return "labelled"
    return "labelling" if status["labels"] else "new"
