"""An audit as plain values, and an audit rebuilt from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from fairask.audit.draws import SKIPPED, AuditDraws
from fairask.audit.plan import AuditPlan

if TYPE_CHECKING:
    from fairask.audit.audit import Audit

_FORMAT = 1


class AuditState(TypedDict, total=False):
    """An audit as plain values."""

    format: int
    settings: dict[str, Any]  #: the plan
    fingerprint: str  #: of the strata
    trained_on: list[int]
    rows: list[int]
    labels: list[int]
    skipped: list[int]  #: rows that could not be labelled
    corrected: list[list[int]]  #: rows changed after a look, and what the look had used; may be missing
    asked: list[list[Any]]  #: the look each draw was made for, and its rows; 0.1.0 did not write it
    strata: dict[str, Any]  #: only in a whole state
    classes: list[Any] | None  #: only in a whole state


def state_of(plan: AuditPlan, draws: AuditDraws, classes: Sequence[object] | None, whole: bool) -> AuditState:
    """Describe an audit."""
    told = {row: code for row, code in draws.answers.items() if code != SKIPPED}
    state: AuditState = {
        "format": _FORMAT,
        "settings": plan.to_dict(),
        "fingerprint": draws.strata.fingerprint,
        "trained_on": draws.strata.left_out.tolist(),
        "rows": list(told),
        "labels": list(told.values()),
        "skipped": [row for row in draws.answers if row not in told],
        "asked": [[look, sorted(rows)] for look, rows in draws.asked],
        "corrected": [[row, draws.looked_at[row]] for row in draws.corrected],
    }
    if whole:
        state["strata"] = draws.strata.to_dict(plan.budget)
        state["classes"] = None if classes is None else list(classes)
    return state


def check_format(state: AuditState) -> None:
    """Raise ValueError for a state that this version cannot read."""
    if state.get("format") != _FORMAT:
        raise ValueError(f"state has format {state.get('format')!r}; this version reads format {_FORMAT}")


def replay(audit: Audit, draws: AuditDraws, state: AuditState) -> None:
    """Tell a fresh audit what the state holds."""
    draws.looked_at.update((row, code) for row, code in state.get("corrected", ()))
    names: list[Any] = list(audit.classes or [0, 1])
    labels = {row: names[code] for row, code in zip(state["rows"], state["labels"], strict=True)}
    skipped = set(state.get("skipped", ()))

    def answer(asked: Sequence[int]) -> bool:
        told, gone = [row for row in asked if row in labels], [row for row in asked if row in skipped]
        skipped.difference_update(gone)
        audit.skip(gone)
        if told:
            audit.tell(told, [labels.pop(row) for row in told])
        return bool(told or gone)

    for look, rows in state.get("asked", ()):
        audit.record(look, rows)
        answer(rows)
    # A state of 0.1.0 does not say what was asked: draw it again.
    while labels and not audit.done and answer(audit.ask().indices.tolist()):
        pass
    if labels:
        raise ValueError(f"state holds labels of {len(labels)} rows that this audit never asked for")
