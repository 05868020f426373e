"""People who may label or own a study, programs that act in it, and failed attempts to sign in.

Only hashes of secrets are stored.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, true, update

from fairask.errors import suggest
from fairask_studio.config import check_person
from fairask_studio.errors import StudyError
from fairask_studio.events import now
from fairask_studio.store.database import Database, clock
from fairask_studio.store.schema import attempts, people, sessions

#: An annotator labels; a reviewer also sees rows and people, and settles what is in dispute; an owner does
#: everything. Each may do what those before it may.
ROLES = ("annotator", "reviewer", "owner")
#: A session ends so long after its last use.
SESSION_SECONDS = 12 * 3600.0
#: The end of a session is moved at most this often.
RENEWAL_SECONDS = 600.0
#: A token ends so long after it was made, and with it the sessions of its person.
TOKEN_SECONDS = 90 * 86400.0
#: Failed attempts to sign in that are kept, over all addresses.
MOST_KEPT = 10_000
#: How long a process may rely on what it read before.
MEMORY_SECONDS = 5.0
#: In place of a CSRF token: the row is a code that begins a session, or one that did or was replaced.
_INVITE, _USED, _REPLACED = "invite", "used", "replaced"
_CODES = (_INVITE, _USED, _REPLACED)
#: For so long after its end a code is known, so that whoever opens it is told what became of it.
_KNOWN_SECONDS = 30 * 86400.0
_T = TypeVar("_T")
_ALL = select(people.c.name, people.c.role, people.c.since, people.c.until, people.c.program)
_PROGRAM = people.c.program.is_(true())
_HUMAN = or_(people.c.program.is_(None), ~_PROGRAM)


def _valid() -> ColumnElement[bool]:
    lasting = and_(people.c.until.is_(None), people.c.since > now(-TOKEN_SECONDS))
    return or_(lasting, and_(people.c.until.is_not(None), people.c.until > now()))


def _person(name: str, role: str, since: str, until: str | None, program: bool | None) -> Person:
    return Person(name, role, since, until or "", bool(program))


@dataclass(frozen=True)
class Person:
    """A person who may sign in, or a program that may use the API."""

    name: str
    role: str
    since: str = ""
    until: str = ""  #: when a program's token ends
    program: bool = False  #: a program has a token, and no session


@dataclass(frozen=True)
class Session:
    """A signed-in browser; ``csrf`` must come with every change it asks for."""

    name: str
    csrf: str


def hash_of(secret: str) -> str:
    """Return what is stored of a token: 192 random bits, so a plain hash is as safe as a slow one."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _seal(row: Mapping[str, object]) -> str:
    """Return the sha256 of what is stored of somebody, so that a damaged row is noticed."""
    said = [row.get(name) for name in ("name", "role", "token", "since", "until")]
    said.append(bool(row.get("program")))
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise StudyError(f"role={role!r} is unknown; {suggest(role, ROLES)}")


def _new(name: str, role: str) -> tuple[str, dict[str, object]]:
    """Return a new token, and what is stored of it."""
    check_person(name)
    if "/" in name or name in (".", ".."):  # the address at which somebody is removed could not hold it
        raise StudyError(f"{name!r} cannot be added: a name holds no '/', and is more than dots")
    _check_role(role)
    token = secrets.token_urlsafe(24)
    return token, {"name": name, "role": role, "token": hash_of(token), "since": now()}


