"""Rules on calibrated probabilities: a threshold per group, or rules that do not read the group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fairask.classifiers import Classifier
from fairask.metrics import Float, Int, Matrix, Metric
from fairask.oracle._moments import FairnessMoments
from fairask.oracle._search import search
from fairask.oracle.curves import CalibrationCurves
from fairask.oracle.labelled import Labelled
from fairask.oracle.plugin import PlugInLearner
from fairask.oracle.promise import SafeChoice, choose_rule, choose_thresholds, draw_rates, tabulate
from fairask.rules import PlugInRule, Probability

#: Parts of the tolerance at which a blind rule is searched for; the safest that is worth it is taken.
_BLIND_PATH = (1.0, 0.6, 0.3, 0.0)
#: Rows of the pool on which the rates of blind rules are drawn.
_BLIND_ROWS = 1500


@dataclass(frozen=True)
class RuleGoal:
    """What a rule is to keep within, and with which probability; see :class:`CalibratedFairOracle`."""

    metric: Metric
    tolerance: float
    level: float
    randomized: bool


@dataclass(frozen=True)
class PoolScores:
    """Rows of the pool: features, group codes, calibrated probabilities, and means of the curves there."""

    X: Matrix
    codes: Int
    p: Float
    mean: Float


@dataclass(frozen=True)
class ChosenRule:
    """A mixture of rules, why it was chosen, and what it decides.

    Attributes
    ----------
    rules, weights : list of PlugInRule, ndarray
    choice : SafeChoice
    decisions : ndarray
        On the labelled rows, by models that did not see them.
    exploring : (list of PlugInRule, ndarray)
        The mixture whose expected violation is within the tolerance: perturbed models are compared at it.
    thresholds : ndarray of shape (groups,)
        Probability from which each group is predicted positive.
    n_fits : int
    """

    rules: list[PlugInRule]
    weights: Float
    choice: SafeChoice
    decisions: Float
    exploring: tuple[list[PlugInRule], Float]
    thresholds: Float
    n_fits: int


def log_odds(p: Float) -> Float:
    """Return finite log odds.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0])).round(1).tolist()
    [0.0, 13.8]
    """
    return np.asarray(logit(np.clip(p, 1e-6, 1.0 - 1e-6)))


def fit_group_model(estimator: Classifier | None, X: Matrix, codes: Int) -> Classifier:
    """Return probabilities of the groups given the features, for rules that do not read the group."""
    model = LogisticRegression(C=1.0, max_iter=500) if estimator is None else clone(estimator)
    fitted: Classifier = model.fit(X, codes)
    return fitted


def choose_aware(
    curves: CalibrationCurves,
    model: Probability,
    pool: PoolScores,
    own_p: Float,
    labelled: Labelled,
    goal: RuleGoal,
    rng: np.random.Generator,
) -> ChosenRule:
    """Choose a threshold for each group; ``own_p`` are held-out probabilities of the labelled rows."""
    tables = tabulate(curves, log_odds(pool.p), pool.codes, labelled.n_groups, goal.metric, rng)
    choice = choose_thresholds(tables, goal.tolerance, goal.level, randomized=goal.randomized)
    cuts, unsafe = (
        np.array([t.cuts[k] for t, k in zip(tables, position, strict=True)])
        for position in (choice.position, choice.unsafe)
    )
    rule = PlugInRule(expit(cuts), -np.ones(labelled.n_groups), model)
    values = curves.table().proba(np.clip(cuts, -6.0, 6.0), np.arange(len(cuts)))
    return ChosenRule(
        [rule],
        np.ones(1),
        choice,
        decisions=(rule.costs(own_p, labelled.groups) < 0).astype(np.float64),
        exploring=([replace(rule, intercept=expit(unsafe))], np.ones(1)),
        thresholds=np.where(np.isfinite(cuts), values, np.where(cuts > 0, 1.0, 0.0)),
        n_fits=sum(len(t.cuts) for t in tables),
    )


def choose_blind(
    curves: CalibrationCurves,
    model: Probability,
    group_model: Any,
    pool: PoolScores,
    own_p: Float,
    labelled: Labelled,
    goal: RuleGoal,
    rng: np.random.Generator,
) -> ChosenRule:
    """Search for rules that do not read the group at several tolerances, and choose among them.

    ``group_model`` has probabilities of the groups given the features, and ``own_p`` are held-out
    probabilities of the labelled rows under every group.
    """
    mean = pool.mean
    seen = (model.proba(pool.X, None), group_model.predict_proba(pool.X))
    learner = PlugInLearner(mean, pool.codes, seen, labelled.n_groups, goal.metric)
    moments = FairnessMoments.soft(mean, pool.codes, labelled.n_groups, goal.metric)
    found = []
    for part in _BLIND_PATH:
        limit = part * goal.tolerance
        found += search(moments, learner, limit, randomized=goal.randomized, max_fits=60, worthwhile=5e-4)
    members = [solution.members for solution in found]
    decided = np.array([w @ np.array([r.costs(*seen) < 0 for r in rules], float) for rules, w in members])
    some = rng.permutation(len(pool.codes))[:_BLIND_ROWS]
    scores, codes = log_odds(pool.p[some]), pool.codes[some]
    choice = choose_rule(
        draw_rates(curves, scores, codes, decided[:, some], goal.metric, rng),
        np.array([solution.mixture.error for solution in found]),
        float(mean.mean()),
        float(1.0 - mean.mean()),
        goal.tolerance,
        goal.level,
        randomized=goal.randomized,
    )
    rules, weights = members[int(choice.position[0])]
    unsafe, parts = members[int(choice.unsafe[0])]
    own_seen = (own_p, group_model.predict_proba(labelled.X))
    complete = [replace(rule, probability=model, group_model=group_model) for rule in rules]
    return ChosenRule(
        complete,
        weights,
        choice,
        decisions=weights @ np.array([rule.costs(*own_seen) < 0 for rule in rules], dtype=np.float64),
        exploring=([replace(rule, group_model=group_model) for rule in unsafe], parts),
        thresholds=complete[int(np.argmax(weights))].thresholds(),
        n_fits=sum(len(solution.candidates.errors) for solution in found),
    )
