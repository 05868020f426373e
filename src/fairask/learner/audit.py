"""Auditing the learner's model: fresh labels, drawn after the last fit, that never train it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.certify import Audit, Certificate
from fairask.metrics import Float

if TYPE_CHECKING:
    from fairask.learner.learner import FairActiveLearner

__all__ = ["ModelAudit", "decision_probability"]


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


class ModelAudit:
    """An audit of one version of a learner's model over the rest of its pool, of any kind.

    It asks and tells like the learner, in the learner's classes, and is void once the model changes.
    """

    def __init__(self, learner: FairActiveLearner, budget: int, delta: float, looks: int) -> None:
        taken = np.array([entry.index for entry in learner.state.log.entries], dtype=np.int64)
        self.classes, self.version = learner.classes, learner.state.log.version
        self.audit = Audit.of_pool(
            learner.pool,
            learner.current_model(),
            metric=learner.metric,
            alpha=learner.tolerance,
            delta=delta,
            budget=budget,
            looks=looks,
            trained_on=taken,
            random_state=learner.random_state,
        )

    @property
    def done(self) -> bool:
        """Whether the verdict is in or the budget is spent."""
        return self.audit.done

    @property
    def n_labels(self) -> int:
        """Labels told so far."""
        return self.audit.n_labels

    def ask(self) -> Any:
        """Rows to label before the next look; ``indices`` into the learner's pool."""
        return self.audit.ask()

    def tell(self, indices: Any, labels: Any) -> None:
        """Labels of those rows, as values of the learner's ``classes``."""
        values = np.atleast_1d(np.asarray(labels)).tolist()
        unknown = [value for value in values if value not in self.classes]
        if unknown:
            raise ValueError(f"label {unknown[0]!r} is not one of the classes {self.classes!r}")
        self.audit.tell(indices, [int(value == self.classes[1]) for value in values])

    def certificate(self, target: str | None = None) -> Certificate:
        """See :meth:`fairask.certify.Audit.certificate`."""
        return self.audit.certificate(target)
