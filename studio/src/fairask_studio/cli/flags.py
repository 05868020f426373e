"""``fairask study flags``: what people ask about rows."""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study flags loans --answer 41 --text 'Treat it as good' --resolve"


def flags(
    study: StudyPlace,
    row: Annotated[int | None, typer.Option(help="Ask about this row.")] = None,
    answer: Annotated[int | None, typer.Option(help="Answer the flag of this number.")] = None,
    text: Annotated[str, typer.Option(help="The question, or the answer.")] = "",
    resolve: Annotated[bool, typer.Option("--resolve", help="The answer resolves the flag.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List resolved flags, too.")] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """List what people ask about rows, ask, answer or resolve."""

    if row is not None and answer is not None:
        raise UserError("--row asks and --answer answers", "Leave out one of them")
    if row is None and answer is None and (text or resolve):
        raise UserError("which flag?", "Name it: --answer NUMBER; fairask study flags STUDY lists them")
    with open_study(study) as opened:
        if row is not None:
            found = [opened.flag(row, text, me(who))]
        elif answer is not None:
            found = [opened.answer_flag(answer, text, me(who), resolve=resolve)]
        else:
            found = [flag for flag in opened.state().flags.known.values() if flag.open or every]
    lines = []
    for flag in found:
        lines.append(
            f"{flag.id}\trow {flag.row}\t{'open' if flag.open else f'resolved by {flag.resolved_by}'}"
        )
        lines += [f"\t{said.who}: {said.text}" for said in flag.comments]
    say(as_json, {"flags": [flag.to_dict() for flag in found]}, "\n".join(lines) or "No open flags")
