"""Decision rules: who is predicted 1, from the features and, for some rules, the group.

A fair oracle fits rules and a pool sorts its rows by them, so rules know nothing of either. The classes here
are written into exported models: their names are stable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from fairask.classifiers import HasBare, has_probabilities
from fairask.matrix import row_count
from fairask.metrics import Bool, Float, Int, Matrix

#: Log odds are kept within this distance of 0.
CLIP = 20.0
#: Log odds of a classifier that has seen one class only: a probability of 0.98 of that class. Far enough from
#: 0 to follow the labels, and near enough for scaling to correct it once the other class is seen.
ONE_CLASS_LOG_ODDS = 4.0


class Rule(ABC):
    """Decides for each row whether it is predicted 1.

    A subclass implements :meth:`decide` and :meth:`proba`. Both get the features and the group codes; a rule
    that does not read the group ignores the codes.
    """

    @property
    def aware(self) -> bool:
        """Whether the rule reads the group."""
        return False

    @abstractmethod
    def decide(self, X: Matrix, groups: Int | None = None) -> Bool:
        """Whether each row is predicted 1."""

    @abstractmethod
    def proba(self, X: Matrix, groups: Int | None = None) -> Float:
        """Confidence of predicting 1; 0.5 at the rule's threshold."""

    def bare(self) -> Rule:
        """Return the rule without what only warm-starts a later fit."""
        return self

    def cheapest(self) -> Rule:
        """Return the equal rule that decides fastest."""
        return self.bare()


@dataclass(frozen=True)
class LinearRule(Rule):
    """Predict 1 where ``x @ beta[:-1] + beta[-1] > 0``; ``inverse`` warm-starts a neighbouring fit."""

    beta: Float
    inverse: NDArray[np.float32] | None = None

    def decide(self, X: Matrix, groups: Int | None = None) -> Bool:
        """See :class:`Rule`."""
        return np.asarray(X @ self.beta[:-1] > -self.beta[-1])

    def proba(self, X: Matrix, groups: Int | None = None) -> Float:
        """Probability of 1 under the logistic model."""
        return np.asarray(expit(X @ self.beta[:-1] + self.beta[-1]))

    def shifted(self, by: float) -> LinearRule:
        """The rule with its threshold raised."""
        return LinearRule(np.r_[self.beta[:-1], self.beta[-1] - by], self.inverse)

    def bare(self) -> LinearRule:
        """See :class:`Rule`."""
        return LinearRule(self.beta)


@dataclass(frozen=True)
class GroupLinearRule(Rule):
    """Predict 1 where ``x @ beta[:-1] + beta[-1]`` is above the group's own ``cuts[group]``."""

    beta: Float
    cuts: Float

    aware: ClassVar[bool] = True

    def decide(self, X: Matrix, groups: Int | None = None) -> Bool:
        """See :class:`Rule`."""
        return np.asarray(X @ self.beta[:-1] + self.beta[-1] > self.cuts[_needed(groups)])

    def proba(self, X: Matrix, groups: Int | None = None) -> Float:
        """See :class:`Rule`."""
        return np.asarray(expit(X @ self.beta[:-1] + self.beta[-1] - self.cuts[_needed(groups)]))


@dataclass(frozen=True)
class ConstantRule(Rule):
    """Predict the same for every row."""

    value: bool

    def decide(self, X: Matrix, groups: Int | None = None) -> Bool:
        """See :class:`Rule`."""
        return np.full(row_count(X), self.value)

    def proba(self, X: Matrix, groups: Int | None = None) -> Float:
        """See :class:`Rule`."""
        return np.full(row_count(X), float(self.value))


@dataclass(frozen=True)
class FittedRule(Rule):
    """A fitted scikit-learn classifier of the classes 0 and 1."""

    estimator: Any

    def decide(self, X: Matrix, groups: Int | None = None) -> Bool:
        """See :class:`Rule`."""
        return np.asarray(self.estimator.predict(X) == 1)

    def proba(self, X: Matrix, groups: Int | None = None) -> Float:
        """Probability of 1, or the decision itself where the classifier has no probabilities."""
        if has_probabilities(self.estimator):
            return np.asarray(self.estimator.predict_proba(X)[:, 1], dtype=np.float64)
        return self.decide(X).astype(np.float64)


@dataclass(frozen=True)
class Scaling:
    """Log odds of group g: ``scale[g] * score + shift[g]`` (Platt scaling)."""

    scale: Float
    shift: Float

    def proba(self, score: Float, groups: Int | None) -> Float:
        """Probabilities of the rows given their groups (rows,), or under every group (rows, groups)."""
        if groups is None:
            return np.asarray(expit(score[:, None] * self.scale + self.shift))
        return np.asarray(expit(score * self.scale[groups] + self.shift[groups]))


