"""The rivals' pages: convergence marked from the trial to the page, comparisons, sweeps, experiments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairask.experiment.runner import run
from paper import METHODS, get_setup, plan
from paper.render import Entry
from paper.rivals import paired, rivals_section
from paper.stats import summarize
from paper.store import load_curves, pack
from paper.tables import all_tables, best_of_families, sweep_table
from tests.paper.conftest import make_curves, written
from tests.paper.test_results import paper_like

PAPER_PROFILE = get_setup("paper")


def ends(name, accuracy, gap, converged=None, problem="drug"):
    curves = make_curves(name, problem, (250,), np.array(accuracy)[:, None], np.array(gap)[:, None])
    return curves if converged is None else replace(curves, converged=np.array(converged))


@pytest.mark.slow
def test_a_trial_without_convergence_is_marked_from_the_run_to_the_table(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    tiny = {"unconverged": "use", "iterations": 2, "width": 8, "heads": 2, "feedforward": 8}
    monkeypatch.setitem(METHODS, "panda-50", replace(METHODS["panda-50"], strategy_params=tiny))
    run(plan("smoke", ["german"], ["panda-50"], 2), tmp_path / "runs")
    pack(tmp_path / "runs", tmp_path / "results")
    for folder in ("runs", "results"):
        curves = load_curves(tmp_path / folder, "smoke")["german", "panda-50"]
        assert curves.converged.tolist() == [False, False]
        assert np.isfinite(curves.accuracy).all()  # the policy was used such as it is
        (table,) = all_tables({("german", "panda-50"): curves}, get_setup("smoke"))
        row = [value.text if isinstance(value, Entry) else value for value in table.rows[0]]
        assert row[1:5] == ["PANDA, 50% pretraining (not converged in 2 of 2 trials)", "75", "0", "–"]
        assert (row[6], row[8]) == ("–", "–")


def test_results_of_methods_that_converge_have_no_column_for_it(smoke_run, tmp_path):
    import pyarrow.parquet as pq

    for path in pack(smoke_run, tmp_path):
        assert "converged" not in pq.read_table(path).column_names


def test_means_are_over_trials_that_converged():
    end = summarize(ends("panda-25", [0.5, 0.7, 0.9], [0.0, 0.2, 0.9], [True, True, False]), 0.1)
    assert (end.trials, end.failed, end.above) == (2, 1, 0.5)
    assert end.accuracy == pytest.approx(60.0)
    none = summarize(ends("panda-25", [0.5], [0.0], [False]), 0.1)
    assert (none.trials, none.failed) == (0, 1)
    assert not none.met(0.1)


def test_a_share_that_seldom_converges_is_not_the_best_one():
    methods = {
        "panda-25": ends("panda-25", [0.9] * 4, [0.0] * 4, [True, False, False, False]),
        "panda-50": ends("panda-50", [0.6] * 4, [0.3] * 4, [True, True, True, False]),
    }
    assert list(best_of_families(methods, 0.1)) == ["panda-50"]


@pytest.mark.usefixtures("quick_figures")
def test_the_page_marks_what_did_not_converge_and_shows_it_in_the_sweep(tmp_path):
    results = paper_like()
    for share in (25, 50):
        results["drug", f"panda-{share}"] = ends(
            f"panda-{share}", [0.5, 0.6, 0.9], [0.05, 0.06, 0.9], [True, True, False]
        )
    text = written(results, tmp_path, tmp_path)
    assert "PANDA, 25% pretraining (not converged in 1 of 3 trials) | 250 | 2 | 55.0 ± 5.0" in text
    assert "| Drug | PANDA, 50% pretraining | 3 | 66.7 ± 12.0 | 0.337 ± 0.282 ✗ | 2 | 55.0 ± 5.0 |" in text


def test_the_sweep_shows_every_share():
    table = sweep_table(paper_like(), PAPER_PROFILE)
    drug = [row[1] for row in table.rows if row[0] == "Drug"]
    assert drug == [METHODS[n].label for n in METHODS if METHODS[n].family]


def test_comparisons_are_trial_by_trial():
    a = ends("fal-10", [0.81, 0.91, 0.5], [0.1, 0.2, 0.0])
    b = replace(ends("fare", [0.9, 0.8], [0.1, 0.1]), trials=np.array([1, 0]))
    trials, accuracy, gap = paired(a, b)
    assert trials == 2
    assert accuracy == pytest.approx((1.0, 0.0))
    assert gap == pytest.approx((0.05, 0.05))


@pytest.mark.parametrize(
    ("shift", "gap", "said"),
    [
        (20.0, 0.0, "Better here than in the paper: 20<"),
        (-20.0, 0.0, "Worse here than in the paper: 20<"),
        (0.0, 0.0, "Neither: 20<"),
    ],
)
def test_better_and_worse_than_the_paper(shift, gap, said):
    text = "\n".join(rivals_section(paper_like(shift, gap), PAPER_PROFILE))
    assert said in text
    close = "within 1.5 points of the paper's on 6 of the six" in text
    assert close == (shift == 0.0)


def test_a_rival_that_is_more_accurate_and_as_fair_is_ahead():
    fare = ends("fare", [0.80, 0.81, 0.82], [0.05, 0.06, 0.05])
    ahead = ends("fal-10", [0.84, 0.86, 0.86], [0.05, 0.05, 0.06])
    unfair = ends("falcur-10", [0.84, 0.86, 0.86], [0.25, 0.26, 0.27])
    results = {("drug", c.method): c for c in (fare, ahead, unfair)}
    lines = "\n".join(rivals_section(results, PAPER_PROFILE)).splitlines()
    (first,) = (line for line in lines if line.startswith("- Drug: FAL,"))
    (second,) = (line for line in lines if line.startswith("- Drug: FAL-CUR,"))
    assert "**the rival is ahead**, more accurate, as fair, its mean gap within 0.1" in first
    assert "more accurate, less fair, its mean gap above 0.1" in second
    assert "ahead" not in second


@pytest.mark.usefixtures("quick_figures")
def test_the_page_shows_experiments_on_rivals(tmp_path):
    header = "problem,method,variant,trials,accuracy,accuracy_se,gap,gap_se\n"
    (tmp_path / "misses.csv").write_text(header)
    (tmp_path / "rival_misses.csv").write_text(
        header + "drug,fal,as in the profile,9,86.2,0.1,0.1,0.01\ndrug,fal,no penalty,9,83.2,0.1,0.144,0.01\n"
    )
    text = written(paper_like(), tmp_path, tmp_path)
    assert "| FAL | as in the profile | 1 | +0.0 | +3.0 | 3.0 | 0 |" in text
    assert "| FAL | no penalty | 1 | -3.0 | +0.0 | 0.0 | 1 |" in text
    assert "within 1.5 points of the paper's on 0 of 1 datasets" in text
    assert "nearest on average is: no penalty (mean distance 0.0 points, within 1.5 on 1 of 1)" in text
    assert "within two joint standard errors on Drug." in text
    assert "| Drug | FAL | 83.2 ± 0.2 / 0.144 ± 0.006 | 86.2 ± 0.1 / 0.100 ± 0.010 | no penalty |" in text
