"""``fairask export``: everything a study holds, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli.options import StudyPlace, open_study

EXAMPLE = "fairask export loans -o out"


def export(
    study: StudyPlace,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the files.")] = Path("export"),
    as_json: Json = False,
) -> None:
    """Write labels with propensities, the event log, the settings, the report and the model (skops)."""

    with open_study(study) as opened:
        files = [str(path) for path in opened.export(out)]
    say(as_json, {"files": files}, "\n".join(files))
