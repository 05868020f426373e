"""Which case a user is in, in one sentence: beside a plain model, a constant answer, and fewer labels.

Pure functions of numbers. The command line, the reports and the studio all take their sentences from here.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fairask.metrics import Float, Int
from fairask.tables.leaks import column_of, said_column

#: What differs by less than this in accuracy is called the same.
SAME = 0.005
#: A curve is only called flat if it is so for this share of the labels.
_FLAT = 0.2

Case = Literal["unfair", "fair already", "unsure", "no better", "unknown"]
#: Why a number of labels suffices (flat), or why none is known to.
Why = Literal["flat", "gap", "late gap", "one round", "few rounds", "rises", "falls", "changes"]


@dataclass(frozen=True)
class Guess:
    """A number with its limits; infinite limits where it is from one trial.

    Examples
    --------
    >>> Guess.over_trials([0.1, 0.2, 0.3]).limits()
    '0.00 to 0.45'
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
        """Mean over trials of an accuracy or a gap, with the limits of Student's t at 95 %."""
        found = np.asarray(values, dtype=np.float64)
        mean, n = float(found.mean()), len(found)
        if n == 1:  # one trial says nothing of how trials differ
            return cls(round(mean, 12), -np.inf, np.inf)
        away = float(stdtrit(n - 1, 0.975)) * float(found.std(ddof=1)) / n**0.5
        return cls(round(mean, 12), round(max(mean - away, 0.0), 12), round(min(mean + away, 1.0), 12))

    def limits(self) -> str:
        """Say the limits.

        Examples
        --------
        >>> Guess(0.25, 0.2, 0.3).limits(), Guess.over_trials([0.25]).limits()
        ('0.20 to 0.30', 'one run: no interval; use --trials 10')
        """
        if np.isinf(self.high):
            return "one run: no interval; use --trials 10"
        return f"{self.low:.2f} to {self.high:.2f}"


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
            f"A plain model may be within the tolerance or not: gap {plain.value:.2f} ({plain.limits()}), "
            f"tolerance {self.tolerance:g}. {self._bought()}"
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
        limits = f" ({gap.limits()})" if gap.low < gap.high else ""
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
    why : str
        "flat" where the labels suffice. Otherwise the reason why that is not known: the mean gap at the end
        ("gap") or shortly before ("late gap"), too few rounds, or what accuracy does.
    """

    labels: int | None
    budget: int
    gap: float
    tolerance: float
    why: Why

    def sentence(self) -> str:
        """Say how many labels suffice.

        Examples
        --------
        >>> Enough(300, 700, 0.05, 0.1, "flat").sentence()
        'About 300 labels suffice; the curve is flat after that.'
        >>> Enough(None, 700, 0.05, 0.1, "rises").sentence()
        'A flat curve is not reached within 700 labels: accuracy still rises.'
        >>> Enough(None, 700, 0.15, 0.1, "gap").sentence()
        'The tolerance is not reached within 700 labels: the mean gap is 0.15.'
        """
        if self.why == "flat":
            return f"About {self.labels:,} labels suffice; the curve is flat after that."
        if self.why == "gap":
            return (
                f"The tolerance is not reached within {self.budget:,} labels: the mean gap is {self.gap:.2f}."
            )
        if self.why in ("one round", "few rounds"):
            return f"{self.why.capitalize()} only: how many labels suffice is not known."
        if self.why == "late gap":
            return (
                f"How many labels suffice is not known: the mean gap came within the tolerance only at the "
                f"end of the {self.budget:,} labels."
            )
        moves = {"rises": "still rises", "falls": "falls", "changes": "still goes up and down"}[self.why]
        return f"A flat curve is not reached within {self.budget:,} labels: accuracy {moves}."


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
    below, bound = less.mean(axis=0), np.maximum(SAME, error)  # below the accuracy at the end, that is
    flat, fair = _from_where(np.abs(below) <= bound), _from_where(violation.mean(axis=0) <= tolerance)
    budget, end, first = int(labels[-1]), float(violation[:, -1].mean()), max(flat, fair)
    latest = (1.0 - _FLAT) * budget
    why: Why
    if end > tolerance:
        why = "gap"
    elif labels[first] <= latest:
        why = "flat"
    elif first == 0:
        why = "one round" if len(labels) == 1 else "few rounds"
    elif flat == 0 or labels[flat] <= latest:
        why = "late gap"
    elif (below[:flat] > bound[:flat]).all():
        why = "rises"
    else:
        why = "falls" if (below[:flat] < -bound[:flat]).all() else "changes"
    return Enough(int(labels[first]) if why == "flat" else None, budget, end, tolerance, why)


def _from_where(fine: NDArray[np.bool_]) -> int:
    """Return the first round from which on all are fine."""
    rough = np.flatnonzero(~fine)
    return int(rough[-1]) + 1 if len(rough) else 0


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
    """Name the columns that give the label away, and how they are left out.

    Examples
    --------
    >>> print(columns_sentence({"closed_on is missing": 0.997}))
    column 'closed_on' (whether it is empty) alone gives the label away (accuracy 0.997): is it known when
    a row is to be labelled? If not, --drop closed_on leaves it out.
    """
    named = ", ".join(map(said_column, accuracies))
    best = max(accuracies.values())
    drop = f"--drop {shlex.quote(','.join(map(column_of, accuracies)))}"
    if len(accuracies) == 1:
        return (
            f"column {named} alone gives the label away (accuracy {best:.3f}): is it known when a row is to "
            f"be labelled? If not, {drop} leaves it out."
        )
    return (
        f"columns {named} each give the label away (accuracy up to {best:.3f}): are they known when a row is "
        f"to be labelled? If not, {drop} leaves them out."
    )
