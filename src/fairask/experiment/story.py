"""Which case a user is in, in one sentence: beside a plain model, a constant answer, and fewer labels.

Pure functions of numbers. The command line, the reports and the studio all take their sentences from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairask.metrics import Float, Int

#: What differs by less than this in accuracy is called the same.
SAME = 0.005
#: A curve is only called flat if it is so for this share of the labels.
_FLAT = 0.2

Case = Literal["unfair", "fair already", "unsure", "no better", "unknown"]


@dataclass(frozen=True)
class Guess:
    """A number with its limits.

    Examples
    --------
    >>> Guess.over_trials([0.1, 0.3])
    Guess(value=0.2, low=0.0, high=0.4)
    >>> Guess(0.25)
    Guess(value=0.25, low=0.25, high=0.25)
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if vars(self)[name] != vars(self)[name]:
                object.__setattr__(self, name, self.value)

    @classmethod
    def over_trials(cls, values: Sequence[float] | Float) -> Guess:
        """Mean over trials, with two standard errors on either side."""
        found = np.asarray(values, dtype=np.float64)
        mean = float(found.mean())
        error = float(found.std(ddof=1)) / len(found) ** 0.5 if len(found) > 1 else 0.0
        return cls(round(mean, 12), round(max(mean - 2 * error, 0.0), 12), round(mean + 2 * error, 12))


@dataclass(frozen=True)
class Outcome:
    """How good one way of deciding is: its accuracy, and its gap (None while a group's rate is unknown)."""

    accuracy: Guess
    gap: Guess | None


@dataclass(frozen=True)
class Beside:
    """A fair model beside what people have without it.

    Attributes
    ----------
    model : Outcome
        The fair model.
    plain : Outcome or None
        The same classifier without a constraint, None while it is unknown.
    constant : float
        Accuracy of the constant answer, which has no gap.
    answer : str
        The constant answer, as people say it.
    tolerance : float
    labels : int
        Labels that models were trained on.

    Examples
    --------
    >>> model, plain = Outcome(Guess(0.84), Guess(0.05)), Outcome(Guess(0.85), Guess(0.40))
    >>> print(Beside(model, plain, 0.76, "no", 0.1, 700).sentence())
    Your data are unfair without us: gap 0.40. The fair model has gap 0.05 and gives up 1.0 points of
    accuracy.
    >>> Beside(plain, Outcome(Guess(0.85), Guess(0.04)), 0.76, "no", 0.5, 700).case
    'fair already'
    >>> Beside(model, plain, 0.84, "passed", 0.1, 700).sentence()
    "No better than always answering 'passed': accuracy 0.840 with 700 labels, 0.840 without any."
    """

    model: Outcome
    plain: Outcome | None
    constant: float
    answer: str
    tolerance: float
    labels: int

    @property
    def case(self) -> Case:
        """The case the user is in; a constant answer that is as good comes first."""
        if self.model.accuracy.value < self.constant + SAME:
            return "no better"
        if self.plain is None or self.plain.gap is None:
            return "unknown"
        if self.plain.gap.low > self.tolerance:
            return "unfair"
        return "fair already" if self.plain.gap.high <= self.tolerance else "unsure"

    @property
    def price(self) -> float:
        """Accuracy that the fair model gives up against the plain one; negative where it is ahead."""
        return 0.0 if self.plain is None else self.plain.accuracy.value - self.model.accuracy.value

    def sentence(self) -> str:
        """Say which case the user is in, and what fairness costs."""
        case, plain = self.case, None if self.plain is None else self.plain.gap
        if case == "no better":
            return (
                f"No better than always answering '{self.answer}': accuracy {self.model.accuracy.value:.3f} "
                f"with {self.labels:,} labels, {self.constant:.3f} without any."
            )
        if case == "unknown" or plain is None:
            return "Whether a plain model would be fair is not known yet: a group has too few labels."
        if case == "unfair":
            return f"Your data are unfair without us: gap {plain.value:.2f}. {self._bought()}"
        if case == "fair already":
            return (
                f"A plain model is already within the tolerance: gap {plain.value:.2f} of at most "
                f"{self.tolerance:g}. {self._bought()}"
            )
        return (
            f"A plain model may be within the tolerance or not: gap {plain.value:.2f} ({plain.low:.2f} to "
            f"{plain.high:.2f}), tolerance {self.tolerance:g}. {self._bought()}"
        )

    def _bought(self) -> str:
        gap = self.model.gap
        if gap is None:
            return "The gap of the fair model is not known yet."
        points = 100 * abs(self.price)
        if points < 100 * SAME:
            costs = "is as accurate"
        elif self.price > 0:
            costs = f"gives up {points:.1f} points of accuracy"
        else:
            costs = f"is {points:.1f} points more accurate"
        limits = f" ({gap.low:.2f} to {gap.high:.2f})" if gap.low < gap.high else ""
        above = ""
        if gap.high > self.tolerance:
            may = "" if gap.low > self.tolerance else "which may be "
            above = f", {may}above the tolerance of {self.tolerance:g},"
        return f"The fair model has gap {gap.value:.2f}{limits}{above} and {costs}."


