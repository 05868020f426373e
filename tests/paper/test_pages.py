from __future__ import annotations

import pytest

from paper.__main__ import main
from paper.figures import draw_all
from paper.problems import get_setup
from paper.store import load_curves
from tests.paper.conftest import written
from tests.paper.test_results import paper_like


@pytest.mark.slow
def test_figures_are_drawn_in_every_format(smoke_run, tmp_path):
    paths = draw_all(load_curves(smoke_run, "smoke"), get_setup("smoke"), tmp_path, ["png", "pdf"])
    assert {p.name for p in paths} == {
        f"{stem}.{form}" for stem in ("german", "fig1-sampling", "synthetic") for form in ("png", "pdf")
    }
    assert all(p.read_bytes()[:4] in (b"\x89PNG", b"%PDF") for p in paths)


@pytest.mark.slow
def test_the_page_lists_every_miss(tmp_path):
    text = written(paper_like(shift=-5.0), tmp_path, tmp_path)
    assert "on 0 of 6" in text
    assert "✗ Drug: accuracy 77.5 against 82.5" in text
    pictures = [line.split("(")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert len(pictures) >= 8
    assert all((tmp_path / "results" / picture).exists() for picture in pictures)


@pytest.mark.usefixtures("quick_figures")
def test_the_page_explains_misses_by_experiments(tmp_path):
    misses = tmp_path / "misses.csv"
    misses.write_text(
        "problem,method,variant,trials,accuracy,accuracy_se,gap,gap_se\n"
        "drug,passive,more labels,9,82.5,0.1,0.1,0.01\ndrug,passive,ridge,9,70.0,0.1,0.1,0.01\n"
    )
    text = written(paper_like(shift=-5.0), tmp_path, tmp_path)
    assert "Within two joint standard errors on both numbers: more labels." in text
    assert "| ridge | 9 | 70.0 ± 0.1 |" in text
    assert "No experiment has been run on these:" in text


def test_the_commands_work_one_after_the_other(tmp_path, capsys):
    def say(*words):
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    runs, results = tmp_path / "runs", tmp_path / "results"
    common = ["--setup", "smoke", "--trials", "2", "--out", runs]
    assert "2 trials computed" in say("run", *common, "--methods", "passive")
    assert "0 trials computed" in say("run", *common, "--methods", "passive")
    say("pack", runs, results)
    more = ["--setup", "smoke", "--trials", "3", "--out", tmp_path / "more", "--skip-packed", results]
    assert "1 trials computed" in say("run", *more, "--methods", "passive")
    say("pack", tmp_path / "more", results)
    assert load_curves(results, "smoke")["german", "passive"].trials.tolist() == [0, 1, 2]
    smoke = ["--results", results, "--setup", "smoke"]
    assert "| German | Passive | 75 |" in say("tables", *smoke)
    written = tmp_path / "t.html"
    say("tables", *smoke, "--format", "html", "--out", written)
    assert written.read_text().startswith("<table>")
    say("figures", *smoke, "--out", tmp_path / "f", "--formats", "png")
    assert (tmp_path / "f" / "german.png").exists()
    assert "fare-diff" in say("methods")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "--methods", "fair"], 2, "did you mean 'fare'"),
        (["run", "--setup", "papr"], 2, "did you mean 'paper'"),
        (["tables", "--results", "nowhere"], 1, "python -m paper run"),
        (["pack", "nowhere"], 1, "no result files"),
        (["figures", "--results", "nowhere"], 1, "no results"),
        (["docs", "--results", "nowhere"], 1, "no results"),
    ],
)
def test_wrong_use_ends_in_one_line(arguments, code, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
