"""Hostile scenarios for the audit, written down before any of them was run.

Each is a population of people by group, label and decision, with what makes it hard. The tolerance is put a
hair below the pool's gap, so that every "certified" is false, and at it, so that every "refuted" is.
``benchmarks/certificate_runs.py`` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Hostile:
    """A pool and the audit it is put through.

    Attributes
    ----------
    rows, base, tpr, fpr : tuple
        Rows, share of label 1, true and false positive rate of each group.
    metric : str
        The question.
    budget, looks : int
        Of the audit; ``looks`` equal to the budget peeks after every label.
    skip : tuple of float
        Share of rows that nobody can label, for label 0 and 1 among rows decided 0, then for rows decided 1.
    unknown : float
        Share of rows of each group whose group is not known, more among positives that were decided 0.
    noise : tuple of float
        Share of wrong labels by group; the audit is told the same rates.
    score : str
        "" for none, "good", "random" or "wrong" (ordered against the label).
    models : int
        Models audited at once; they differ in a share of their decisions.
    """

    name: str
    rows: tuple[int, ...]
    base: tuple[float, ...]
    tpr: tuple[float, ...]
    fpr: tuple[float, ...]
    metric: str = "tprp"
    budget: int = 800
    looks: int = 5
    skip: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    unknown: float = 0.0
    noise: tuple[float, ...] = ()
    score: str = ""
    models: int = 1

    def pool(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels 1 by (group, decision)."""
        size, ones = np.zeros((len(self.rows), 2)), np.zeros((len(self.rows), 2))
        for g, n in enumerate(self.rows):
            positive = round(n * self.base[g])
            hit, wrong = round(positive * self.tpr[g]), round((n - positive) * self.fpr[g])
            ones[g] = positive - hit, hit
            size[g] = n - hit - wrong, hit + wrong
        return size, ones


_TWELVE = tuple(round(6000 / 1.5**k) for k in range(12))

HOSTILE = [
    Hostile("two tiny groups", (60, 45), (0.5, 0.4), (0.8, 0.65), (0.2, 0.2), budget=60, looks=3),
    Hostile("rates of .98", (5000, 5000), (0.4, 0.4), (0.99, 0.97), (0.1, 0.1), budget=1500),
    Hostile("rates of .98, few labels", (5000, 5000), (0.4, 0.4), (1.0, 0.95), (0.3, 0.3), budget=120),
    Hostile("gap exactly at the tolerance", (4000, 4000), (0.5, 0.5), (0.8, 0.7), (0.2, 0.2), budget=1200),
    Hostile("1 % positives", (20000, 20000), (0.01, 0.01), (0.7, 0.5), (0.03, 0.03), budget=4000),
    Hostile("three groups, one tiny", (5000, 3000, 80), (0.5, 0.4, 0.3), (0.8, 0.75, 0.6), (0.2, 0.2, 0.2)),
    Hostile(
        "ratio near .8", (4000, 3000), (0.5, 0.4), (0.75, 0.6), (0.2, 0.2), metric="tpr-ratio", budget=1000
    ),
    Hostile(
        "ratio near .8 of small rates", (9000, 9000), (0.3, 0.2), (0.1, 0.08), (0.02, 0.02),
        metric="tpr-ratio", budget=2500,
    ),
    Hostile(
        "intersections of 12", _TWELVE, (0.4,) * 12, (0.85, *(0.78,) * 9, 0.75, 0.7), (0.2,) * 12, budget=2400
    ),
    Hostile(
        "intersections of 12, ratio", _TWELVE, (0.4,) * 12, (0.85, *(0.78,) * 9, 0.75, 0.65), (0.2,) * 12,
        metric="tpr-ratio", budget=2400,
    ),
    Hostile("30 % groups missing", (5000, 4000), (0.5, 0.4), (0.8, 0.75), (0.1, 0.1), unknown=0.3),
    Hostile("3 % groups missing", (5000, 4000), (0.5, 0.4), (0.8, 0.75), (0.1, 0.1), unknown=0.03),
    Hostile("10 % noise by group", (6000, 4000), (0.5, 0.4), (0.8, 0.7), (0.15, 0.15), noise=(0.1, 0.02)),
    Hostile("10 % noise, rare", (6000, 6000), (0.1, 0.1), (0.7, 0.55), (0.05, 0.05), noise=(0.02, 0.1)),
    Hostile(
        "2 % skipped not at random", (5000, 5000), (0.5, 0.5), (0.85, 0.7), (0.2, 0.2),
        skip=(0.0, 0.1, 0.0, 0.0),
    ),
    Hostile(
        "10 % skipped not at random", (5000, 5000), (0.5, 0.5), (0.85, 0.7), (0.2, 0.2),
        skip=(0.0, 0.5, 0.05, 0.0), budget=1500,
    ),
    Hostile(
        "peeking after every label", (3000, 3000), (0.5, 0.5), (0.8, 0.65), (0.2, 0.2), budget=300, looks=300
    ),
    Hostile("equalized odds, three groups", (3000, 2000, 1000), (0.5, 0.4, 0.3), (0.8, 0.7, 0.75),
            (0.1, 0.2, 0.15), metric="eo", budget=1500),
    Hostile("nearly exhausted", (150, 130), (0.4, 0.3), (0.8, 0.7), (0.2, 0.2), budget=270, looks=10),
    Hostile("a good score", (6000, 4000), (0.3, 0.2), (0.7, 0.6), (0.1, 0.1), score="good", budget=1200),
    Hostile("a wrong score", (6000, 4000), (0.3, 0.2), (0.7, 0.6), (0.1, 0.1), score="wrong", budget=1200),
    Hostile("a random score, tiny group", (6000, 200), (0.3, 0.2), (0.7, 0.6), (0.1, 0.1), score="random"),
    Hostile("three models at once", (5000, 5000), (0.5, 0.5), (0.8, 0.7), (0.2, 0.2), models=3, budget=1200),
]  # fmt: skip
