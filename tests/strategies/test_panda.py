"""PANDA: optional, reproducible, honest about convergence."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fairask.strategies import Panda, PandaNotConverged
from fairask.testing._problem import make_problem

SMALL = Panda(iterations=6, width=8, heads=2, feedforward=8)


def test_torch_is_not_imported_until_a_policy_is_trained():
    code = "import sys, fairask.strategies as s; s.make_strategy('panda'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_torch_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    strategy = replace(SMALL, seed=123)  # no policy of this kind is kept
    with pytest.raises(ImportError, match=r"fairask\[panda\]"):
        make_problem(strategy).propose(strategy)


def test_width_must_be_a_multiple_of_heads():
    with pytest.raises(ValueError, match="width=10 must be a multiple of heads=4"):
        Panda(width=10)


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    def test_picks_exactly_b_rows_and_lets_gradients_through(self, torch):
        from fairask.strategies.panda._train import _Episodes

        problem = make_problem(SMALL)
        rows = problem.labelled
        episodes = _Episodes(torch, SMALL, rows.X, rows.y, rows.groups, 2)
        pool, validation, noise = episodes.draw(torch.Generator().manual_seed(0))
        scores = torch.zeros(len(pool), requires_grad=True)
        weight = episodes.pick(scores, noise, 1.0)
        assert sorted(weight.detach().round(decimals=5).unique().tolist()) == [0.0, 1.0]
        assert weight.sum().item() == pytest.approx(episodes.n_picks)
        assert set(pool.tolist()).isdisjoint(validation.tolist())
        loss, disparity = episodes.outcome(pool, validation, weight)
        loss.backward()
        assert scores.grad.abs().sum() > 0
        assert scores.grad.sum().item() == pytest.approx(0.0, abs=1e-6)  # raising all scores changes nothing
        assert 0 <= disparity.item() <= 1

    def test_the_inner_learner_is_gradient_descent_on_the_picked_rows(self, torch):
        from fairask.strategies.panda._train import _Episodes

        problem = make_problem(SMALL)
        X, y = problem.labelled.X, problem.labelled.y
        episodes = _Episodes(torch, replace(SMALL, inner_steps=3), X, y, problem.labelled.groups, 2)
        pool, validation, noise = episodes.draw(torch.Generator().manual_seed(1))
        weight = episodes.pick(torch.zeros(len(pool)), noise, 1.0)
        picked = pool.numpy()[weight.numpy() > 0.5]
        X1, beta = np.column_stack([X, np.ones(len(X))]), np.zeros(4)
        for _ in range(3):
            beta -= 0.5 * (1 / (1 + np.exp(-X1[picked] @ beta)) - y[picked]) @ X1[picked] / len(picked)
        margin = (2 * y - 1)[validation] * (X1 @ beta)[validation]
        loss, _ = episodes.outcome(pool, validation, weight)
        assert loss.item() == pytest.approx(np.log1p(np.exp(-margin)).mean(), abs=1e-5)

    def test_the_proximal_step_lowers_a_disparity_that_can_be_lowered(self, torch):
        from fairask.strategies.panda._train import _proximal

        theta = torch.nn.Parameter(torch.tensor([0.045]))
        assert _proximal(torch, SMALL, [theta], lambda: theta.abs().sum())
        assert 0.03 < theta.item() <= 0.04
        stuck = torch.nn.Parameter(torch.tensor([1.0]))
        assert not _proximal(torch, SMALL, [stuck], lambda: stuck.abs().sum())

    def test_training_lowers_the_validation_loss_where_labels_tell(self, torch):
        from fairask.strategies.panda._train import train

        # Half of the rows carry no information; a policy can learn to leave them out.
        rng = np.random.default_rng(0)
        useful = np.arange(80) % 2 == 0
        y = rng.integers(2, size=80).astype(float)
        X = np.column_stack([np.where(useful, 2 * y - 1, 0.0), np.where(useful, 1.0, -1.0)])
        policy = train(Panda(iterations=60, learning_rate=0.01, rho=1.0), X, y, np.arange(80) % 4 // 2, 2)
        scores = policy.score(X)
        assert policy.failure is None
        assert policy.loss < policy.uniform_loss
        assert scores[useful].mean() > scores[~useful].mean()

    def test_the_policy_does_not_depend_on_what_was_trained_before(self):
        from fairask.strategies.panda import _strategy

        problem = make_problem(SMALL)
        first = problem.propose(SMALL)
        _strategy._POLICIES.clear()
        make_problem(SMALL, n_groups=3).propose(SMALL)
        again = problem.propose(SMALL)
        assert np.array_equal(first.components["policy"], again.components["policy"])

    def test_no_convergence_is_said_and_nothing_chosen(self):
        diverges = replace(SMALL, learning_rate=1e30, iterations=3)
        with pytest.raises(PandaNotConverged, match="did not converge on 25 labels: its parameters"):
            make_problem(diverges).propose(diverges)

    def test_a_policy_worse_than_uniform_has_not_converged(self):
        from fairask.strategies.panda._train import _failure

        rng = np.random.default_rng(0)
        same = np.repeat(rng.random((40, 1, 2)), 2, axis=1) * 0.01
        assert _failure(same, 0.04) is None
        noise = 0.001 * rng.random((40, 2))
        worse = same.copy()
        worse[:, 0, 0] += 0.1 + noise[:, 0]
        assert "validation loss" in _failure(worse, 0.04)
        unfair = same.copy()
        unfair[:, 0, 1] += 0.1 + noise[:, 1]
        assert "disparity" in _failure(unfair, 0.04)
        assert _failure(unfair, 0.5) is None
