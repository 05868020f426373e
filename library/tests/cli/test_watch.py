"""``fairask watch``: from a certificate to a month's labels, a refutation and a page."""

import csv
import json
from pathlib import Path

import pytest

from .auditing import AWAITED, Run, applications, label, read, to_the_end

pytestmark = pytest.mark.slow


def write(path: Path, rows: list[dict[str, object]]) -> Path:
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
    first = fairask("watch", certified, new, "--month", "2099-01", "--certified", "2098-12")
    assert first.exit_code == AWAITED
    assert "STILL CERTIFIED" in first.stdout
    sheet = certified / "watch-2099-01.csv"
    assert "said" not in read(sheet)[0]  # the decision could sway who labels
    assert "sex" not in read(sheet)[0]
    again = fairask("watch", certified, new, "--month", "2099-02")
    assert again.exit_code == 2
    assert "rows of 2099-01 wait for a label" in again.stderr
    done = fairask("watch", certified, "--tell", label(sheet, truth, "told.csv"))
    assert done.exit_code == 0, done.output
    assert "200 labels told" in done.stdout
    page = (certified / "watch.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "STILL CERTIFIED" in page


def test_a_model_that_turned_unfair_is_refuted(fairask: Run, certified: Path) -> None:
    new = write(Path("new.csv"), applications(gap=0.6))
    result = fairask(
        "watch", certified, new, "--month", "2099-01", "--certified", "2098-12", "--known", "truth",
        "--labels", 1500, "--json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert (found["verdict"], found["since"], found["awaited"]) == ("refuted", "2099-01", 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "there is no nothing/audit.json"),
        (["pool.audit", "pool.csv"], "belong together"),
        (["pool.audit", "pool.csv", "--month", "March"], "must be written as YYYY-MM"),
        (["pool.audit", "--tell", "pool.csv"], "no month waits for labels"),
        (["pool.audit", "--labels", "1"], "--labels=1 must be a whole number, 2 or more"),
    ],
)
def test_wrong_words_are_named(fairask: Run, certified: Path, words: list[str], said: str) -> None:
    result = fairask("watch", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (certified / "watch.json").exists()


def test_a_damaged_watch_is_named(fairask: Run, certified: Path) -> None:
    (certified / "watch.json").write_text("{" * 5000, encoding="utf-8")
    result = fairask("watch", certified)
    assert result.exit_code == 2
    assert "watch.json is damaged" in result.stderr
