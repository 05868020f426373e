"""The studies of a folder or of a database server: which there are, where each stands; making, deleting."""

from __future__ import annotations

import re
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.config import new_seed
from fairask_studio.events import Document, StudyCreated
from fairask_studio.store.postgres import Server, is_server
from fairask_studio.store.store import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")

_ARCHIVED, _HOME = "archived", ".home"

#: On a server: the comment on an archived study's database, and the database of the home page's people.
_ARCHIVED_COMMENT, _HOME_DATABASE = "fairask: archived", "fairask_home"

#: Seconds for which a database that holds no study is not looked at again.
_FOREIGN_SECONDS = 30.0


class Shelf(ABC):
    """Where several studies are, each by its name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[object, Document]] = {}

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all studies."""

    @abstractmethod
    def target(self, name: str) -> str:
        """Return the place of a study, whether there is one or not."""

    @abstractmethod
    def taken(self, name: str) -> bool:
        """Whether a new study cannot have this name."""

    @abstractmethod
    def stamp(self, name: str) -> object:
        """Return what changes whenever the study does."""

    @abstractmethod
    def archived(self, name: str) -> bool:
        """Whether a study is put aside."""

    @abstractmethod
    def archive(self, name: str, archived: bool) -> None:
        """Put a study aside, or back; nothing of it is lost."""

    def _begin(self, name: str) -> None:  # noqa: B027
        """Prepare the place of a new study; nothing, where a study makes its place, whole or not at all."""

    def _undo(self, name: str) -> None:  # noqa: B027
        """Remove what ``_begin`` made."""

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Remove everything at the place of a study."""

    @abstractmethod
    def people(self, *, make: bool = False) -> Store | None:
        """Return the store with the people of the home page; None if there is none, unless it is made."""

    def close(self) -> None:  # noqa: B027
        """Close connections."""

    def place(self, name: str) -> str:
        """Return the place of a study; StudyError if there is none."""
        if name not in self.names():
            raise StudyError(f"no study {name!r} here")
        return self.target(name)

    @contextmanager
    def making(self, name: str) -> Iterator[str]:
        """Yield the place for a new study. When the block raises, nothing is left there.

        StudyError for a name that is taken or cannot be one.
        """
        if not _NAME.fullmatch(name):
            raise StudyError(f"{name!r} cannot be a name", "Use letters, digits, dots, dashes; no blank")
        if self.taken(name):
            raise StudyError(f"there is {name!r} already", "Choose another name")
        self._begin(name)
        try:
            yield self.target(name)
        except BaseException:
            self._undo(name)
            raise

    def summary(self, name: str, study: Study | None = None) -> Document:
        """Return where a study stands; read again only when it has changed."""
        place, archived = self.place(name), self.archived(name)
        stamp = (self.stamp(name), archived)
        with self._lock:
            known = self._known.get(name)
        if known is not None and known[0] == stamp and study is None:
            return known[1]
        found = _summary(name, archived, place, study)
        with self._lock:
            self._known[name] = (stamp, found)
        return found

    def copy(self, name: str, new: str, who: str) -> None:
        """Make a study of the same pool with the same settings, without labels and people."""
        source = self.place(name)
        with self.making(new) as target:
            with Study.open(source) as study:
                state = study.state()
                config = {**state.config.to_dict(), "random_state": new_seed()}
                pool = study.store.read_pool()
            Store.create(target, pool, StudyCreated(config), who)
            if (Path(source) / "media").is_dir():  # a database has none
                try:
                    shutil.copytree(Path(source) / "media", Path(target) / "media")
                except BaseException as error:  # no study without its images
                    shutil.rmtree(target, ignore_errors=True)
                    if not isinstance(error, OSError):
                        raise
                    raise StudyError(
                        f"the images of {name!r} cannot be copied: {error.strerror or error}"
                    ) from error

    def delete(self, name: str, typed: str) -> None:
        """Delete a study and its labels, if its name was typed."""
        if typed != name:
            raise StudyError("type the name of the study to delete it")
        self.place(name)
        self._remove(name)


class FolderShelf(Shelf):
    """The studies in the folders of a folder."""

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)

    def names(self) -> list[str]:
        """Return the names of all studies."""
        return sorted(
            path.parent.name for path in self.folder.glob("*/study.db") if _NAME.fullmatch(path.parent.name)
        )

    def target(self, name: str) -> str:
        """Return the folder of a study."""
        return str(self.folder / name)

    def taken(self, name: str) -> bool:
        """Whether there is a folder or file of this name."""
        return (self.folder / name).exists()

    def stamp(self, name: str) -> object:
        """Return the times of the study's files."""
        files = [self.folder / name / "study.db", self.folder / name / "study.db-wal"]
        return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)

    def archived(self, name: str) -> bool:
        """Whether the folder holds the mark."""
        return (self.folder / name / _ARCHIVED).exists()

    def archive(self, name: str, archived: bool) -> None:
        """Write the mark into the folder, or take it away."""
        mark = Path(self.place(name)) / _ARCHIVED
        if archived:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)

    def _remove(self, name: str) -> None:
        try:
            shutil.rmtree(self.folder / name)
        except OSError as error:  # a link, or a folder of somebody else
            raise StudyError(f"{name!r} cannot be deleted: {error.strerror or error}") from error

    def people(self, *, make: bool = False) -> Store | None:
        """Return the store in the folder ``.home``."""
        place = self.folder / _HOME
        return Store.create_people(str(place)) if make or (place / "study.db").exists() else None


