"""PANDA: optional, reproducible, honest about convergence."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fairask.errors import NotConvergedWarning
from fairask.strategies import Panda, panda
from fairask.strategies.panda import PandaNotConverged, failure_of, pooled_gap
from fairask.testing import make_problem

SMALL = Panda(iterations=6, width=8, heads=2, feedforward=8)


def _half_useful():
    """Rows half of which carry no information; a policy can learn to leave them out."""
    rng = np.random.default_rng(0)
    useful = np.arange(80) % 2 == 0
    y = rng.integers(2, size=80).astype(float)
    X = np.column_stack([np.where(useful, 2 * y - 1, 0.0), np.where(useful, 1.0, -1.0)])
    return X, y, np.arange(80) % 4 // 2


@pytest.mark.slow
def test_torch_is_not_imported_until_a_policy_is_trained():
    code = "import sys, fairask.strategies as s; s.make_strategy('panda'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_torch_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"fairask\[panda\]"):
        replace(SMALL, seed=123)


def test_width_must_be_a_multiple_of_heads():
    with pytest.raises(ValueError, match="width=10 must be a multiple of heads=4"):
        Panda(width=10)


@pytest.mark.slow
class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    def test_picks_exactly_b_rows_and_lets_gradients_through(self, torch):
        from fairask.strategies.panda import _Episodes

        problem = make_problem(SMALL)
        rows = problem.labelled
        episodes = _Episodes(torch, SMALL, rows.X, rows.y, rows.groups, 2)
        pool, validation, noise = episodes.draw(torch.Generator().manual_seed(0))
        scores = torch.zeros(len(pool), requires_grad=True)
        weight = episodes.pick(scores, noise, 1.0)
        assert sorted(weight.detach().round(decimals=5).unique().tolist()) == [0.0, 1.0]
        assert weight.sum().item() == pytest.approx(episodes.n_picks)
        assert set(pool.tolist()).isdisjoint(validation.tolist())
        loss, rates = episodes.outcome(pool, validation, weight)
        loss.backward()
        assert scores.grad.abs().sum() > 0
        assert scores.grad.sum().item() == pytest.approx(0.0, abs=1e-6)  # raising all scores changes nothing
        assert 0 <= episodes.gap(rates).item() <= 1

    def test_the_inner_learner_is_gradient_descent_on_the_picked_rows(self, torch):
        from fairask.strategies.panda import _Episodes

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
        from fairask.strategies.panda import _proximal

        theta = torch.nn.Parameter(torch.tensor([0.045]))
        assert _proximal(torch, SMALL, [theta], lambda: theta.abs().sum())
        assert 0.03 < theta.item() <= 0.04
        stuck = torch.nn.Parameter(torch.tensor([1.0]))
        assert not _proximal(torch, SMALL, [stuck], lambda: stuck.abs().sum())

    def test_training_lowers_the_validation_loss_where_labels_tell(self, torch):
        from fairask.strategies.panda import train

        X, y, groups = _half_useful()
        useful = X[:, 1] > 0
        policy = train(Panda(iterations=60, learning_rate=0.01, rho=1.0), X, y, groups, 2)
        scores = policy.score(X)
        assert policy.failure is None
        assert policy.loss < min(policy.uniform_loss, policy.untrained_loss)
        assert scores[useful].mean() > scores[~useful].mean()

    def test_the_policy_does_not_depend_on_what_was_trained_before(self):

        small = replace(SMALL, unconverged="use")
        problem = make_problem(small)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            first = problem.propose(small)
            panda._POLICIES.clear()
            make_problem(small, n_groups=3).propose(small)
            again = problem.propose(small)
        assert np.array_equal(first.components["policy"], again.components["policy"])

    def test_no_convergence_is_said_and_nothing_chosen(self):
        diverges = replace(SMALL, learning_rate=1e30, iterations=3)
        with pytest.raises(PandaNotConverged, match="did not converge on 25 labels: its parameters"):
            make_problem(diverges).propose(diverges)

    def test_an_untrained_policy_has_not_converged(self):
        from fairask.strategies.panda import train

        X, y, groups = _half_useful()
        # Steps this small leave the policy where it started.
        policy = train(Panda(iterations=5, learning_rate=1e-12, rho=1.0), X, y, groups, 2)
        assert policy.loss == pytest.approx(policy.untrained_loss)
        assert "not clear" in policy.failure

    def test_a_learned_policy_outside_the_constraint_has_not_converged(self):
        from fairask.strategies.panda import train

        # Positives of the second group look like negatives: no choice of rows gives equal rates.
        rng = np.random.default_rng(1)
        X, y, groups = _half_useful()
        groups = np.where(y == 1, rng.integers(2, size=len(y)), groups)
        X[(groups == 1) & (y == 1), 0] *= -1
        failure = train(Panda(iterations=20, rho=0.0), X, y, groups, 2).failure
        assert failure is not None

    def test_disparity_is_that_of_the_metric(self, torch):
        from fairask.strategies.panda import _Episodes

        rows = make_problem(SMALL).labelled
        gaps = {}
        for metric in ("tprp", "fprp", "eo"):
            episodes = _Episodes(torch, replace(SMALL, metric=metric), rows.X, rows.y, rows.groups, 2)
            pool, validation, noise = episodes.draw(torch.Generator().manual_seed(0))
            _, rates = episodes.outcome(pool, validation, episodes.pick(torch.zeros(len(pool)), noise, 1.0))
            gaps[metric] = episodes.gap(rates).item()
        assert gaps["tprp"] != gaps["fprp"]
        assert gaps["eo"] == pytest.approx(max(gaps["tprp"], gaps["fprp"]))

    def test_without_convergence_the_policy_is_used_when_told_and_says_so(self):
        with pytest.raises(PandaNotConverged, match="not clear"):
            make_problem(SMALL).propose(SMALL)
        used = replace(SMALL, unconverged="use")
        with pytest.warns(NotConvergedWarning, match="did not converge on 25 labels"):
            proposal = make_problem(used).propose(used)
        assert proposal.components["policy"].sum() == pytest.approx(1.0)
        lost = replace(SMALL, learning_rate=1e30, iterations=3, unconverged="use")
        with pytest.raises(PandaNotConverged, match="no longer finite"):
            make_problem(lost).propose(lost)


class TestConvergence:
    """The rule alone: it needs no PyTorch."""

    fair = np.full((50, 1, 2), 0.6)

    def losses(self, gain_on_uniform, gain_on_untrained, noise=0.01):
        rng = np.random.default_rng(0)
        loss = 0.5 + rng.normal(scale=0.1, size=(50, 1)) + rng.normal(scale=noise, size=(50, 3))
        return loss + np.array([0.0, gain_on_uniform, gain_on_untrained])

    def test_both_gains_must_be_clear(self):
        assert failure_of(self.losses(0.1, 0.1), self.fair, 0.04) is None
        assert "uniform picks" in failure_of(self.losses(0.0, 0.1), self.fair, 0.04)
        assert "untrained" in failure_of(self.losses(0.1, 0.0), self.fair, 0.04)
        assert "uniform picks" in failure_of(self.losses(0.1, 0.1, noise=1.0), self.fair, 0.04)

    def test_the_constraint_must_hold_on_average_and_not_in_every_episode(self):
        rng = np.random.default_rng(0)
        noisy = self.fair + rng.normal(scale=0.1, size=self.fair.shape)
        assert np.abs(np.diff(noisy)).mean() > 2 * 0.04
        assert failure_of(self.losses(0.1, 0.1), noisy, 0.04) is None
        assert "disparity" in failure_of(self.losses(0.1, 0.1), noisy + np.array([0.0, 0.1]), 0.04)

    def test_a_kind_of_row_that_is_never_seen_is_no_disparity(self):
        unknown = self.fair.copy()
        unknown[:, :, 1] = np.nan
        assert pooled_gap(unknown) == 0.0
