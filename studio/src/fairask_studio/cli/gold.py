"""``fairask study gold``: rows whose answer is known, and how often people are right on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

EXAMPLE = "fairask study gold loans gold.csv"


def gold(
    study: StudyPlace,
    file: Annotated[
        Path | None,
        typer.Argument(help="CSV or Parquet with columns row, gold and, if wanted, use, explanation."),
    ] = None,
    mark: Annotated[int | None, typer.Option(help="Mark this row.")] = None,
    label: Annotated[str, typer.Option(help="Its answer.")] = "",
    use: Annotated[str, typer.Option(help="example, practice or gold.")] = "gold",
    why: Annotated[str, typer.Option(help="Why the answer is right.")] = "",
    remove: Annotated[list[int] | None, typer.Option(help="Unmark this row; repeat it for more.")] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take the file by row number alone, without comparing rows.")
    ] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Mark rows whose answer is known, list them, and say how often each person is right on gold rows."""
    from fairask_studio.files import read_known
    from fairask_studio.gold import KnownRow, gold_figures

    if sum(given is not None for given in (file, mark, remove)) > 1:
        raise UserError("a file, --mark and --remove exclude each other", "Do one after the other")
    if mark is None and (label or why):
        raise UserError("which row?", "Name it: --mark ROW")
    with open_study(study) as opened:
        if file is not None:
            opened.mark_known(read_known(opened, file, unchecked=unchecked), me(who))
        elif mark is not None:
            opened.mark_known([KnownRow(mark, opened.config.class_code(label, mark), use, why)], me(who))
        elif remove is not None:
            opened.unmark_known(remove, me(who))
        state, classes = opened.state(), opened.config.classes
        rows = [{**vars(known), "label": classes[known.label]} for known in state.known.rows.values()]
        people = {name: gold_figures(state, name) for name in sorted(state.known.answers)}
    lines = [f"{one['row']}\t{one['use']}\t{one['label']}\t{one['why']}" for one in rows]
    for name, found in people.items():
        if found is not None and found["asked"]:
            limits = f"{found['low']:.0%} to {found['high']:.0%}"
            below = ": fewer than asked for" if found["below"] else ""
            lines.append(
                f"{name} was right on {found['right']} of {found['asked']} gold rows ({limits}){below}"
            )
    say(as_json, {"rows": rows, "people": people}, "\n".join(lines) or "No row has a known answer")
