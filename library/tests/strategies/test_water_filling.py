"""Water-filling: cumulative sampling follows the current design."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairask.strategies import Fare
from fairask.strategies.fare import fill, water_level
from fairask.testing import make_problem, row_probabilities

cell = st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 50.0))


@given(st.lists(cell, min_size=1, max_size=12), st.floats(0.1, 100.0))
def test_cells_that_receive_stand_at_the_same_level_and_no_other_is_lower(cells, volume):
    target, ground = np.array(cells).T
    added = water_level(target, ground, volume)
    assert added.sum() == pytest.approx(volume)
    level = (added + ground) / target
    filled = added > 1e-9 * volume
    np.testing.assert_allclose(level[filled], level[filled].max(), rtol=1e-6)
    assert (level[~filled] >= level[filled].max() * (1 - 1e-6)).all()


def test_the_default_is_fare_as_it_was():
    problem = make_problem(Fare())
    plain, off = problem.propose(Fare(), 3), problem.propose(Fare(water_filling=False, horizon=99), 3)
    assert np.array_equal(row_probabilities(plain), row_probabilities(off))


def test_labels_so_far_and_to_come_are_nearer_to_the_design():
    problem = make_problem(Fare(), n_labels=40, n_left=200)
    plain = problem.propose(Fare(diff_share=0.8), 3)
    filled = problem.propose(Fare(diff_share=0.8, water_filling=True, horizon=40), 3)
    assert np.array_equal(plain.cells.counts, filled.cells.counts)
    rng = np.random.default_rng(3)
    flips = rng.random((10, 40)) < 0.1
    y = problem.labelled.y
    rules = [s.sample(rng) for s in problem.learner.fair_fit()(np.where(flips, 1.0 - y, y))]
    held = dict.fromkeys(zip(plain.cells.groups, map(bytes, plain.cells.patterns.T), strict=True), 0.0)
    for group, row in zip(problem.labelled.groups, problem.labelled.X, strict=True):
        bits = np.array([rule.decide(row[None], np.array([group]))[0] for rule in rules])
        key = (group, bytes(bits ^ bits[0]))
        if key in held:
            held[key] += 1.0
    already = np.array(list(held.values()))
    n = already.sum() + 40
    design = plain.cells.counts * sum(plain.shares[c] * plain.components[c] for c in plain.components)

    def distance(proposal):
        mass = proposal.cells.counts * sum(
            proposal.shares[c] * proposal.components[c] for c in proposal.components
        )
        return np.abs((already + 40 * mass) / n - design).sum()

    assert distance(filled) < distance(plain)
    assert (row_probabilities(filled) > 0).all()  # lambda_fair keeps every row possible


def test_nothing_spent_leaves_the_design_alone():
    problem = make_problem(Fare(), n_labels=40, n_left=120)
    proposal = problem.propose(Fare(), 3)
    diff, fair = proposal.components["diff"], proposal.components["fair"]
    nothing = problem.pool.everything()  # holds no cell of these patterns
    np.testing.assert_allclose(fill(proposal.cells, nothing, diff, fair, 0.5, 10), diff, atol=1e-12)
