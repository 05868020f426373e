"""A watch of a study's certified model: each month it decides on new rows, and some of them are labelled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from fairask.audit.folder import write_sheet
from fairask.audit.predictions import Classes
from fairask.audit.rows import PoolRows
from fairask.audit.watch import Watch, check_month
from fairask.audit.watch_folder import tell_sheet
from fairask.pools.source import open_table, table_digest
from fairask.report.words import shift_sentences
from fairask.tables import TableFormat
from fairask.tables.groups import GroupColumns, as_specs, group_text, is_missing, protected_columns
from fairask_studio.advice import certificate_of_model
from fairask_studio.errors import StudyError
from fairask_studio.events import Document
from fairask_studio.exports import table_model
from fairask_studio.state import State
from fairask_studio.study import Study


def watch_of(state: State) -> Watch:
    """The watch of the certified model; it begins with the certificate."""
    if state.watch is not None:
        return Watch.from_dict(state.watch["watch"])
    made = certificate_of_model(state)
    if made is None or made["verdict"] != "certified":
        raise StudyError(
            "the study's model is not certified, so there is no certificate to watch",
            "Audit it first: fairask study certify",
        )
    watch = Watch(
        made["groups"], metric=made["metric"], tolerance=made["tolerance"], delta=made["delta"],
        certified=made["at"][:7],
    )  # fmt: skip
    if state.proof is not None:  # people err in a month's labels as they did in the audit's
        strata = state.proof.to_dict()["strata"]
        watch.noise, watch.doubt = np.array(strata["noise"]), np.array(strata["doubt"])
    return watch


def add_month(
    study: Study,
    place: str,
    month: str,
    sheet: Path,
    *,
    known: str | None = None,
    labels: int | None = None,
    who: str = "owner",
) -> Document:
    """Let the certified model decide on the rows of a month, and write those to label into a sheet.

    Parameters
    ----------
    study : Study
    place : str
        Path or URL of the month's table, with the columns of the study's pool.
    month : str
        ``YYYY-MM``.
    sheet : Path
        Written unless no label is awaited.
    known : str, optional
        A column with the outcomes that exist, empty elsewhere.
    labels : int, optional
        Labels from this month on.
    who : str
    """
    check_month(month)
    state, config = study.state(), study.config
    watch, before = watch_of(state), state.watch
    source, _ = open_table(place, TableFormat())
    table = source.take(np.arange(source.n_rows))
    model = table_model(study)
    groups = model.groups_of(table)
    assert groups is not None  # a table has names
    if lost := [row for row, group in enumerate(groups) if group is None]:
        named = GroupColumns.counted(table.take(lost).combine_chunks(), as_specs(config.protected))
        if strange := [group_text(group) for group in named if not is_missing(group)]:
            raise StudyError(
                f"{month} has the group {strange[0]!r}, which the certificate does not know",
                f"Its groups are {', '.join(map(repr, watch.groups))}",
            )
        if model.oracle.needs_groups:
            raise StudyError(
                f"row {lost[0]} of {place} has none of the model's groups, so there is no decision for it",
                "Leave out the rows without a group",
            )
    said = model.predict(table)
    rows = PoolRows.of_arrays(
        (said == model.oracle.classes_[1]).astype(int), groups,
        score=model.label_proba(table)[:, 1],
        known=None if known is None else _outcomes(table, known, config.classes),
    )  # fmt: skip
    asked = watch.add_rows(month, rows, labels=labels, source=table_digest(place, source))
    if len(asked):
        hidden = [] if config.show_protected else protected_columns(config.protected, table.column_names)
        write_sheet(sheet, source, asked, {*hidden, *([known] if known else [])})
    source.close()
    return _append(study, watch, place, before, who)


def tell_month(study: Study, sheet: Path, *, who: str = "owner") -> Document:
    """Tell the labels of a sheet, all of them or none."""
    state, (negative, positive) = study.state(), study.config.classes
    watch, before = watch_of(state), state.watch
    place = "" if before is None else before["table"]
    tell_sheet(watch, sheet, Classes((negative,), (positive,)), place, TableFormat())
    return _append(study, watch, place, before, who)


def _append(study: Study, watch: Watch, place: str, before: Document | None, who: str) -> Document:
    standing = watch.standing()
    month = watch.months[-1]
    said: Document = {
        **standing.to_dict(),
        "headline": standing.headline(in_points=True),
        "details": standing.details(in_points=True),
        "shift": shift_sentences(watch.shift()),
        "month": month.name,
        "awaited": len(month.awaited),
    }
    study.watched({"watch": watch.to_dict(), "table": place, "standing": said}, before, who)
    return said


def _outcomes(table: pa.Table, column: str, classes: tuple[str, str]) -> dict[int, int | None]:
    """The outcomes that are there, by row."""
    if column not in table.column_names:
        raise StudyError(f"the table has no column {column!r}", f"It has {', '.join(table.column_names)}")
    names, found = Classes((classes[0],), (classes[1],)), {}
    for row, value in enumerate(table.column(column).to_pylist()):
        if value is None or value == "":
            continue
        found[row] = names.code(str(value))
        if found[row] is None:
            raise StudyError(
                f"row {row} has the outcome {str(value)!r}", f"Outcomes are {' and '.join(classes)}"
            )
    return found
