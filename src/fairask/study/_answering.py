"""What people say about rows: answers, corrections, answers taken back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairask.study import _events, _queue
from fairask.study._errors import StudyError
from fairask.study.config import check_person
from fairask.study.state import SKIP

if TYPE_CHECKING:
    from fairask.study.study import Study

__all__ = ["Receipt", "correct", "record", "withdraw"]


@dataclass(frozen=True)
class Receipt:
    """What became of labels told: new ones, ones known already, ones that replaced another."""

    new: int
    known: int
    corrected: int


def record(
    study: Study, rows: Sequence[int], codes: list[int], who: str, notes: Sequence[str] | None, correct: bool
) -> Receipt:
    """Write answers (``SKIP`` among them): all of them or, when one cannot be, none."""
    check_person(who)
    rows = [study._index(row) for row in rows]
    texts = [""] * len(rows) if notes is None else [_note(note) for note in notes]
    if len(set(rows)) < len(rows):
        raise StudyError(f"row {next(r for r in rows if rows.count(r) > 1)} is told more than once")
    happened: list[tuple[str, dict[str, Any]]] = []
    known = corrected = 0
    with study._db.write() as connection:
        before = _queue.answers_of(connection, rows, who)
        for row, code, note in zip(rows, codes, texts, strict=True):
            if row not in before:
                _queue.settle(connection, row, who, code, time.time())
                data: dict[str, Any] = {"row": row} if code == SKIP else {"row": row, "label": code}
                happened.append(("skipped" if code == SKIP else "labelled", data | _some(note)))
            elif before[row] == code:
                known += 1
            elif not correct:
                raise StudyError(
                    f"row {row} was told as {study._name(before[row])!r} before and is "
                    f"{study._name(code)!r} now; if that is meant, tell it with --correct (correct=True)"
                )
            else:
                _queue.change(connection, row, who, code)
                happened.append(("corrected", {"row": row, "label": code, "decides": False}))
                corrected += 1
        _events.append(connection, who, happened)
    return Receipt(len(happened) - corrected, known, corrected)


def correct(study: Study, row: int, label: str, who: str, decide: bool) -> None:
    """See :meth:`Study.correct`."""
    row, code = study._index(row), study._code(label, row)
    with study._db.write() as connection:
        mine = _queue.answers_of(connection, [row], check_person(who))
        if not decide and not mine:
            raise StudyError(f"{who!r} has not answered row {row}")
        if decide and not _queue.answered(connection, row):
            raise StudyError(f"row {row} is not labelled, so there is nothing to correct")
        if not decide:
            _queue.change(connection, row, who, code)
        _events.append(connection, who, [("corrected", {"row": row, "label": code, "decides": decide})])


def withdraw(study: Study, row: int, who: str) -> None:
    """See :meth:`Study.withdraw`."""
    row = study._index(row)
    with study._db.write() as connection:
        if not _queue.answers_of(connection, [row], who):
            raise StudyError(f"{who!r} has not answered row {row}")
        _queue.reopen(connection, row, who, time.time() + study.config.lease_seconds)
        _events.append(connection, who, [("withdrawn", {"row": row})])


def _note(note: str) -> str:
    if len(note) > 2000:
        raise StudyError(f"a note has {len(note)} characters; 2000 at most")
    return note


def _some(note: str) -> dict[str, str]:
    return {"note": note} if note else {}
