"""``fairask watch``: from a certificate to a month's labels, a refutation and a page."""

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .auditing import AWAITED, Run, applications, label, read, to_the_end

pytestmark = pytest.mark.slow
Row = dict[str, Any]


def write(path: Path, rows: list[Row]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def certified(fairask: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    truth = applications()
    pool = write(Path("pool.csv"), [{k: v for k, v in row.items() if k != "truth"} for row in truth])
    columns = ("--predictions", "said", "--protected", "sex", "--positive", "yes")
    assert fairask("audit", pool, *columns).exit_code == AWAITED
    assert to_the_end(fairask, pool, truth).exit_code == 0
    return Path("pool.audit")


def test_a_month_is_sampled_labelled_and_counted(fairask: Run, certified: Path) -> None:
    truth = applications()
    new = write(Path("new.csv"), [{k: v for k, v in row.items() if k != "truth"} for row in truth])
    first = fairask("watch", certified, new, "--month", "2024-01", "--certified", "2023-12")
    assert first.exit_code == AWAITED
    assert "Still certified" in first.stdout
    sheet = certified / "watch-2024-01.csv"
    assert "said" not in read(sheet)[0]  # the decision could sway who labels
    assert "sex" not in read(sheet)[0]
    again = fairask("watch", certified, new, "--month", "2024-02")
    assert again.exit_code == 2
    assert "rows of 2024-01 wait for a label" in again.stderr
    done = fairask("watch", certified, "--tell", label(sheet, truth, "told.csv"))
    assert done.exit_code == 0, done.output
    assert "200 labels told" in done.stdout
    page = (certified / "watch.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "Still certified" in page
    assert fairask("verify", certified).exit_code == 0
    for name in ("watch.html", "watch.json"):
        text = (certified / name).read_text(encoding="utf-8")
        (certified / name).write_text(text.replace("2024-01", "2024-02"), encoding="utf-8")
        changed = fairask("verify", certified)
        assert (changed.exit_code, name in changed.stdout) == (1, True)
        (certified / name).write_text(text, encoding="utf-8")
    assert fairask("verify", certified).exit_code == 0


def test_a_watch_begins_with_a_certificate(
    fairask: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pool = write(Path("pool.csv"), applications())
    columns = ("--predictions", "said", "--protected", "sex", "--positive", "yes")
    assert fairask("audit", pool, *columns).exit_code == AWAITED
    early = fairask("watch", "pool.audit", pool, "--month", "2024-01")
    assert early.exit_code == 2
    assert "the audit in pool.audit has not certified its model" in early.stderr
    assert not Path("pool.audit", "watch.json").exists()


def test_a_copied_certificate_is_as_old_as_before(fairask: Run, certified: Path) -> None:
    new = write(Path("new.csv"), applications())
    issued = json.loads((certified / "certificate.json").read_text(encoding="utf-8"))["made_from"]["issued"]
    os.utime(certified / "certificate.json", (0, 0))  # a copy has the time at which it was made
    early = fairask("watch", certified, new, "--month", "1970-02", "--known", "truth")
    assert early.exit_code == 2
    assert f"1970-02 is before the certificate of {issued[:7]}" in early.stderr


def test_a_model_that_turned_unfair_is_refuted(fairask: Run, certified: Path) -> None:
    new = write(Path("new.csv"), applications(gap=0.6))
    result = fairask(
        "watch", certified, new, "--month", "2024-01", "--certified", "2023-12", "--known", "truth",
        "--labels", 1500, "--json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert (found["verdict"], found["since"], found["awaited"]) == ("refuted", "2024-01", 0)
    rows = len(read(new))
    assert (found["labels"], found["known"]) == (0, rows)


def test_outcomes_of_the_accepted_leave_the_rejected_to_ask(fairask: Run, certified: Path) -> None:
    rows = applications(gap=0.1)
    new = write(
        Path("new.csv"), [{**row, "truth": row["truth"] if row["said"] == "yes" else ""} for row in rows]
    )
    first = fairask(
        "watch", certified, new, "--month", "2024-01", "--certified", "2023-12",
        "--known", "truth", "--labels", 60,
    )  # fmt: skip
    assert first.exit_code == AWAITED, first.output
    sheet = read(certified / "watch-2024-01.csv")
    assert len(sheet) == 60
    assert {rows[int(row["row"])]["said"] for row in sheet} == {"no"}
    assert "truth" not in sheet[0]


@pytest.fixture
def told(fairask: Run, certified: Path) -> Path:
    """A watch with one month."""
    new = write(Path("new.csv"), applications())
    result = fairask(
        "watch", certified, new, "--month", "2024-01", "--certified", "2023-12", "--known", "truth"
    )
    assert result.exit_code == 0, result.output
    return certified


def test_each_month_is_added_once_and_in_order(fairask: Run, told: Path) -> None:
    before = (told / "watch.json").read_bytes()
    for month, said in (
        ("2024-01", "was added before"),
        ("2023-12", "is in the past"),
        ("2024-02", "the rows of 2024-02 are those of 2024-01"),
        ("2999-01", "month='2999-01' has not begun"),
    ):
        result = fairask("watch", told, "new.csv", "--month", month)
        assert result.exit_code == 2
        assert said in result.stderr
    later = fairask("watch", told, "new.csv", "--month", "2024-02", "--horizon", 12)
    assert "--horizon 12: the watch in pool.audit has 36" in later.stderr
    assert (told / "watch.json").read_bytes() == before
    assert not (told / "watch-2023-12.csv").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: {k: v for k, v in row.items() if k != "said"}, "other.csv has no column 'said', which"),
        (lambda row: {k: v for k, v in row.items() if k != "sex"}, "other.csv has no column 'sex', which"),
        (lambda row: {**row, "sex": "m"}, "Add these rows together with those of the next month"),
        (lambda row: {**row, "sex": "x" if row["sex"] == "f" else "m"}, "the group 'x'"),
        (lambda row: {**row, "said": "maybe"}, "maybe"),
        (lambda row: {**row, "said": ""}, "no prediction"),
    ],
)
def test_a_month_of_another_kind_is_refused(
    fairask: Run, told: Path, change: Callable[[Row], Row], said: str
) -> None:
    before = (told / "watch.json").read_bytes()
    write(Path("other.csv"), [change(row) for row in applications(300)])
    result = fairask("watch", told, "other.csv", "--month", "2024-02")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "--predictions" not in result.stderr
    assert (told / "watch.json").read_bytes() == before


def test_labels_of_rows_that_were_not_drawn_are_refused(fairask: Run, told: Path) -> None:
    write(Path("new.csv"), applications(2000))
    assert fairask("watch", told, "new.csv", "--month", "2024-02", "--labels", 40).exit_code == AWAITED
    before, sheet = (told / "watch.json").read_bytes(), read(told / "watch-2024-02.csv")
    other = next(n for n in range(3000) if n not in {int(row["row"]) for row in sheet})
    wrong = [{**row, "label": "yes"} for row in sheet]
    write(Path("wrong.csv"), [*wrong, {**wrong[0], "row": str(other)}])
    result = fairask("watch", told, "--tell", "wrong.csv")
    assert result.exit_code == 2
    assert f"row {other} was not drawn in 2024-02" in result.stderr
    write(Path("new.csv"), applications(3000, gap=0.2))
    changed = fairask("watch", told, "--tell", write(Path("right.csv"), wrong))
    assert changed.exit_code == 2
    assert "new.csv has changed since its rows were drawn" in changed.stderr
    assert (told / "watch.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "there is no audit in nothing"),
        (["pool.audit", "pool.csv"], "belong together"),
        (["pool.audit", "pool.csv", "--month", "March"], "must be written as YYYY-MM"),
        (["pool.audit", "--tell", "pool.csv"], "no month waits for labels"),
        (["pool.audit", "--valid-for", "0"], "--valid-for=0 must be a whole number, 1 or more"),
        (["pool.audit", "--certified", "2024"], "--certified='2024' must be written as YYYY-MM"),
        (["pool.audit", "--certified", "\uff12\uff10\uff12\uff14-01"], "must be written as YYYY-MM"),
        (["pool.audit", "--certified", "2999-01"], "--certified='2999-01' has not begun"),
        (["pool.audit", "--labels", "1"], "--labels=1 must be a whole number, 4 or more"),
    ],
)
def test_wrong_words_are_named(fairask: Run, certified: Path, words: list[str], said: str) -> None:
    result = fairask("watch", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (certified / "watch.json").exists()


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("watch.json", lambda text: "{" * 5000),
        ("watch.json", lambda text: text[: len(text) // 2]),
        ("watch.json", lambda text: text.replace('"2023-12"', '"2023-11"')),
        ("watch.json", lambda text: "[]"),
        ("audit.json", lambda text: text.replace('"tolerance": 0.1', '"tolerance": 0.3')),
    ],
)
def test_a_folder_that_was_changed_is_named(
    fairask: Run, told: Path, file: str, damage: Callable[[str], str]
) -> None:
    text = (told / file).read_text(encoding="utf-8")
    assert damage(text) != text
    (told / file).write_text(damage(text), encoding="utf-8")
    result = fairask("watch", told)
    assert result.exit_code == 2
    assert file in result.stderr
    assert "Restore it from a copy" in result.stderr