class People:
    """The people of a study and their sessions.

    Every request looks a person up, so results are cached. What this process changes has effect at once;
    a person removed by another process is refused after ``MEMORY_SECONDS``.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._known: dict[tuple[str, str], tuple[float, object]] = {}

    def _cached(self, type_: type[_T], kind: str, key: str, find: Callable[[], _T | None]) -> _T | None:
        until, known = self._known.get((kind, key), (0.0, None))
        if until > time.monotonic() and isinstance(known, type_):
            return known
        value = find()
        if len(self._known) > 5000:  # guessed tokens must not fill the memory
            self._known.clear()
        if value is not None:
            self._known[kind, key] = (time.monotonic() + MEMORY_SECONDS, value)
        return value

    def add(self, name: str, role: str = "annotator", *, renew: bool = False) -> str:
        """Add a person and return the token, which is not stored.

        With ``renew`` a person who is known gets this role and a new token; the old token and the sessions
        end. Otherwise a name that is taken is refused.
        """
        token, row = _new(name, role)
        with self._db.write() as connection:
            known = connection.scalar(select(people.c.role).where(people.c.name == name, _HUMAN))
            if (known is not None) != renew:
                raise StudyError(
                    f"nobody is named {name!r}; add them first"
                    if renew
                    else f"{name!r} has a token already; to replace it renew it, which ends the old one"
                )
            if role != "owner":
                self._keep_an_owner(connection, name)
            if known is None:
                self._insert(connection, row)
            else:
                row |= {"until": None, "program": None}
                new = {**row, "seal": _seal(row)}
                connection.execute(update(people).where(people.c.name == name).values(new))
                connection.execute(delete(sessions).where(sessions.c.name == name))
        self._known.clear()
        return token

    def add_program(self, name: str, role: str, until: str) -> str:
        """Give a program a token until ``until``, a time as the log writes it; the token is not stored."""
        token, row = _new(name, role)
        if until <= now():
            raise StudyError(f"until={until!r} is in the past", "Choose a later day")
        with self._db.write() as connection:
            self._insert(connection, {**row, "until": until, "program": True})
        return token

    def _insert(self, connection: Connection, row: dict[str, object]) -> None:
        # People and programs share their names: an answer in the log has one of them.
        if connection.scalar(select(people.c.name).where(people.c.name == row["name"])) is not None:
            raise StudyError(f"{row['name']!r} is the name of somebody else", "Choose another name")
        connection.execute(insert(people), [{**row, "seal": _seal(row)}])

    def remove(self, name: str) -> None:
        """Remove a person, or revoke a program's token; answers stay."""
        with self._db.write() as connection:
            self._keep_an_owner(connection, name)
            if not connection.execute(delete(people).where(people.c.name == name)).rowcount:
                raise StudyError(f"nobody is named {name!r}")
            connection.execute(delete(sessions).where(sessions.c.name == name))
        self._known.clear()

    def change_role(self, name: str, role: str) -> None:
        """Give a person another role; their token and sessions go on with it."""
        _check_role(role)
        with self._db.write() as connection:
            if role != "owner":
                self._keep_an_owner(connection, name)
            found = connection.execute(select(people).where(people.c.name == name, _HUMAN)).mappings().first()
            if found is None:
                raise StudyError(f"nobody is named {name!r}")
            seal = _seal({**found, "role": role})
            connection.execute(update(people).where(people.c.name == name).values(role=role, seal=seal))
        self._known.clear()

    def _keep_an_owner(self, connection: Connection, name: str) -> None:
        owners = connection.scalars(select(people.c.name).where(people.c.role == "owner", _HUMAN)).all()
        if list(owners) == [name]:
            raise StudyError(f"{name!r} is the only owner; make another one first")

    def changed(self) -> list[str]:
        """Name the people and programs that are not stored as they were written."""
        with self._db.read() as connection:
            rows = [dict(row) for row in connection.execute(select(people)).mappings()]
        wrong = [str(row["name"]) for row in rows if row["seal"] != _seal(row)]
        return [f"people: {name!r} is not stored as it was written" for name in wrong]

    def all(self) -> list[Person]:
        """Return all people, by name."""
        return self._listed(_HUMAN)

    def programs(self) -> list[Person]:
        """Return all programs, by name; those whose token has ended, too."""
        return self._listed(_PROGRAM)

    def _listed(self, which: ColumnElement[bool]) -> list[Person]:
        with self._db.read() as connection:
            return [_person(*row) for row in connection.execute(_ALL.where(which).order_by(people.c.name))]

    def by_token(self, token: str) -> Person | None:
        """Return the person or program with this token, None when it is unknown or has expired."""
        key = hash_of(token)
        return self._cached(Person, "token", key, lambda: self._find(people.c.token == key))

    def expired(self, token: str) -> Person | None:
        """Return the person whose token this was until it expired."""
        with self._db.read() as connection:
            row = connection.execute(_ALL.where(people.c.token == hash_of(token), ~_valid())).first()
        return None if row is None else _person(*row)

    def by_name(self, name: str) -> Person | None:
        """Return the person with this name, None when there is none or the token has expired."""
        return self._cached(Person, "name", name, lambda: self._find(and_(people.c.name == name, _HUMAN)))

    def knows(self, name: str) -> bool:
        """Whether somebody has this name, whose token may have expired."""
        with self._db.read() as connection:
            return connection.scalar(select(people.c.name).where(people.c.name == name)) is not None

    def any(self) -> bool:
        """Whether the study has people, so that everybody must sign in."""
        return bool(self._cached(bool, "any", "", lambda: True if self.all() else None))

    def _find(self, where: ColumnElement[bool]) -> Person | None:
        with self._db.read() as connection:
            row = connection.execute(_ALL.where(where, _valid())).first()
        return None if row is None else _person(*row)

    # -- sessions -------------------------------------------------------------------------------

    def sign_in(self, name: str) -> str:
        """Begin a session; return the value of its cookie."""
        cookie = secrets.token_urlsafe(24)
        with self._db.write() as connection:
            at = clock(connection)
            code = sessions.c.csrf.in_(_CODES)
            connection.execute(
                delete(sessions).where(
                    or_(and_(~code, sessions.c.until < at), sessions.c.until < at - _KNOWN_SECONDS)
                )
            )
            self._begin(connection, cookie, name)
        return cookie

    def _begin(self, connection: Connection, cookie: str, name: str) -> None:
        row = {"id": hash_of(cookie), "name": name, "csrf": secrets.token_urlsafe(24)}
        connection.execute(insert(sessions), [{**row, "until": clock(connection) + SESSION_SECONDS}])

    def invite(self, name: str, seconds: float = SESSION_SECONDS) -> str:
        """Make a code that begins one session of ``name`` within ``seconds``; earlier codes end."""
        code = secrets.token_urlsafe(24)
        row = {"id": hash_of(code), "name": name, "csrf": _INVITE}
        with self._db.write() as connection:
            mine = (sessions.c.name == name, sessions.c.csrf == _INVITE)
            connection.execute(update(sessions).where(*mine).values(csrf=_REPLACED))
            connection.execute(insert(sessions), [{**row, "until": clock(connection) + seconds}])
        return code

    def redeem(self, code: str) -> tuple[str, str] | None:
        """Begin the session of a code; return name and cookie, None when the code was used or is unknown."""
        cookie, mine = secrets.token_urlsafe(24), (sessions.c.id == hash_of(code), sessions.c.csrf == _INVITE)
        with self._db.write() as connection:
            name = connection.scalar(
                select(sessions.c.name).where(*mine, sessions.c.until > clock(connection))
            )
            used = update(sessions).where(*mine).values(csrf=_USED)
            if name is None or not connection.execute(used).rowcount:
                return None
            self._begin(connection, cookie, name)
        return str(name), cookie

    def invited(self, code: str) -> str | None:
        """Return whom a code invites that can still be used, and leave it so; None if it cannot be used."""
        with self._db.read() as connection:
            mine = (sessions.c.id == hash_of(code), sessions.c.csrf == _INVITE)
            return connection.scalar(
                select(sessions.c.name).where(*mine, sessions.c.until > clock(connection))
            )

    def became(self, code: str) -> str | None:
        """Say in words what became of a code that begins no session any more; None if it is unknown."""
        with self._db.read() as connection:
            found = connection.execute(
                select(sessions.c.csrf, sessions.c.until).where(
                    sessions.c.id == hash_of(code), sessions.c.csrf.in_(_CODES)
                )
            ).first()
            if found is None:
                return None
            if found.csrf == _INVITE:
                return "This link has ended." if found.until <= clock(connection) else None
        return {
            _USED: "This link was used already: it signs in once.",
            _REPLACED: "A newer link has replaced this one.",
        }[found.csrf]

    def session(self, cookie: str) -> Session | None:
        """Return the session of a cookie, None when it has ended; its end moves with its use."""
        return self._cached(Session, "session", hash_of(cookie), lambda: self._session(cookie))

    def _session(self, cookie: str) -> Session | None:
        mine = sessions.c.id == hash_of(cookie)
        with self._db.read() as connection:
            at = clock(connection)
            query = select(sessions.c.name, sessions.c.csrf, sessions.c.until).where(
                mine, sessions.c.until > at, sessions.c.csrf.not_in(_CODES)
            )
            row = connection.execute(query).first()
        if row is None:
            return None
        if row.until < at + SESSION_SECONDS - RENEWAL_SECONDS:
            with self._db.write(durable=False) as connection:
                connection.execute(update(sessions).where(mine).values(until=at + SESSION_SECONDS))
        return Session(row.name, row.csrf)

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        with self._db.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.id == hash_of(cookie)))
        self._known.clear()


