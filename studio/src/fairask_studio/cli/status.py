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
    from fairask.report import words
    from fairask_studio.advice import certificate_of_model

    with open_study(study) as opened:
        now = opened.status()
        asked = sum(flag.open for flag in opened.state().flags.known.values())
        audited = certificate_of_model(opened.state()) is not None
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
        lines += _model_lines(now, audited)
    else:
        lines.append(words.begin_sentence("model", now["batch_size"]))
    say(as_json, now, lines)


def _model_lines(now: Document, audited: bool) -> list[str]:
    """The last model; a plain model and a constant answer on the same labels; the case the study is in."""
    from fairask.report import words

    fitted, story = now["history"][-1], now["story"]
    guess = fitted["estimate"]
    model = None if guess is None else words.outcome_of(guess)
    lines = [words.model_sentence(fitted["round"], fitted["labels"], model, now["tolerance"])]
    if story is not None:
        plain, constant = words.outcome_of(guess["plain"]), guess["constant"]["accuracy"]
        lines += [*words.beside_sentences(plain, constant, story["answer"]), story["sentence"]]
        lines += [f"Note: {story['columns']}"] if story["columns"] else []
    # Gaps of the command line are shares, those of the studio's pages are points.
    said = now["safety"] if audited else words.safety_sentence(fitted, now["tolerance"], now["rows"])
    return [*lines, said] if said else lines
