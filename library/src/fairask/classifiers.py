"""What is asked of a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairask.metrics import Matrix


class Classifier(Protocol):
    """A scikit-learn classifier of 0 and 1."""

    def get_params(self) -> dict[str, Any]:
        """Settings by name."""
        ...

    def fit(self, X: Matrix, y: ArrayLike, **given: ArrayLike) -> Self:
        """Fit on labelled rows."""
        ...

    def predict(self, X: Matrix) -> NDArray[np.generic]:
        """Predict classes."""
        ...


class ProbabilityClassifier(Classifier, Protocol):
    """One that also estimates the probability of each class."""

    def predict_proba(self, X: Matrix) -> NDArray[np.float64]:
        """Estimate the probability of 0 and of 1, by row."""
        ...


@runtime_checkable
class HasBare(Protocol):
    """A classifier that can leave out what its predictions do not need, to be written to a file."""

    def bare(self) -> ProbabilityClassifier:
        """Return the same classifier with nothing but what predictions need."""
        ...


def has_probabilities(estimator: object) -> bool:
    """Whether a classifier has ``predict_proba``.

    >>> from sklearn.svm import LinearSVC
    >>> has_probabilities(LinearSVC())
    False
    """
    # scikit-learn's own way to ask: some classifiers have the method or not by their settings.
    return hasattr(estimator, "predict_proba")


def weight_parameter(estimator: object) -> str | None:
    """Name under which ``estimator.fit`` takes sample weights, looking into a pipeline's last step.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameter(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{step}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
