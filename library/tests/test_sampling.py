from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairask.design import group_design
from fairask.pools import Pool
from fairask.sampling import Proposal, draw, importance_weights

GROUPS = np.array([0, 0, 0, 0, 1, 1])


def mixed_proposal(share=0.6):
    cells = Pool(np.zeros((6, 1)), GROUPS, 2).by_group()
    fair = group_design(cells.groups, cells.counts)
    return Proposal(cells, {"odd": np.array([0.25, 0.0]), "fair": fair}, {"odd": share, "fair": 1 - share})


def exact_propensities(proposal, n):
    """Propensities of every ordered draw, by the definition: mixture of components renormalised each time."""
    per_row = {name: density[GROUPS] for name, density in proposal.components.items()}
    out = {}
    for order in permutations(range(6), n):
        steps, left = [], np.ones(6, bool)
        for row in order:
            alive = {name: s for name, s in proposal.shares.items() if per_row[name][left].sum() > 0}
            total = sum(alive.values())
            steps.append(
                sum(s / total * per_row[name][row] / per_row[name][left].sum() for name, s in alive.items())
            )
            left[row] = False
        out[order] = np.array(steps)
    return out


@pytest.mark.slow
def test_draws_follow_the_proposal_and_report_their_exact_propensity():
    proposal = mixed_proposal()
    exact = exact_propensities(proposal, 2)
    assert sum(p.prod() for p in exact.values()) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    trials, seen = 3_000, dict.fromkeys(exact, 0)
    for _ in range(trials):
        drawn = draw(proposal, 2, rng)
        order = tuple(drawn.indices.tolist())
        seen[order] += 1
        np.testing.assert_allclose(drawn.propensities, exact[order], rtol=1e-9)
    for order, steps in exact.items():
        p = steps.prod()
        assert abs(seen[order] / trials - p) < 5 * np.sqrt(p * (1 - p) / trials) + 1e-9


@pytest.mark.parametrize("kind", ["ips", "lure"])
def test_weights_make_the_mean_unbiased(kind):
    """The mean over all ordered draws, each with its probability, is the mean of the pool."""
    values = np.array([3.0, -1.0, 0.5, 7.0, 2.0, -4.0])
    mean, total, sizes = 0.0, 0.0, np.array([6, 5, 4])
    for order, propensities in exact_propensities(mixed_proposal(0.3), 3).items():
        if propensities.prod() == 0.0:
            continue
        rows = np.array(order)
        weights = importance_weights(kind, propensities, sizes, 6)
        if kind == "lure":
            estimate = np.mean(weights * values[rows])
        else:  # each draw estimates the mean of the rows left at its time
            seen = [values[rows[:m]].sum() for m in range(3)]
            estimate = np.mean((np.array(seen) + sizes * weights * values[rows]) / 6)
        mean += propensities.prod() * estimate
        total += propensities.prod()
    assert total == pytest.approx(1.0)
    assert mean == pytest.approx(values.mean())


def test_lure_weights_are_one_when_the_pool_is_used_up():
    drawn = draw(mixed_proposal(), 6, np.random.default_rng(0))
    np.testing.assert_allclose(importance_weights("lure", drawn.propensities, drawn.pool_sizes, 6), 1.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 4), st.floats(0, 1))
def test_rows_are_drawn_once_and_propensities_are_probabilities(seed, n_rows, n_groups, share):
    rng = np.random.default_rng(seed)
    available = rng.random(n_rows) < 0.8
    available[0] = True
    groups = rng.integers(n_groups, size=n_rows)
    cells = Pool(np.zeros((n_rows, 1)), groups, n_groups, available).by_group()
    density = rng.random(len(cells.counts)) * (rng.random(len(cells.counts)) < 0.7)
    proposal = Proposal(
        cells, {"a": density, "b": group_design(cells.groups, cells.counts)}, {"a": share, "b": 1 - share}
    )
    drawn = draw(proposal, int(available.sum()), rng)
    assert sorted(drawn.indices) == np.flatnonzero(available).tolist()
    assert ((drawn.propensities > 0) & (drawn.propensities <= 1 + 1e-12)).all()
    assert drawn.pool_sizes.tolist() == list(range(int(available.sum()), 0, -1))


def test_used_up_components_leave_the_rest_to_uniform_draws():
    cells = Pool(np.zeros((6, 1)), GROUPS, 2).by_group()
    proposal = Proposal(cells, {"diff": np.array([0.0, 0.5])}, {"diff": 1.0})
    drawn = draw(proposal, 4, np.random.default_rng(0))
    assert drawn.components == ["diff", "diff", "uniform", "uniform"]
    assert set(drawn.indices[:2]) == {4, 5}
    assert drawn.propensities[2:].tolist() == [1 / 4, 1 / 3]


def test_a_ranking_is_taken_in_order_without_propensity():
    cells = Pool(np.zeros((6, 1)), GROUPS, 2).everything()
    drawn = draw(Proposal(cells, ranking=np.array([4, 2, 0, 1, 3, 5])), 3, np.random.default_rng(0))
    assert drawn.indices.tolist() == [4, 2, 0]
    assert np.isnan(drawn.propensities).all()
    for kind in ("ips", "lure", "none"):
        np.testing.assert_allclose(importance_weights(kind, drawn.propensities, drawn.pool_sizes, 6), 1.0)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="n=7 rows were asked for, but the pool has 6 left"):
        draw(mixed_proposal(), 7, np.random.default_rng(0))
    with pytest.raises(ValueError, match="weights='isp' is unknown; did you mean 'ips'"):
        importance_weights("isp", [0.5], [2], 2)
    with pytest.raises(ValueError, match="must match"):
        Proposal(mixed_proposal().cells, {"a": np.ones(2)}, {"b": 1.0})
