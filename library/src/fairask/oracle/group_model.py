"""Probabilities of the groups given the features: what a rule reads that is blind to the group itself."""

from __future__ import annotations

from pickle import PicklingError
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fairask.blas import small_problem
from fairask.classifiers import Classifier
from fairask.metrics import Float, Int, Matrix


class GroupModel(NamedTuple):
    """A fitted classifier of the groups, and its probabilities (rows, groups) for the rows of its fit."""

    model: Any
    proba: Float


def fit_group_model(X: Matrix, groups: Int, estimator: Classifier | None) -> GroupModel:
    """Fit a copy of ``estimator``; None is a logistic regression.

    Examples
    --------
    >>> incomes = np.array([[9e8], [9e8], [9e9], [9e9]])
    >>> fit_group_model(incomes, np.array([0, 0, 1, 1]), None).proba.argmax(axis=1)
    array([0, 0, 1, 1])
    """
    model = _linear(X, groups) if estimator is None else clone(estimator).fit(X, groups)
    return GroupModel(model, np.asarray(model.predict_proba(X)))


def _linear(X: Matrix, groups: Int) -> LogisticRegression:
    """Fit on features of one scale: on others the solver takes hundreds of steps, and stops before its end.

    The coefficients are on the features as given.
    """
    model = LogisticRegression(C=1.0, max_iter=500)
    if issparse(X):
        return model.fit(X, groups)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    with small_problem(X.size):
        model.fit((X - centre) / spread, groups)
    model.coef_ = model.coef_ / spread
    model.intercept_ = model.intercept_ - model.coef_ @ centre
    return model


def settings_key(estimator: Classifier | None) -> str | None:
    """Return what is equal for classifiers of equal settings; None where that cannot be told.

    Examples
    --------
    >>> settings_key(LogisticRegression(C=2.0)) == settings_key(LogisticRegression(C=2.0))
    True
    >>> print(settings_key(LogisticRegression(C=lambda: 2.0)))
    None
    """
    try:
        return str(joblib.hash(estimator))
    except (PicklingError, AttributeError, TypeError):  # a function that was defined in place, for one
        return None
