from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from fairask.report.figures import (
    COMPONENT_COLORS,
    GROUP_COLORS,
    METHOD_COLORS,
    Curve,
    Sampling,
    draw_label_spend,
    draw_learning_curves,
    draw_sampling,
    method_color,
    spread,
)

LABELS = [100, 200, 300]


def curves(**options: Any) -> Figure:
    rng = np.random.default_rng(0)
    results = {m: (LABELS, rng.random((5, 3)), rng.random((5, 3)) / 2) for m in ("fare", "passive", "mine")}
    return draw_learning_curves(results, tolerance=0.1, **options)


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
    curve = Curve.from_trials(LABELS, [[0.5, 0.6, 0.7], [0.7, 0.6, 0.9]])
    assert np.allclose(curve.mean, [0.6, 0.6, 0.8])
    assert np.allclose(curve.error, [0.1, 0.0, 0.1])


def test_curves_are_drawn_in_their_colours_with_labels_at_their_ends() -> None:
    top, bottom = curves(names={"fare": "FARE"}).axes
    assert [line.get_color() for line in top.lines] == [
        METHOD_COLORS["fare"],
        METHOD_COLORS["passive"],
        method_color("mine", 2),
    ]
    assert [text.get_text() for text in top.texts] == ["FARE", "passive", "mine"]
    assert top.get_xlim() == bottom.get_xlim()
    assert list(np.asarray(bottom.lines[-1].get_ydata())) == [0.1, 0.1]


def test_curves_can_be_drawn_on_given_axes() -> None:
    figure = Figure()
    assert curves(ax=figure.subplots(2, 1)) is figure


def test_a_single_trial_has_no_error_band_but_a_curve() -> None:
    assert np.isnan(Curve.from_trials(LABELS, [[0.5, 0.6, 0.7]]).error).all()
    one = {"fare": (LABELS, [[0.5, 0.6, 0.7]], [[0.0, 0.0, 0.0]])}
    draw_learning_curves(one, tolerance=0.0).canvas.draw()


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected \(trials, rounds\)"):
        draw_learning_curves({"fare": (LABELS, [[1.0]], [[1.0]])}, tolerance=0.1)
    with pytest.raises(ValueError, match="results is empty"):
        draw_learning_curves({}, tolerance=0.1)
    with pytest.raises(ValueError, match="all zero"):
        draw_label_spend({"fare": {"a": {}}}, {"a": 1.0})


def test_spent_labels_add_up_and_are_compared_with_the_pool() -> None:
    counts = {"fare": {"a": {"uniform": 10, "diff": 20}, "b": {"fair": 70}}}
    axis: Any = draw_label_spend(counts, {"a": 0.8, "b": 0.2}).axes[0]
    assert [patch.get_width() for patch in axis.patches] == pytest.approx([0.1, 0.2, 0.7])
    assert [np.asarray(line.get_xdata())[0] for line in axis.lines] == [0.8, 0.2]


def test_sampling_ratios_are_multiples_of_uniform() -> None:
    X = np.random.default_rng(0).normal(size=(4000, 3))
    sampling = Sampling.of(X, {"fair": np.full(4000, 1 / 4000)}, {"fair": [0, 1]}, 50)
    assert len(sampling.points) <= 2500
    assert np.allclose(sampling.ratios["fair"], 1.0)
    assert sampling.drawn["fair"].shape == (2, 2)
    draw_sampling(sampling).canvas.draw()


def test_sampling_works_with_one_feature_and_fewer_rows_than_features() -> None:
    for shape in ((30, 1), (3, 30)):
        X = np.random.default_rng(0).normal(size=shape)
        assert Sampling.of(X, {"diff": np.full(len(X), 1 / len(X))}, {}, 0).points.shape == (shape[0], 2)


def test_names_are_plain_text_whatever_they_hold() -> None:
    group = "$\\frac{$ <b> 組"
    (axis,) = draw_label_spend({"fare": {group: {"diff": 1}}}, {group: 1.0}).axes
    assert axis.get_yticklabels()[0].get_text() == group
    assert not axis.get_yticklabels()[0].get_parse_math()


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8), st.floats(0.01, 2))
def test_labels_are_spread_apart_in_order_around_the_same_mean(positions: list[float], gap: float) -> None:
    placed = spread(positions, gap)
    order = np.argsort(positions, kind="stable")
    assert (np.diff(np.array(placed)[order]) >= gap - 1e-9).all()
    assert np.mean(placed) == pytest.approx(np.mean(positions), abs=1e-9)
