"""The commands, as typed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fairask.cli._app import app
from fairask.oracle import DistributionFreeFairOracle
from fairask_studio import load_model
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.test_files import filled

pytestmark = pytest.mark.usefixtures("few_trees")
Run = Callable[..., Result]
LABELS = truth(people_table())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    table = people_table()
    with Path("loans.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    runner = CliRunner()

    def call(*words: str, fails: bool = False) -> Result:
        result = runner.invoke(app, words)
        assert (result.exit_code != 0) is fails, result.output + repr(result.exception)
        return result

    return call


def test_a_study_from_beginning_to_end(run: Run) -> None:
    made = run(
        "new", "loans.csv", "--protected", "sex", "--classes", "bad,good", "--batch", "20", "--seed", "1"
    )
    assert "200 rows, groups by sex" in made.output
    for number in range(1, 3):
        run("ask", "loans", "-o", "batch.csv")
        with Path("batch.csv").open(newline="") as file:
            rows = [int(row["row"]) for row in csv.DictReader(file)]
        assert len(rows) == 20
        filled(Path("batch.csv"), {row: LABELS[row] for row in rows})
        assert "20 new labels" in run("tell", "loans", "batch.csv").output
        assert "20 known already" in run("tell", "loans", "batch.csv").output
        assert f"on {number * 20} labels" in run("status", "loans").output
    run("study", "correct", "loans", str(rows[0]), "good")
    assert json.loads(run("status", "loans", "--json").output)["labels"] == 40
    files = json.loads(run("export", "loans", "-o", "out", "--json").output)["files"]
    assert "out/model.skops" in files


def test_status_is_silent_about_what_is_not_known_yet(run: Run) -> None:
    made = ("--protected", "sex", "--classes", "bad,good", "--stop", "plateau", "--seed", "1")
    run("new", "loans.csv", *made, "--to", "s")  # with some seeds everybody gets one answer: a gap of 0
    assert "stopping rule" not in run("status", "s").output
    rows = json.loads(run("ask", "s", "-n", "30", "--json").output)["rows"]
    # All of one group are 'bad': its true positive rate is unknown, the accuracy is not.
    sex = people_table()["sex"]
    told = {row: "bad" if sex[row] == "f" else LABELS[row] for row in rows}
    run("ask", "s", "--pending", "-o", "batch.csv")
    filled(Path("batch.csv"), told)
    said = json.loads(run("tell", "s", "batch.csv", "--json").output)
    assert said["fitted"]["estimate"]["gap"] is None
    output = run("status", "s").output
    assert "The stopping rule (plateau) never fired within 30 labels" in output
    assert f"accuracy {said['fitted']['estimate']['accuracy']['value']:.3f}" in output
    assert "gap unknown: a group has too few labels" in output
    assert "too few to estimate its accuracy" not in output


def test_labels_that_do_not_suffice_are_said_after_every_fit(run: Run) -> None:
    run(
        "new", "loans.csv", "--protected", "sex", "--classes", "bad,good", "--batch", "20", "--seed", "1",
        "--to", "s",
    )  # fmt: skip
    run("ask", "s", "-o", "batch.csv")
    with Path("batch.csv").open(newline="") as file:
        rows = [int(row["row"]) for row in csv.DictReader(file)]
    filled(Path("batch.csv"), {row: LABELS[row] for row in rows})
    told = run("tell", "s", "batch.csv").output
    said = told.strip().splitlines()[-1]
    assert said.startswith("Infeasible with these 20 labels")
    assert "10 points" not in said, "a status names the tolerance as a share"
    assert said in run("status", "s").output
    assert said in run("study", "fit", "s").output
    words = json.loads(run("status", "s", "--json").output)["safety"]
    assert json.loads(run("study", "fit", "s", "--json").output)["safety"] == words


def test_rows_can_be_skipped_and_written_again(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--classes", "bad,good", "--to", "s")
    rows = json.loads(run("ask", "s", "-n", "3", "--json").output)["rows"]
    run("study", "skip", "s", str(rows[0]))
    again = json.loads(run("ask", "s", "--pending", "--json").output)["rows"]
    assert sorted(again) == sorted(rows[1:])


def test_people_are_added_listed_and_removed(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--to", "s")
    token = run("study", "people", "s", "--add", "ada", "--role", "owner").output.splitlines()[-1]
    assert len(token) == 32
    run("study", "people", "s", "--add", "bob")
    run("study", "people", "s", "--remove", "bob")
    listed = run("study", "people", "s").output
    assert "ada\towner" in listed
    assert "bob" not in listed
    assert token not in listed
    (ada,) = json.loads(run("study", "people", "s", "--json").output)["people"]
    assert (ada["name"], ada["role"]) == ("ada", "owner")
    assert len(json.loads(run("study", "people", "s", "--add", "eve", "--json").output)["token"]) == 32


def test_a_misspelt_column_is_named(run: Run) -> None:
    result = run("new", "loans.csv", "--protected", "sx", fails=True)
    assert "Did you mean 'sex'?" in result.output
    assert not Path("loans").exists()


def small(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--classes", "bad,good", "--batch", "5", "--to", "s")


def drawn(run: Run) -> tuple[int, int]:
    now = json.loads(run("status", "s", "--json").output)
    return now["open"], now["held"]


def test_tell_refuses_a_sheet_that_slipped_and_takes_it_unchecked(run: Run) -> None:
    small(run)
    run("ask", "s", "-o", "batch.csv")
    with Path("batch.csv").open(newline="") as file:
        head, *lines = csv.reader(file)
    rows = [line[0] for line in lines]
    with Path("told.csv").open("w", newline="") as file:
        slipped = [[rows[i - 1], "good", *line[2:]] for i, line in enumerate(lines)]
        csv.writer(file).writerows([head, *slipped])
    said = run("tell", "s", "told.csv", fails=True).output
    assert "5 of 5 labelled rows are not those of the table" in said
    assert json.loads(run("status", "s", "--json").output)["labels"] == 0
    assert "5 new labels" in run("tell", "s", "told.csv", "--unchecked").output


def test_ask_does_not_write_over_labels_that_were_not_told(run: Run) -> None:
    small(run)
    run("ask", "s", "-o", "batch.csv")
    said = run("ask", "s", "-o", "batch.csv", fails=True).output
    assert "holds rows to label, of which none has a label yet" in said
    with Path("batch.csv").open(newline="") as file:
        rows = [int(row["row"]) for row in csv.DictReader(file)]
    filled(Path("batch.csv"), dict.fromkeys(rows[:3], "good"))
    before = Path("batch.csv").read_bytes()
    said = run("ask", "s", "-o", "batch.csv", fails=True).output
    assert "holds 3 filled-in labels" in said
    assert Path("batch.csv").read_bytes() == before
    run("tell", "s", "batch.csv")
    run("ask", "s", "-o", "batch.csv")
    Path("notes.csv").write_text("dear,diary\n1,2\n")
    assert "is no file of rows to label" in run("ask", "s", "-o", "notes.csv", fails=True).output


@pytest.mark.parametrize("place", ["nowhere/batch.csv", "batch.pdf", "batch"])
def test_an_ask_that_cannot_write_draws_nothing(run: Run, place: str) -> None:
    small(run)
    run("ask", "s", "-o", place, fails=True)
    assert drawn(run) == (0, 0)


def test_an_ask_that_fails_late_holds_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    small(run)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "batch-1.csv")

    monkeypatch.setattr("fairask_studio.files.write_whole", full)
    run("ask", "s", fails=True)
    assert drawn(run) == (5, 0)


def test_a_fit_that_fails_says_that_labels_are_saved(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    small(run)
    run("ask", "s", "-o", "batch.csv")
    with Path("batch.csv").open(newline="") as file:
        rows = [int(row["row"]) for row in csv.DictReader(file)]
    filled(Path("batch.csv"), {row: LABELS[row] for row in rows})

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no convergence")

    monkeypatch.setattr("fairask_studio.study.fit_entry", fails)
    assert (
        "labels are saved, the fit failed: no convergence" in run("tell", "s", "batch.csv", fails=True).output
    )
    assert json.loads(run("status", "s", "--json").output)["labels"] == 5


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--sample", "0", "sample=0 must be a whole number, 1 or more"),
        ("--sample", "-1", "sample=-1 must be a whole number, 1 or more"),
        ("--seed", "-1", "seed=-1 must be a whole number from 0 to"),
        ("--seed", f"{2**63}", "must be a whole number from 0 to 9,223,372,036,854,775,807"),
    ],
)
def test_a_number_that_cannot_be_makes_no_study(run: Run, option: str, value: str, words: str) -> None:
    said = run("new", "loans.csv", "--protected", "sex", "--to", "s", f"{option}={value}", fails=True).output
    assert words in said
    assert "should not happen" not in said
    assert not Path("s").exists()


@pytest.mark.parametrize(
    "words", [("status", "{}"), ("verify", "{}"), ("new", "loans.csv", "--protected", "sex", "--to", "{}")]
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(run: Run, words: tuple[str, ...]) -> None:
    url = "postgresql://ada:hunter2@127.0.0.1:1/loans"
    said = run(*(word.format(url) for word in words), fails=True).output
    assert "PGPASSWORD" in said
    assert "hunter2" not in said


def test_an_owner_reopens_skipped_rows_and_gives_answers_back(run: Run) -> None:
    run("new", "loans.csv", "--protected", "sex", "--classes", "bad,good", "--to", "s")
    rows = json.loads(run("ask", "s", "-n", "3", "-o", "a.csv", "--as", "bob", "--json").output)["rows"]
    run("study", "skip", "s", *map(str, rows), "--as", "bob")
    assert (
        "3 answers, 0 of them labels, would be reopened"
        in run("study", "reopen", "s", "--skipped", "--look").output
    )
    done = json.loads(run("study", "reopen", "s", "--by", "bob", "--json").output)
    assert json.loads(run("status", "s", "--json").output)["open"] == 3
    assert "3 answers given back" in run("study", "reopen", "s", "--undo", str(done["event"])).output
    assert json.loads(run("status", "s", "--json").output)["skipped"] == 3
    run("study", "reopen", "s", fails=True)
    run("study", "reopen", "s", "--undo", "1", "--by", "bob", fails=True)
    assert (
        "5 skipped rows, any number of answers"
        in run("study", "limits", "s", "--skips", "5", "--per-minute", "0").output
    )
    assert json.loads(run("study", "limits", "s", "--json").output) == {
        "most_skips": 5,
        "most_per_minute": 0,
        "gold_every": 20,
        "gold_least": 80,
    }


def test_new_numbers_the_rows_without_a_group(run: Run, tmp_path: Path) -> None:
    rows = [f"{20 + i % 40},{('f', 'm', '')[i % 3]}" for i in range(60)]
    (tmp_path / "gaps.csv").write_text("\n".join(["age,sex", *rows]))
    new = ("new", str(tmp_path / "gaps.csv"), "--protected", "sex", "--to")
    told = "20 rows (33.3 %) have no known value in 'sex' and are {}: data rows 3, 6, 9"
    made = run(*new, str(tmp_path / "own")).stdout
    assert told.format("the group '(unknown)'") in made
    assert "12 more; --missing-groups drop leaves these rows out" in made
    assert "the table has 60 rows for 60 labels" in made
    said = run(*new, str(tmp_path / "drop"), "--missing-groups", "drop").stdout
    assert told.format("left out") in said
    assert "40 rows, groups by sex: f 20, m 20" in said


def test_a_study_may_promise_for_any_distribution(run: Run) -> None:
    new = (
        "new",
        "loans.csv",
        "--protected",
        "sex",
        "--promise",
        "distribution-free",
        "--batch",
        "100",
        "--classes",
        "bad,good",
    )
    refused = run(*new, "--to", "a", fails=True)
    assert "--strategy passive --use-protected" in " ".join(refused.output.split())
    run(*new, "--to", "a", "--strategy", "passive", "--use-protected")
    run("ask", "a", "-o", "batch.csv")
    with Path("batch.csv").open(newline="") as file:
        rows = [int(row["row"]) for row in csv.DictReader(file)]
    filled(Path("batch.csv"), {row: LABELS[row] for row in rows})
    run("tell", "a", "batch.csv")
    run("export", "a", "--out", "b")
    model = load_model("b/model.skops")
    assert isinstance(model.oracle, DistributionFreeFairOracle)
    assert "Its promise is distribution-free" in Path("b/model-card.html").read_text()
    assert "--promise distribution-free" in Path("b/report.html").read_text()


def test_new_says_its_goal_and_which_answer_is_positive(run: Run) -> None:
    made = run(
        "new", "loans.csv", "--protected", "sex", "--classes", "bad,good", "--metric", "fprp", "--to", "a"
    )
    assert (
        "Goal: a difference in false positive rates of at most 0.1 (--metric fprp, --tolerance 0.1)"
        in made.output
    )
    assert "Labels: 200 in batches of 25; 'good' counts as positive, 'bad' as negative" in made.output
    assert "CHECK" not in made.output
    turned = run("new", "loans.csv", "--protected", "sex", "--classes", "good,bad", "--to", "b")
    assert (
        "CHECK: the last of --classes is the positive one; if that is 'good': --classes bad,good"
        in turned.output
    )
