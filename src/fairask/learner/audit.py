"""Decisions of a model as probabilities, whatever it reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairask.metrics import Float

__all__ = ["decision_probability"]


def decision_probability(model: Any, X: Any, groups: Any) -> Float:
    """Probability that ``model`` predicts the positive class, giving it the groups if it reads them.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="uniform").fit([[0], [0]], [0, 1])
    >>> decision_probability(model, [[0], [0]], ["a", "b"]).tolist()
    [0.5, 0.5]
    """
    aware = any(getattr(member, "aware", False) for member in getattr(model, "members_", ()))
    given = {"sensitive_features": groups} if aware else {}
    return np.asarray(model.predict_proba(X, **given)[:, 1], dtype=np.float64)
