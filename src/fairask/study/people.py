"""People who may label or own a study: tokens and sessions, both kept as hashes only."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from fairask.errors import suggest
from fairask.study._errors import StudyError
from fairask.study._events import now
from fairask.study._schema import people, sessions
from fairask.study.config import check_person

if TYPE_CHECKING:
    from fairask.study.database import Database

__all__ = ["ROLES", "People", "Person", "Session"]

#: An annotator labels; an owner sees and does everything.
ROLES = ("annotator", "owner")
SESSION_SECONDS = 12 * 3600.0
MEMORY_SECONDS = 5.0


@dataclass(frozen=True)
class Person:
    """Somebody who is known to the study."""

    name: str
    role: str
    since: str = ""


@dataclass(frozen=True)
class Session:
    """A signed-in browser; ``csrf`` must come with every change it asks for."""

    name: str
    csrf: str


def _hash(secret: str) -> str:
    # Tokens are 192 random bits: nothing to guess, so a plain hash is as good as a slow one.
    return hashlib.sha256(secret.encode()).hexdigest()


class People:
    """Who is who in a study.

    Every request asks, so answers are remembered for some seconds. What this process changes counts at
    once; a person removed by another process is out after ``MEMORY_SECONDS``.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._known: dict[tuple[str, str], tuple[float, Any]] = {}

    def _remembered(self, kind: str, key: str, find: Callable[[], Any]) -> Any:
        until, value = self._known.get((kind, key), (0.0, None))
        if until > time.monotonic():
            return value
        value = find()
        if len(self._known) > 5000:  # guesses must not fill the memory
            self._known.clear()
        if value is not None:
            self._known[kind, key] = (time.monotonic() + MEMORY_SECONDS, value)
        return value

    def add(self, name: str, role: str = "annotator") -> str:
        """Add a person, or give one a new token and role; return the token, which is not kept."""
        check_person(name)
        if role not in ROLES:
            raise StudyError(f"role={role!r} is unknown; {suggest(role, ROLES)}")
        token = secrets.token_urlsafe(24)
        row = {"name": name, "role": role, "token": _hash(token), "since": now()}
        with self._db.write() as connection:
            known = connection.scalar(select(people.c.name).where(people.c.name == name))
            if known is None:
                connection.execute(insert(people), [row])
            else:
                connection.execute(update(people).where(people.c.name == name).values(row))
                connection.execute(delete(sessions).where(sessions.c.name == name))
        self._known.clear()
        return token

    def remove(self, name: str) -> None:
        """Remove a person; their answers stay."""
        with self._db.write() as connection:
            owners = connection.scalars(select(people.c.name).where(people.c.role == "owner")).all()
            if list(owners) == [name]:
                raise StudyError(f"{name!r} is the only owner; make another one first")
            if not connection.execute(delete(people).where(people.c.name == name)).rowcount:
                raise StudyError(f"nobody is named {name!r}")
            connection.execute(delete(sessions).where(sessions.c.name == name))
        self._known.clear()

    def all(self) -> list[Person]:
        """Everybody, by name."""
        query = select(people.c.name, people.c.role, people.c.since).order_by(people.c.name)
        with self._db.read() as connection:
            return [Person(*row) for row in connection.execute(query)]

    def by_token(self, token: str) -> Person | None:
        """Whose token this is."""
        found: Person | None = self._remembered(
            "token", _hash(token), lambda: self._find(people.c.token == _hash(token))
        )
        return found

    def by_name(self, name: str) -> Person | None:
        """The person of a name."""
        found: Person | None = self._remembered("name", name, lambda: self._find(people.c.name == name))
        return found

    def any(self) -> bool:
        """Whether anybody is known, so that everybody must sign in."""
        known: bool | None = self._remembered("any", "", lambda: True if self.all() else None)
        return bool(known)

    def _find(self, where: Any) -> Person | None:
        with self._db.read() as connection:
            row = connection.execute(
                select(people.c.name, people.c.role, people.c.since).where(where)
            ).first()
        return None if row is None else Person(*row)

    # -- sessions -------------------------------------------------------------------------------

    def sign_in(self, name: str) -> str:
        """Begin a session; return what goes into the cookie."""
        cookie, csrf = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        row = {"id": _hash(cookie), "name": name, "csrf": csrf, "until": time.time() + SESSION_SECONDS}
        with self._db.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.until < time.time()))
            connection.execute(insert(sessions), [row])
        return cookie

    def session(self, cookie: str) -> Session | None:
        """The session of a cookie, while it lasts."""
        found: Session | None = self._remembered("session", _hash(cookie), lambda: self._session(cookie))
        return found

    def _session(self, cookie: str) -> Session | None:
        query = select(sessions.c.name, sessions.c.csrf).where(
            sessions.c.id == _hash(cookie), sessions.c.until > time.time()
        )
        with self._db.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else Session(*row)

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        with self._db.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.id == _hash(cookie)))
        self._known.clear()
