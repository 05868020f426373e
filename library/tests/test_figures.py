from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from fairask import FairActiveLearner
from fairask.report.figures import (
    COMPONENT_COLORS,
    GROUP_COLORS,
    METHOD_COLORS,
    DrawnRowsDisplay,
    EstimateCurvesDisplay,
    GroupRatesDisplay,
    LabelSpendDisplay,
    LearningCurveDisplay,
    SamplingDisplay,
    method_color,
    spread,
)

LABELS = [100, 200, 300]


def curves(**options: object) -> LearningCurveDisplay:
    rng = np.random.default_rng(0)
    results = {m: (LABELS, rng.random((5, 3)), rng.random((5, 3)) / 2) for m in ("fare", "passive", "mine")}
    return LearningCurveDisplay.from_results(results, tolerance=0.1, **options)  # type: ignore[arg-type]


def test_colours_of_methods_groups_and_components_never_meet() -> None:
    sets = [
        {c.upper() for c in colors}
        for colors in (METHOD_COLORS.values(), GROUP_COLORS, COMPONENT_COLORS.values())
    ]
    assert len(set(METHOD_COLORS.values())) == len(METHOD_COLORS)
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]
    assert not sets[1] & sets[2]


def test_a_curve_is_the_mean_with_its_standard_error() -> None:
    values = np.array([[0.5, 0.6, 0.7], [0.7, 0.6, 0.9]])
    display = LearningCurveDisplay.from_results({"fare": (LABELS, values, values)}, tolerance=0.1)
    assert np.allclose(display.accuracy["fare"].mean, [0.6, 0.6, 0.8])
    assert np.allclose(display.accuracy["fare"].error, [0.1, 0.0, 0.1])


def test_curves_are_drawn_in_their_colours_with_labels_at_their_ends() -> None:
    display = curves(names={"fare": "FARE"}).plot()
    top, bottom = display.axes_
    assert [line.get_color() for line in top.lines] == [
        METHOD_COLORS["fare"],
        METHOD_COLORS["passive"],
        method_color("mine", 2),
    ]
    assert [text.get_text() for text in top.texts] == ["FARE", "passive", "mine"]
    assert top.get_xlim() == bottom.get_xlim()
    dashed = bottom.lines[-1]
    assert list(dashed.get_ydata()) == [0.1, 0.1]


def test_curves_can_be_drawn_on_given_axes() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(2, 1)
    assert curves().plot(ax=axes).figure_ is figure


def test_a_single_trial_has_no_error_band_but_a_curve() -> None:
    display = LearningCurveDisplay.from_results(
        {"fare": (LABELS, [[0.5, 0.6, 0.7]], [[0.0, 0.0, 0.0]])}, tolerance=0.0
    )
    assert np.isnan(display.accuracy["fare"].error).all()
    display.plot().figure_.canvas.draw()


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected \(trials, rounds\)"):
        LearningCurveDisplay.from_results({"fare": (LABELS, [[1.0]], [[1.0]])}, tolerance=0.1)
    with pytest.raises(ValueError, match="results is empty"):
        LearningCurveDisplay.from_results({}, tolerance=0.1)
    with pytest.raises(ValueError, match="have 1 groups, expected 2"):
        GroupRatesDisplay.from_trials({"fare": [[0.5]]}, ["a", "b"])
    with pytest.raises(ValueError, match="all zero"):
        LabelSpendDisplay.from_counts({"fare": {"a": {}}}, {"a": 1.0})


def test_spent_labels_add_up_and_are_compared_with_the_pool() -> None:
    counts = {"fare": {"a": {"uniform": 10, "diff": 20}, "b": {"fair": 70}}}
    display = LabelSpendDisplay.from_counts(counts, {"a": 0.8, "b": 0.2}).plot()
    assert sum(sum(by.values()) for by in display.shares["fare"].values()) == pytest.approx(1.0)
    assert [patch.get_width() for patch in display.ax_.patches] == pytest.approx([0.1, 0.2, 0.7])
    assert [line.get_xdata()[0] for line in display.ax_.lines] == [0.8, 0.2]


def test_rates_have_the_t_interval_of_their_mean() -> None:
    display = GroupRatesDisplay.from_trials({"fare": [[0.4, 0.5], [0.6, 0.5]]}, ["a", "b"])
    half = 12.7062 * 0.1
    assert np.allclose(display.intervals["fare"], [[0.5 - half, 0.5 + half], [0.5, 0.5]], atol=1e-4)


def test_sampling_ratios_are_multiples_of_uniform() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    display = SamplingDisplay.from_probabilities(X, {"fair": np.full(4000, 1 / 4000)}, {"fair": [0, 1]})
    assert len(display.points) <= 2500
    assert np.allclose(display.ratios["fair"], 1.0)
    assert display.drawn["fair"].shape == (2, 2)
    display.plot().figure_.canvas.draw()


def test_sampling_works_with_one_feature_and_fewer_rows_than_features() -> None:
    for shape in ((30, 1), (3, 30)):
        X = np.random.default_rng(0).normal(size=shape)
        uniform = np.full(shape[0], 1 / shape[0])
        assert SamplingDisplay.from_probabilities(X, {"diff": uniform}).plot().points.shape == (shape[0], 2)


def test_names_are_plain_text_whatever_they_hold() -> None:
    group = "$\\frac{$ <b> 組"
    display = LabelSpendDisplay.from_counts({"fare": {group: {"diff": 1}}}, {group: 1.0}).plot()
    assert display.ax_.get_yticklabels()[0].get_text() == group
    assert not display.ax_.get_yticklabels()[0].get_parse_math()


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8), st.floats(0.01, 2))
def test_labels_are_spread_apart_in_order_around_the_same_mean(positions: list[float], gap: float) -> None:
    placed = spread(positions, gap)
    order = np.argsort(positions, kind="stable")
    assert (np.diff(np.array(placed)[order]) >= gap - 1e-9).all()
    assert np.mean(placed) == pytest.approx(np.mean(positions), abs=1e-9)


def test_displays_of_a_learner() -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(120, 3)), np.array(["a", "b", "b"] * 40)
    learner = FairActiveLearner(X, groups, metric="eo", estimator="linear", batch_size=30, random_state=0)
    for display in (EstimateCurvesDisplay, LabelSpendDisplay, GroupRatesDisplay):
        with pytest.raises((ValueError, NotFittedError)):
            display.from_learner(learner)
    for _ in range(2):
        rows = learner.ask().indices
        learner.tell(rows, (X[rows, 0] > 0).astype(int))
    curves = EstimateCurvesDisplay.from_learner(learner).plot()
    assert curves.labels.tolist() == [30, 60]
    assert curves.axes_[0].get_title(loc="left") == "Accuracy, estimated"
    spent = LabelSpendDisplay.from_learner(learner)
    assert spent.pool == {"a": pytest.approx(1 / 3), "b": pytest.approx(2 / 3)}
    assert sum(share for by in spent.shares["fare"].values() for share in by.values()) == pytest.approx(1)
    spent.plot()
    rates = GroupRatesDisplay.from_learner(learner, "y=0").plot()
    assert rates.means["fare"].tolist() == [learner.current_model().rates_["y=0", group] for group in "ab"]
    with pytest.raises(ValueError, match="condition='tpr' is unknown"):
        GroupRatesDisplay.from_learner(learner, "tpr")
    rows = learner.labelled_indices_
    drawn = DrawnRowsDisplay.from_rows(X, {"first": X[rows[:30]], "second": X[rows[30:]]}).plot()
    assert [len(points) for points in drawn.drawn.values()] == [30, 30]
