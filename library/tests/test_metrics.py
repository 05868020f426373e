import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairask.metrics import METRICS, encode_groups, group_gap, group_rates


def sample(n=300, n_groups=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(2, size=n), rng.integers(2, size=n), rng.integers(n_groups, size=n), rng.random(n)


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_and_gaps_equal_fairlearn(weighted):
    metrics = pytest.importorskip("fairlearn.metrics")
    y, pred, groups, weight = sample()
    params = {"sample_weight": weight} if weighted else None
    frame = metrics.MetricFrame(
        metrics={
            "tpr": metrics.true_positive_rate,
            "fpr": metrics.false_positive_rate,
            "selection_rate": metrics.selection_rate,
        },
        y_true=y,
        y_pred=pred,
        sensitive_features=groups,
        sample_params=None if params is None else dict.fromkeys(("tpr", "fpr", "selection_rate"), params),
    )
    ours = group_rates(y, pred, groups, sample_weight=weight if weighted else None)
    for name in ("tpr", "fpr", "selection_rate"):
        np.testing.assert_allclose(getattr(ours, name), frame.by_group[name].to_numpy())
    largest = frame.difference(method="between_groups")
    kwargs = {"sample_weight": weight if weighted else None}
    assert group_gap(y, pred, groups, "tprp", **kwargs) == pytest.approx(largest["tpr"])
    assert group_gap(y, pred, groups, "fprp", **kwargs) == pytest.approx(largest["fpr"])
    assert group_gap(y, pred, groups, "dp", **kwargs) == pytest.approx(largest["selection_rate"])
    eo = metrics.equalized_odds_difference(y, pred, sensitive_features=groups, **kwargs)
    assert group_gap(y, pred, groups, "eo", **kwargs) == pytest.approx(eo)


rows = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0, 1), st.sampled_from("abc")), min_size=1, max_size=60
)


@given(rows, st.sampled_from(sorted(METRICS)))
def test_a_gap_lies_between_0_and_1_or_is_unknown(data, metric):
    y, pred, groups = zip(*data, strict=True)
    value = group_gap(y, pred, groups, metric)
    assert np.isnan(value) or 0.0 <= value <= 1.0


@given(rows, st.sampled_from(sorted(METRICS)), st.randoms(use_true_random=False))
def test_row_order_and_group_names_do_not_matter(data, metric, random):
    shuffled = list(data)
    random.shuffle(shuffled)
    y, pred, groups = zip(*data, strict=True)
    y2, pred2, groups2 = zip(*shuffled, strict=True)
    renamed = [{"a": (1, "x"), "b": 7, "c": None.__class__.__name__}[g] for g in groups2]
    np.testing.assert_allclose(
        group_gap(y, pred, groups, metric), group_gap(y2, pred2, renamed, metric), atol=1e-12, equal_nan=True
    )


@given(rows, st.sampled_from(sorted(METRICS)))
def test_integer_weights_repeat_rows(data, metric):
    y, pred, groups = (np.array(column) for column in zip(*data, strict=True))
    times = 1 + np.arange(len(y)) % 3
    weighted = group_gap(y, pred, groups, metric, sample_weight=times)
    repeated = group_gap(*(np.repeat(column, times) for column in (y, pred, groups)), metric)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12, equal_nan=True)


def test_an_empty_cell_is_unknown_not_zero():
    assert np.isnan(group_gap([1, 0], [1, 1], ["a", "b"]))
    assert np.isnan(group_rates([1, 0], [1, 1], ["a", "b"]).tpr[1])


def test_any_hashable_values_are_groups():
    names, codes = encode_groups([("f", 1), 3, "x", ("f", 1)])
    assert len(names) == 3
    assert codes[0] == codes[3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: group_gap([1], [1], ["a"], "tpr"), "metric='tpr' is unknown; did you mean 'tprp'"),
        (lambda: group_gap([1, 0], [1], ["a", "b"]), "lengths disagree: y has 2, pred has 1"),
        (lambda: group_gap([1, 2], [1, 1], ["a", "b"]), "y must hold 0 and 1, got 2"),
        (lambda: group_gap([1, 0], [1, 3], ["a", "b"]), r"pred must lie in \[0, 1\]"),
        (lambda: group_gap([], [], []), "y is empty"),
        (lambda: group_gap([1, 0], [1, 0], ["a", None]), "groups has missing values"),
        (lambda: group_gap([1, 0], [1, 0], [1.0, float("nan")]), "groups has missing values"),
        (
            lambda: group_gap([1, 0], [1, 0], ["a", "b"], sample_weight=[-1, 1]),
            "sample_weight must be finite",
        ),
        (lambda: group_gap([[1]], [1], ["a"]), "y must be one-dimensional"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_string_labels_need_a_positive_class():
    with pytest.raises(ValueError, match="pos_label="):
        group_gap(["yes", "no"], ["yes", "no"], ["a", "b"])
    assert group_gap(["y", "y", "n"], ["y", "n", "n"], ["a", "b", "a"], pos_label="y") == 1.0
