"""Falcon's acquisition."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from fairask.strategies import Falcon, baseline
from fairask.strategies.baseline import scores
from fairask.testing import make_problem


def test_rows_come_from_the_group_that_is_behind():
    falcon = Falcon(pretrain=30)
    problem = make_problem(falcon)
    behind = falcon._bandit(problem.labelled, 2).behind
    ranking = problem.propose(falcon).ranking
    first = problem.pool.groups[ranking]
    assert behind.sum() == 1
    n = (problem.pool.groups[problem.pool.rows] == np.flatnonzero(behind)[0]).sum()
    assert behind[first[:n]].all()
    assert not behind[first[n:]].any()


def test_a_policy_asks_for_rows_near_its_probability():
    problem = make_problem(Falcon())
    bandit = Falcon()._bandit(problem.labelled, 2)
    for seed in range(5):
        proposal = problem.propose(Falcon(), seed)
        p = expit(problem.pool.X[proposal.ranking] @ bandit.beta[:-1] + bandit.beta[-1])
        behind = bandit.behind[problem.pool.groups[proposal.ranking]]
        away = np.abs(p - (1.0 - proposal.info["policy"]))[behind]
        assert (np.diff(away) >= 0).all()


def test_labels_off_target_are_not_trained_on():
    problem = make_problem(Falcon())
    trained = Falcon()._bandit(problem.labelled, 2).trained
    assert trained[:25].all()
    late = ~trained[25:]
    assert late[problem.labelled.y[25:] == 0].all()
    assert not late.all()


def test_a_rewarded_policy_becomes_likelier():
    falcon = Falcon(gamma=0.5)
    problem = make_problem(falcon)
    weights = falcon._bandit(problem.labelled, 2).log_weights
    assert weights.max() > 0
    chances = falcon._chances(weights)
    assert chances.sum() == pytest.approx(1.0)
    assert chances.argmax() == weights.argmax()
    assert chances.min() >= 0.1 - 1e-12


def test_the_memo_changes_no_proposal():
    problem = make_problem(Falcon())
    part = replace(
        problem.labelled,
        **{name: getattr(problem.labelled, name)[:30] for name in ("X", "y", "groups", "indices")},
    )
    Falcon()._bandit(part, 2)
    warm = Falcon()._bandit(problem.labelled, 2)
    baseline._MEMO.clear()
    cold = Falcon()._bandit(problem.labelled, 2)
    assert np.array_equal(warm.log_weights, cold.log_weights)
    assert np.array_equal(warm.beta, cold.beta)
    assert np.array_equal(scores(problem.pool, warm.beta), scores(problem.pool, cold.beta))


def test_a_corrected_label_is_replayed():
    problem = make_problem(Falcon())
    before = Falcon()._bandit(problem.labelled, 2)
    y = problem.labelled.y.copy()
    at = np.flatnonzero(before.trained[25:])[0] + 25
    y[at] = 0.0
    after = Falcon()._bandit(replace(problem.labelled, y=y), 2)
    assert before.trained[at]
    assert not after.trained[at]
