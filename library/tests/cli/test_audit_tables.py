"""``fairask audit`` on tables of any form: predictions, classes, Parquet, gaps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from library.tests.cli.auditing import (
    AWAITED,
    COLUMNS,
    SHORT,
    Rows,
    Run,
    applications,
    contents,
    read,
    refused,
    to_the_end,
)


def strata(fairask: Run, write: Callable[..., Path], rows: Rows, said: list[Any], *words: Any) -> Any:
    pool = write([{**row, "said": s} for row, s in zip(rows, said, strict=True)], "pool.csv")
    found = fairask("audit", pool, *COLUMNS, "--truth", "truth", "--json", "--runs", 5, *words)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["gap"]


def test_every_form_of_prediction_means_the_same(fairask: Run, write: Callable[..., Path]) -> None:
    rows = applications(600, gap=0.3)
    yes = [row["said"] == "yes" for row in rows]
    expected = strata(fairask, write, rows, ["yes" if y else "no" for y in yes], "--positive", "yes")
    assert expected > 0.2
    assert strata(fairask, write, rows, [int(y) for y in yes]) == expected
    assert strata(fairask, write, rows, [float(y) for y in yes], "--positive", "yes") == expected
    assert strata(fairask, write, rows, [str(y).lower() for y in yes]) == expected
    soft = strata(fairask, write, rows, [0.999 if y else 0.001 for y in yes])
    assert soft == pytest.approx(expected, abs=0.03)


def test_zero_may_be_the_positive_class(fairask: Run, write: Callable[..., Path]) -> None:
    rows = applications(600, gap=0.3)
    flipped = [{**row, "truth": int(row["truth"] == "no")} for row in rows]
    said = [int(row["said"] == "no") for row in rows]
    expected = strata(fairask, write, rows, [1 - s for s in said])
    assert strata(fairask, write, flipped, said, "--positive", "0") == expected
    pool = write([{**row, "said": s} for row, s in zip(rows, said, strict=True)], "pool.csv")
    fairask("audit", pool, *COLUMNS, "--positive", "0")
    assert json.loads(Path("pool.audit/audit.json").read_text())["columns"]["positive"] == "0"
    asked = read("pool.audit/rows-1.csv")[0]["row"]
    Path("one.csv").write_text(f"row,label\n{asked},0\n")
    fairask("audit", pool, "--tell", "one.csv", "--unchecked")
    assert json.loads(Path("pool.audit/audit.json").read_text())["audit"]["labels"] == [1]


@pytest.mark.usefixtures("no_replay")
@pytest.mark.slow
def test_several_classes_may_be_positive(fairask: Run, write: Callable[..., Path]) -> None:
    """Rows, verdict and labels are those of an audit whose predictions say yes or no."""
    rows = applications(600, gap=0.3)
    fine = ("--positive", "passed", "--positive", "distinction")
    named: list[Rows] = [[], []]
    for i, row in enumerate(rows):
        grade = {"no": "failed", "yes": "distinction" if i % 2 else "passed"}
        named[0].append({**row, "said": grade[row["said"]], "truth": grade[row["truth"]]})
        # The model never gives a distinction; labels still do.
        named[1].append({**named[0][-1], "said": grade[row["said"]].replace("distinction", "passed")})
    said = [row["said"] for row in named[0]]
    expected = strata(fairask, write, rows, [row["said"] for row in rows], "--positive", "yes")
    assert strata(fairask, write, named[0], said, *fine) == expected
    fairask("audit", write(rows, "plain.csv"), *SHORT)
    plain = [row["row"] for row in read("plain.audit/rows-1.csv")]
    for version in named:
        pool = write(version, "pool.csv")
        begun = fairask("audit", pool, *COLUMNS, *fine, "--budget", 300, "--looks", 2)
        assert begun.exit_code == AWAITED, begun.output
        assert [row["row"] for row in read("pool.audit/rows-1.csv")] == plain
        assert "distinction or passed or failed" in begun.stdout
        assert ("no prediction in 'said' is 'distinction'" in begun.stdout) == (version is named[1])
        refused(fairask("audit", pool, "--positive", "passed"), "was begun with ['passed', 'distinction']")
        to_the_end(fairask, pool, version, *fine)
        certificate = json.loads(Path("pool.audit/certificate.json").read_text())
        assert certificate["made_from"]["predictions"] == 'said (positive: "passed", "distinction")'
        shutil.rmtree("pool.audit")


def test_several_positive_classes_are_counted(fairask: Run, tmp_path: Path) -> None:
    said = ["failed", "passed", "distinction", "passed"] * 50
    sex = ["m"] * 120 + ["f"] * 80
    parquet.write_table(pa.table({"said": said, "sex": sex}), tmp_path / "grades.parquet")
    found = fairask(
        "audit", tmp_path / "grades.parquet", *COLUMNS, "--metric", "dp", "--tolerance", 0.2,
        "--positive", "passed", "--positive", "distinction", "--json",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    rates = json.loads(found.stdout)["certificates"]["pool"]["rates"]
    assert list(rates.values()) == [[0.75, 0.75]]


def test_labels_are_0_and_1_where_predictions_are_numbers(fairask: Run, write: Callable[..., Path]) -> None:
    rows = [{**row, "said": 0.9 if row["said"] == "yes" else 0.2} for row in applications(600)]
    pool = write(rows, "pool.csv")
    refused(fairask("audit", pool, *COLUMNS, "--positive", "yes"), "not classes", "1 and 0")
    begun = fairask("audit", pool, *COLUMNS, "--budget", 40)
    assert "1 or 0" in begun.stdout
    asked = [r["row"] for r in read("pool.audit/rows-1.csv")]
    Path("told.csv").write_text("row;label\n" + "".join(f"{r};{i % 2}\n" for i, r in enumerate(asked)))
    assert "8 new labels" in fairask("audit", pool, "--tell", "told.csv", "--unchecked").stdout


def test_parquet_files_and_folders_ask_for_the_same_rows_as_csv(
    fairask: Run, pool: Path, tmp_path: Path
) -> None:
    table = pa.Table.from_pylist(applications())
    parquet.write_table(table, tmp_path / "pool.parquet", row_group_size=700)
    (tmp_path / "parts").mkdir()
    for i in range(3):
        parquet.write_table(table.slice(1000 * i, 1000), tmp_path / "parts" / f"part-{i}.parquet")
    for name in ("pool.csv", "pool.parquet", "parts"):
        result = fairask("audit", tmp_path / name, *SHORT, "--out", f"of-{name}")
        assert result.exit_code == AWAITED, result.output
    one, two, three = (contents(f"of-{name}")["rows-1.csv"] for name in ("pool.csv", "pool.parquet", "parts"))
    assert one == two == three
    assert fairask("audit", tmp_path / "parts", *SHORT).exit_code == AWAITED
    assert Path("parts.audit/rows-1.csv").exists()
    parquet.write_table(table.slice(2000, 999), tmp_path / "parts" / "part-2.parquet")
    refused(fairask("audit", tmp_path / "parts"), "has changed since the audit")


def test_the_folder_one_is_in_can_be_the_pool(
    fairask: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    parquet.write_table(pa.Table.from_pylist(applications()), tmp_path / "parts" / "one.parquet")
    monkeypatch.chdir(tmp_path / "parts")
    assert fairask("audit", ".", *SHORT).exit_code == AWAITED
    assert (tmp_path / "parts.audit" / "rows-1.csv").exists()


def test_parquet_that_is_none_is_refused(fairask: Run, pool: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(fairask("audit", tmp_path / "empty", *COLUMNS), "has no files")
    text = pool.rename(tmp_path / "text.parquet")
    refused(fairask("audit", text, *COLUMNS), "though its name says Parquet")
    whole = tmp_path / "cut.parquet"
    parquet.write_table(pa.Table.from_pylist(applications()), whole)
    whole.write_bytes(whole.read_bytes()[:-100])
    refused(fairask("audit", whole, *COLUMNS), "truncated")


@pytest.mark.usefixtures("no_replay")
@pytest.mark.slow
def test_rows_without_a_group_are_a_group_of_their_own(fairask: Run, write: Callable[..., Path]) -> None:
    truth = applications()
    for row in truth[::7]:
        row["sex"] = ""
    pool = write(truth, "pool.csv")
    begun = fairask("audit", pool, *SHORT)
    assert "(14.3 %) have no known value in 'sex'" in " ".join(begun.output.split())
    for row in read("pool.audit/rows-1.csv"):
        assert row["name"].lstrip("'") == truth[int(row["row"])]["name"]
    to_the_end(fairask, pool, truth)
    assert "missing at random" in " ".join(Path("pool.audit/certificate.html").read_text().split())


def test_rows_without_a_label_are_left_out_of_a_rehearsal_with_a_note(
    fairask: Run, write: Callable[..., Path]
) -> None:
    truth = applications()
    for row in truth[::7]:
        row["truth"] = ""
    done = fairask("audit", write(truth, "pool.csv"), *SHORT, "--truth", "truth", "--runs", 2)
    assert "429 rows have no value in 'truth' and were left out" in done.stdout


def test_columns_called_row_and_label_make_room(fairask: Run, write: Callable[..., Path]) -> None:
    rows = [{"row": i, "label": "x", **row} for i, row in enumerate(applications(400))]
    fairask("audit", write(rows, "pool.csv"), *SHORT)
    head = Path("pool.audit/rows-1.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == "row,row (table),label (table),name,truth,label,check"


def test_a_well_known_pair_of_predictions_needs_no_option_and_other_words_do(
    fairask: Run, write: Callable[..., Path]
) -> None:
    pool = write(applications(), "pool.csv")
    begun = fairask("audit", pool, *COLUMNS, "--budget", 300, "--looks", 2)
    assert (
        "note: prediction 'yes' counts as positive, 'no' as negative; --positive no turns it round"
        in begun.stdout
    )
    named = fairask("audit", pool, *SHORT, "--out", "named")
    assert named.exit_code == AWAITED, named.output
    states = [json.loads(Path(folder, "audit.json").read_text()) for folder in ("pool.audit", "named")]
    assert states[0] == states[1]
    other = write(
        [{**row, "said": {"yes": "green", "no": "red"}[row["said"]]} for row in applications()], "o.csv"
    )
    refused(fairask("audit", other, *COLUMNS), "'green', 'red'", "--positive red")