@dataclass(frozen=True)
class Enough:
    """How many labels suffice.

    Attributes
    ----------
    labels : int or None
        From here on accuracy is that at the end and the gap is within the tolerance; None: not reached.
    budget : int
    gap : float
        Mean violation at the end.
    tolerance : float
    """

    labels: int | None
    budget: int
    gap: float
    tolerance: float

    def sentence(self) -> str:
        """Say how many labels suffice.

        Examples
        --------
        >>> Enough(300, 700, 0.05, 0.1).sentence()
        'About 300 labels suffice; the curve is flat after that.'
        >>> Enough(None, 700, 0.05, 0.1).sentence()
        'A flat curve is not reached within 700 labels: accuracy still rises.'
        >>> Enough(None, 700, 0.15, 0.1).sentence()
        'The tolerance is not reached within 700 labels: the mean gap is 0.15.'
        """
        if self.labels is not None:
            return f"About {self.labels:,} labels suffice; the curve is flat after that."
        if self.gap > self.tolerance:
            return (
                f"The tolerance is not reached within {self.budget:,} labels: the mean gap is {self.gap:.2f}."
            )
        return f"A flat curve is not reached within {self.budget:,} labels: accuracy still rises."


def labels_that_suffice(labels: Int, accuracy: Float, violation: Float, tolerance: float) -> Enough:
    """Find the number of labels after which more labels bring nothing.

    Accuracy counts as flat from the first round on after which the mean over trials never differs from the
    last round's by more than half a point, or one standard error of the difference. That must hold for the
    last fifth of the labels at least.

    Parameters
    ----------
    labels : ndarray of shape (rounds,)
    accuracy, violation : ndarray of shape (trials, rounds)
    tolerance : float

    Examples
    --------
    >>> curve = np.array([[0.70, 0.80, 0.801, 0.80, 0.80]])
    >>> labels_that_suffice(np.arange(100, 600, 100), curve, np.zeros((1, 5)), 0.1).labels
    200
    >>> print(labels_that_suffice(np.array([100, 200]), np.array([[0.7, 0.8]]), np.zeros((1, 2)), 0.1).labels)
    None
    """
    less = accuracy[:, -1:] - accuracy
    error = less.std(axis=0, ddof=1) / len(less) ** 0.5 if len(less) > 1 else np.zeros(len(labels))
    fine = (np.abs(less.mean(axis=0)) <= np.maximum(SAME, error)) & (violation.mean(axis=0) <= tolerance)
    budget, end = int(labels[-1]), float(violation[:, -1].mean())
    rough = np.flatnonzero(~fine)
    first = int(rough[-1]) + 1 if len(rough) else 0
    reached = first < len(labels) and labels[first] <= (1.0 - _FLAT) * budget
    return Enough(int(labels[first]) if reached else None, budget, end, tolerance)


@dataclass(frozen=True)
class LabelSaving:
    """Labels that a reference needs for what a method has at its end; inf: more than the reference had.

    ``low`` and ``high`` are the 5th and 95th percentile over bootstrap resamples of the trials.
    """

    labels: int
    needed: float
    low: float
    high: float
    limit: int  #: labels that the reference was given

    def count(self, value: float) -> str:
        """Return a number of labels in words.

        Examples
        --------
        >>> LabelSaving(100, 150.0, 120.0, np.inf, 300).count(np.inf)
        'more than 300'
        """
        return f"{value:,.0f}" if np.isfinite(value) else f"more than {self.limit:,}"

    def sentence(self, method: str, accuracy: float, reference: str = "Passive sampling") -> str:
        """Say what the reference would need.

        Examples
        --------
        >>> print(LabelSaving(100, 150.0, 120.0, np.inf, 300).sentence("FARE", 0.8))
        Passive sampling reaches FARE's accuracy at 100 labels (0.800), as fairly, with 150 labels (90 %
        interval: 120 to more than 300): 50 more.
        """
        goal = f"{method}'s accuracy at {self.labels:,} labels ({accuracy:.3f}), as fairly,"
        same = self.low == self.high
        limits = "" if same else f" (90 % interval: {self.count(self.low)} to {self.count(self.high)})"
        if not np.isfinite(self.needed):
            return f"{reference}: {goal} is not reached within {self.limit:,} labels{limits}."
        more = self.needed - self.labels
        words = f"{more:,.0f} more" if more > 0 else f"{method} saves none here"
        return f"{reference} reaches {goal} with {self.needed:,.0f} labels{limits}: {words}."


