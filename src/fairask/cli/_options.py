"""Options that several commands share, and the defaults that they have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.defaults import BATCH, BUDGET

__all__ = [
    "BATCH",
    "BUDGET",
    "USE_PROTECTED",
    "Backend",
    "Batch",
    "Budget",
    "Decimal",
    "Delimiter",
    "Device",
    "Drop",
    "Encoding",
    "Figure",
    "Jobs",
    "Json",
    "Label",
    "Metric",
    "NoColor",
    "Out",
    "Positive",
    "Profile",
    "Protected",
    "Quiet",
    "Scheduler",
    "Seed",
    "Sheet",
    "Stop",
    "Strategies",
    "Text",
    "TextModel",
    "Thousands",
    "Tolerance",
    "Trials",
    "UseProtected",
    "Vectors",
]

#: Whether models may use the protected column.
USE_PROTECTED = False

Label = Annotated[str, typer.Option(help="The column to predict.")]
Protected = Annotated[
    list[str],
    typer.Option(
        help="The column whose groups are to be treated alike; repeat it for combinations. Bands: age:30,50"
    ),
]
Positive = Annotated[
    list[str] | None, typer.Option(help="The label's value that counts as 1; repeat it for several.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out: a,b (or repeat the option).")]
UseProtected = Annotated[
    bool,
    typer.Option("--use-protected/--exclude-protected", help="Whether models may use the protected column."),
]
Text = Annotated[
    list[str] | None,
    typer.Option(help="A column of free text, if it is not recognised as one (repeat the option)."),
]
TextModel = Annotated[
    str | None,
    typer.Option(
        help="Folder of a model2vec or sentence-transformers model that reads texts; default n-grams."
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Of text, e.g. latin-1; recognised by default.", show_default=False)
]
Delimiter = Annotated[str | None, typer.Option(help="Between fields; recognised by default.")]
Decimal = Annotated[str | None, typer.Option(help="The decimal sign: . or ,")]
Thousands = Annotated[str | None, typer.Option(help="The sign between thousands: , . ' or a blank.")]
Sheet = Annotated[
    str | None,
    typer.Option(
        help="The sheet of a workbook, table of a database, file of an archive or split of a dataset."
    ),
]
Vectors = Annotated[
    str | None, typer.Option(help="An .npy file with a vector (an embedding) per row of the table.")
]
Strategies = Annotated[
    list[str] | None, typer.Option("--strategy", help="Compare this with passive sampling; repeat for more.")
]
Profile = Annotated[
    str, typer.Option(help="What methods are made of: calibrated, or paper for the paper's oracle.")
]
Metric = Annotated[str, typer.Option(help="tprp, fprp, eo or dp.")]
Tolerance = Annotated[float, typer.Option(help="Difference between groups to stay within.")]
Budget = Annotated[
    int | None, typer.Option(help=f"Labels per run; default {BUDGET}, or half the pool.", show_default=False)
]
Batch = Annotated[
    int | None, typer.Option(help=f"Labels per batch; default {BATCH}, or the budget.", show_default=False)
]
Stop = Annotated[
    str | None, typer.Option(help="Also say where this rule would have stopped: plateau, plateau:ROUNDS:BY.")
]
Trials = Annotated[int, typer.Option(help="Runs, each with its own split of the rows.")]
Jobs = Annotated[
    int | None, typer.Option(help="Processes; default one per core. Results do not depend on it.")
]
Device = Annotated[
    str | None,
    typer.Option(
        help="Hold the features as a PyTorch tensor and count them there: cuda, cuda:1, mps or cpu."
    ),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same results.")]
Backend = Annotated[str, typer.Option(help="joblib (this machine), dask or ray.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask or Ray cluster.")]
Out = Annotated[Path | None, typer.Option(help="The report; default report.html (none with --json).")]
Figure = Annotated[
    Path | None, typer.Option(help="Also write the learning curves as a PNG, SVG or PDF file.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print the verdict only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON, and nothing else.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour (as NO_COLOR=1, or a pipe).")]
