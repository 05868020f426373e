"""What the trainer is doing, in the database: every process of a studio shows the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from fairask.study._schema import training

if TYPE_CHECKING:
    from fairask.study.database import Database

__all__ = ["Training", "read_training", "write_training"]

_NAME = "trainer"


@dataclass(frozen=True)
class Training:
    """What is being done now, and why nothing is, where that is so."""

    busy: str | None = None
    error: str | None = None


def read_training(database: Database) -> Training:
    """What the trainer said last."""
    with database.read() as connection:
        row = connection.execute(
            select(training.c.busy, training.c.error).where(training.c.name == _NAME)
        ).first()
    return Training() if row is None else Training(*row)


def write_training(database: Database, now: Training) -> None:
    """Say what the trainer does; for the page, so it need not survive a loss of power."""
    with database.write(durable=False) as connection:
        connection.execute(delete(training).where(training.c.name == _NAME))
        row = {"name": _NAME, "busy": now.busy, "error": None if now.error is None else now.error[:2000]}
        connection.execute(insert(training), [row])