def label_saving(
    spent: int,
    goal: Float,
    labels: Int,
    accuracy: Float,
    violation: Float,
    limit: float,
    resamples: int = 1000,
    seed: int = 0,
) -> LabelSaving:
    """Find the labels at which a reference has a method's final mean accuracy, with an interval over trials.

    Curves are linear between rounds. Trials of both are resampled together, as they share their splits.

    Parameters
    ----------
    spent : int
        Labels of the method.
    goal : ndarray of shape (trials,)
        Accuracy of the method at its end.
    labels : ndarray of shape (rounds,)
        Labels of the reference.
    accuracy, violation : ndarray of shape (trials, rounds)
        Of the reference.
    limit : float
        Largest mean violation of the reference that counts as fair.
    resamples, seed : int

    Examples
    --------
    >>> curve = np.array([[0.70, 0.80], [0.72, 0.82]])
    >>> label_saving(50, np.array([0.76, 0.76]), np.array([50, 150]), curve, np.zeros((2, 2)), 0.1).needed
    100.0
    """
    fine = np.arange(labels[0], labels[-1] + 1)

    def needed(rows: Int) -> float:
        # Rounding of the interpolation must not cost a label.
        there = np.interp(fine, labels, accuracy[rows].mean(axis=0)) >= goal[rows].mean() - 1e-12
        fair = np.interp(fine, labels, violation[rows].mean(axis=0)) <= limit
        enough = np.flatnonzero(there & fair)
        return float(fine[enough[0]]) if len(enough) else np.inf

    rng = np.random.default_rng(seed)
    n = len(goal)
    draws = [needed(rng.integers(n, size=n)) for _ in range(resamples)] if n > 1 else [needed(np.arange(n))]
    # "lower" and "higher" take a resample as it is: between a number and inf there is nothing.
    low = float(np.quantile(draws, 0.05, method="lower"))
    high = float(np.quantile(draws, 0.95, method="higher"))
    return LabelSaving(spent, needed(np.arange(n)), low, high, int(fine[-1]))


def stop_sentence(method: str, stopped: Sequence[int | None], budget: int, ends: str = "") -> str:
    """Say where a stopping rule ended the runs of a method, or that it never did.

    ``ends`` says what the runs had there.

    Examples
    --------
    >>> stop_sentence("FARE", [None, None], 700)
    'FARE: the stopping rule never fired within 700 labels (2 runs).'
    >>> stop_sentence("FARE", [300, None, 400], 700)
    'FARE: the stopping rule fired in 2 of 3 runs, at 350 labels in the mean; in 1 it never fired within 700.'
    """
    fired = [at for at in stopped if at is not None and at <= budget]
    runs = len(stopped)
    if not fired:
        return f"{method}: the stopping rule never fired within {budget:,} labels ({_runs(runs)})."
    never = runs - len(fired)
    rest = f"; in {never} it never fired within {budget:,}" if never else ""
    what = f": {ends}" if ends else ""
    return (
        f"{method}: the stopping rule fired in {len(fired)} of {_runs(runs)}, at {np.mean(fired):,.0f} "
        f"labels in the mean{rest}{what}."
    )


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def columns_sentence(accuracies: dict[str, float]) -> str:
    """Name the columns that give the label away.

    Examples
    --------
    >>> print(columns_sentence({"closed_on": 0.997}))
    column 'closed_on' alone gives the label away (accuracy 0.997): is it known when a row is to be
    labelled?
    """
    named = ", ".join(f"'{name}'" for name in accuracies)
    best = max(accuracies.values())
    if len(accuracies) == 1:
        return (
            f"column {named} alone gives the label away (accuracy {best:.3f}): is it known when a row is to "
            "be labelled?"
        )
    return (
        f"columns {named} each give the label away (accuracy up to {best:.3f}): are they known when a row is "
        "to be labelled?"
    )
