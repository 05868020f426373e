"""``fairask tell``: labels from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli._options import Encoding, Json, say
from fairask_studio.cli.options import StudyPlace, Who, fitted_news, me, open_study, refit_after

EXAMPLE = "fairask tell loans batch.csv"


def tell(
    study: StudyPlace,
    file: Annotated[
        Path, typer.Argument(help="The labelled file: rows in any order, all or some, also told before.")
    ],
    correct: Annotated[
        bool, typer.Option("--correct", help="Other labels than before replace them.")
    ] = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take labels by row number alone, without comparing rows.")
    ] = False,
    encoding: Encoding = None,
    delimiter: Annotated[str | None, typer.Option(help="Between fields; recognised by default.")] = None,
    sheet: Annotated[
        str | None, typer.Option(help="The sheet of a workbook, table of a database or file of an archive.")
    ] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Read labels back; telling the same twice changes nothing."""
    from fairask.tables import TableFormat
    from fairask.tables.labels import match_labels
    from fairask_studio.files import check_told, read_labels

    with open_study(study) as opened:
        told = read_labels(file, TableFormat(encoding=encoding, delimiter=delimiter, sheet=sheet))
        if not unchecked:
            check_told(file.name, told, opened)
        labels, forgiven = match_labels(told.labels, opened.config.classes, told.rows, file.name)
        receipt = opened.tell(told.rows, labels, me(who), notes=told.notes, correct=correct)
        fitted = refit_after(opened, force=receipt.corrected > 0)
        words = f"{receipt.new} new labels, {receipt.known} known already, {receipt.corrected} corrected"
        news, model = fitted_news(opened, fitted)
        words = "\n".join([*forgiven, words, *model])
        say(as_json, {**vars(receipt), **news}, words)