class Probability(Protocol):
    """Calibrated probabilities of the label 1."""

    @property
    def scaling(self) -> Scaling:
        """From the score to log odds, by group."""
        ...

    def proba(self, X: Matrix, groups: Int | None) -> Float:
        """Probabilities of the rows given their groups (rows,), or under every group (rows, groups)."""
        ...

    def bare(self) -> Probability:
        """Return the same probabilities without what only warm-starts a later fit."""
        ...


@dataclass(frozen=True)
class LinearProbability:
    """Calibrated probabilities of a logistic regression.

    Attributes
    ----------
    beta : ndarray of shape (features + 1,)
        Coefficients; the last, 0, stands where rules keep an intercept.
    scaling : Scaling
        From the score to log odds; its shifts hold the groups' intercepts.
    intercepts : ndarray of shape (groups,)
        Those intercepts, before scaling.
    inverse : ndarray, optional
        Warm-starts the perturbed copies.
    """

    beta: Float
    scaling: Scaling
    intercepts: Float | None = None
    inverse: NDArray[np.float32] | None = None

    def proba(self, X: Matrix, groups: Int | None) -> Float:
        """See :class:`Probability`."""
        return self.scaling.proba(np.clip(X @ self.beta[:-1] + self.beta[-1], -CLIP, CLIP), groups)

    def bare(self) -> LinearProbability:
        """See :class:`Probability`."""
        return replace(self, inverse=None)


@dataclass(frozen=True)
class FittedProbability:
    """Calibrated probabilities of any fitted classifier.

    ``estimator`` is a float, 0.0 or 1.0, while only that class was seen.
    """

    estimator: Any
    scaling: Scaling

    def scores(self, X: Matrix) -> Float:
        """Log odds of 1 by the classifier, before scaling."""
        if isinstance(self.estimator, float):
            return np.full(row_count(X), ONE_CLASS_LOG_ODDS * (2.0 * self.estimator - 1.0))
        return np.asarray(logit(np.clip(self.estimator.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6)))

    def proba(self, X: Matrix, groups: Int | None) -> Float:
        """See :class:`Probability`."""
        return self.scaling.proba(self.scores(X), groups)

    def bare(self) -> FittedProbability:
        """See :class:`Probability`; a classifier that has a plain form of its own takes it."""
        return replace(self, estimator=self.estimator.bare()) if isinstance(self.estimator, HasBare) else self


