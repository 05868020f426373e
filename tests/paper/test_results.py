from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paper import METHODS, get_setup
from paper.methods import PaperMethod
from paper.reading import fare_checks, passive_checks, read_claims
from paper.render import Entry, Table, render
from paper.stats import label_saving, summarize
from paper.store import load_curves, pack
from paper.tables import all_tables, best_of_families, savings_table
from tests.paper.conftest import make_curves

PAPER_PROFILE = get_setup("paper")
SMOKE = get_setup("smoke")


def test_packed_results_give_the_same_tables_and_the_same_bytes(smoke_run, tmp_path):
    once, twice = pack(smoke_run, tmp_path / "a"), pack(smoke_run, tmp_path / "b")
    assert [p.name for p in once] == ["german__fare.parquet", "german__passive.parquet"]
    assert [p.read_bytes() for p in once] == [p.read_bytes() for p in twice]
    from_cells, packed = load_curves(smoke_run, "smoke"), load_curves(tmp_path / "a", "smoke")
    assert list(packed) == list(from_cells)
    for key, curves in packed.items():
        for name in ("labels", "accuracy", "gap", "trials", "feasible"):
            np.testing.assert_array_equal(getattr(curves, name), getattr(from_cells[key], name))
        for group, counts in curves.group_labels.items():
            np.testing.assert_array_equal(counts, from_cells[key].group_labels[group])
    for form in ("md", "latex", "html"):
        a, b = ([render(t, form) for t in all_tables(results, SMOKE)] for results in (from_cells, packed))
        assert a == b


def test_results_of_other_settings_are_refused(smoke_run, tmp_path, monkeypatch):
    pack(smoke_run, tmp_path)
    monkeypatch.setitem(METHODS, "fare", PaperMethod("fare", "FARE", "fare", {"diff_share": 0.9}))
    with pytest.raises(ValueError, match="other settings"):
        load_curves(tmp_path, "smoke")


def test_an_empty_folder_says_what_to_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m paper run"):
        load_curves(tmp_path)
    with pytest.raises(FileNotFoundError, match="python -m paper run"):
        pack(tmp_path, tmp_path / "out")


def test_a_foreign_parquet_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "smoke").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "smoke" / "german__fare.parquet")
    with pytest.raises(ValueError, match="not a result file"):
        load_curves(tmp_path, "smoke")


def test_a_trial_above_the_tolerance_that_said_infeasible_breaks_no_promise():
    curves = make_curves(accuracy=[[0.7] * 3] * 4, gap=[[0.0, 0.0, v] for v in (0.2, 0.2, 0.05, 0.05)])
    unknown = summarize(curves, 0.1)
    assert unknown.above == 0.5
    assert np.isnan([unknown.infeasible, unknown.broken]).all()
    said = np.ones((4, 3), dtype=bool)
    said[1:3, -1] = False
    end = summarize(replace(curves, feasible=said), 0.1)
    assert (end.above, end.infeasible, end.broken) == (0.5, 0.5, 0.25)


def test_summary_counts_trials_above_the_tolerance_and_not_on_it():
    end = summarize(
        make_curves(accuracy=[[0.5, 0.6, 0.7]] * 4, gap=[[0, 0, v] for v in (0.0, 0.1, 0.2, 0.3)]), 0.1
    )
    assert (end.trials, end.labels, end.above) == (4, 75, 0.5)
    assert end.accuracy == pytest.approx(70.0)
    assert end.gap_se == pytest.approx(np.std([0, 0.1, 0.2, 0.3], ddof=1) / 2)


def test_labels_needed_are_read_off_the_reference_between_rounds():
    method = make_curves("fare", accuracy=[[0.5, 0.6, 0.65]] * 2, gap=[[0.0] * 3] * 2)
    reference = make_curves(
        "passive-long", labels=(25, 75, 225), accuracy=[[0.5, 0.6, 0.7]] * 2, gap=[[0.0] * 3] * 2
    )
    saving = label_saving(method, reference, 0.1, resamples=10)
    assert (saving.labels, saving.needed, saving.low, saving.high) == (75, 150.0, 150.0, 150.0)


def test_unfair_labels_of_the_reference_do_not_count():
    method = make_curves("fare", accuracy=[[0.5, 0.6, 0.6]], gap=[[0.0] * 3])
    accuracy, gap = [[0.5, 0.6, 0.7]], [[0.2, 0.2, 0.0]]
    reference = make_curves("passive-long", labels=(25, 75, 225), accuracy=accuracy, gap=gap)
    assert label_saving(method, reference, 0.1, resamples=10).needed == 150.0


