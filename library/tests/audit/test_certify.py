"""certify(): what it answers, what it promises, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairask.audit import certify
from fairask.audit.bounds.methods import METHODS
from fairask.errors import EmptyCellWarning
from fairask.metrics import group_gap


def sample(n: int = 600, seed: int = 0, groups: int = 2, accuracy: float = 0.85):
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.integers(0, groups, n)
    return y, np.where(rng.random(n) < accuracy, y, 1 - y), g


def gapped(n: int, gap: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return y, (rng.random(n) < np.where(y == 1, 0.9 - gap * g, 0.2)).astype(int), g


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo", "dp"])
@pytest.mark.parametrize("method", METHODS)
def test_bounds_contain_the_estimate_which_is_the_metric(method, metric):
    y, pred, g = sample()
    c = certify(y, pred, g, metric, method=method)
    assert c.estimate == pytest.approx(group_gap(y, pred, g, metric))
    assert 0 <= c.lower <= c.estimate <= c.upper <= 1
    assert c.method == method
    assert c.valid == METHODS[method].valid


@pytest.mark.parametrize("method", METHODS)
def test_group_names_and_their_order_do_not_matter(method):
    y, pred, g = sample(seed=3)
    one = certify(y, pred, g, method=method)
    two = certify(y, pred, np.array(["z", "a"])[g], method=method)
    assert (one.lower, one.upper) == pytest.approx((two.lower, two.upper), abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_smaller_delta_never_narrows_the_bounds(method):
    y, pred, g = gapped(900, 0.15, seed=1)
    wide, narrow = (certify(y, pred, g, method=method, delta=d) for d in (0.01, 0.2))
    assert wide.upper >= narrow.upper - 2e-3
    assert wide.lower <= narrow.lower + 2e-3


@pytest.mark.parametrize("method", METHODS)
def test_verdicts_follow_the_truth_when_labels_are_plenty(method):
    y, pred, g = sample(12000, accuracy=0.9)
    assert certify(y, pred, g, method=method, tolerance=0.1).verdict == "certified"
    assert certify(*gapped(12000, 0.4), method=method, tolerance=0.1).verdict == "refuted"
    few = certify(*sample(40), method=method, tolerance=0.1)
    assert few.verdict == "undecided"
    assert few.more_labels is None or few.more_labels > 0


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_more_groups_never_lower_the_bound_of_a_pair(seed):
    y, pred, g = sample(300, seed, groups=3)
    keep = g < 2
    assert certify(y, pred, g).upper >= certify(y[keep], pred[keep], g[keep]).upper - 1e-9


def test_eo_is_the_larger_of_its_two_parts():
    y, pred, g = sample(seed=5)
    parts = [certify(y, pred, g, m).upper for m in ("tprp", "fprp")]
    assert certify(y, pred, g, "eo").upper == pytest.approx(max(parts), abs=1e-9)


@pytest.mark.slow
def test_the_exact_method_keeps_its_promise_at_the_tolerance():
    rng = np.random.default_rng(11)
    wrong, runs = 0, 250
    for _ in range(runs):
        y, g = np.ones(120), np.repeat([0, 1], 60)
        pred = (rng.random(120) < np.where(g == 0, 0.98, 0.88)).astype(int)
        wrong += certify(y, pred, g, tolerance=0.1, delta=0.1).verdict == "certified"
    assert wrong / runs <= 0.1 + 3 * np.sqrt(0.09 / runs)


def test_demographic_parity_of_a_whole_pool_is_known_without_labels():
    _, pred, g = sample()
    c = certify(None, pred, g, "dp")
    assert c.valid == "known"
    assert c.lower == c.upper == c.estimate == pytest.approx(group_gap(pred, pred, g, "dp"))
    assert c.n_labels == 0


def test_a_randomised_classifier_is_drawn_with_the_seed_and_says_so():
    y, pred, g = sample()
    soft = np.where(pred == 1, 0.8, 0.1)
    one, same, other = (certify(y, soft, g, random_state=s) for s in (0, 0, 1))
    assert one == same
    assert one != other
    assert any("randomised" in text for text in one.assumptions)


def test_an_empty_cell_warns_and_stays_undecided():
    with pytest.warns(EmptyCellWarning, match="group b"):
        c = certify([1, 1, 0, 0], [1, 1, 0, 0], ["a", "a", "b", "b"])
    assert np.isnan(c.estimate)
    assert (c.lower, c.upper, c.verdict, c.more_labels) == (0.0, 1.0, "undecided", None)
    assert json.loads(json.dumps(c.to_dict()))["estimate"] is None
    assert "unknown" in str(c)
    assert "Undecided" in c.to_html()


def test_a_certificate_is_written_as_text_json_and_a_page():
    y, pred, g = sample(2000)
    c = certify(y, pred, np.array(["<b>", "men"])[g])
    assert json.loads(json.dumps(c.to_dict()))["verdict"] == c.verdict
    assert str(c).startswith("Certified")
    page = c.to_html()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "http" not in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1, 0]}, "lengths disagree"),
        ({"tolerance": 0.0}, "tolerance=0.0 must be"),
        ({"tolerance": 1.5}, "tolerance=1.5 must be"),
        ({"delta": 1.0}, "delta=1.0 must be"),
        ({"method": "newcomb"}, "did you mean 'newcombe'"),
        ({"metric": "tpr"}, "did you mean 'tprp'"),
        ({"groups": [0] * 8}, "at least two groups"),
        ({"y": None}, "needs labels"),
        ({"y": [2] * 8}, "y must hold 0 and 1"),
        ({"pred": [1.5] * 8}, "pred must lie"),
        ({"method": "known"}, "is for metric='dp'"),
        ({"trained_on": [3]}, "without indices"),
    ],
)
def test_bad_input_is_named(change, message):
    given_ = {"y": [1, 0] * 4, "pred": [1, 0] * 4, "groups": [0, 0, 1, 1] * 2} | change
    with pytest.raises(ValueError, match=message):
        certify(**given_)


def test_models_tried_on_the_same_labels_share_delta():
    y, pred, g = sample()
    assert certify(y, pred, g, candidates=5, delta=0.05).upper == certify(y, pred, g, delta=0.01).upper
    assert any("5 models" in text for text in certify(y, pred, g, candidates=5).assumptions)
    with pytest.raises(ValueError, match="candidates=0 must be"):
        certify(y, pred, g, candidates=0)


def test_a_tolerance_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"tolerance='0\.1' must be a number"):
        certify([1, 1], [1, 1], [0, 1], tolerance="0.1")


def test_labels_that_trained_the_model_are_refused_with_the_reason():
    y, pred, g = sample(100)
    with pytest.raises(ValueError, match=r"2 of the labelled rows trained this model .* draw fresh labels"):
        certify(y, pred, g, indices=np.arange(100), trained_on=[98, 99, 100])
    assert certify(y, pred, g, indices=np.arange(100), trained_on=[100, 101]).n_labels == 100
