"""Honest estimates while labels come in: accuracy and gap out of fold, with intervals.

The fitted model's own error is in-sample and flatters it. Here the labelled rows are split in five, each
part is predicted by a model fitted on the rest, and the importance weights undo the sampling. Intervals
are for watching (normal, with the effective sample size), not a promise: that is the certificate.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from itertools import combinations
from typing import Any

import numpy as np

from fairask.audit.bounds.proportions import wilson
from fairask.errors import FairaskWarning
from fairask.experiment.rivals import fit_held_out, majority
from fairask.learner import FairActiveLearner
from fairask.metrics import CONDITION_NAMES, METRICS, Float, Int
from fairask.oracle.base import decision_probability
from fairask.rules import decide

FOLDS = 5
#: With fewer labels a fold is too small to say anything.
FEWEST = 30
_Z = 1.959963984540054


def estimate(learner: FairActiveLearner) -> dict[str, Any] | None:
    """Cross-fitted accuracy, gap and group rates with 95 % intervals; None with too few labels.

    ``plain`` is the same of the default's classifier without a constraint, ``constant`` the accuracy of the
    more frequent answer: what people have without a fair method. A model that gives everybody the same
    answer needs no rows held out: its gap is 0, whatever models fitted on fewer labels would do.
    """
    positive = _cross_fitted(learner)
    if positive is None:
        return None
    rows = learner.labelled()
    right = np.where(rows.y == 1.0, positive, 1.0 - positive)
    # How rows were drawn is undone in both, also where the fit itself leaves its risk unweighted.
    weights = learner.state.log.weights("ips")
    rates = _group_rates(rows.y, positive, rows.groups, weights, learner)
    if (same := _same_answer(learner)) is not None:
        rates = [{**rate, "value": same, "low": same, "high": same} for rate in rates]
    decided = (fit_held_out(rows, int(learner.random_state) % 2**31)[1] > 0.5).astype(np.float64)
    plain = _group_rates(rows.y, decided, rows.groups, weights, learner)
    frequent, share = majority(rows.y, weights)
    return {
        "accuracy": _mean(right, weights),
        "rates": rates,
        "gap": _worst(rates),
        "plain": {"accuracy": _mean((decided == rows.y) + 0.0, weights), "gap": _worst(plain)},
        "constant": {"answer": int(frequent), "accuracy": share},
    }


def errors_by_group(learner: FairActiveLearner) -> list[dict[str, Any]]:
    """Cross-fitted share of errors by group and true class, with 95 % intervals; none with too few labels."""
    positive = _cross_fitted(learner)
    if positive is None:
        return []
    rows, weights = learner.labelled(), learner.state.log.weights("ips")
    found: list[dict[str, Any]] = []
    for code, group in enumerate(learner.groups_):
        for label in (1, 0):
            cell = (rows.groups == code) & (rows.y == label)
            wrong = 1.0 - positive[cell] if label else positive[cell]
            known = bool(weights[cell].sum() > 0)
            entry = {"group": str(group), "truth": label, "labels": int(cell.sum())}
            found.append(entry | (_mean(wrong, weights[cell]) if known else {"value": None}))
    return found


def _cross_fitted(learner: FairActiveLearner) -> Float | None:
    """Return the probability of a positive decision for each labelled row by a model fitted without it."""
    rows = learner.labelled()
    if len(rows) < FEWEST or len(np.unique(rows.y)) < 2:
        return None
    if (same := _same_answer(learner)) is not None:
        return np.full(len(rows), same)
    # Draw order is random already, so every fifth row is a random fifth.
    fold = np.arange(len(rows)) % FOLDS
    positive = np.empty(len(rows))
    for part in range(FOLDS):
        inside, outside = fold != part, fold == part
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairaskWarning)  # the whole fit has said it
            oracle = learner.fit_on(rows.where(inside))
        votes = decide(oracle.members_, rows.X[outside], rows.groups[outside]).astype(np.float64)
        positive[outside] = np.clip(np.asarray(oracle.weights_) @ votes, 0.0, 1.0)
    return positive


def _same_answer(learner: FairActiveLearner) -> float | None:
    """Return the answer that the current model gives everybody, as 0 or 1; None if it has several."""
    answer = learner.current_model().constant_
    return None if answer is None else float(answer == learner.classes[1])


def _mean(value: Float, weight: Float) -> dict[str, float]:
    total = float(weight.sum())
    rate = float(weight @ value) / total
    n = total**2 / float(weight @ weight)
    low, high = (float(v) for v in wilson(rate * n, n, _Z))
    return {"value": rate, "low": low, "high": high, "n": n}


def _group_rates(
    y: Float, positive: Float, codes: Any, weight: Float, learner: FairActiveLearner
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for label in METRICS[learner.metric]:
        for code, group in enumerate(learner.groups_):
            cell = (codes == code) & (True if label is None else y == label)
            known = bool(weight[cell].sum() > 0)
            entry = {"condition": CONDITION_NAMES[label], "group": str(group), "labels": int(cell.sum())}
            found.append(entry | (_mean(positive[cell], weight[cell]) if known else {"value": None}))
    return found


def _worst(rates: list[dict[str, Any]]) -> dict[str, float] | None:
    """The largest pairwise difference with Newcombe's interval; None while a rate is unknown."""
    if any(rate["value"] is None for rate in rates):
        return None
    pairs = [
        (max(a, b, key=_value), min(a, b, key=_value))
        for a, b in combinations(rates, 2)
        if a["condition"] == b["condition"]
    ]
    high, low = max(pairs, key=lambda pair: pair[0]["value"] - pair[1]["value"])
    gap = high["value"] - low["value"]
    below = math.hypot(high["value"] - high["low"], low["high"] - low["value"])
    above = math.hypot(high["high"] - high["value"], low["value"] - low["low"])
    return {"value": gap, "low": max(gap - below, 0.0), "high": min(gap + above, 1.0)}


def _value(rate: dict[str, Any]) -> float:
    return float(rate["value"])


def positive_probability(learner: FairActiveLearner, rows: Int | None = None) -> Float:
    """Return the probability that the current model decides positively, for rows of the pool or all."""
    pool = learner.pool
    X, codes = (pool.X, pool.groups) if rows is None else (pool.take(rows), pool.groups_of(rows))
    groups = np.array([*learner.groups_, None], dtype=object)[:-1][codes]
    return decision_probability(learner.current_model(), X, groups)


def model_digest(learner: FairActiveLearner) -> str:
    """A sha256 of what the current model does on the whole pool: equal models, equal digests."""
    return decisions_digest(positive_probability(learner))


def decisions_digest(positive: Float) -> str:
    """Return the sha256 of probabilities of a positive decision, one per row, rounded to nine places.

    Examples
    --------
    >>> decisions_digest(np.array([0.0, 1.0]))[:12] == decisions_digest(np.array([1e-12, 1.0]))[:12]
    True
    """
    return hashlib.sha256((np.round(positive, 9) + 0.0).tobytes()).hexdigest()
