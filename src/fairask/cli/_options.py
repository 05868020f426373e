"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Budget", "Figure", "Jobs", "Json", "NoColor", "Out", "Profile", "Quiet", "Seed", "Trials"]

Budget = Annotated[int, typer.Option(help="Labels to spend in each run.")]
Trials = Annotated[int, typer.Option(help="Runs, each with its own split of the rows.")]
Jobs = Annotated[int | None, typer.Option(help="Processes; default one a core. Results do not depend on it.")]
Profile = Annotated[
    str, typer.Option(help="What methods are made of: calibrated, or paper for exactly the paper's oracle.")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same results.")]
Out = Annotated[Path | None, typer.Option(help="The report; default report.html (none with --json).")]
Figure = Annotated[
    Path | None, typer.Option(help="Also write the learning curves as a PNG, SVG or PDF file.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print the verdict only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON, and nothing else.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour (as NO_COLOR=1, or a pipe).")]