class ServerShelf(Shelf):
    """The studies of a PostgreSQL server: one database each, which has the study's name."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.server = Server(url)
        self._foreign: dict[str, float] = {}

    def names(self) -> list[str]:
        """Return the names of the databases that hold a study."""
        now = time.monotonic()
        possible = [
            name
            for name in self.server.databases()
            if _NAME.fullmatch(name) and name != _HOME_DATABASE and self._foreign.get(name, 0.0) < now
        ]
        found = [name for name in possible if name in self._known or self.server.stamp(name) is not None]
        self._foreign |= dict.fromkeys(set(possible) - set(found), now + _FOREIGN_SECONDS)
        return found

    def target(self, name: str) -> str:
        """Return the URL of a study's database."""
        return self.server.target(name)

    def taken(self, name: str) -> bool:
        """Whether there is a database of this name."""
        return name == _HOME_DATABASE or name in self.server.databases()

    def stamp(self, name: str) -> object:
        """Return the last event and the latest lease."""
        return self.server.stamp(name)

    def archived(self, name: str) -> bool:
        """Whether the comment on the database says so."""
        return self.server.databases().get(name) == _ARCHIVED_COMMENT

    def archive(self, name: str, archived: bool) -> None:
        """Set the comment on the database, or take it away."""
        self.place(name)
        said = self.server.databases()[name]
        if said not in ("", _ARCHIVED_COMMENT):
            raise StudyError(f"the database {name!r} has a comment already: {said}", "Remove it first")
        self.server.comment(name, _ARCHIVED_COMMENT if archived else "")

    def _begin(self, name: str) -> None:
        self.server.create(name)  # refused if somebody else makes it at the same time
        self._foreign.pop(name, None)

    def _undo(self, name: str) -> None:
        self.server.drop(name)

    def _remove(self, name: str) -> None:
        self._known.pop(name, None)
        self.server.drop(name)

    def people(self, *, make: bool = False) -> Store | None:
        """Return the store in a database of its own."""
        there = _HOME_DATABASE in self.server.databases()
        if not there and make:
            self.server.create(_HOME_DATABASE)
        return Store.create_people(self.server.target(_HOME_DATABASE)) if there or make else None

    def close(self) -> None:
        """Close connections."""
        self.server.close()


def shelf_of(place: str | Path) -> Shelf:
    """Return the studies of a folder, or of a PostgreSQL server."""
    return ServerShelf(str(place)) if is_server(str(place)) else FolderShelf(place)


def _summary(name: str, archived: bool, place: str, study: Study | None) -> Document:
    try:
        if study is not None:
            status, waits = study.status(), _waiting(study)
        else:
            with Study.open(place) as opened:
                status, waits = opened.status(), _waiting(opened)
    except UserError as error:
        return {"name": name, "archived": archived, "error": str(error)}
    model = status["model"]
    entries = [e for e in status["history"] if model is not None and e["digest"] == model["digest"]]
    estimate = entries[-1]["estimate"] if entries else None
    gap = status["gap"]
    return {
        "name": name,
        "archived": archived,
        "error": None,
        "question": status["question"],
        "labels": status["labels"],
        "budget": status["budget"],
        "gap": None if gap is None else gap["value"],
        "verdict": status["advice"]["verdict"],
        "tone": status["advice"]["tone"],
        "waits": waits,
        "tolerance": status["tolerance"],
        "accuracy": None if estimate is None else estimate["accuracy"]["value"],
        "state": _state(status),
        "people": status["people_now"],
        "created": status["created"],
    }


def _waiting(study: Study) -> int:
    """Return how many questions about rows wait for an answer."""
    with study.lock:
        return sum(flag.open and flag.waits for flag in study.state().flags.known.values())


def _state(status: Document) -> str:
    if status["audit"] is not None:
        return "audit under way"
    if status["model"] is not None and status["model"]["certified"]:
        return "certified"
    if status["complete"]:
        return "labelled"
    return "labelling" if status["labels"] else "new"
