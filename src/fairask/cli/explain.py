"""``fairask explain``: what a word means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import say

EXAMPLE = "fairask explain tolerance"


def explain(
    term: Annotated[str | None, typer.Argument(help="A word, e.g. gap; without one, all words.")] = None,
    as_json: Json = False,
) -> None:
    """Explain a word that fairask uses."""
    from fairask.report import terms

    found = terms.TERMS if term is None else (terms.explain(term),)
    say(as_json, {one.name: asdict(one) for one in found}, "\n\n".join(map(str, found)))
