"""Calibration curves with their uncertainty, and thresholds that are safe under them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from fairask.metrics import Metric
from fairask.oracle.promise import (
    CalibrationCurves,
    RateTable,
    choose_rule,
    choose_thresholds,
    draw_rates,
    fit_curves,
    labels_needed,
    largest_gap,
    tabulate,
)


def labelled(n: int, slopes: tuple[float, ...], seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    score, groups = rng.normal(scale=1.5, size=n), rng.integers(len(slopes), size=n)
    y = (rng.random(n) < expit(np.array(slopes)[groups] * score)).astype(float)
    return score, y, groups


def curves(n: int, slopes: tuple[float, ...], seed: int = 0) -> CalibrationCurves:
    score, y, groups = labelled(n, slopes, seed)
    return fit_curves(
        score, y, groups, np.ones(n), len(slopes), score, n_draws=200, rng=np.random.default_rng(seed)
    )


def tables(n: int, slopes: tuple[float, ...], metric: Metric = "tprp", seed: int = 0) -> list[RateTable]:
    pool, _, groups = labelled(3000, slopes, seed + 1)
    rng = np.random.default_rng(seed)
    return tabulate(curves(n, slopes, seed), pool, groups, len(slopes), metric, rng)


def test_groups_that_are_alike_share_their_slope_and_others_do_not() -> None:
    assert curves(400, (1.0, 1.0)).slope_width < 0.7
    assert curves(400, (3.0, 0.2)).slope_width > 0.9


def test_few_labels_do_not_speak_for_large_differences() -> None:
    # With a flat prior over the widths, 60 labels of groups that are alike left a mean width of 0.5.
    assert np.mean([curves(60, (1.0, 1.0), seed).slope_width for seed in range(5)]) < 0.42


def test_curves_narrow_with_labels() -> None:
    at = np.array([0.5])
    assert curves(1600, (1.0, 1.0)).draws(at, 0).std() < 0.6 * curves(100, (1.0, 1.0)).draws(at, 0).std()


def test_uneven_weights_widen_the_curves() -> None:
    score, y, groups = labelled(300, (1.0, 1.0), 0)
    weights = np.random.default_rng(0).exponential(size=300) ** 2
    at, rng = np.array([0.5]), np.random.default_rng(0)
    even, uneven = (
        fit_curves(score, y, groups, w, 2, score, n_draws=400, rng=rng).draws(at, 0).std()
        for w in (np.ones(300), weights)
    )
    assert uneven > 1.3 * even


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo", "dp"])
@pytest.mark.parametrize("slopes", [(1.0, 1.0), (2.0, 0.5), (1.0, 1.5, 0.7)])
def test_the_promise_holds_under_the_curves_that_were_drawn(
    metric: Metric, slopes: tuple[float, ...]
) -> None:
    chosen = choose_thresholds(tables(3000, slopes, metric), 0.1, 0.95)
    assert chosen.feasible
    assert np.mean(largest_gap(chosen.rates) > 0.1 + 1e-9) <= 0.05
    assert chosen.error_unsafe - 1e-9 <= chosen.error <= chosen.error_constant


def test_a_higher_level_costs_accuracy_and_more_labels_win_it_back() -> None:
    few = tables(300, (1.0, 0.8))
    safer, little = choose_thresholds(few, 0.1, 0.97), choose_thresholds(few, 0.1, 0.8)
    assert safer.feasible
    assert safer.error >= little.error
    many = choose_thresholds(tables(3000, (1.0, 0.8)), 0.1, 0.97)
    little = safer
    assert many.error - many.error_unsafe < little.error - little.error_unsafe


def test_where_no_thresholds_are_safe_the_constant_answer_takes_its_share_or_the_rule_is_infeasible() -> None:
    chosen = choose_thresholds(tables(60, (3.0, 0.1)), 0.02, 0.99)
    assert chosen.share < 1.0 or not chosen.feasible
    if chosen.feasible:
        assert chosen.upper <= 0.02 + 1e-9
    else:
        assert chosen.upper > 0.02


def test_a_price_above_the_largest_is_called_infeasible_and_can_be_paid() -> None:
    chosen = choose_thresholds(tables(100, (2.0, 0.5)), 0.1, 0.99)
    worth = chosen.error_constant - chosen.error_unsafe
    assert not chosen.feasible
    assert chosen.upper > 0.1
    assert chosen.error_constant - chosen.error >= 0.7 * worth - 1e-9
    assert chosen.cost_of_safe > 0.3 * worth
    paid = choose_thresholds(tables(100, (2.0, 0.5)), 0.1, 0.99, randomized=False, max_price=0.99)
    assert paid.feasible
    assert paid.upper <= 0.1
    assert paid.error - paid.error_unsafe == pytest.approx(chosen.cost_of_safe, abs=0.01)


def test_without_randomisation_there_is_no_mixture() -> None:
    chosen = choose_thresholds(tables(60, (3.0, 0.1)), 0.05, 0.95, randomized=False)
    assert chosen.share in (0.0, 1.0)


def test_the_interval_covers_the_gap_of_the_mean_rates_and_ends_where_the_verdict_does() -> None:
    for n, slopes in ((300, (1.0, 1.5, 0.7)), (60, (3.0, 0.1)), (3000, (1.0, 1.0))):
        chosen = choose_thresholds(tables(n, slopes), 0.1, 0.95)
        centre = largest_gap(chosen.rates.mean(axis=-1, keepdims=True))[0]
        assert 0.0 <= chosen.lower(0.95) <= centre <= chosen.upper
        assert chosen.feasible == (chosen.upper <= 0.1 + 1e-9)


@given(
    reach=st.lists(st.floats(0.02, 0.6), min_size=1, max_size=12),
    tolerance=st.floats(0.01, 0.2),
    batch=st.integers(10, 100),
)
def test_labels_needed_are_more_than_those_at_hand_or_not_named(
    reach: list[float], tolerance: float, batch: int
) -> None:
    rounds = [(float(batch * (i + 1)), value) for i, value in enumerate(reach)]
    needed = labels_needed(rounds, tolerance)
    if needed is not None:
        assert batch * len(reach) < needed[0] < needed[1] <= 4 * needed[0]


def test_a_law_that_holds_is_forecast_from_half_way_on_and_never_wrongly() -> None:
    rounds = [(float(n), 0.1 * (400.0 / n) ** 0.45) for n in range(50, 400, 25)]
    found = [labels_needed(rounds[: i + 1], 0.1) for i in range(len(rounds))]
    assert all(needed is not None for needed in found[len(found) // 2 :])
    assert all(0.5 < 400 / (low * high) ** 0.5 < 2 for low, high in filter(None, found))


def test_forecasts_of_rounds_with_noise_do_not_run_ahead_of_the_labels() -> None:
    """Each of 60 to 90, 90 to 120 and 120 to 150 labels was said, one round after the other."""
    rng = np.random.default_rng(0)
    for goal in (300, 500, 900):
        labels = np.arange(25.0, goal - 10, 25.0)
        reach = 0.1 * (goal / labels) ** 0.42 * np.exp(0.1 * rng.normal(size=len(labels)))
        rounds = list(zip(labels.tolist(), reach.tolist(), strict=True))
        found = [labels_needed(rounds[: i + 1], 0.1) for i in range(len(rounds))]
        given = [needed for needed in found if needed is not None]
        assert len(given) > len(found) / 3
        assert np.mean([low <= goal <= high for low, high in given]) >= 0.9
        assert all(a[0] <= b[1] and b[0] <= a[1] for a, b in itertools.pairwise(given))


def test_no_threshold_lies_among_equal_scores() -> None:
    _, _, groups = labelled(3000, (1.0, 1.0), 1)
    pool = np.random.default_rng(0).choice([-1.0, 0.3, 2.0], size=3000)
    rng = np.random.default_rng(0)
    for table in tabulate(curves(300, (1.0, 1.0)), pool, groups, 2, "dp", rng):
        assert len(table.cuts) == 4
        assert not np.isin(table.cuts, pool).any()


def test_any_rules_can_be_chosen_among_by_their_decisions() -> None:
    pool, y, groups = labelled(3000, (2.0, 1.5), 1)
    cuts = np.linspace(-2.0, 2.0, 9)
    decisions = (pool[None, :] > cuts[:, None]).astype(float)
    rng = np.random.default_rng(0)
    rates = draw_rates(curves(300, (2.0, 1.5)), pool, groups, decisions, "tprp", rng)
    assert rates.shape == (9, 1, 2, 200)
    errors = np.array([np.mean(d != y) for d in decisions])
    chosen = choose_rule(rates, errors, float(y.mean()), float(1.0 - y.mean()), 0.1, 0.95)
    assert np.mean(largest_gap(chosen.rates) > 0.1 + 1e-9) <= 0.05
