"""``fairask status``: where a study stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairask.cli._options import Json, say
from fairask_studio.cli.options import StudyPlace, open_study

if TYPE_CHECKING:
    from fairask_studio.events import Document

EXAMPLE = "fairask status loans"


def status(study: StudyPlace, as_json: Json = False) -> None:
    """Say where a study stands."""
    with open_study(study) as opened:
        now = opened.status()
        asked = sum(flag.open for flag in opened.state().flags.known.values())
    lines = [
        f"{now['labels']} of {now['budget']} labels, {now['open']} open, {now['skipped']} skipped, "
        f"{now['batches']} batches",
    ]
    for group in now["groups"]:
        drawn = ", ".join(f"{name} {n}" for name, n in group["components"].items()) or "none yet"
        lines.append(f"  {group['group']}: {group['labels']} labels of {group['pool']:,} rows ({drawn})")
    if asked:
        lines.append(f"Open flags: {asked} (fairask study flags {study})")
    if now["stop_reason"]:
        lines.append(f"Stopped: {now['stop_reason']}")
    elif now["stop_rule"] and now["history"]:
        lines.append(f"The stopping rule ({now['stop_rule']}) never fired within {now['labels']} labels")
    if now["history"]:
        lines.append(_model_line(now["history"][-1], now["tolerance"]))
        lines += _beside_lines(now)
        lines += [now["safety"]] if now["safety"] else []
    else:
        lines.append("No model yet: the first batch is uniform, so that nothing is assumed")
    say(as_json, now, "\n".join(lines))


def _beside_lines(now: Document) -> list[str]:
    """A plain model and a constant answer on the same labels, and the case the study is in."""
    story, guess = now["story"], now["history"][-1]["estimate"]
    if story is None:
        return []
    accuracy, gap = guess["plain"]["accuracy"], guess["plain"]["violation"]
    beside = "" if gap is None else f", violation {_interval(gap)}"
    return [
        f"Without a constraint: accuracy {_interval(accuracy)}{beside}",
        f"Always '{story['answer']}': accuracy {guess['constant']['accuracy']:.3f}, violation 0",
        story["sentence"],
        *([f"Note: {story['columns']}"] if story["columns"] else []),
    ]


def _model_line(fitted: Document, tolerance: float) -> str:
    model = f"Model of round {fitted['round']} on {fitted['labels']} labels"
    guess = fitted["estimate"]
    if guess is None:
        return f"{model}: too few to estimate its accuracy"
    gap = "unknown: a group has too few labels"
    gap = gap if guess["violation"] is None else _interval(guess["violation"])
    return f"{model}: accuracy {_interval(guess['accuracy'])}, violation {gap}, tolerance {tolerance}"


def _interval(guess: Document) -> str:
    return f"{guess['value']:.3f} ({guess['low']:.3f} to {guess['high']:.3f})"
