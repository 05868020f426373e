"""``fairask fit``: another model, on all labels so far."""

from __future__ import annotations

from fairask.cli._options import Json
from fairask.cli._study import StudyPlace, Who, me, open_study, say

EXAMPLE = "fairask fit loans"


def fit(study: StudyPlace, who: Who = None, as_json: Json = False) -> None:
    """Fit a model on all labels now; a certified model is no longer kept."""
    with open_study(study) as opened:
        fitted = opened.refit(asked_by=me(who))
    words = "No labels to fit on yet, or another process has just fitted"
    if fitted is not None:
        words = f"Model of round {fitted['round']} fitted on {fitted['labels']} labels"
    say(as_json, {"fitted": fitted}, words)
