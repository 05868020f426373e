"""PostgreSQL: how a database is reached, and the databases of a server, each of which may hold one study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)

from fairask_studio.errors import StudyError, UnreachableError

_CONNECT_SECONDS = 5
#: How long a PostgreSQL server that does not answer is waited for: connecting, statements, lost packets.
_PATIENCE = {
    "connect_timeout": _CONNECT_SECONDS,
    "options": "-c statement_timeout=60s -c idle_in_transaction_session_timeout=60s",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
#: The database that every server has.
_MAINTENANCE = "postgres"
_DATABASES = text(
    "SELECT datname, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database "
    "WHERE NOT datistemplate AND datallowconn AND has_database_privilege(oid, 'CONNECT') ORDER BY datname"
)
# Tables are named by a string, so a database without them is no error.
_HOLDS = text(
    "SELECT to_regclass('events') IS NOT NULL AND to_regclass('tasks') IS NOT NULL "
    "AND to_regclass('alembic_version') IS NOT NULL"
)
_STAMP = text("SELECT (SELECT coalesce(max(id), 0) FROM events), (SELECT coalesce(max(until), 0) FROM tasks)")


def is_url(target: str) -> bool:
    """Whether a study's address is a database URL rather than a folder.

    Examples
    --------
    >>> is_url("postgresql://host/credit"), is_url("studies/credit")
    (True, False)
    """
    return "://" in target


def is_server(target: str) -> bool:
    """Whether an address is a PostgreSQL server without a database: all of its studies are meant.

    Examples
    --------
    >>> is_server("postgresql://ada@host"), is_server("postgresql://host/loans"), is_server("studies")
    (True, False, False)
    """
    return is_url(target) and not make_url(target).database


def connect_postgres(target: str) -> Engine:
    """Connect to a PostgreSQL database; StudyError in words if that cannot be done."""
    try:
        url = make_url(target)
        if url.get_backend_name() != "postgresql":
            raise StudyError(
                f"a study's URL must begin with postgresql://, not {url.drivername}://; "
                "for SQLite give a folder"
            )
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=8,
            max_overflow=32,
            pool_timeout=_CONNECT_SECONDS,
            connect_args=_PATIENCE,
            # A restarted server has dropped all connections: test each before use, and connect again.
            pool_pre_ping=True,
        )
        engine.connect().close()
    except ArgumentError as error:
        shown = re.sub(r"//[^@/]*@|[?].*", "//***@", target)  # it may hold a password
        raise StudyError(f"{shown!r} is not a database URL: postgresql://user@host/name") from error
    except (ImportError, NoSuchModuleError) as error:
        raise StudyError(
            "a PostgreSQL study needs psycopg: pip install 'fairask-studio[postgres]'"
        ) from error
    except OperationalError as error:
        raise UnreachableError(
            f"cannot reach {url.set(query={}).render_as_string()}: {error.orig}"
        ) from error
    return engine


class Server:
    """The databases of one server, by name.

    Parameters
    ----------
    url : str
        ``postgresql://user@host`` without a database. The user needs the right to create databases in order
        to make studies, not in order to list them.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = connect_postgres(self.target(_MAINTENANCE))

    def target(self, name: str) -> str:
        """Return the URL of a database, which is the place of its study."""
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def databases(self) -> dict[str, str]:
        """Return the comment on each database that this user may connect to."""
        with self._connection() as connection:
            return {str(row[0]): str(row[1]) for row in connection.execute(_DATABASES)}

    def stamp(self, name: str) -> tuple[float, ...] | None:
        """Return numbers that change with the study of a database; None if the database holds none."""
        engine = connect_postgres(self.target(name))
        try:
            with engine.connect() as connection:
                if not connection.scalar(_HOLDS):
                    return None
                last, until = connection.execute(_STAMP).one()
                return (float(last), float(until)) if last else None
        except SQLAlchemyError:
            return None  # gone meanwhile, or not this user's to read
        finally:
            engine.dispose()

    def create(self, name: str) -> None:
        """Make an empty database."""
        self._change(f"CREATE DATABASE {self._quoted(name)}", f"cannot create the database {name!r}")

    def drop(self, name: str) -> None:
        """Delete a database with everything in it; connections to it are ended."""
        self._change(f"DROP DATABASE {self._quoted(name)} WITH (FORCE)", f"cannot delete {name!r}")

    def comment(self, name: str, words: str) -> None:
        """Set the comment on a database; an empty one removes it."""
        said = "NULL" if not words else "'" + words.replace("'", "''") + "'"
        self._change(f"COMMENT ON DATABASE {self._quoted(name)} IS {said}", f"cannot mark {name!r}")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _quoted(self, name: str) -> str:
        return self.engine.dialect.identifier_preparer.quote_identifier(name)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        # CREATE and DROP DATABASE cannot run inside a transaction.
        with self.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            yield connection

    def _change(self, statement: str, refused: str) -> None:
        try:
            with self._connection() as connection:
                connection.exec_driver_sql(statement)
        except DBAPIError as error:
            reason = str(error.orig).partition("\n")[0]
            raise StudyError(
                f"{refused}: {reason}", "Ask who runs the server for the right to do so"
            ) from error
