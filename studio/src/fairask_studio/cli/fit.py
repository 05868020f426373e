"""``fairask study fit``: another model, on all labels so far."""

from __future__ import annotations

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace, Who, fitted_news, me, open_study

EXAMPLE = "fairask study fit loans"


def fit(study: StudyPlace, who: Who = None, as_json: Json = False) -> None:
    """Fit a model on all labels now; a certified model is no longer kept."""
    with open_study(study) as opened:
        news, lines = fitted_news(opened, opened.refit(asked_by=me(who)))
    words = "\n".join(lines) or "No labels to fit on yet, or another process has just fitted"
    say(as_json, news, words)