@dataclass(frozen=True)
class PlugInRule(Rule):
    """Predict 1 where the Lagrangian's expected cost is negative.

    Attributes
    ----------
    intercept, slope : ndarray of shape (groups,)
        The cost ``intercept + slope * p`` of predicting 1 in each group.
    probability : Probability
        What gives p.
    group_model : classifier with ``predict_proba``, or None when the group is given
    """

    intercept: Float
    slope: Float
    probability: Any = None
    group_model: Any = None

    @property
    def aware(self) -> bool:
        """See :class:`Rule`."""
        return self.group_model is None

    def costs(self, p: Float, groups: NDArray[Any]) -> Float:
        """Expected cost of predicting 1.

        ``groups`` are codes and ``p`` the rows' probabilities; or, when the group is not seen, ``groups``
        are its probabilities (rows, groups) and ``p`` the probabilities of 1 under each group.
        """
        if groups.ndim == 1:
            return np.asarray(self.intercept[groups] + self.slope[groups] * p)
        return np.asarray((groups * (self.intercept + self.slope * p)).sum(axis=1))

    def _costs_of(self, X: Matrix, groups: Int | None) -> Float:
        if self.group_model is not None:
            return self.costs(self.probability.proba(X, None), self.group_model.predict_proba(X))
        codes = _needed(groups)
        return self.costs(self.probability.proba(X, codes), codes)

    def decide(self, X: Matrix, groups: Int | None = None) -> Bool:
        """See :class:`Rule`."""
        return np.asarray(self._costs_of(X, groups) < 0)

    def proba(self, X: Matrix, groups: Int | None = None) -> Float:
        """Confidence of predicting 1; 0.5 where the cost is zero."""
        return np.asarray(expit(-self._costs_of(X, groups)))

    def bare(self) -> PlugInRule:
        """See :class:`Rule`."""
        return replace(self, probability=self.probability and self.probability.bare())

    def cheapest(self) -> Rule:
        """See :class:`Rule`."""
        return self.linear() or self

    def linear(self) -> GroupLinearRule | None:
        """The same rule as a cut by group on a linear score; None where there is no such rule.

        Examples
        --------
        >>> p = LinearProbability(np.array([1.0, 0.0]), Scaling(np.ones(2), np.zeros(2)))
        >>> PlugInRule(np.array([1.0, 0.5]), np.array([-2.0, -2.0]), p).linear().cuts.round(2)
        array([ 0. , -1.1])
        """
        model = self.probability
        if self.group_model is not None or not isinstance(model, LinearProbability):
            return None
        if ((self.slope >= 0) & (self.intercept < 0)).any():
            return None  # predicts 1 *below* a cut
        scale = model.scaling
        with np.errstate(divide="ignore"):
            cuts = (logit(self.thresholds()) - scale.shift) / scale.scale
        # Scores are clipped, so a cut beyond the clip is never, or always, passed.
        cuts = np.where(cuts >= CLIP, np.inf, np.where(cuts < -CLIP, -np.inf, cuts))
        return GroupLinearRule(model.beta, np.where(self.slope >= 0, np.inf, cuts))

    def thresholds(self) -> Float:
        """Smallest p that is predicted 1 in each group."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(np.clip(-self.intercept / self.slope, 0.0, 1.0))


class RuleMixture:
    """A randomised classifier: one of ``members_``, drawn with the probabilities ``weights_``."""

    members_: Sequence[Rule]
    weights_: Float

    def used_members(self) -> tuple[list[Rule], list[float]]:
        """Members with a positive weight, and their weights."""
        used = [(rule, float(w)) for rule, w in zip(self.members_, self.weights_, strict=True) if w > 0]
        return [rule for rule, _ in used], [weight for _, weight in used]


def as_rule(model: object) -> Rule:
    """Return ``model`` if it is a rule, else wrap a fitted classifier that predicts 0 and 1.

    Examples
    --------
    >>> as_rule(ConstantRule(True))
    ConstantRule(value=True)
    """
    if isinstance(model, Rule):
        return model
    if callable(getattr(model, "predict", None)):  # any object with predict() serves: there is no base class
        return FittedRule(model)
    raise TypeError(f"model must have decide() or predict(), got {type(model).__name__}")


def _needed(groups: Int | None) -> Int:
    if groups is None:
        raise ValueError("sensitive_features are needed to predict: thresholds differ by group")
    return groups


def by_row(X: Matrix) -> Matrix:
    """Return the features with the values of a row next to each other.

    Many classifiers round differently where features are stored one by one, as columns of a table are.
    """
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


def decide(rules: Sequence[Rule], X: Matrix, groups: Int | None = None) -> Bool:
    """Whether each rule predicts 1 on each row, (rules, rows); does not depend on the rows around it.

    Linear rules share one product. Where its rounding could change a sign, which is the case for a few rows
    in a million, the score is summed again in the order of the features.

    Examples
    --------
    >>> decide([LinearRule(np.array([1.0, -0.5])), ConstantRule(True)], np.array([[0.0], [1.0]]))
    array([[False,  True], [ True,  True]])
    """
    linear = LinearRule if groups is None else LinearRule | GroupLinearRule
    found = np.empty((len(rules), row_count(X)), dtype=bool)
    alike = [i for i, rule in enumerate(rules) if isinstance(X, np.ndarray) and isinstance(rule, linear)]
    if alike and len(X):
        beta = np.array([rules[i].beta for i in alike], dtype=np.float64)  # type: ignore[attr-defined]
        rows = X.astype(np.float64, copy=False)
        scores = beta[:, :-1] @ rows.T + beta[:, -1:]
        # What rounding can do to a score: a product rounds the same row differently in another block.
        unit = (beta.shape[1] + 3) * np.finfo(np.float64).eps
        doubt = unit * np.abs(beta).sum(axis=1) * (1.0 + np.abs(rows).max())
        for i, b, score, slack in zip(alike, beta, scores, doubt, strict=True):
            rule = rules[i]
            cut = rule.cuts[groups] if isinstance(rule, GroupLinearRule) else np.zeros(len(X))
            found[i] = score > cut
            near = np.flatnonzero(np.isfinite(cut) & (np.abs(score - cut) <= slack + unit * np.abs(cut)))
            total = np.full(len(near), b[-1])
            for weight, column in zip(b[:-1], rows[near].T, strict=True):
                total += weight * column
            found[i, near] = total > cut[near]
    for i in set(range(len(rules))) - set(alike):
        found[i] = rules[i].decide(by_row(X), groups)
    return found
