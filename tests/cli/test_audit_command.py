"""``fairask audit``: begin, label, go on, certificate; and the simulation beforehand."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import Result

Run = Callable[..., Result]
Rows = list[dict[str, Any]]
COLUMNS = ("--predictions", "said", "--protected", "sex")
#: Exit code while labels are awaited.
AWAITED = 3
SHORT = (*COLUMNS, "--positive", "yes", "--budget", 300, "--looks", 2)


def applications(n: int = 3000, gap: float = 0.0) -> Rows:
    rng = np.random.default_rng(0)
    out = []
    for i in range(n):
        sex = "m" if i % 3 else "f"
        truth = bool(rng.random() < 0.5)
        right = rng.random() < (0.95 - gap * (sex == "f"))
        out.append(
            {
                "name": f"=cmd|{i}" if i % 2 else f"né{i}",
                "sex": sex,
                "said": "yes" if truth == right else "no",
                "truth": "yes" if truth else "no",
            }
        )
    return out


@pytest.fixture
def pool(write: Callable[..., Path]) -> Path:
    return write(applications(), "pool.csv")


def read(path: Path | str) -> Rows:
    with Path(path).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def label(path: Path | str, truth: Rows, to: str, part: slice = slice(None)) -> Path:
    """Write row numbers and true labels of the rows in a batch file."""
    rows = read(path)[part]
    with Path(to).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["label", "row", "check"])
        writer.writerows([truth[int(r["row"])]["truth"], r["row"], r["check"]] for r in reversed(rows))
    return Path(to)


def to_the_end(fairask: Run, pool: Path, truth: Rows, *words: Any) -> Result:
    for look in range(1, 10):
        file = Path("pool.audit", f"rows-{look}.csv")
        result = fairask("audit", pool, "--tell", label(file, truth, "told.csv"), *words)
        assert result.exit_code in (0, 1, 3), result.output
        if Path("pool.audit/certificate.json").exists():
            return result
    raise AssertionError("the audit never ends")


def refused(result: Result, *words: str) -> None:
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 2, result.stderr
    for word in words:
        assert word in result.stderr
    assert not result.stdout


def contents(folder: str = "pool.audit") -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in Path(folder).iterdir()}


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
        patch.setattr("fairask.certify.audit.folder.write_sheet", stop)
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
        ("row,label\n{asked},maybe\n", "1 label is not a class"),
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
    refused(fairask("audit", pool, "--alpha", 0.2), "--tolerance 0.2", "begun with 0.1")
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


def strata(fairask: Run, write: Callable[..., Path], rows: Rows, said: list[Any], *words: Any) -> Any:
    pool = write([{**row, "said": s} for row, s in zip(rows, said, strict=True)], "pool.csv")
    found = fairask("audit", pool, *COLUMNS, "--truth", "truth", "--json", "--runs", 5, *words)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["violation"]


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


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_several_positive_classes_are_counted_where_they_are(
    fairask: Run, tmp_path: Path, stream: str
) -> None:
    said = ["failed", "passed", "distinction", "passed"] * 50
    sex = ["m"] * 120 + ["f"] * 80
    parquet.write_table(pa.table({"said": said, "sex": sex}), tmp_path / "grades.parquet")
    found = fairask(
        "audit", tmp_path / "grades.parquet", *COLUMNS, stream, "--metric", "dp", "--tolerance", 0.2,
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
    refused(fairask("audit", tmp_path / "empty", *COLUMNS), "cannot be read as Parquet")
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
    assert "14.3 % of rows have no value in 'sex'" in " ".join(begun.output.split())
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


def test_demographic_parity_needs_no_labels(fairask: Run, pool: Path) -> None:
    result = fairask("audit", pool, *SHORT, "--metric", "dp", "--json")
    found = json.loads(result.stdout)
    assert found["status"] == "done"
    assert found["labels"] == 0
    assert found["verdict"] == "certified"
    assert sorted(contents()) == ["audit.json", "certificate.html", "certificate.json", "certificate.txt"]


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


def test_an_audit_that_counts_rows_from_1_goes_on(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *SHORT)
    truth, sheet, state = applications(), Path("pool.audit/rows-1.csv"), Path("pool.audit/audit.json")
    rows = [{"row": int(r["row"]) + 1, "name": r["name"], "label": ""} for r in read(sheet)]
    old = json.loads(state.read_text())
    del old["shown"]
    state.write_text(json.dumps({**old, "format": 1}))
    with sheet.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["row", "name", "label"])
        writer.writeheader()
        writer.writerows({**row, "label": truth[row["row"] - 1]["truth"]} for row in rows)
    assert "150 new labels" in fairask("audit", pool, "--tell", sheet).stdout
    if Path("pool.audit/rows-2.csv").exists():
        numbers = [int(row["row"]) for row in read("pool.audit/rows-2.csv")]
        names = [row["name"].lstrip("'") for row in read("pool.audit/rows-2.csv")]
        assert names == [truth[number - 1]["name"] for number in numbers]
    assert json.loads(state.read_text())["format"] == 1


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
