"""What is asked of a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Matrix

__all__ = ["Classifier", "HasBare", "has_probabilities"]


class Classifier(Protocol):
    """A scikit-learn classifier of 0 and 1."""

    def get_params(self) -> dict[str, Any]:
        """Settings by name."""
        ...

    def fit(self, X: Matrix, y: ArrayLike, **given: ArrayLike) -> Self:
        """Fit on labelled rows."""
        ...

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Predict classes."""
        ...


@runtime_checkable
class HasBare(Protocol):
    """A classifier that can leave out what its predictions do not need, to be written to a file."""

    def bare(self) -> Any:
        """Return the same classifier with nothing but what predictions need."""
        ...


def has_probabilities(estimator: object) -> bool:
    """Whether a classifier has ``predict_proba``.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> has_probabilities(LinearSVC())
    False
    """
    # scikit-learn's own way to ask: some classifiers have the method or not by their settings.
    return hasattr(estimator, "predict_proba")