def test_what_the_reference_never_reaches_is_more_than_was_run():
    method = make_curves("fare", "german", accuracy=[[0.5, 0.6, 0.9]] * 2, gap=[[0.0] * 3] * 2)
    reference = make_curves("passive-long", accuracy=[[0.5, 0.6, 0.7]] * 2, gap=[[0.0] * 3] * 2)
    assert label_saving(method, reference, 0.1, resamples=10).needed == np.inf
    table = savings_table({("german", "fare"): method, ("german", "passive-long"): reference}, SMOKE)
    assert table is not None
    assert table.rows[0][3:] == ["> 75", "> 75 – > 75", "–"]


def test_what_an_unfair_method_saves_is_not_shown():
    method = make_curves("fare", accuracy=[[0.5, 0.6, 0.9]] * 2, gap=[[0.3] * 3] * 2)
    reference = make_curves("passive-long", accuracy=[[0.5, 0.6, 0.7]] * 2, gap=[[0.0] * 3] * 2)
    assert savings_table({("german", "fare"): method, ("german", "passive-long"): reference}, SMOKE) is None


def test_the_interval_covers_the_spread_of_trials():
    rng = np.random.default_rng(0)
    base = np.linspace(0.5, 0.7, 9)
    labels = tuple(range(25, 250, 25))
    noisy = base + 0.02 * rng.normal(size=(30, 1))
    reference = make_curves("passive-long", labels=labels, accuracy=noisy, gap=np.zeros((30, 9)))
    end = 0.6 + 0.02 * rng.normal(size=(30, 1))
    method = make_curves("fare", labels=(25,), accuracy=end, gap=np.zeros((30, 1)))
    saving = label_saving(method, reference, 0.1)
    assert 25 <= saving.low < saving.needed < saving.high <= 225


def test_the_best_of_a_sweep_is_the_most_accurate_that_is_fair(monkeypatch):
    ends = {"a": (0.9, 0.3), "b": (0.7, 0.05), "c": (0.6, 0.01)}
    for name in ends:
        monkeypatch.setitem(METHODS, name, PaperMethod(name, f"FAL {name}", "passive", family="FAL"))
    methods = {n: make_curves(n, accuracy=[[0, 0, a]] * 2, gap=[[0, 0, v]] * 2) for n, (a, v) in ends.items()}
    assert list(best_of_families(methods, 0.1)) == ["b"]
    assert list(best_of_families(methods, 0.001)) == ["c"]


def paper_like(shift=0.0, gap_shift=0.0):
    """Results that end exactly at the paper's numbers, moved by shifts."""
    from paper.reported import PAPER

    results = {}
    for (problem, column), reported in PAPER.items():
        for method in METHODS.values():
            if method.paper == column:
                spread = np.array([[-0.01], [0.01]])
                results[problem, method.name] = make_curves(
                    method.name,
                    problem,
                    labels=(PAPER_PROFILE.problem(problem).budget,),
                    accuracy=(reported.accuracy + shift) / 100 + 0.1 * spread,
                    gap=reported.gap + gap_shift + spread,
                )
    return results


def test_the_paper_s_own_numbers_pass_every_check():
    results = paper_like()
    assert [c.holds for c in passive_checks(results, PAPER_PROFILE)] == [True] * 6
    assert [c.holds for c in fare_checks(results, PAPER_PROFILE)] == [True] * 6
    assert [c.holds for c in read_claims(results, PAPER_PROFILE)] == [True]


def test_numbers_away_from_the_paper_fail_and_say_by_how_much():
    checks = passive_checks(paper_like(shift=-5.0), PAPER_PROFILE)
    assert not any(c.holds for c in checks)
    assert "accuracy 77.5 against 82.5" in checks[0].text
    assert not any(c.holds for c in fare_checks(paper_like(shift=-0.7), PAPER_PROFILE))
    assert not any(c.holds for c in fare_checks(paper_like(gap_shift=0.1), PAPER_PROFILE))


def test_tables_put_the_paper_beside_ours():
    (first, second) = all_tables(paper_like(), PAPER_PROFILE)
    row = [e.text if isinstance(e, Entry) else e for e in first.rows[0]]
    assert row == [
        "Drug",
        "FARE",
        "250",
        "2",
        "83.1 ± 0.1",
        "83.1 ± 0.2",
        "0.098 ± 0.010",
        "0.098 ± 0.006",
        "50 %",
    ]
    assert {r[0] for r in second.rows} == {"Synthetic"}


def test_met_and_not_met_differ_by_sign_and_by_colour():
    table = Table("T & T", ["a_b"], [[Entry("0.05", met=True)], [Entry("0.2", met=False, best=True)]], "note")
    html, latex, text = (render(table, form) for form in ("html", "latex", "md"))
    assert "0.05 ✓" in text
    assert "**0.2** ✗" in text
    assert "#0072B2" in html
    assert "#D55E00" in html
    assert "T &amp; T" in html
    assert r"\textcolor{met}{0.05" in latex
    assert r"a\_b" in latex
    with pytest.raises(ValueError, match="did you mean 'html'"):
        render(table, "htm")
