"""The tables of a study. ``events`` is the study; everything else can be rebuilt or is about access.

``tasks`` is the queue of drawn rows, a projection of the events kept in the same transactions so that
"who gets which row" and "was this answered" are decided by the database, whatever the number of
processes. ``pool`` holds the Parquet file when the study lives in PostgreSQL and has no folder.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", String(32), nullable=False),
    Column("who", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("data", Text, nullable=False),
    Column("hash", String(64), nullable=False),  # of the event and of the hash before it
    Column("about", Integer),  # the row it is about or, for a drawing, its batch
    Index("events_about", "about", "kind"),
    sqlite_autoincrement=True,
)

tasks = Table(
    "tasks",
    metadata,
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, nullable=False),
    Column("batch", Integer, nullable=False),
    Column("who", String(64)),  # who holds or has answered it
    Column("until", Float),  # end of the lease, seconds since 1970
    Column("answer", Integer),  # None: open; -1: skipped; 0 or 1: the class
    Column("since", Float),  # beginning of the lease
    UniqueConstraint("row", "who", name="one_answer_a_person"),
    Index("tasks_open", "answer", "position"),
)

pool = Table(
    "pool",
    metadata,
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("bytes", LargeBinary, nullable=False),
)

people = Table(
    "people",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("token", String(64), nullable=False, unique=True),  # sha256; the token itself is never kept
    Column("since", String(32), nullable=False),
    Column("until", String(32)),  # when the token ends; None: as long after ``since`` as a person's does
    Column("program", Boolean),  # whether it is a program's token, which begins no session
    Column("seal", String(64)),  # sha256 of the others
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),  # sha256 of the cookie
    Column("name", String(64), nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("until", Float, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("address", String(64), nullable=False),
    Column("at", Float, nullable=False),  # seconds since 1970
    Index("attempts_of", "address", "at"),
    sqlite_autoincrement=True,
)

training = Table(
    "training",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("busy", String(64)),  # what is being done, for the page
    Column("error", Text),  # why nothing is
)
