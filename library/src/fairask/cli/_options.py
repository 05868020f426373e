"""Options that several commands share, and the defaults that they have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.defaults import BATCH, BUDGET
from fairask.errors import UserError
from fairask.report.words import one_line

if TYPE_CHECKING:
    from fairask.tables import TableFormat

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
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Columns to learn from though they look like identifiers or have many values: a,b."),
]
MissingGroups = Annotated[
    str | None,
    typer.Option(
        help="Rows without a group: drop leaves them out, own makes them a group (default).",
        show_default=False,
    ),
]
UseProtected = Annotated[
    bool,
    typer.Option("--use-protected/--exclude-protected", help="Whether models may use the protected column."),
]
Promise = Annotated[
    str,
    typer.Option(
        help="What a model's promise stands on: prior, or distribution-free, which needs --strategy passive, "
        "--use-protected and more labels."
    ),
]
Randomized = Annotated[
    bool,
    typer.Option(
        "--randomized",
        help="Models may decide by lot where thresholds alone are not safe; the paper's always may.",
    ),
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


def _check_strategies(names: list[str] | None) -> list[str] | None:
    """Refuse an unknown name at once: options that are missing are named after those that were given."""
    if names:
        from fairask.experiment.method import choose_methods

        choose_methods(names)
    return names


Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        help="Compare this with passive sampling; repeat for more.",
        callback=_check_strategies,
    ),
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
Seed = Annotated[int, typer.Option(help="The same seed gives the same results.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print the verdict only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON, and nothing else.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour (as NO_COLOR=1, or a pipe).")]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Which methods are compared, and the task that all of them get."""

    strategy: Strategies = None
    profile: Profile = "calibrated"
    randomized: Randomized = False
    metric: Metric = "tprp"
    tolerance: Tolerance = 0.1
    budget: Budget = None
    batch: Batch = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is written."""

    encoding: Encoding = None
    delimiter: Annotated[str | None, typer.Option(help="Between fields; recognised by default.")] = None
    decimal: Annotated[str | None, typer.Option(help="The decimal sign: . or ,")] = None
    thousands: Annotated[str | None, typer.Option(help="The sign between thousands: , . ' or a blank.")] = (
        None
    )
    sheet: Annotated[
        str | None,
        typer.Option(
            help="The sheet of a workbook, table of a database, file of an archive or split of a dataset."
        ),
    ] = None

    def format(self) -> TableFormat:
        """Return what reads the file."""
        from fairask.tables import TableFormat

        return TableFormat(**vars(self))


@dataclass(frozen=True, kw_only=True)
class ReadingWithVectors(Reading):
    """How a file is written, and the vectors beside it."""

    vectors: Annotated[
        str | None, typer.Option(help="An .npy file with a vector (an embedding) per row of the table.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where results go, and how much is printed."""

    out: Annotated[Path | None, typer.Option(help="The report; default report.html (none with --json).")] = (
        None
    )
    figure: Annotated[
        Path | None, typer.Option(help="Also write the learning curves as a PNG, SVG or PDF file.")
    ] = None
    quiet: Quiet = False
    as_json: Json = False
    no_color: NoColor = False

    @property
    def report(self) -> Path | None:
        """The file of the report; None if none is written."""
        return self.out or (None if self.as_json else Path("report.html"))

    @property
    def talks(self) -> bool:
        """Whether more than the verdict is printed."""
        return not self.quiet and not self.as_json

    def check(self) -> None:
        """Raise before the work, not after it, when a file cannot be written."""
        for path in (self.report, self.figure):
            if path is None:
                continue
            if path.is_dir():
                raise UserError(f"{path} is a folder", "Give the name of a file to write")
            if not path.parent.is_dir():
                raise UserError(f"there is no folder {path.parent}", f"Make it first: mkdir -p {path.parent}")


def say(as_json: bool, data: dict[str, object], words: str | Sequence[str]) -> None:
    """Print the words, or with ``--json`` the data. Of several words each is one line, whatever it names."""
    if not isinstance(words, str):
        words = "\n".join(map(one_line, words))
    # Not typer's echo, which would leave out what the data have of colours.
    print(json.dumps(data, ensure_ascii=False) if as_json else words, flush=True)
