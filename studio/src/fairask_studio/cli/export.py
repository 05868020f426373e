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
    sign: Annotated[
        Path | None, typer.Option(help="Sign with this private key; fairask verify checks it later.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write labels with propensities, the event log, the settings, the report and the model (skops)."""
    from fairask.audit.signature import OwnerKey

    key = None if sign is None else OwnerKey.read(sign)
    with open_study(study) as opened:
        files = [str(path) for path in opened.export(out, key=key)]
    say(as_json, {"files": files}, files)
