from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from paper import Job, get_method, get_setup, run_trial
from paper.methods import METHODS, PaperMethod
from paper.methods import method as methods
from paper.reported import PAPER
from paper.trials import seed_of, split, trial_data

SMOKE = get_setup("smoke")
GERMAN = SMOKE.problem("german")


def curve(run):
    return run.labels.tolist(), run.accuracy.tolist(), run.gap.tolist(), run.group_labels


def test_a_trial_depends_on_its_job_alone():
    job = Job("smoke", "german", "fare", 1)
    first = curve(job.run())
    Job("smoke", "german", "passive", 0).run()  # something else in between
    assert curve(job.run()) == first


def test_trials_differ():
    first, second = (Job("smoke", "german", "passive", trial).run() for trial in (0, 1))
    assert curve(first) != curve(second)


def test_seeds_change_with_the_settings():
    method = get_method("fare")
    other = replace(method, strategy_params={"diff_share": 0.7})
    assert method.digest != other.digest
    assert seed_of(method.settings) != seed_of(other.settings)


def test_look_is_no_setting():
    method = get_method("fare")
    assert replace(method, label="Other", paper=None).digest == method.digest


def test_every_group_and_round_is_counted():
    result = Job("smoke", "german", "fare", 0).run()
    total = np.sum(list(result.group_labels.values()), axis=0)
    assert total.tolist() == result.labels.tolist() == [25, 50, 75]


def test_splits_are_disjoint_and_hold_all_rows():
    rows = split(GERMAN, trial_data(GERMAN, 0), 0.25, 0)
    assert len(rows.held_out) == 250
    assert sorted([*rows.pool, *rows.held_out]) == list(range(1000))


def test_methods_of_any_batch_size_are_seen_on_the_same_grid():
    method = replace(get_method("passive"), batch=10)
    assert run_trial(SMOKE, GERMAN, method, 0).labels.tolist() == [25, 50, 75]


def test_pretraining_is_drawn_first_and_measured():
    method = replace(get_method("passive"), pretrain=0.4)
    assert run_trial(SMOKE, GERMAN, method, 0).labels.tolist() == [30, 50, 75]


def test_pretraining_of_the_whole_budget_leaves_nothing_to_ask():
    method = replace(get_method("fare"), pretrain=1.0)
    assert run_trial(SMOKE, GERMAN, method, 0).labels.tolist() == [75]


def test_the_strategy_can_be_told_the_pretraining_size(monkeypatch):
    given = {}

    def recorder(*args, **kwargs):
        given.update(kwargs["strategy_params"])
        raise InterruptedError

    monkeypatch.setattr("paper.methods.method.FairActiveLearner", recorder)
    method = replace(get_method("passive"), pretrain=0.2, pretrain_param="n_first")
    with pytest.raises(InterruptedError):
        run_trial(SMOKE, GERMAN, method, 0)
    assert given == {"n_first": 15}


def test_a_longer_run_stops_at_the_pool_s_end():
    method = replace(get_method("passive"), budget_factor=100.0)
    assert run_trial(SMOKE, replace(GERMAN, batch=250), method, 0).labels.tolist() == [250, 500, 750]


def test_an_unconstrained_method_is_unconstrained():
    free = replace(get_method("passive"), tolerance=1.0, margin=None, model="ridge")
    assert run_trial(SMOKE, GERMAN, free, 0).accuracy[-1] > 0.6


def test_regenerated_data_changes_with_the_trial():
    problem = get_setup("paper").problem("synthetic")
    assert (trial_data(problem, 0).X == trial_data(problem, 0).X).all()
    assert (trial_data(problem, 0).X != trial_data(problem, 1).X).any()


@pytest.mark.parametrize("bad", [{"model": "oracle"}, {"pretrain": 2.0}])
def test_a_wrong_method_says_what_is_wrong(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        PaperMethod("x", "X", "passive", **bad)


def test_every_paper_column_of_a_method_exists():
    names = {method for _, method in PAPER}
    assert {m.paper for m in METHODS.values() if m.paper} <= names


def test_the_paper_s_tables_are_whole():
    six = ["drug", "bank", "german", "adult", "compas", "crime"]
    assert {(p, m) for p in six for m in ("FARE", "PANDA", "FAL", "FAL-CUR", "Passive")} <= set(PAPER)
    assert len(PAPER) == 35


@pytest.mark.parametrize(("method", "told"), [("fal-25", "eo"), ("panda-50", "eo"), ("falcur-25", None)])
def test_a_strategy_that_measures_unfairness_is_told_the_problems_metric(method, told, monkeypatch):
    seen = {}

    class Asked(Exception):
        pass

    def learner(*arguments, strategy_params, **settings):
        seen.update(strategy_params)
        raise Asked

    monkeypatch.setattr(methods, "FairActiveLearner", learner)
    with pytest.raises(Asked):
        run_trial(SMOKE, replace(GERMAN, metric="eo"), get_method(method), 0)
    assert seen.get("metric") == told
    assert seen["pretrain"] == round(75 * get_method(method).pretrain)


def test_warnings_of_other_kinds_are_not_kept_from_the_caller():
    class Loud(UserWarning):
        pass

    def measure(learner, test):
        warnings.warn("heard", Loud, stacklevel=1)
        return 0.0, 0.0

    with pytest.warns(Loud, match="heard"):
        run_trial(SMOKE, GERMAN, get_method("passive"), 0, measure=measure)
