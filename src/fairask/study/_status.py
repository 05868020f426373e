"""The study in numbers, as the command line, the API and the report show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fairask.learner.log import LABELLED
from fairask.study._agreement import agreement
from fairask.study.state import SKIP, State

if TYPE_CHECKING:
    from fairask.study.study import Study

__all__ = ["status"]


def status(study: Study) -> dict[str, Any]:
    """See :meth:`Study.status`."""
    waiting = study.waiting()
    with study._lock:
        state = study.state()
        config = state.config
        entries = list(state.log.entries)
        labelled = [entry for entry in entries if entry.state == LABELLED]
        codes, names, pool = study.group_codes, study.groups, study.group_sizes
        got = Counter(int(codes[entry.index]) for entry in labelled)
        split = Counter((int(codes[entry.index]), entry.component) for entry in labelled)
        return {
            "question": config.question,
            "classes": list(config.classes),
            "metric": config.metric,
            "tolerance": config.tolerance,
            "strategy": config.strategy,
            "budget": state.budget,
            "stop_reason": state.stop_reason,
            "batch_size": config.batch_size,
            "overlap": config.overlap,
            "rows": config.rows,
            "labels": len(labelled),
            "skipped": state.count("skipped"),
            "open": state.count("asked"),
            "free": waiting.free,
            "held": waiting.held,
            "people_now": waiting.people,
            "batches": state.batches,
            "complete": len(labelled) >= state.budget,
            "positives": sum(entry.label == 1 for entry in labelled),
            "groups": [
                {
                    "group": str(name),
                    "pool": pool[code],
                    "labels": got[code],
                    "components": {c: n for (g, c), n in sorted(split.items()) if g == code},
                }
                for code, name in enumerate(names)
            ],
            "people": _people(state),
            "agreement": agreement(
                [a.code for a in row.values() if a.code != SKIP] for row in state.answers.values()
            ),
            "history": list(state.history),
            "audit": None if state.audit is None else asdict(state.audit),
            "certificate": state.certificates[-1] if state.certificates else None,
            "created": state.created,
            "last_event": state.last,
        }


def _people(state: State) -> list[dict[str, Any]]:
    """Answers, skips and median seconds between answers of each person."""
    times: dict[str, list[float]] = {}
    counts: Counter[tuple[str, bool]] = Counter()
    for row in state.answers.values():
        for who, answer in row.items():
            counts[who, answer.code == SKIP] += 1
            times.setdefault(who, []).append(datetime.fromisoformat(answer.at).timestamp())
    found = []
    for who, moments in sorted(times.items()):
        moments.sort()
        # A pause of more than five minutes is a break, not a slow answer.
        gaps = sorted(b - a for a, b in pairwise(moments) if b - a < 300)
        pace = gaps[len(gaps) // 2] if gaps else None
        found.append({"who": who, "labels": counts[who, False], "skips": counts[who, True], "seconds": pace})
    return found