def place_of(address: str) -> str:
    """Return what an address counts as: one IPv4 address, or the IPv6 network of one customer.

    Examples
    --------
    >>> place_of("192.0.2.7"), place_of("2001:db8::1:2"), place_of("testclient")
    ('192.0.2.7', '2001:db8::/64', 'testclient')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if known.version == 4:
        return str(known)
    return str(known.ipv4_mapped or ipaddress.ip_network((known, 64), strict=False))


class Attempts:
    """A limit on wrong tokens per minute, for each address and each account.

    Only failures are counted, so any number of people may sign in from one address, and somebody with a right
    token is let in whatever others at the address guess. Tokens are 192 random bits: the limit keeps guesses
    from filling the log and the database. It holds for all processes together.
    """

    def __init__(self, database: Database, most: int = 8, seconds: float = 60.0) -> None:
        self._db, self.most, self.seconds = database, most, seconds

    def fail(self, address: str, account: str | None = None) -> float:
        """Count a wrong token; return 0, or the seconds to wait when the limit was reached before.

        An expired token has an account: its failures count together, whatever address they come from.
        """
        place = place_of(address) if account is None else f"account {account}"[:64]
        with self._db.read() as connection:  # one over the limit costs no write
            wait = self._wait(connection, place, clock(connection))
        if wait > 0:
            return wait
        with self._db.write(durable=False) as connection:
            now = clock(connection)
            wait = self._wait(connection, place, now)
            if wait > 0:
                return wait
            added = connection.execute(
                insert(attempts).values(address=place, at=now).returning(attempts.c.id)
            ).scalar_one()
            connection.execute(
                delete(attempts).where(
                    (attempts.c.at < now - self.seconds) | (attempts.c.id <= added - MOST_KEPT)
                )
            )
        return 0.0

    def _wait(self, connection: Connection, place: str, now: float) -> float:
        recent = connection.execute(
            select(attempts.c.at)
            # An attempt in the future is of before the clock was put back.
            .where(attempts.c.address == place, attempts.c.at.between(now - self.seconds, now + 1.0))
            .order_by(attempts.c.at.desc())
            .limit(self.most)
        ).scalars()
        times = list(recent)
        return times[-1] + self.seconds - now if len(times) >= self.most else 0.0
