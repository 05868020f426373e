"""What the study's model says of rows, for tools that show it: only if asked, because it sways people."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from fairask.learner import FairActiveLearner
from fairask.oracle import decision_probability
from fairask_studio import Study
from fairask_studio.events import Document


class Predictor:
    """Predicts with the study's model, which is fitted again only when it has changed."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._lock = threading.Lock()
        self._learner: tuple[str, FairActiveLearner] | None = None

    @property
    def version(self) -> str | None:
        """The model's name; None before the first fit."""
        with self.study.lock:
            model = self.study.state().model
        return None if model is None else f"round {model['round']}, {model['digest'][:12]}"

    def positive(self, rows: Sequence[int]) -> list[float]:
        """Return the probability with which each row is predicted positive; none before the first fit."""
        version = self.version
        if version is None or not rows:
            return []
        with self._lock:
            if self._learner is None or self._learner[0] != version:
                self._learner = (version, self.study.learner(at=self.study.state().trained_to))
            learner = self._learner[1]
            indices = np.array(rows, dtype=np.int64)
            codes = learner.pool.groups_of(indices)
            groups = np.array([*learner.groups_, None], dtype=object)[:-1][codes]
            found = decision_probability(learner.current_model(), learner.pool.take(indices), groups)
        return [float(value) for value in found]

    def predictions(self, rows: Sequence[int]) -> list[Document]:
        """Return Label Studio's predictions of rows; none before the first fit."""
        classes = self.study.config.classes
        return [
            {
                "model_version": self.version,
                "score": max(p, 1.0 - p),
                "result": [
                    {
                        "from_name": "label",
                        "to_name": "row",
                        "type": "choices",
                        "value": {"choices": [classes[int(p > 0.5)]]},
                    }
                ],
            }
            for p in self.positive(rows)
        ]
