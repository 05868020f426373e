"""``fairask ask``: rows to label next, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._options import Json, say
from fairask_studio.cli.options import StudyPlace, Who, me, open_study

if TYPE_CHECKING:
    from fairask_studio import Study

EXAMPLE = "fairask ask loans -o batch.csv"


def ask(
    study: StudyPlace,
    n: Annotated[int | None, typer.Option("-n", help="Rows; default a batch.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File to label: .csv, .tsv, .xlsx, .jsonl, .parquet or .json."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text; default that of the table.", show_default=False)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between fields; default that of the table.", show_default=False)
    ] = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="Write again the rows you hold; draw no new ones.")
    ] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Choose the rows to label next and write them to a file with an empty label column."""
    from fairask.tables import TableFormat
    from fairask_studio.events import RowsDrawn
    from fairask_studio.files import check_sheet_place, write_rows

    name = me(who)
    with open_study(study) as opened:
        said = {"encoding": encoding, "delimiter": delimiter}
        form = TableFormat(**{**opened.written_as, **{k: v for k, v in said.items() if v is not None}})
        # Whatever could keep the rows from being written is found before any is drawn.
        check_sheet_place(out or Path("batch-.csv"), opened.state().was_told)
        held = opened.store.pending(name)
        last = opened.state().last
        rows = held if pending else opened.ask(n, name)
        notes = [
            note
            for event in opened.store.events(last)
            if event.kind == RowsDrawn.kind
            for note in event.data["warnings"]
        ]
        try:
            path = out or _free_name(opened)
            if rows:
                write_rows(path, [(row, opened.row(row)) for row in rows], opened.config, form)
        except BaseException:
            opened.store.release(name, set(rows) - set(held))
            raise
        if rows:
            classes = " or ".join(opened.config.classes)
            words = (
                f"{len(rows)} rows in {path}\nFill in label ({classes}), then: fairask tell {study} {path}"
            )
        elif (reason := opened.state().stop_reason) is not None:
            words = f"Nothing to label: {reason}. To go on: fairask study stop {study} none"
        else:
            words = "Nothing to label: the budget is spent, or others hold the rest (see fairask status)"
        data: dict[str, object] = {"rows": rows, "file": str(path) if rows else None, "notes": notes}
        say(as_json, data, "\n".join([*(f"note: {note}" for note in notes), words]))


def _free_name(study: Study) -> Path:
    """Return a name for the next sheet that no file with labels has."""
    from fairask_studio import StudyError
    from fairask_studio.files import check_sheet_place

    stem, tries = f"batch-{study.state().batches}", 1
    while True:
        path = Path(f"{stem}.csv" if tries == 1 else f"{stem}-{tries}.csv")
        try:
            check_sheet_place(path, study.state().was_told)
        except StudyError:
            tries += 1
        else:
            return path
