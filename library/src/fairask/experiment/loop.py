"""The loop: ask, tell, evaluate, on rows whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.audit import Certificate
from fairask.learner import FairActiveLearner
from fairask.metrics import Int, Matrix, Metric, violation
from fairask.oracle import decision_probability

#: Returns the true labels of rows of the pool.
LabelsOf = Callable[[Int], NDArray[np.generic]]


class FittedModel(Protocol):
    """A fitted classifier of two classes; the second one is positive."""

    classes_: NDArray[np.generic]


def play(
    learner: FairActiveLearner,
    labels_of: LabelsOf,
    budget: int,
    size: Callable[[int], int] | None = None,
) -> Iterator[int]:
    """Ask and tell until ``budget`` labels are spent or the learner's rule says stop.

    Yields the labels spent after each batch. ``size`` returns the size of the next batch from the labels
    spent so far; the default is the learner's own batch size.
    """
    while (spent := len(learner.labelled_indices_)) < budget and learner.stop_reason_ is None:
        wanted = learner.batch_size if size is None else size(spent)
        rows = learner.ask(min(wanted, budget - spent)).indices
        learner.tell(rows, labels_of(rows))
        yield spent + len(rows)


def audit_model(learner: FairActiveLearner, budget: int, labels_of: LabelsOf) -> Certificate:
    """Audit the learner's model with fresh labels from the rest of its pool."""
    audit = learner.audit(budget)
    while not audit.done:
        rows = audit.ask().indices
        audit.tell(rows, labels_of(rows))
    return audit.certificate()


def evaluate(
    model: FittedModel, X: Matrix, y: ArrayLike, groups: ArrayLike, metric: Metric = "tprp"
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
    test: tuple[Matrix, ArrayLike, ArrayLike] | None = None,
    callback: Callable[[FairActiveLearner], None] | None = None,
) -> dict[str, NDArray[np.generic]]:
    """Ask and tell until ``budget`` labels are spent or the learner's own rule says stop; return the history.

    A learner made with ``audit_share`` keeps that share of the budget and spends it on an audit of the
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
        raise ValueError(
            f"labels has shape {truth.shape}, expected ({n_rows},): one label per row of the pool"
        )
    if not 1 <= budget <= n_rows:
        raise ValueError(f"budget={budget} must be from 1 to the pool's {n_rows} rows")
    rounds: list[int] = []
    scores: list[tuple[float, float]] = []
    keep = round(learner.audit_share * budget)
    for _ in play(learner, truth.__getitem__, budget - keep):
        if test is not None:
            rounds.append(len(learner.state.history) - 1)
            scores.append(evaluate(learner.current_model(), *test, learner.metric))
        if callback is not None:
            callback(learner)
    if keep:
        audit_model(learner, keep, truth.__getitem__)
    history = learner.history_
    if test is not None:
        for column, name in enumerate(("test_accuracy", "test_violation")):
            history[name] = np.full(len(learner.state.history), np.nan)
            for i, score in zip(rounds, scores, strict=True):
                history[name][i] = score[column]
    return history
