"""Playing the annotator: run a learner on rows whose labels are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.learner.audit import decision_probability
from fairask.learner.learner import FairActiveLearner
from fairask.metrics import Metric, violation

__all__ = ["evaluate", "simulate"]


def evaluate(
    model: Any, X: Any, y: ArrayLike, groups: ArrayLike, metric: Metric = "tprp"
) -> tuple[float, float]:
    """Accuracy and violation of a model, in expectation over its own randomness.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="uniform").fit([[0], [0]], [0, 1])
    >>> evaluate(model, [[0]] * 4, [1, 1, 0, 0], ["a", "b", "a", "b"])
    (0.5, 0.0)
    """
    positive = decision_probability(model, X, groups)
    truth = np.asarray(y) == model.classes_[1]
    accuracy = float(np.where(truth, positive, 1.0 - positive).mean())
    return accuracy, violation(truth, positive, groups, metric)


def simulate(
    learner: FairActiveLearner,
    labels: ArrayLike,
    budget: int,
    *,
    test: tuple[Any, ArrayLike, ArrayLike] | None = None,
    callback: Callable[[FairActiveLearner], None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Ask and tell until ``budget`` labels are spent or the learner's own rule says stop; return the history.

    A learner made with ``audit_share`` keeps that share of the budget, and spends it on an audit of the
    final model: see ``learner.certificate_``.

    Parameters
    ----------
    learner : FairActiveLearner
    labels : array-like of shape (rows,)
        The true label of every row of the pool.
    budget : int
        Labels in all, including those the learner already has.
    test : (X, y, sensitive_features), optional
        Rows on which accuracy and violation are measured after every batch, as the columns
        ``test_accuracy`` and ``test_violation``.
    callback : callable, optional
        Called with the learner after every batch.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("german")
    >>> learner = FairActiveLearner(data.X, data.groups, strategy="passive", batch_size=100, random_state=0)
    >>> history = simulate(learner, data.y, 200, test=(data.X, data.y, data.groups))
    >>> history["labels"].tolist(), bool(history["test_accuracy"][-1] > 0.6)
    ([100, 200], True)
    """
    truth = np.asarray(labels)
    n_rows = learner.pool.n_rows
    if truth.shape != (n_rows,):
        raise ValueError(f"labels has shape {truth.shape}, expected ({n_rows},): one label a row of the pool")
    if not 1 <= budget <= n_rows:
        raise ValueError(f"budget={budget} must be from 1 to the pool's {n_rows} rows")
    scores: dict[int, tuple[float, float]] = {}
    keep = round(learner.audit_share * budget)
    while (spent := len(learner.labelled_indices_)) < budget - keep and learner.stop_reason_ is None:
        query = learner.ask(min(learner.batch_size, budget - keep - spent))
        learner.tell(query.indices, truth[query.indices])
        if test is not None:
            scores[len(learner.state.history) - 1] = evaluate(learner.current_model(), *test, learner.metric)
        if callback is not None:
            callback(learner)
    if keep:
        audit = learner.audit(keep)
        while not audit.done:
            rows = audit.ask().indices
            audit.tell(rows, truth[rows])
    history = learner.history_
    if test is not None:
        for column, name in enumerate(("test_accuracy", "test_violation")):
            history[name] = np.array(
                [scores.get(i, (np.nan, np.nan))[column] for i in range(len(learner.state.history))]
            )
    return history
