"""Answers of people: labels, skips, corrections, answers taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairask_studio._errors import StudyError
from fairask_studio.config import Config, check_person, check_reason
from fairask_studio.events import (
    SKIP,
    AnswerWithdrawn,
    Happening,
    RowCorrected,
    RowLabelled,
    RowSkipped,
)
from fairask_studio.store import Store

_LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Receipt:
    """Counts of labels told: new ones, ones told before, ones that replaced another."""

    new: int
    known: int
    corrected: int


def record(
    store: Store,
    config: Config,
    rows: Sequence[int],
    codes: Sequence[int],
    who: str,
    notes: Sequence[str] | None,
    *,
    correct: bool = False,
    reason: str = "",
) -> Receipt:
    """Write answers (``SKIP`` among them): all of them or, when one cannot be written, none."""
    check_person(who)
    why = check_reason(reason) or None
    rows = [config.check_row(row) for row in rows]
    texts = [None] * len(rows) if notes is None else [_checked_note(note) for note in notes]
    if len(set(rows)) < len(rows):
        raise StudyError(f"row {next(r for r in rows if rows.count(r) > 1)} is told more than once")
    happened: list[Happening] = []
    known = corrected = 0
    with store.write() as turn:
        before = turn.answers_of(who, rows)
        for row, code, note in zip(rows, codes, texts, strict=True):
            if row not in before:
                turn.answer(row, who, code)
                skipped = RowSkipped(row, note, reason=why)
                happened.append(skipped if code == SKIP else RowLabelled(row, code, note))
            elif before[row] == code:
                known += 1
            elif not correct:
                raise StudyError(
                    f"row {row} was told as {config.class_name(before[row])!r} before and is "
                    f"{config.class_name(code)!r} now; if that is meant, tell it with --correct "
                    "(correct=True)"
                )
            else:
                turn.change_answer(row, who, code)
                happened.append(RowCorrected(row, code, decides=False))
                corrected += 1
        turn.append(who, *happened)
    return Receipt(len(happened) - corrected, known, corrected)


def correct(store: Store, row: int, code: int, who: str, decide: bool) -> None:
    """Replace a label for everybody (``decide``), or this person's own answer."""
    check_person(who)
    with store.write() as turn:
        if decide and not turn.is_labelled(row):
            raise StudyError(f"row {row} is not labelled, so there is nothing to correct")
        if not decide:
            if not turn.answers_of(who, [row]):
                raise StudyError(f"{who!r} has not answered row {row}")
            turn.change_answer(row, who, code)
        turn.append(who, RowCorrected(row, code, decides=decide))


def withdraw(store: Store, row: int, who: str, seconds: float) -> None:
    """Take this person's answer back; they hold the row again for ``seconds``."""
    with store.write() as turn:
        if not turn.answers_of(who, [row]):
            raise StudyError(f"{who!r} has not answered row {row}")
        turn.hold_again(row, who, seconds)
        turn.append(who, AnswerWithdrawn(row))


def _checked_note(note: str) -> str | None:
    if len(note) > _LONGEST_NOTE:
        raise StudyError(f"a note has {len(note)} characters; {_LONGEST_NOTE} at most")
    return note or None
