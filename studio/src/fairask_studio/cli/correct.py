"""``fairask study correct``: another label for a row."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli._study import StudyPlace, Who, me, open_study, refit_after

EXAMPLE = "fairask study correct loans 17 good"


def correct(
    study: StudyPlace,
    row: Annotated[int, typer.Argument(help="Row number.")],
    label: Annotated[str, typer.Argument(help="The right label.")],
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Replace the label of a row."""
    with open_study(study) as opened:
        opened.correct(row, label, me(who))
        audit = opened.status()["audit"]
        if audit is None:
            refit_after(opened, force=True)
    # Labels of an audit must not train; its last look is computed again.
    found = None if audit is None else audit["found"]
    words = [f"Row {row} is {label}", *([] if found is None else [found["headline"]])]
    say(as_json, {"row": row, "label": label, "audit": audit}, "\n".join(words))
