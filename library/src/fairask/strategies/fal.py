"""FAL: fair active learning by expected unfairness (Anahideh, Asudeh and Thirumuruganathan 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit

from fairask.checks import check_choice, check_count, check_number
from fairask.metrics import Float, Metric, check_metric
from fairask.oracle import Labelled
from fairask.oracle.base import FairFit
from fairask.pools import Pool
from fairask.sampling import Proposal
from fairask.strategies.baseline import (
    Disparity,
    PlainModel,
    entropy,
    fit_plain,
    numeric,
    replay,
    scaled,
    scores,
)
from fairask.strategies.strategy import PretrainedStrategy

_VARIANTS = ("nested", "nested_append", "alpha_aggregate", "fair_by_covariance")
_ADAPTIVE_STEPS = 11


@dataclass(frozen=True)
class Fal(PretrainedStrategy):
    """Ask for rows that are uncertain and whose label is expected to make the model fairer.

    The expected unfairness of a row is ``sum_y p_y F(model refitted with (row, y))``. F is the gap of a
    plain logistic regression (C = 1) on the pretraining labels. All refits are solved in one batch.

    Parameters
    ----------
    variant : {"nested", "nested_append", "alpha_aggregate", "fair_by_covariance"}
        Nested ranks the ``candidates`` most uncertain rows by expected unfairness. Nested-append does the
        same, and FAL's own model counts a labelled row twice if its label lowered F. Alpha-aggregate mixes
        uncertainty and expected unfairness over the whole pool. Fair-by-covariance uses the change of the
        covariance between features and labels in place of the refits.
    pretrain : int
        Labels drawn uniformly first. F is measured on them.
    candidates : int
        Rows of highest entropy that the nested variants consider.
    alpha : float or "adaptive"
        Share of uncertainty in alpha-aggregate and fair-by-covariance. "adaptive" goes from 1 to 0 in 11
        steps.
    budget : int, optional
        Total number of labels; needed by ``alpha="adaptive"``.
    metric : {"tprp", "fprp", "eo", "dp"}
        What F measures.
    refit_steps : int
        Newton steps of each refit.
    subsample : int, optional
        Number of rows, drawn uniformly, for which alpha-aggregate computes refits; None means all.

    Examples
    --------
    >>> Fal(candidates=32).variant
    'nested'
    >>> Fal(alpha="adaptive", variant="alpha_aggregate")
    Traceback (most recent call last):
        ...
    ValueError: alpha='adaptive' needs budget, the number of labels in all
    """

    variant: str = "nested"
    pretrain: int = 25
    candidates: int = 64
    alpha: float | str = 0.6
    budget: int | None = None
    metric: Metric = "tprp"
    refit_steps: int = 3
    subsample: int | None = None
    name: ClassVar[str] = "fal"

    def __post_init__(self) -> None:
        check_choice(self.variant, "variant", _VARIANTS)
        check_metric(self.metric)
        for name in ("pretrain", "candidates", "refit_steps"):
            check_count(vars(self)[name], name)
        if self.subsample is not None:
            check_count(self.subsample, "subsample")
        if self.budget is not None:
            check_count(self.budget, "budget", least=self.pretrain + 1)
        if self.alpha != "adaptive":
            check_number(self.alpha, "alpha", 0, 1)
        elif self.budget is None:
            raise ValueError("alpha='adaptive' needs budget, the number of labels in all")

    def choose(self, labelled: Labelled, pool: Pool, fit: FairFit, rng: np.random.Generator) -> Proposal:
        """See :class:`PretrainedStrategy`."""
        labelled = replace(labelled, X=numeric(labelled.X, self.name))
        known = slice(0, self.pretrain)
        unfairness = Disparity(
            labelled.X[known], labelled.y[known], labelled.groups[known], pool.n_groups, self.metric
        )
        weight = self._appended(labelled, unfairness) if self.variant == "nested_append" else None
        model = fit_plain(labelled.X, labelled.y, weight)
        p = expit(scores(pool, model.beta))
        order = _by_size(np.abs(p - 0.5), self.candidates, rng)
        if self.variant.startswith("nested"):
            first, rest = order[: self.candidates], order[self.candidates :]
            expected = self._expected(model, unfairness, pool, first, p[first])
            first = first[np.argsort(expected, kind="stable")]
        else:
            first, rest = self._blended(labelled, model, unfairness, pool, p, order, rng)
        return Proposal(pool.everything(), ranking=pool.rows[np.concatenate([first, rest])])

    def _expected(
        self, model: PlainModel, unfairness: Disparity, pool: Pool, at: np.ndarray, p: Float
    ) -> Float:
        betas = model.refit(numeric(pool.take(pool.rows[at]), self.name), self.refit_steps)
        after = unfairness(betas)
        # In this form, two equal outcomes give exactly the same number, so ties stay ties.
        return np.asarray(after[:, 0] + p * (after[:, 1] - after[:, 0]))

    def _blended(
        self,
        labelled: Labelled,
        model: PlainModel,
        unfairness: Disparity,
        pool: Pool,
        p: Float,
        order: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        first, rest = order, order[:0]
        if self.variant == "fair_by_covariance":
            gain = _covariance_gain(labelled, model, pool, numeric(pool.X, self.name), p)[first]
        else:
            if self.subsample is not None and self.subsample < len(order):
                drawn = np.zeros(len(order), dtype=bool)
                drawn[rng.choice(len(order), self.subsample, replace=False)] = True
                first, rest = order[drawn], order[~drawn]
            gain = -self._expected(model, unfairness, pool, first, p[first])
        alpha = self._alpha(len(labelled))
        value = alpha * scaled(entropy(p[first])) + (1.0 - alpha) * scaled(gain)
        return first[np.argsort(-value, kind="stable")], rest

    def _alpha(self, n_labels: int) -> float:
        if self.budget is None or self.alpha != "adaptive":
            return float(self.alpha)
        spent = (n_labels - self.pretrain) / (self.budget - self.pretrain)
        return max(1.0 - int(_ADAPTIVE_STEPS * spent) / (_ADAPTIVE_STEPS - 1), 0.0)

    def _appended(self, labelled: Labelled, unfairness: Disparity) -> Float:
        """Return the weight of each labelled row: 2 if its label lowered F, else 1."""

        def gap(weight: Float) -> float:
            n = len(weight)
            return float(unfairness(fit_plain(labelled.X[:n], labelled.y[:n], weight).beta[None])[0])

        def start() -> tuple[Float, float]:
            weight = np.ones(self.pretrain)
            return weight, gap(weight)

        def step(state: tuple[Float, float], i: int) -> tuple[Float, float]:
            weight, before = np.append(state[0], 1.0), state[1]
            after = gap(weight)
            if after < before:
                weight[i] = 2.0
                after = gap(weight)
            return weight, after

        kind = f"append {self.pretrain} {self.metric} {labelled.groups.max()}"
        return replay(labelled, self.pretrain, kind, start, step)[0]


def _by_size(values: Float, exact: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions by increasing value; ties are in random order.

    Only the first ``exact`` positions are ordered exactly. Sorting a large pool by two keys would take half
    of the time of a choice.
    """
    tie = rng.random(len(values))
    exact = min(exact, len(values))
    cut = np.partition(values, exact - 1)[exact - 1]
    near, far = np.flatnonzero(values <= cut), np.flatnonzero(values > cut)
    first = near[np.lexsort((tie[near], values[near]))]
    rest = far[np.argsort(values[far] * (1.0 + 1e-12 * tie[far]), kind="stable")]
    return np.concatenate([first, rest])


def _covariance_gain(labelled: Labelled, model: PlainModel, pool: Pool, X: Float, p: Float) -> Float:
    """Expected decrease of ``sum_i |theta_i s_i| |cov(X_i, Y)|`` if the row is labelled, per row."""
    member = pool.groups[:, None] == np.arange(pool.n_groups)
    # Two groups have the same |cov|. With more groups, the largest one is used.
    with_group = np.abs((X - X.mean(axis=0)).T @ (member - member.mean(axis=0)) / len(X)).max(axis=1)
    price = np.abs(model.beta[:-1]) * with_group
    n = len(labelled)
    x_mean, y_mean = labelled.X.mean(axis=0), labelled.y.mean()
    now = (labelled.X - x_mean).T @ (labelled.y - y_mean) / n
    away = (X - x_mean)[pool.rows]
    gain = np.zeros(len(pool))
    for label, probability in ((0.0, 1.0 - p), (1.0, p)):
        after = n / (n + 1) * now + n / (n + 1) ** 2 * away * (label - y_mean)
        gain += probability * ((np.abs(now) - np.abs(after)) @ price)
    return gain
