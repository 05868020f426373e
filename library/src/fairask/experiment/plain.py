"""What people have without a fair method: a plain classifier on the same labels, and a constant answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from fairask.metrics import Float, Matrix
from fairask.oracle import Labelled, LinearForestClassifier
from fairask.oracle.logistic import FEW_FEATURES


def plain_classifier(X: Matrix, seed: int) -> Any:
    """Return the default's classifier, not fitted: no constraint, no group by itself.

    Examples
    --------
    >>> type(plain_classifier(np.zeros((3, 2)), 0)).__name__
    'LinearForestClassifier'
    """
    if issparse(X) or X.shape[1] > FEW_FEATURES:
        return LogisticRegression(C=1.0, max_iter=1000)
    return LinearForestClassifier(random_state=seed)


def fit_plain(rows: Labelled, seed: int) -> Any:
    """Fit the plain classifier on labelled rows, each of which counts once.

    Examples
    --------
    >>> rows = Labelled.of(np.eye(2), np.array([1.0, 1.0]), np.array([0, 1]), ["a", "b"])
    >>> fit_plain(rows, 0).predict(np.eye(2)).tolist()
    [1, 1]
    """
    y = rows.y.astype(np.int64)
    if len(np.unique(y)) < 2:
        return DummyClassifier(strategy="constant", constant=int(y[0])).fit(rows.X, y)
    return plain_classifier(rows.X, seed).fit(rows.X, y)


def fit_held_out(rows: Labelled, seed: int) -> tuple[Any, Float]:
    """Fit the plain classifier; return also each row's probability by a classifier that did not see it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, random_state=0)
    >>> _, positive = fit_held_out(Labelled.of(X, y.astype(float), np.zeros(60, dtype=int), ["a"]), 0)
    >>> positive.shape
    (60,)
    """
    fitted = fit_plain(rows, seed)
    if isinstance(fitted, LinearForestClassifier):
        return fitted, np.asarray(fitted.held_out_)
    y = rows.y.astype(np.int64)
    folds = min(5, int(np.bincount(y, minlength=2).min()))
    if folds < 2:  # a class has one row: nothing can be held out
        return fitted, np.full(len(y), float(y.mean()))
    found = cross_val_predict(plain_classifier(rows.X, seed), rows.X, y, cv=folds, method="predict_proba")
    return fitted, np.asarray(found[:, 1])


def majority(y: Float, weights: Float | None = None) -> tuple[bool, float]:
    """Return the more frequent answer (True is positive), and the share of rows for which it is right.

    Examples
    --------
    >>> majority(np.array([1.0, 1.0, 0.0, 1.0]))
    (True, 0.75)
    """
    share = float(np.average(y, weights=weights))
    return share >= 0.5, max(share, 1.0 - share)
