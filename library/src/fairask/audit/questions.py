"""The questions a certificate can answer: which rates are compared, and how."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from fairask.checks import check_choice
from fairask.metrics import Float

#: The metrics of a model, and ratios of the same rates.
AuditMetric = Literal["tprp", "fprp", "eo", "dp", "tpr-ratio", "fpr-ratio", "selection-ratio"]

#: By so much a bound may pass the tolerance: 0.4 less 0.3 is above 0.1 in floating point.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Question:
    """What is compared between groups.

    Attributes
    ----------
    conditions : tuple
        The labels on which the compared rates are conditioned; None for selection rates.
    ratio : bool
        Whether rates are divided: the violation is then 1 minus the least ratio.
    words : str
        What is bounded.
    """

    conditions: tuple[int | None, ...]
    ratio: bool
    words: str

    def violation(self, rates: Sequence[float] | Float) -> float:
        """The largest difference of these rates, or 1 minus their least ratio; NaN if a rate is unknown.

        Examples
        --------
        >>> QUESTIONS["tpr-ratio"].violation([0.4, 0.5]), round(QUESTIONS["tprp"].violation([0.4, 0.5]), 3)
        (0.19999999999999996, 0.1)
        """
        if not self.ratio:
            return float(np.ptp(rates))
        return float(1 - np.min(rates) / np.max(rates)) if np.max(rates) > 0 else math.nan

    @property
    def labels(self) -> tuple[int, ...]:
        """The conditions that need labels."""
        return tuple(c for c in self.conditions if c is not None)


QUESTIONS: dict[str, Question] = {
    "tprp": Question((1,), False, "difference in true positive rates"),
    "fprp": Question((0,), False, "difference in false positive rates"),
    "eo": Question((1, 0), False, "difference in true or false positive rates, whichever is larger,"),
    "dp": Question((None,), False, "difference in selection rates"),
    "tpr-ratio": Question((1,), True, "least ratio of true positive rates"),
    "fpr-ratio": Question((0,), True, "least ratio of false positive rates"),
    "selection-ratio": Question((None,), True, "least ratio of selection rates"),
}
#: Which groups are compared: all pairs, or each group with all others together.
COMPARISONS = ("pairs", "rest")


def check_question(metric: object) -> AuditMetric:
    """Return ``metric`` if a certificate knows it, or raise naming the known ones.

    Examples
    --------
    >>> check_question("tpr-ratio")
    'tpr-ratio'
    """
    return cast(AuditMetric, check_choice(metric, "metric", QUESTIONS))
