"""The sheets of ``fairask audit``: what they hide, and sheets that come back changed."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fairask.audit.folder import AuditFolder
from fairask.errors import UserError
from library.tests.cli.auditing import (
    SHORT,
    Rows,
    Run,
    applications,
    contents,
    label,
    read,
    refused,
)


def slipped(path: str, truth: Rows, to: str, columns: tuple[str, ...]) -> Path:
    """Label a sheet rightly, and then let some of its columns slip by one cell."""
    rows = [{**r, "label": truth[int(r["row"])]["truth"]} for r in read(path)]
    moved = [{name: rows[i - 1][name] for name in columns} for i in range(len(rows))]
    with Path(to).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, **cells} for row, cells in zip(rows, moved, strict=True))
    return Path(to)


@pytest.mark.parametrize("columns", [("row",), ("row", "check"), ("name", "truth"), ("check",)])
def test_a_sheet_whose_columns_slipped_is_refused(fairask: Run, pool: Path, columns: tuple[str, ...]) -> None:
    fairask("audit", pool, *SHORT)
    before = contents()
    told = slipped("pool.audit/rows-1.csv", applications(), "told.csv", columns)
    refused(fairask("audit", pool, "--tell", told), "of 150 labelled rows are not those of the table", "row ")
    assert contents() == before
    assert fairask("audit", pool, "--tell", told, "--unchecked").exit_code == 3  # more labels are awaited


def test_a_second_command_at_the_same_time_takes_no_label_away(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    halves = [
        label("pool.audit/rows-1.csv", applications(), f"{name}.csv", part)
        for name, part in (("a", slice(70)), ("b", slice(70, None)))
    ]
    first, second = (AuditFolder.open(str(pool), {}, {}, begin=False) for _ in halves)
    assert first.tell(halves[0]) == (70, 0)
    with pytest.raises(UserError, match=r"another command changed audit\.json meanwhile"):
        second.tell(halves[1])
    AuditFolder.open(str(pool), {}, {}, begin=False).tell(halves[1])
    assert AuditFolder.open(str(pool), {}, {}, begin=False).audit.n_labels == 150


def test_a_workbook_with_a_second_sheet_is_refused_with_what_helps(fairask: Run, pool: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    fairask("audit", pool, *SHORT)
    book, rows = openpyxl.Workbook(), read("pool.audit/rows-1.csv")
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.create_sheet("notes").append(["later"])
    book.save("told.xlsx")
    result = fairask("audit", pool, "--tell", "told.xlsx")
    refused(result, "told.xlsx has 2 sheets", "Save the sheet with the labels as a file of its own")
    assert (
        "--sheet" not in result.stderr
    )  # it is about the audited table, of which an audit under way has one


def test_row_and_label_alone_need_the_check_code(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    told = slipped("pool.audit/rows-1.csv", applications(), "told.csv", ())
    rows = read(told)
    for names, done in ((("row", "label"), False), (("row", "label", "check"), True)):
        with Path("some.csv").open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([names, *([row[n] for n in names] for row in rows)])
        result = fairask("audit", pool, "--tell", "some.csv")
        assert (result.exit_code != 2) is done, result.output
        assert done or "--unchecked" in result.stderr


def test_cells_that_a_spreadsheet_writes_otherwise_are_no_contradiction(
    fairask: Run, write: Callable[..., Path]
) -> None:
    truth = [
        {**row, "day": f"2026-01-{i % 28 + 1:02d}", "x": i + 0.5} for i, row in enumerate(applications())
    ]
    pool = write(truth, "pool.csv")
    fairask("audit", pool, *SHORT)
    rows = read("pool.audit/rows-1.csv")
    for row in rows:
        row["label"] = truth[int(row["row"])]["truth"]
        row["day"] = "/".join(reversed(row["day"].split("-")))
        row["x"] = f"{float(row['x']):.2f}"
    assert fairask("audit", pool, "--tell", write(rows, "told.csv")).exit_code == 3


def test_the_sheet_hides_what_could_sway_who_labels(fairask: Run, write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(1)
    truth = [
        {
            **row,
            "score": round(0.5 * (row["said"] == "yes") + 0.5 * rng.random(), 3),
            "ok": row["said"].upper(),
        }
        for row in applications()
    ]
    pool = write(truth, "pool.csv")
    fairask("audit", pool, *SHORT)
    assert list(read("pool.audit/rows-1.csv")[0]) == ["row", "name", "truth", "label", "check"]
    fairask("audit", pool, *SHORT, "--out", "b", "--show", "score", "--show", "sex")
    assert list(read("b/rows-1.csv")[0]) == ["row", "name", "sex", "truth", "score", "label", "check"]
    refused(
        fairask("audit", pool, *SHORT, "--out", "c", "--show", "scor"), "--show: no column 'scor'", "score"
    )
    assert not Path("c").exists()
