"""Where a study stands, in numbers, for the command line, the API and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from fairask.experiment.safety import safety_sentence
from fairask.experiment.story import Beside, Guess, Outcome, columns_sentence
from fairask.log import LABELLED
from fairask_studio._agreement import agreement
from fairask_studio._rows import StudyRows
from fairask_studio.events import SKIP, Document
from fairask_studio.known import USES
from fairask_studio.state import State
from fairask_studio.store import Waiting


def status_of(state: State, rows: StudyRows, groups: Sequence[object], waiting: Waiting) -> Document:
    """Describe where a study stands, in plain values."""
    config = state.config
    labelled = [entry for entry in state.log.entries if entry.state == LABELLED]
    got = Counter(int(rows.codes[entry.index]) for entry in labelled)
    split = Counter((int(rows.codes[entry.index]), entry.component) for entry in labelled)
    return {
        "question": config.question,
        "classes": list(config.classes),
        "metric": config.learner.metric,
        "tolerance": config.learner.tolerance,
        "strategy": config.learner.strategy,
        "budget": state.budget,
        "stop_reason": state.stop_reason,
        "stop_rule": config.learner.stopping,
        "batch_size": config.learner.batch_size,
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
                "pool": rows.sizes[code],
                "labels": got[code],
                "components": {c: n for (g, c), n in sorted(split.items()) if g == code},
            }
            for code, name in enumerate(groups)
        ],
        "people": _people(state),
        "skip_reasons": _skip_reasons(state),
        "known": {use: len(state.known.of_use(use)) for use in USES},
        "agreement": agreement(
            [a.code for a in row.values() if a.code != SKIP] for row in state.answers.values()
        ),
        "history": list(state.history),
        "story": story_of(state),
        "safety": _safety(state),
        "model": None if state.model is None else model_name(state.model, certified=state.kept is not None),
        "audit": None if state.audit is None else state.audit.to_dict(),
        "certificate": state.certificates[-1] if state.certificates else None,
        "warnings": [{"at": at, **limit.to_data()} for at, limit in state.warned],
        "created": state.created,
        "last_event": state.last,
    }


def story_of(state: State) -> Document | None:
    """Say which case the study is in, beside a plain model and a constant answer; None while unknown."""
    if not state.history:
        return None
    fitted = state.history[-1]
    guess = fitted["estimate"]
    if guess is None or "plain" not in guess:  # models of version 0.1.0 have no plain model beside them
        return None
    constant, config = guess["constant"], state.config
    beside = Beside(
        _outcome(guess),
        _outcome(guess["plain"]),
        constant["accuracy"],
        config.classes[constant["answer"]],
        config.learner.tolerance,
        fitted["labels"],
    )
    telling = fitted.get("telling")
    return {
        "case": beside.case,
        "sentence": beside.sentence(),
        "answer": beside.answer,
        "columns": columns_sentence(telling) if telling else None,
    }


def _safety(state: State) -> str | None:
    """Say whether the labels suffice for the tolerance, and what safety costs; an audit knows better."""
    if not state.history or state.history[-1] is state.kept:
        return None
    return safety_sentence(state.history[-1], state.config.learner.tolerance, state.config.rows)


def _outcome(guess: Document) -> Outcome:
    def limits(found: Document) -> Guess:
        return Guess(found["value"], found["low"], found["high"])

    return Outcome(
        limits(guess["accuracy"]), None if guess["violation"] is None else limits(guess["violation"])
    )


def model_name(entry: Document, *, certified: bool) -> Document:
    """Return what names a model: round, labels, digest, the event up to which it was trained.

    Examples
    --------
    >>> model_name({"round": 2, "labels": 50, "digest": "ab", "seen": 9, "rates": []}, certified=True)
    {'round': 2, 'labels': 50, 'digest': 'ab', 'seen': 9, 'certified': True}
    """
    return {**{name: entry[name] for name in ("round", "labels", "digest", "seen")}, "certified": certified}


def _skip_reasons(state: State) -> list[Document]:
    """Count skips by their reason, most frequent first; an empty one is none."""
    counts = Counter(a.reason for given in state.answers.values() for a in given.values() if a.code == SKIP)
    return [{"reason": reason, "skips": skips} for reason, skips in counts.most_common()]


def _people(state: State) -> list[Document]:
    """Count answers and skips, and the median seconds between answers of each person."""
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
