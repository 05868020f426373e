import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairask.design import disagreement_design, group_design


def random_patterns(rng, k, cells):
    return rng.random((k, cells)) < rng.uniform(0.2, 0.8), rng.integers(1, 50, size=cells)


@pytest.mark.parametrize("seed", range(6))
def test_lambda_diff_is_the_conic_solvers_optimum(seed):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    patterns, counts = random_patterns(rng, k, int(rng.integers(2, 30)))
    design = disagreement_design(patterns, counts)
    share, scale = counts / counts.sum(), counts.sum() ** 2
    rate = cvxpy.Variable(len(counts), pos=True)  # times the number of rows, to keep the solver well scaled
    costs = []
    for i in range(k):
        for j in range(i):
            differ = np.flatnonzero(patterns[i] ^ patterns[j])
            if len(differ):
                costs.append(cvxpy.sum(cvxpy.multiply(share[differ], cvxpy.inv_pos(rate[differ]))))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.max(cvxpy.hstack(costs))), [share @ rate <= 1])
    problem.solve(solver="CLARABEL")
    assert design.gap <= 1e-4
    assert design.value / scale == pytest.approx(problem.value, rel=1e-3)
    assert design.value / scale <= problem.value * (1 + 2e-4)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 60))
def test_lambda_diff_is_a_distribution_with_a_closed_gap(seed, k, cells):
    rng = np.random.default_rng(seed)
    patterns, counts = random_patterns(rng, k, cells)
    design = disagreement_design(patterns, counts)
    agree = (patterns == patterns[0]).all(axis=0)
    if design is None:
        assert agree.all()
        return
    assert counts @ design.per_row == pytest.approx(1.0)
    assert 0.0 <= design.gap <= 1e-4
    assert (design.per_row[agree] == 0).all()
    assert (design.per_row[~agree] > 0).all()


def test_splitting_a_cell_changes_nothing():
    patterns, counts = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]], bool), np.array([5, 8, 3, 9])
    whole = disagreement_design(patterns, counts)
    split = disagreement_design(np.hstack([patterns, patterns]), np.r_[counts - 1, 1, 1, 1, 1])
    np.testing.assert_allclose(split.per_row[:4], whole.per_row, rtol=1e-3)


def test_lambda_fair_gives_every_group_the_same_chance():
    group, counts = np.array([0, 1, 1, 2]), np.array([90, 4, 6, 0])
    rate = group_design(group, counts)
    assert rate[:1] @ counts[:1] == pytest.approx(0.5)
    assert rate[1:3] @ counts[1:3] == pytest.approx(0.5)
    assert rate[1] == rate[2]


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match=r"patterns has shape \(2, 3\), counts \(2,\)"):
        disagreement_design(np.zeros((2, 3), bool), np.ones(2))
    with pytest.raises(ValueError, match="the pool is empty"):
        group_design([0, 1], [0, 0])
