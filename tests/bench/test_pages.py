from __future__ import annotations

import pytest
from typer.testing import CliRunner

from fairask.bench.docs import write_page
from fairask.bench.figures import draw_all
from fairask.bench.problems import get_profile
from fairask.bench.store import load_curves
from fairask.cli.bench import bench_app
from tests.bench.test_results import paper_like

cli = CliRunner()


def test_figures_are_drawn_in_every_format(smoke_run, tmp_path):
    paths = draw_all(load_curves(smoke_run, "smoke"), get_profile("smoke"), tmp_path, ["png", "pdf"])
    assert {p.name for p in paths} == {
        f"{stem}.{form}" for stem in ("german", "fig1-sampling", "synthetic") for form in ("png", "pdf")
    }
    assert all(p.read_bytes()[:4] in (b"\x89PNG", b"%PDF") for p in paths)


def test_the_page_lists_every_miss(tmp_path):
    text = write_page(paper_like(shift=-5.0), tmp_path).read_text()
    assert "on 0 of 6" in text
    assert "✗ Drug: accuracy 77.5 against 82.5" in text
    pictures = [line.split("(")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert len(pictures) >= 8
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_the_page_explains_misses_by_experiments(tmp_path):
    misses = tmp_path / "misses.csv"
    misses.write_text(
        "problem,method,variant,trials,accuracy,accuracy_se,violation,violation_se\n"
        "drug,passive,more labels,9,82.5,0.1,0.1,0.01\ndrug,passive,ridge,9,70.0,0.1,0.1,0.01\n"
    )
    text = write_page(paper_like(shift=-5.0), tmp_path, misses).read_text()
    assert "Within two joint standard errors on both numbers: more labels." in text
    assert "| ridge | 9 | 70.0 ± 0.1 |" in text
    assert "No experiment has been run on this miss." in text


def test_the_commands_work_one_after_the_other(tmp_path):
    runs, results = tmp_path / "runs", tmp_path / "results"
    common = ["--profile", "smoke", "--trials", "2", "--out", str(runs)]
    done = cli.invoke(bench_app, ["run", *common, "--methods", "passive"])
    assert done.exit_code == 0, done.output
    assert "2 cells computed" in done.output
    again = cli.invoke(bench_app, ["run", *common, "--methods", "passive"])
    assert "0 cells computed" in again.output
    assert cli.invoke(bench_app, ["pack", str(runs), str(results)]).exit_code == 0
    table = cli.invoke(bench_app, ["tables", "--results", str(results), "--profile", "smoke"])
    assert "| German | Passive | 75 |" in table.output
    written = tmp_path / "t.html"
    options = ["--results", str(results), "--profile", "smoke", "--format", "html", "--out", str(written)]
    assert cli.invoke(bench_app, ["tables", *options]).exit_code == 0
    assert written.read_text().startswith("<table>")
    pictures = [
        "--results",
        str(results),
        "--profile",
        "smoke",
        "--out",
        str(tmp_path / "f"),
        "--formats",
        "png",
    ]
    assert cli.invoke(bench_app, ["figures", *pictures]).exit_code == 0
    assert (tmp_path / "f" / "german.png").exists()
    assert "fare-diff" in cli.invoke(bench_app, ["methods"]).output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "--methods", "fair"], 2, "did you mean 'fare'"),
        (["run", "--profile", "papr"], 2, "did you mean 'paper'"),
        (["tables", "--results", "nowhere"], 1, "fairask bench run"),
        (["pack", "nowhere"], 1, "no cell files"),
        (["figures", "--results", "nowhere"], 1, "no results"),
        (["docs", "--results", "nowhere"], 1, "no results"),
    ],
)
def test_wrong_use_ends_in_one_line(arguments, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = cli.invoke(bench_app, arguments)
    assert answer.exit_code == code
    assert message in " ".join(answer.output.split())
    assert "Traceback" not in answer.output
