"""``fairask audit``: begin, label, go on, certificate; and the simulation beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from library.tests.cli.auditing import (
    AWAITED,
    COLUMNS,
    SHORT,
    Run,
    applications,
    contents,
    label,
    read,
    refused,
    to_the_end,
)


def test_it_begins_with_rows_to_label_that_hide_the_prediction(fairask: Run, pool: Path) -> None:
    result = fairask("audit", pool, *SHORT)
    assert result.exit_code == AWAITED, result.output
    assert "Label 150 rows of" in result.stdout
    assert "--tell" in result.stdout
    assert sorted(contents()) == ["audit.json", "rows-1.csv"]
    rows = read("pool.audit/rows-1.csv")
    assert list(rows[0]) == ["row", "name", "truth", "label", "check"]
    assert {r["label"] for r in rows} == {""}
    everything = read(pool)
    for row in rows:
        source = everything[int(row["row"])]
        assert row["name"] == (f"'{source['name']}" if source["name"][0] == "=" else source["name"])


@pytest.mark.parametrize(("gap", "verdict"), [(0.0, "certified"), (0.5, "refuted")])
def test_labels_lead_to_the_certificate(
    fairask: Run, write: Callable[..., Path], gap: float, verdict: str
) -> None:
    truth = applications(gap=gap)
    pool = write(truth, "pool.csv")
    fairask("audit", pool, *SHORT)
    result = to_the_end(fairask, pool, truth)
    assert verdict.capitalize() in result.stdout
    found = json.loads(Path("pool.audit/certificate.json").read_text())
    assert found["verdict"] == verdict
    assert list(found["certificates"]) == ["pool", "population"]
    assert found["certificates"]["pool"]["groups"] == ["f", "m"]
    told = json.loads(Path("pool.audit/audit.json").read_text())["audit"]
    assert found["certificates"]["pool"]["n_labels"] == len(told["rows"])
    text = Path("pool.audit/certificate.txt").read_text()
    page = Path("pool.audit/certificate.html").read_text()
    for words in (verdict.capitalize(), "sha256", "population", "The pool is a random sample"):
        assert words in text
        assert words in page
    assert not list(Path("pool.audit").glob("*.part"))


def test_labels_may_come_in_parts_in_any_order_and_again(fairask: Run, pool: Path) -> None:
    truth = applications()
    fairask("audit", pool, *SHORT)
    batch = "pool.audit/rows-1.csv"
    first = label(batch, truth, "first.csv", slice(0, 60))
    assert "60 new labels" in fairask("audit", pool, "--tell", first).stdout
    before = contents()
    again = fairask("audit", pool, "--tell", first)
    assert "0 new labels; 60 in all." in again.stdout
    assert "Label 90 rows" in again.stdout
    assert contents() == before
    assert fairask("audit", pool).exit_code == 3, "a gate must not pass while labels are awaited"
    fairask("audit", pool, "--tell", label(batch, truth, "all.csv"))
    parts = json.loads(Path("pool.audit/audit.json").read_text())["audit"]
    fairask("audit", pool, *SHORT, "--out", "whole")
    fairask("audit", pool, "--out", "whole", "--tell", label(batch, truth, "all.csv"))
    whole = json.loads(Path("whole/audit.json").read_text())["audit"]
    assert dict(zip(parts["rows"], parts["labels"], strict=True)) == dict(
        zip(whole["rows"], whole["labels"], strict=True)
    )


def test_a_file_that_somebody_fills_in_is_not_written_again(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    file = Path("pool.audit/rows-1.csv")
    file.write_text("row,label\n", encoding="utf-8")
    assert fairask("audit", pool).exit_code == AWAITED
    assert file.read_text(encoding="utf-8") == "row,label\n"
    file.unlink()
    fairask("audit", pool)
    assert len(read(file)) == 150


def test_a_sheet_saved_in_place_with_semicolons_is_not_asked_a_second_time(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    file = Path("pool.audit/rows-1.csv")
    file.write_text(file.read_text("utf-8").replace(",", ";"), encoding="utf-8-sig")
    assert fairask("audit", pool).exit_code == AWAITED
    assert sorted(contents()) == ["audit.json", "rows-1.csv"]


def test_an_interrupt_is_130_and_the_next_call_goes_on(
    fairask: Run, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fairask.audit.folder.write_sheet", stop)
        assert fairask("audit", pool, *SHORT).exit_code == 130
    assert list(contents()) == ["audit.json"]
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", stop)
        assert fairask("audit", pool).exit_code == 130
    assert list(contents()) == ["audit.json"]
    assert fairask("audit", pool).exit_code == AWAITED
    assert len(read("pool.audit/rows-1.csv")) == 150


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("row,label\n{unasked},yes\n", "was never asked for"),
        ("row,label\n99999,yes\n", "row 99999 was never asked for"),
        ("row,label\n{asked},maybe\n", ".csv: 1 label is not a class"),
        ("row,label\n{asked},1\n", "Labels are 'no', 'yes'"),
        ("row,label\n{asked},yes\n{asked},no\n", "two different labels"),
        ("row,label\n{asked},\n", "has no labels yet"),
        ("row,label\nseven,yes\n", "the row number 'seven'"),
        ("row,answer\n{asked},yes\n", "has no column 'label'"),
        ("number,label\n{asked},yes\n", "has no column 'row'"),
    ],
)
def test_labels_that_cannot_be_are_refused_and_change_nothing(
    fairask: Run, pool: Path, content: str, words: str
) -> None:
    fairask("audit", pool, *SHORT)
    asked = [int(r["row"]) for r in read("pool.audit/rows-1.csv")]
    unasked = next(i for i in range(999) if i not in asked)
    before = contents()
    Path("bad.csv").write_text(content.format(asked=asked[0], unasked=unasked), encoding="utf-8")
    refused(fairask("audit", pool, "--tell", "bad.csv"), words)
    assert contents() == before


def test_a_label_does_not_change_once_it_is_told(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    asked = read("pool.audit/rows-1.csv")[0]["row"]
    for answer in ("yes", "no"):
        Path("one.csv").write_text(f"row,label\n{asked},{answer}\n")
        result = fairask("audit", pool, "--tell", "one.csv", "--unchecked")
    refused(result, f"row {asked} has another label", "--correct")


def test_a_changed_pool_or_goal_is_refused(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    refused(fairask("audit", pool, "--tolerance", 0.2), "--tolerance 0.2", "begun with 0.1")
    refused(fairask("audit", pool, "--protected", "name"), "begun with sex")
    refused(
        fairask("audit", pool.with_name("pol.csv"), "--out", "pool.audit"), "there is no file", "pool.csv?"
    )
    pool.write_text(pool.read_text(encoding="utf-8").replace("né0", "né00"), encoding="utf-8")
    refused(fairask("audit", pool, *SHORT), "has changed since the audit")


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 1}', '{"format": 9}'])
def test_a_damaged_state_is_refused(fairask: Run, pool: Path, content: str) -> None:
    fairask("audit", pool, *SHORT)
    Path("pool.audit/audit.json").write_text(content)
    refused(fairask("audit", pool), "audit.json", "--out")


def test_rows_without_a_state_are_not_written_over(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    Path("pool.audit/audit.json").unlink()
    refused(fairask("audit", pool, *SHORT), "rows-1.csv", "no audit.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--predictions", "sex", "--protected", "truth"), ("are classes: 'f', 'm'", "--positive m")),
        ((*COLUMNS, "--positive", "yess"), ("--positive 'yess' is not a value",)),
        (("--predictions", "sayd", "--protected", "sex"), ("--predictions: no column 'sayd'", "'said'")),
        (("--predictions", "said", "--protected", "said"), ("a column twice",)),
        (("--predictions", "said", "--protected", "name"), ("values:", "at most 50 groups")),
        (("--protected", "sex"), ("are needed to begin",)),
        ((*SHORT, "--metric", "tpr"), ("metric='tpr' is unknown", "'tprp'")),
        ((*SHORT, "--target", "everyone"), ("target='everyone' is unknown",)),
        ((*SHORT, "--tolerance", "1.5"), ("--tolerance=1.5 must be",)),
        ((*SHORT, "--delta", "nan"), ("--delta=nan must be",)),
        ((*COLUMNS, "--budget", "0"), ("--budget=0 must be",)),
        ((*COLUMNS, "--seed", "-1"), ("--seed=-1 must be",)),
        (
            (*COLUMNS, "--seed", f"{2**63}"),
            ("--seed=9223372036854775808 must be", "to 9,223,372,036,854,775,807"),
        ),
        ((*COLUMNS, "--looks", "1001"), ("--looks=1001 must be a whole number from 1 to 1,000",)),
        ((*SHORT, "--truth", "truth", "--runs", f"{10**18}"), ("must be a whole number from 1 to 100,000",)),
        ((*SHORT, "--out", "no/where"), ("there is no folder no",)),
        ((*SHORT, "--out", "pool.csv"), ("pool.csv is a file",)),
        (("--tell", "x.csv"), ("there is no audit in",)),
        ((*SHORT, "--truth", "truth", "--out", "x"), ("--out cannot be combined",)),
        ((*SHORT, "--truth", "truth", "--metric", "dp"), ("nothing to simulate",)),
        ((*SHORT, "--truth", "truht"), ("--truth: no column 'truht'",)),
        ((*SHORT, "--truth", "truth", "--runs", "0"), ("--runs=0 must be",)),
    ],
)
def test_a_wrong_option_is_refused_and_nothing_is_written(
    fairask: Run, pool: Path, options: tuple[Any, ...], words: tuple[str, ...]
) -> None:
    refused(fairask("audit", pool, *options), *words)
    assert not Path("pool.audit").exists()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.2, 1.3, 0.1, 0.0], "go from 0 to 1.3"),
        ([1, None, 0, 1], "1 rows have no prediction in 'said', the first is data row 2"),
        ([1, 2, 1, 2], "are classes: '1', '2'"),
    ],
)
def test_predictions_that_cannot_be_are_refused(
    fairask: Run, write: Callable[..., Path], values: list[Any], words: str
) -> None:
    rows = [{"said": "" if v is None else v, "sex": s} for v, s in zip(values, "mfmf", strict=True)]
    refused(fairask("audit", write(rows, "pool.csv"), *COLUMNS), words)


def test_demographic_parity_needs_no_labels(fairask: Run, pool: Path) -> None:
    result = fairask("audit", pool, *SHORT, "--metric", "dp", "--json")
    found = json.loads(result.stdout)
    assert found["status"] == "done"
    assert found["labels"] == 0
    assert found["verdict"] == "certified"
    assert sorted(contents()) == ["audit.json", "certificate.html", "certificate.json", "certificate.txt"]
    assert not [name for name, said in contents().items() if name != "audit.json" and b"budget" in said]


@pytest.mark.usefixtures("no_replay")
def test_json_and_quiet_say_what_is_next(fairask: Run, pool: Path) -> None:
    found = json.loads(fairask("audit", pool, *SHORT, "--json").stdout)
    assert (found["status"], found["awaited"], found["certificate"]) == ("labels awaited", 150, None)
    assert len(fairask("audit", pool, "-q").stdout.splitlines()) == 1
    assert to_the_end(fairask, pool, applications(), "-q").stdout.startswith("Certified: ")


def test_the_simulation_shows_power_and_cost_and_writes_nothing(fairask: Run, pool: Path) -> None:
    words = ("audit", pool, *SHORT, "--truth", "truth", "--runs", 50)
    shown = fairask(*words)
    assert "decided by then" in shown.stdout
    assert "Of 50 simulated audits" in shown.stdout
    found = json.loads(fairask(*words, "--json").stdout)
    assert found["n_audits"] == 50
    assert list(found["decided_by"]) == ["150", "300"]
    assert found["certified"] > 0.9
    assert not Path("pool.audit").exists()


@pytest.mark.usefixtures("no_replay")
def test_hostile_names_are_only_text_on_the_page(fairask: Run, write: Callable[..., Path]) -> None:
    evil = "<script>alert(1)</script>"
    truth = [{**row, "sex": row["sex"] + evil} for row in applications()]
    pool = write(truth, "pool.csv")
    fairask("audit", pool, *SHORT)
    to_the_end(fairask, pool, truth)
    page = Path("pool.audit/certificate.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
