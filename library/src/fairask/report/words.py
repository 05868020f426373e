"""Every sentence that people read about gaps, labels and models.

Pure functions of numbers and names, so that oracles, learners, the command line, reports and the studio say
the same thing in the same words. This module imports nothing of the package, and all others may import it.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: What differs by less than this in accuracy is called the same.
SAME = 0.005
_SAME_ANSWER = "answers the same for everybody, which is fair and of no use"
_WOULD_HELP = "More labels or other features would help."
#: Rows to ask again that are listed at most.
_MOST_ROWS = 100
_UNLIMITED = "a model without a limit"
#: Whether a fair model that was audited is worth it, by the verdict.
_WORTH_AUDITED = {
    "certified": "Yes: this model has a certificate, and one without a limit has none.",
    "refuted": "No: the audit says that this model is further apart than you allow.",
    "undecided": "Cannot tell yet: the audit of this model could not.",
}
_PLAIN_UNKNOWN = "Whether a plain model would be fair is not known yet: a group has too few labels."

METRIC_NAMES = {
    "tprp": "difference of true positive rates",
    "fprp": "difference of false positive rates",
    "eo": "equalized odds difference",
    "dp": "difference of selection rates",
}
#: Rates that a metric compares: the name in tables of rates, and in words.
RATE_NAMES = {
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "selection_rate": "selection rate",
}
#: Warnings of a run, by category.
_WARNED = {
    "InterpolationWarning": "the model separated its labels, so the constraint bound nothing",
    "EmptyCellWarning": "a group had no label of one class yet, so its rate was unknown",
    "InfeasibleWarning": "labels did not suffice for the tolerance; a model at a larger one was used",
    "NoDisagreementWarning": "the perturbed classifiers agreed everywhere, so λ_fair alone was sampled",
}


def repeats_sentence(
    register: Mapping[str, Any] | None, delta: float, where: str = "that was begun with this key"
) -> str:
    """Say how often a model was audited, as far as the register of the owner's key, or a study, knows.

    >>> print(repeats_sentence({"of_model": 3, "models_on_labels": 0}, 0.05))
    This is audit 3 of this model that was begun with this key; at least one of 3 errs with a probability of
    up to 0.15. Audits elsewhere, or begun with another key or another copy of its register, are not counted.
    >>> repeats_sentence({"of_model": 1}, 0.05, "in this study")
    'This is audit 1 of this model in this study. Audits elsewhere are not counted.'
    >>> repeats_sentence(None, 0.05)
    'No audit of this model was begun before this one: without a key (--sign) nothing counts them.'
    """
    if register is None:
        return "No audit of this model was begun before this one: without a key (--sign) nothing counts them."
    n, models = register["of_model"], register.get("models_on_labels", 0)
    said = f"This is audit {n} of this model {where}"
    if n > 1:
        said += f"; at least one of {n} errs with a probability of up to {min(1.0, n * delta):.2g}"
    if models > 1:
        said += (
            f". {models} models were decided on these labels with this key; at least one of these verdicts "
            f"is wrong with a probability of up to {min(1.0, models * delta):.2g}"
        )
    others = ", or begun with another key or another copy of its register," if "key" in where else ""
    return f"{said}. Audits elsewhere{others} are not counted."


#: On every form.
NO_LEGAL_ADVICE = (
    "This form reports numbers. It is no legal advice, it does not say that a law is kept, and it does not "
    "replace an independent auditor."
)
#: Who is worse off if one group's rate is above another's, by metric; {less} and {more} are the groups.
_HAZARDS = {
    "tpr": "In group {less}, people whose label is positive are accepted less often than in group {more}.",
    "fpr": "In group {more}, people whose label is negative are accepted more often than in group {less}.",
    "eo": "In group {less}, people are accepted less often than people with the same label in group {more}.",
    "selection": "In group {less}, people are accepted less often than in group {more}.",
}


def hazard_sentence(metric: str, first: str, second: str) -> str:
    """Say what it means for people if a comparison of two groups is above the tolerance.

    >>> hazard_sentence("tprp", "men", "women")
    'In group women, people whose label is positive are accepted less often than in group men.'
    >>> hazard_sentence("selection-ratio", "men", "women")
    'In group men, people are accepted less often than in group women.'
    """
    kind = {"tprp": "tpr", "fprp": "fpr", "dp": "selection"}.get(metric, metric.removesuffix("-ratio"))
    # A difference is that of the first over the second, a ratio that of the first to the second.
    less, more = (first, second) if metric.endswith("-ratio") else (second, first)
    return _HAZARDS[kind].format(less=less, more=more)


def ratio_told(low: float | None, high: float | None) -> str:
    """Say what the numbers of people tell about a ratio of two rates, given its limits.

    >>> ratio_told(0.7, 0.9), ratio_told(0.9, 1.1), ratio_told(None, None)
    ('below 1', 'cannot tell whether it is 1', '')
    """
    if high is None:
        return "" if low is None else "cannot tell whether it is 1"
    if high < 1:
        return "below 1"
    return "above 1" if low is not None and low > 1 else "cannot tell whether it is 1"


def alternative_sentence(name: str, plain: str, ratio: float, other: float, gain: float, sure: bool) -> str:
    """Compare a model with the plain one: least adverse impact ratio, and accuracy in points.

    >>> print(alternative_sentence("fair", "plain", 0.95, 0.8, -0.004, False))
    fair has a least adverse impact ratio of 0.950, plain one of 0.800. Measured on this table, fair is 0.4
    points less accurate; the limits of both accuracies overlap, so that these labels do not tell which is
    higher.
    """
    way = "more" if gain > 0 else "less"
    same = "as accurate" if round(100 * abs(gain), 1) == 0 else f"{100 * abs(gain):.1f} points {way} accurate"
    tail = (
        ""
        if sure
        else ("; the limits of both accuracies overlap, so that these labels do not tell which is higher")
    )
    return (
        f"{name} has a least adverse impact ratio of {ratio:.3f}, {plain} one of {other:.3f}. Measured on "
        f"this table, {name} is {same}{tail}."
    )


#: Characters that a terminal or a page obeys instead of showing: controls (but for tab and line break), the
#: marks that turn the direction of writing, and halves of characters. A line break of Windows is one break.
_OBEYED = re.compile(
    "(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return a text whose control characters are shown; in JSON they stay valid.

    Everything that comes from files passes through here before it reaches a terminal, a log, a report or a
    sheet: no name of a group clears the screen, and none turns the order of letters.

    >>> print(visible("a\x1b[2Jb \u202ec"))
    a\x1b[2Jb \u202ec
    """
    return _OBEYED.sub(lambda found: ("\\x%02x" if found[0] < " " else "\\u%04x") % ord(found[0]), text)


def one_line(text: object) -> str:
    r"""Return a text in one line, control characters and line breaks shown: no name begins a line of its own.

    >>> print(one_line("sex\ncertified\x1b[2J"))
    sex\ncertified\x1b[2J
    """
    return visible(str(text)).replace("\r", "\\r").replace("\n", "\\n")


@dataclass(frozen=True)
class Guess:
    """A number with its limits; infinite limits where it is from one trial.

    >>> Guess(0.25)
    Guess(value=0.25, low=0.25, high=0.25)
    """

    value: float
    low: float = math.nan
    high: float = math.nan

    def __post_init__(self) -> None:
        for name, limit in (("low", self.low), ("high", self.high)):
            if math.isnan(limit):
                object.__setattr__(self, name, self.value)

    def limits(self) -> str:
        """Say the limits.

        >>> Guess(0.25, 0.2, 0.3).limits(), Guess(0.25, -np.inf, np.inf).limits()
        ('0.20 to 0.30', 'one run: no interval; use --trials 10')
        """
        if math.isinf(self.high):
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
    level : float, optional
        Probability with which labels and pool together put the fair model's gap within the tolerance; None
        where they do not.
    audited : bool, optional
        Whether the fair model's gap is an audit's. That of the plain one is an estimate, then as before.
    runs : int, optional
        Runs that the gaps are means over, on rows that no method has seen; 0 where they are one model's.

    Examples
    --------
    >>> model, plain = Outcome(Guess(0.84), Guess(0.05)), Outcome(Guess(0.85), Guess(0.40))
    >>> print(Beside(model, plain, 0.76, "no", 0.1, 700).sentence())
    A plain model is unfair here: gap 0.40. The fair model has gap 0.05 and gives up 1.0 points of
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
    level: float | None = None
    audited: bool = False
    runs: int = 0

    @property
    def case(self) -> Literal["unfair", "fair already", "unsure", "no better", "unknown"]:
        """The case the user is in; a constant answer that is as good comes first."""
        if self._below_constant(self.model):
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

    @property
    def plain_is_fair(self) -> bool:
        """Whether the plain model is within the tolerance, surely or by no larger a gap than the model's."""
        if self.plain is None or self.plain.gap is None or self.model.gap is None:
            return False
        plain = self.plain.gap
        return plain.high <= self.tolerance or plain.value <= min(self.tolerance, self.model.gap.value)

    @property
    def plain_is_better(self) -> bool:
        """Whether the plain model is as fair and more accurate, and better than a constant answer."""
        return self.plain_is_fair and self.price >= SAME and not self._below_constant(self.plain)

    def _below_constant(self, outcome: Outcome | None) -> bool:
        return outcome is not None and outcome.accuracy.value < self.constant + SAME

    def averages(self, runs: int) -> str:
        """Say the same of means over runs, in points.

        >>> model = Outcome(Guess(0.845), Guess(0.076))
        >>> plain = Outcome(Guess(0.843), Guess(0.169, 0.152, 0.186))
        >>> print(Beside(model, plain, 0.76, "no", 0.1, 600).averages(8))
        A plain model is unfair here. Over 8 runs, on rows that no method has seen, the fair model is 7.6
        points apart, right for 84.5 of 100; the plain one is 16.9 points apart (15.2 to 18.6 points), right
        for 84.3 of 100.
        """
        if self.plain is None or self.plain.gap is None or self.model.gap is None or self.case == "no better":
            return self.sentence()
        case = {
            "unfair": "is unfair here",
            "fair already": "is already within the tolerance",
            "unsure": "may be within the tolerance or not",
        }[self.case]
        over = f"Over {runs} runs" if runs > 1 else "In one run"

        def said(one: Outcome, gap: Guess) -> str:
            known = gap.low < gap.high and math.isfinite(gap.high - gap.low)  # one run has no limits
            between = f" ({points_between(gap.low, gap.high)})" if known else ""
            return f"{points(gap.value)} apart{between}, right for {100 * one.accuracy.value:.1f} of 100"

        return (
            f"A plain model {case}. {over}, on rows that no method has seen, the fair model is "
            f"{said(self.model, self.model.gap)}; the plain one is {said(self.plain, self.plain.gap)}."
        )

    def in_points(self) -> str:
        """Say the same as :meth:`sentence` with gaps in points, as the studio does.

        >>> model, plain = Outcome(Guess(0.84), Guess(0.05)), Outcome(Guess(0.85), Guess(0.40))
        >>> print(Beside(model, plain, 0.76, "no", 0.1, 700).in_points())
        A model without a limit on the gap would be 40 points apart, right for 85 of 100. This one is 5 points
        apart, right for 84 of 100.
        >>> print(Beside(plain, model, 0.76, "no", 0.5, 700).in_points())
        A model without a limit on the gap is as fair by these labels: 5 points apart, right for 84 of 100.
        This one is 40 points apart, right for 85 of 100.
        >>> print(Beside(plain, model, 0.76, "no", 0.01, 700).in_points())
        A model without a limit on the gap would be 5 points apart, right for 84 of 100. This one is 40 points
        apart, right for 85 of 100.
        >>> print(Beside(plain, model, 0.76, "no", 0.5, 700, audited=True).in_points())
        A model without a limit on the gap was not audited: by estimate it is 5 points apart, right for 84 of
        100. This one is 40 points apart by the audit, right for 85 of 100.
        """
        useless = self.case == "no better"
        mine = _of_100(self.model.accuracy.value, self.constant)
        other = _of_100(self.constant, self.model.accuracy.value)
        always = f"always answering “{self.answer}” is right for {other} of 100 without any label"
        if useless and (self.audited or not self.plain_is_better):
            return f"It is right for {mine} of 100, and {always}."
        if self.plain is None or self.plain.gap is None or self.model.gap is None:
            return _PLAIN_UNKNOWN
        would = "is as fair by these labels:" if self.plain_is_fair else "would be"
        by = ""
        if self.audited:  # an estimate and an audit do not tell which of two models is fairer
            would, by = "was not audited: by estimate it is", " by the audit"
        mine = _of_100(self.model.accuracy.value, self.plain.accuracy.value)
        other = _of_100(self.plain.accuracy.value, self.model.accuracy.value)
        return (
            f"A model without a limit on the gap {would} {points(self.plain.gap.value)} apart, right for "
            f"{other} of 100. This one is {points(self.model.gap.value)} apart{by}, right for {mine} of 100"
            f"{f'; {always}' if useless else ''}."
        )

    def worth(self, audit: str | None = None) -> str:
        """Answer whether a fair model is worth it; ``audit`` is the verdict of an audit of it, if any.

        >>> def of(accuracy, gap, *limits):
        ...     return Outcome(Guess(accuracy, accuracy - 0.1, accuracy + 0.1), Guess(gap, *limits))
        >>> model, plain = of(0.84, 0.05, 0.0, 0.15), of(0.85, 0.40, 0.3, 0.5)
        >>> Beside(model, plain, 0.6, "no", 0.1, 700).worth()
        'Yes: a model without a limit is further apart than you allow.'
        >>> Beside(model, of(0.84, 0.13, 0.0, 0.3), 0.6, "no", 0.1, 700).worth()
        'Yes, by estimate: a model without a limit is further apart than you allow. That may be chance.'
        >>> Beside(model, of(0.84, 0.06, 0.0, 0.3), 0.6, "no", 0.1, 700).worth("certified")
        'Yes: this model has a certificate, and one without a limit has none.'
        >>> print(Beside(of(0.53, 0.097, 0, 0.3), of(0.58, 0.039, 0, 0.3), 0.56, "yes", 0.1, 170).worth())
        Not by these labels: a model without a limit is as fair, and more often right. The difference may be
        chance.
        >>> Beside(model, of(0.84, 0.04, 0.0, 0.3), 0.6, "no", 0.1, 700).worth()
        'It makes no difference by these labels: a model without a limit is as fair, and as often right.'
        """
        if self.case == "no better" and (audit is not None or not self.plain_is_better):
            return f"Not by these labels: always answering “{self.answer}” is as often right, and has no gap."
        if self.plain is None or self.plain.gap is None or self.model.gap is None:
            return f"Not known yet. {_PLAIN_UNKNOWN}"
        if audit is not None:
            return _WORTH_AUDITED[audit]
        plain, gap, mine = self.plain.gap, self.model.gap, self.model.accuracy
        if self.plain_is_fair:
            if abs(self.price) < SAME:
                return f"It makes no difference by these labels: {_UNLIMITED} is as fair, and as often right."
            ahead, behind = (self.plain.accuracy, mine) if self.price > 0 else (mine, self.plain.accuracy)
            chance = " The difference may be chance." if ahead.low <= behind.high else ""
            if self.price > 0:
                return f"Not by these labels: {_UNLIMITED} is as fair, and more often right.{chance}"
            return f"Yes, by estimate: {_UNLIMITED} is as fair, but less often right.{chance}"
        if gap.value > self.tolerance:
            other = ", and so is one without a limit" if plain.value > self.tolerance else ""
            return f"Not yet, by estimate: this model is further apart than you allow{other}."
        if plain.low > self.tolerance:
            return f"Yes: {_UNLIMITED} is further apart than you allow."
        if plain.value > self.tolerance:
            return f"Yes, by estimate: {_UNLIMITED} is further apart than you allow. That may be chance."
        return f"Cannot tell yet: by estimate {_UNLIMITED} is within what you allow, too, but further apart."

    def sentence(self) -> str:
        """Say which case the user is in, and what fairness costs."""
        case, plain = self.case, None if self.plain is None else self.plain.gap
        if case == "no better":
            return (
                f"No better than always answering '{self.answer}': accuracy {self.model.accuracy.value:.3f} "
                f"with {self.labels:,} labels, {self.constant:.3f} without any."
            )
        if case == "unknown" or plain is None:
            return _PLAIN_UNKNOWN
        if case == "unfair":
            return f"A plain model is unfair here: gap {plain.value:.2f}. {self._bought()}"
        if case == "fair already":
            return (
                f"A plain model is already within the tolerance: gap {plain.value:.2f} of at most "
                f"{self.tolerance:g}. {self._bought()}"
            )
        return (
            f"A plain model may be within the tolerance or not: gap {plain.value:.2f} ({plain.limits()}), "
            f"tolerance {self.tolerance:g}. {self._bought()}"
        )

    def action(self, audit: str | None = None) -> str:
        """Say what to do with the fair model; ``audit`` is the verdict of an audit of it, None without one.

        >>> model, plain = Outcome(Guess(0.84), Guess(0.05)), Outcome(Guess(0.85), Guess(0.40))
        >>> Beside(model, plain, 0.76, "no", 0.1, 700).action()
        'Use the fair model; an audit gives it a certificate.'
        >>> Beside(plain, model, 0.76, "no", 0.5, 700).action()
        'Use the fair model; an audit gives it a certificate.'
        >>> Beside(plain, model, 0.76, "no", 0.1, 700).action()
        'Do not use the fair model: its gap is above the tolerance.'
        >>> Beside(model, plain, 0.86, "no", 0.1, 700).action()
        'Do not use the fair model. More labels or other features would help.'
        >>> Beside(model, plain, 0.76, "no", 0.1, 700).action("certified")
        'Use the fair model that was audited: it has a certificate for its pool.'
        """
        if self.case == "no better":
            return f"Do not use the fair model. {_WOULD_HELP}"
        gap = self.model.gap
        if gap is None:
            return "Label more rows before you use a model."
        if self.plain_is_better:
            return "Use the plain model: by these labels it is as fair, and more accurate."
        if audit == "certified":
            return "Use the fair model that was audited: it has a certificate for its pool."
        if audit == "refuted" or gap.low > self.tolerance:
            return "Do not use the fair model: its gap is above the tolerance."
        if audit is not None:
            return "Do not use the fair model yet: its audit cannot tell whether the gap is too large."
        if gap.high > self.tolerance:
            return "Audit the fair model before you use it: its gap may be above the tolerance."
        return "Use the fair model; an audit gives it a certificate."

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
        limits, above = f" ({gap.limits()})" if gap.low < gap.high else "", ""
        if gap.high > self.tolerance and self.level is not None:
            limits = (
                f" ({gap.limits()}) by labels alone, within {self.tolerance:g} with probability "
                f"{self.level:g} by labels and pool together,"
            )
        elif gap.high > self.tolerance:
            mean = "on average over more runs " if self.runs > 1 else ""
            may = "" if gap.low > self.tolerance else f"which {mean}may be "
            above = f", {may}above the tolerance of {self.tolerance:g},"
        return f"The fair model has gap {gap.value:.2f}{limits}{above} and {costs}."


#: Why a number of labels suffices (flat), or why none is known to: the mean gap at the end ("gap") or shortly
#: before ("late gap"), models that say so, too few rounds, or what accuracy does.
Why = Literal["flat", "gap", "late gap", "one round", "few rounds", "rises", "falls", "changes", "infeasible"]


def enough_sentence(why: Why, labels: int | None, budget: int, gap: float) -> str:
    """Say how many labels suffice; ``gap`` is the mean at the end of the budget.

    >>> enough_sentence("flat", 300, 700, 0.05)
    'About 300 labels suffice; the curve is flat after that.'
    >>> enough_sentence("rises", None, 700, 0.05)
    'How many labels suffice is not known: accuracy still rises at 700.'
    >>> enough_sentence("gap", None, 700, 0.15)
    'The tolerance is not reached within 700 labels: the mean gap is 0.15.'
    """
    if why == "flat":
        return f"About {labels:,} labels suffice; the curve is flat after that."
    if why == "gap":
        return f"The tolerance is not reached within {budget:,} labels: the mean gap is {gap:.2f}."
    if why in ("one round", "few rounds"):
        return f"{why.capitalize()} only: how many labels suffice is not known."
    if why == "infeasible":
        return (
            f"How many labels suffice is not known: with {budget:,} most models say that the tolerance is "
            "infeasible."
        )
    if why == "late gap":
        return (
            f"How many labels suffice is not known: the mean gap came within the tolerance only at the "
            f"end of the {budget:,} labels."
        )
    moves = {"rises": "still rises", "falls": "falls", "changes": "still goes up and down"}[why]
    return f"How many labels suffice is not known: accuracy {moves} at {budget:,}."


@dataclass(frozen=True)
class LabelSaving:
    """Labels that a reference needs for what a method has at its end; inf: more than the reference had.

    ``low`` and ``high`` are the 5th and 95th percentile over bootstrap resamples of the trials, NaN where
    there is one trial.
    """

    labels: int
    needed: float
    low: float
    high: float
    limit: int  #: labels that the reference was given

    @property
    def has_interval(self) -> bool:
        """Whether there were several trials, and so an interval."""
        return not math.isnan(self.low)

    def count(self, value: float) -> str:
        """Return a number of labels in words.

        >>> LabelSaving(100, 150.0, 120.0, np.inf, 300).count(np.inf)
        'more than 300'
        """
        return f"{value:,.0f}" if math.isfinite(value) else f"more than {self.limit:,}"

    def sentence(self, method: str, accuracy: float) -> str:
        """Say what passive sampling would need.

        >>> print(LabelSaving(100, 150.0, 120.0, np.inf, 300).sentence("FARE", 0.8))
        Rows drawn at random need 150 labels (90 % interval: 120 to more than 300) for FARE's accuracy at
        100 labels (0.800), as fairly: 50 more.
        """
        goal = f"{method}'s accuracy at {self.labels:,} labels ({accuracy:.3f}), as fairly"
        limits = f" (90 % interval: {self.count(self.low)} to {self.count(self.high)})"
        if not self.has_interval:
            limits = " (one run: no interval)"
        elif math.isinf(self.low):
            limits = ""
        if not math.isfinite(self.needed):
            if self.has_interval and math.isfinite(self.low):
                limits = f"; in one of twenty samples of the runs {self.count(self.low)} are"
            return f"With rows drawn at random, {self.limit:,} labels are not enough for {goal}{limits}."
        more = self.needed - self.labels
        words = f"{more:,.0f} more" if more > 0 else f"{method} saves none here"
        return f"Rows drawn at random need {self.needed:,.0f} labels{limits} for {goal}: {words}."


#: Names of methods as somebody reads them who has not met them.
_INTRODUCED = {
    "FARE": "the fair model (FARE)",
    "passive": "rows drawn at random (passive)",
    "no constraint": "the plain model (no constraint)",
}


def within_sentence(labels: int, tolerance: float, counts: Iterable[tuple[str, int, int]]) -> str:
    """Say in how many runs each method is within the tolerance: its name, those runs, and all runs.

    >>> print(within_sentence(50, 0.1, [("FARE", 1, 1), ("no constraint", 0, 1)]))
    With 50 labels the gap is at most 10 points in 1 of 1 runs with the fair model (FARE), 0 of 1 with the
    plain model (no constraint).
    """
    said = [f"{within} of {runs} with {_INTRODUCED.get(name, name)}" for name, within, runs in counts]
    first = said[0].replace(" with", " runs with", 1)
    return (
        f"With {labels:,} labels the gap is at most {points(tolerance)} in {', '.join([first, *said[1:]])}."
    )


def stop_sentence(method: str, stopped: Sequence[int | None], budget: int, ends: str = "") -> str:
    """Say where a stopping rule ended the runs of a method, or that it never did.

    ``ends`` says what the runs had there.

    >>> stop_sentence("FARE", [None, None], 700)
    'FARE: the stopping rule never fired within 700 labels (2 runs).'
    >>> stop_sentence("FARE", [300, None, 400], 700)
    'FARE: the stopping rule fired in 2 of 3 runs, at 350 labels in the mean; in 1 it never fired within 700.'
    """
    fired = [at for at in stopped if at is not None and at <= budget]
    runs = f"{len(stopped)} run{'s' if len(stopped) != 1 else ''}"
    if not fired:
        return f"{method}: the stopping rule never fired within {budget:,} labels ({runs})."
    never = len(stopped) - len(fired)
    rest = f"; in {never} it never fired within {budget:,}" if never else ""
    what = f": {ends}" if ends else ""
    return (
        f"{method}: the stopping rule fired in {len(fired)} of {runs}, at {np.mean(fired):,.0f} "
        f"labels in the mean{rest}{what}."
    )


def columns_apart_sentence(method: str, gaps: Mapping[str, float], together: float) -> str:
    """Say the gap of each protected column by itself, and that of their combinations.

    >>> columns_apart_sentence("FARE", {"sex": 0.02, "race": 0.04}, 0.05)
    'FARE, gap of each column by itself: sex 0.020, race 0.040; of their combinations 0.050.'
    """
    each = ", ".join(f"{column} {gap:.3f}" for column, gap in gaps.items())
    return f"{method}, gap of each column by itself: {each}; of their combinations {together:.3f}."


def audit_sentence(method: str, labels: int, headline: str) -> str:
    """Say what the audit of a method's first model found; ``headline`` is that of the certificate."""
    return f"Audit of {method}'s first model with {labels:,} more labels: {headline}"


def audit_plan_sentence(budgets: Sequence[int], chances: Sequence[float]) -> str:
    """Say how often audits with these budgets certify a model whose groups are alike.

    >>> print(audit_plan_sentence([50, 1000], [0.0, 1.0]))
    Audits of such a model with 50 and 1,000 labels certify it in 0% and 100% of cases if groups are
    alike.
    """
    labels, shares = listed([f"{n:,}" for n in budgets]), listed([f"{share:.0%}" for share in chances])
    return f"Audits of such a model with {labels} labels certify it in {shares} of cases if groups are alike."


def warned_sentence(method: str, rounds: int, of: int, warning: str) -> str:
    """Say in how many of a method's rounds a warning of this category was given.

    >>> warned_sentence("FARE", 2, 10, "EmptyCellWarning")
    'FARE: in 2 of 10 rounds a group had no label of one class yet, so its rate was unknown.'
    """
    return f"{method}: in {rounds:,} of {of:,} rounds {_WARNED.get(warning, warning)}."


def listed(names: Sequence[str]) -> str:
    """Join names as people do.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def safety_sentence(
    fitted: Mapping[str, Any], tolerance: float, rows: int | None = None, *, in_points: bool = False
) -> str | None:
    """Say what the owner of a model must know.

    Whether it answers the same for everybody or decides by lot, whether the tolerance is infeasible with the
    labels, what safety costs, and what would help.

    Parameters
    ----------
    fitted : mapping
        An entry of a learner's or a study's history.
    tolerance : float
    rows : int, optional
        Rows of the pool: more labels than that cannot be had.
    in_points : bool, optional
        Whether gaps are in points, as in the studio. There an estimate or an audit says how large the gap is,
        so it is not said here.

    Returns
    -------
    str or None
        None where there is nothing to say.

    Examples
    --------
    >>> fitted = {"labels": 75, "feasible": False, "level": 0.95, "gap_high": 0.45,
    ...           "safety_cost": 0.0, "needed_low": 300, "needed_high": 600, "contradicted": False,
    ...           "constant": False, "by_lot": 0.0}
    >>> print(safety_sentence(fitted, 0.1))
    Infeasible with these 75 labels: no useful model has a gap within 0.1 with probability 0.95. By labels
    and pool together, the gap of this one is within 0.45. About 300 to 600 labels are needed.
    >>> print(safety_sentence(fitted, 0.1, in_points=True))
    Infeasible with these 75 labels: no useful model has a gap within 10 points with probability 0.95. About
    300 to 600 labels are needed.
    >>> print(safety_sentence(fitted | {"feasible": True, "safety_cost": 0.021}, 0.1))
    To be sure of a gap within 0.1 with probability 0.95, and not only in the mean, costs 2.1 points of
    accuracy. With more labels it would cost less.
    >>> safety_sentence(fitted | {"feasible": True}, 0.1) is None
    True
    """
    decides = decides_sentence(fitted)
    if "safety_cost" not in fitted:  # the oracle does not estimate its own error
        return decides
    cost, sure = fitted["safety_cost"], f"with probability {fitted['level']:g}"
    allowed = points(tolerance) if in_points else f"{tolerance:g}"
    said = [] if decides is None else [decides]
    if fitted["constant"] and fitted["feasible"]:
        said.append(_WOULD_HELP)
    if fitted.get("unseen"):
        said.append(
            f"Infeasible with these {fitted['labels']:,} labels: fewer than three of them tell of the rate "
            f"of some group, so the gap may be up to {_written(fitted['gap_high'], in_points)}. "
            "Label more rows of that group."
        )
    elif not fitted["feasible"]:
        # The source and the comparison are named: estimates from labels alone reach further, and compare with
        # a model without a constraint.
        price = f"; to be so sure costs {100 * cost:.1f} points of accuracy" if cost > SAME else ""
        upper = _limit(fitted["gap_high"])
        within = f"By labels and pool together, the gap of this one is within {upper}{price}. "
        said.append(
            f"Infeasible with these {fitted['labels']:,} labels: no useful model has a gap within "
            f"{allowed} {sure}. {'' if in_points else within}"
            f"{_needed(fitted, rows)}{_cost_of_safe(fitted, allowed)}"
        )
    elif cost > SAME:
        said.append(
            f"To be sure of a gap within {allowed} {sure}, and not only in the mean, costs "
            f"{100 * cost:.1f} points of accuracy. With more labels it would cost less."
        )
    if fitted["contradicted"]:
        alone = contradicted(fitted.get("gap_by_labels"), fitted["gap_low"], fitted["gap_high"])
        said.append(f"{alone[0].upper()}{alone[1:]}.")
    return " ".join(said) or None


def outward(limit: float, digits: int, *, up: bool) -> float:
    """Round a limit away from what it encloses: 0.1002 is not within a tolerance of 0.1, and 0.0998 is.

    >>> outward(0.1002, 3, up=True), outward(0.0998, 2, up=False), outward(1 - 0.7, 3, up=True)
    (0.101, 0.09, 0.3)
    """
    scale, least = 10.0**digits, 1e-7
    return round(
        (math.ceil(limit * scale - least) if up else math.floor(limit * scale + least)) / scale, digits
    )


def enclosed(low: float, high: float, digits: int) -> tuple[float, float]:
    """Round two limits outward; those of a number that was computed are the number.

    >>> enclosed(0.0316, 0.2061, 3), enclosed(0.3899043, 0.3899043, 3)
    ((0.031, 0.207), (0.39, 0.39))
    """
    if low == high:
        return round(low, digits), round(high, digits)
    return outward(low, digits, up=False), outward(high, digits, up=True)


def _limit(gap: float) -> str:
    return f"{outward(gap, 2, up=True):.2f}"


def _written(gap: float, in_points: bool) -> str:
    return points(gap) if in_points else _limit(gap)


def _cost_of_safe(fitted: Mapping[str, Any], allowed: str) -> str:
    """Say what the tolerance costs with the labels at hand, if it can be had."""
    cost = fitted.get("cost_of_safe")
    if cost is None or math.isnan(cost):
        return ""
    return f" With these, to be sure of a gap within {allowed} costs {100 * cost:.1f} points of accuracy."


def _needed(fitted: Mapping[str, Any], rows: int | None) -> str:
    """Say how many labels are needed, if that is known."""
    low, high = fitted["needed_low"], fitted["needed_high"]
    if low is None or math.isnan(low):
        return "How many labels are needed is not known yet."
    beyond = rows is not None and low > rows
    return f"About {labels_range((low, high))} are needed" + (
        f", more than the pool's {rows:,} rows." if beyond else "."
    )


def labels_range(needed: tuple[float, float]) -> str:
    """Name a number of labels by its range.

    >>> labels_range((300, 600))
    '300 to 600 labels'
    """
    return f"{needed[0]:,.0f} to {needed[1]:,.0f} labels"


def promise_sentence(promise: str) -> str:
    """Say in a model card what a model's promise stands on, if it is not the default's.

    >>> promise_sentence("distribution-free")
    ' Its promise is distribution-free: it stands on labels that did not train it, and on no prior.'
    >>> promise_sentence("prior")
    ''
    """
    if promise == "prior":
        return ""
    return f" Its promise is {promise}: it stands on labels that did not train it, and on no prior."


def by_lot_sentence(share: float, method: str | None = None) -> str:
    """Say that decisions are made by lot, and for which share of the rows.

    >>> print(by_lot_sentence(0.46))
    About 46 of 100 rows are decided by lot: such a row may get either answer.
    >>> print(by_lot_sentence(0.004, "FARE of the paper"))
    FARE of the paper: fewer than 1 of 100 rows are decided by lot: such a row may get either answer.
    """
    count = "fewer than 1" if share < 0.01 else f"about {100 * share:.0f}"
    said = f"{count} of 100 rows are decided by lot: such a row may get either answer"
    return f"{method}: {said}." if method else f"{said[0].upper()}{said[1:]}."


def constant_sentence(method: str, same: int, runs: int) -> str:
    """Say in how many runs the last model answers the same for everybody.

    >>> constant_sentence("FARE", 2, 3)
    'In 2 of 3 runs the last model of FARE answers the same for everybody, which is fair and of no use. More labels or other features would help.'
    """  # noqa: E501
    return f"In {same} of {runs} runs the last model of {method} {_SAME_ANSWER}. {_WOULD_HELP}"


def decides_sentence(fitted: Mapping[str, Any]) -> str | None:
    """Say where a model answers the same for everybody, or decides by lot; None where it does neither.

    >>> decides_sentence({"constant": True, "by_lot": 0.0})
    'This model answers the same for everybody, which is fair and of no use.'
    >>> decides_sentence({"constant": False, "by_lot": 0.0}) is None
    True
    """
    if fitted["constant"]:
        return f"This model {_SAME_ANSWER}."
    return by_lot_sentence(fitted["by_lot"]) if fitted["by_lot"] else None


def infeasible_sentence(method: str, said: int, runs: int, needed: tuple[float, float] | None = None) -> str:
    """Say in how many runs the last model called the tolerance infeasible, and about what it needs.

    >>> print(infeasible_sentence("FARE", 3, 3, (800, 1600)))
    In 3 of 3 runs the last model of FARE said: infeasible with these labels. About 800 to 1,600 labels
    are needed.
    >>> infeasible_sentence("FARE", 0, 3)
    ''
    """
    if not said:
        return ""
    about = "" if needed is None else f" About {labels_range(needed)} are needed."
    return f"In {said} of {runs} runs the last model of {method} said: infeasible with these labels.{about}"


def name_cells(cells: NDArray[np.bool_], conditions: Sequence[int | None], groups: Sequence[object]) -> str:
    """Name the rows that marked cells (conditions, groups) hold.

    >>> name_cells(np.array([[False, True]]), (1,), ["a", "b"])
    "positive rows of group 'b'"
    """
    kinds = {1: "positive rows", 0: "negative rows", None: "rows"}
    marked = [(int(z), int(g)) for z, g in zip(*cells.nonzero(), strict=True)]
    return ", ".join(f"{kinds[conditions[z]]} of group {groups[g]!r}" for z, g in marked)


def contradicted(by_labels: float | None, low: float, high: float) -> str:
    """Say that the labels alone put a gap where the pool does not.

    One group may have no rate by labels, while two others contradict the pool.

    >>> print(contradicted(0.31, 0.02, 0.09))
    the labels alone put the gap at 0.31, the pool puts it between 0.02 and 0.09: do not trust this model
    without an audit
    """
    value = "elsewhere" if by_labels is None or not math.isfinite(by_labels) else f"at {by_labels:.2f}"
    return (
        f"the labels alone put the gap {value}, the pool puts it between {low:.2f} and {high:.2f}: do not "
        "trust this model without an audit"
    )


def shortfall(
    labels: int,
    needed: tuple[int, int] | None,
    goal: str,
    upper: float,
    unseen: str = "",
    cost: float = math.nan,
) -> str:
    """Say, as a warning of an oracle, why labels do not suffice for a tolerance.

    Parameters
    ----------
    labels : int
        Labels at hand.
    needed : pair of int, or None
        About how many are needed, if that is known.
    goal : str
        The gap that is wanted, such as "tprp gap within 0.1".
    upper : float
        Upper limit of the returned rule's gap.
    unseen : str
        Rows of which fewer than three are labelled, or nothing.
    cost : float
        Accuracy that a safe rule costs, or NaN.

    Examples
    --------
    >>> print(shortfall(50, (200, 400), "tprp gap within 0.1", 0.9, "positive rows of group 'b'"))
    infeasible with these 50 labels: fewer than three of them are positive rows of group 'b', so the gap
    may be up to 0.90; label more rows of that group
    """
    begin = f"infeasible with these {labels} labels: "
    if unseen:
        return (
            f"{begin}fewer than three of them are {unseen}, so the gap may be up to {_limit(upper)}; "
            "label more rows of that group"
        )
    about = "more labels are needed" if needed is None else f"about {labels_range(needed)} are needed"
    priced = "" if math.isnan(cost) else f", or {100 * cost:.1f} points of accuracy given up (max_price)"
    said = f"no useful rule has a {goal}; that of the returned rule is within {_limit(upper)}"
    return f"{begin}{said}; {about}{priced}"


#: How the feature of a column ends that is 1 where the value is missing.
IS_MISSING = " is missing"


def column_of(feature: str) -> str:
    """Return the column of the table that a feature is about.

    >>> column_of("closed_on is missing"), column_of("age")
    ('closed_on', 'age')
    """
    return feature.removesuffix(IS_MISSING)


def said_column(feature: str) -> str:
    """Return the column of a feature as people say it.

    >>> print(said_column("closed_on is missing"))
    'closed_on' (whether it is empty)
    """
    return f"'{column_of(feature)}'" + (" (whether it is empty)" if feature.endswith(IS_MISSING) else "")


def leaks_sentence(accuracies: Mapping[str, float], *, of_study: bool = False) -> str:
    """Name the columns that give the label away, and how they are left out: of a study, by a new one.

    >>> print(leaks_sentence({"closed_on is missing": 0.997}))
    column 'closed_on' (whether it is empty) alone gives the label away (accuracy 0.997): is it known when
    a row is to be labelled? If not, --drop closed_on leaves it out.
    >>> print(leaks_sentence({"age": 1.0}, of_study=True))
    Column 'age' alone gives the label away (accuracy 1.000): is it known when a row is to be labelled? If
    not, make a new study without it.
    """
    named = ", ".join(map(said_column, accuracies))
    best = max(accuracies.values())
    drop = f"--drop {shlex.quote(','.join(map(column_of, accuracies)))}"
    one = len(accuracies) == 1
    it, first = "it" if one else "them", "C" if of_study else "c"
    remedy = f"make a new study without {it}" if of_study else f"{drop} leaves {it} out"
    if one:
        return (
            f"{first}olumn {named} alone gives the label away (accuracy {best:.3f}): is it known when a row "
            f"is to be labelled? If not, {remedy}."
        )
    return (
        f"{first}olumns {named} each give the label away (accuracy up to {best:.3f}): are they known when a "
        f"row is to be labelled? If not, {remedy}."
    )


def constant(answer: object, needed: tuple[int, int] | None) -> str:
    """Say that a model answers the same for everybody, and what would help.

    >>> constant(0, (300, 600))
    'this model answers 0 for everybody, which is fair and of no use; about 300 to 600 labels would help'
    """
    remedy = "more labels or other features" if needed is None else f"about {labels_range(needed)}"
    return f"this model answers {answer} for everybody, which is fair and of no use; {remedy} would help"


# Where a study stands: sentences of the studio's pages, of `fairask new` and `fairask status`.


def guess_of(found: Mapping[str, float]) -> Guess:
    """Return an estimate of a study's history as a number with its limits."""
    return Guess(found["value"], found["low"], found["high"])


def outcome_of(estimate: Mapping[str, Any]) -> Outcome:
    """Return the accuracy and the gap of an estimate."""
    gap = estimate["gap"]
    return Outcome(guess_of(estimate["accuracy"]), None if gap is None else guess_of(gap))


def begin_sentence(what: str, first: int) -> str:
    """Say why a study has no labels, or no model, at its beginning.

    >>> begin_sentence("labels", 25)
    'No labels yet: the first 25 rows are drawn at random, so that nothing is assumed.'
    """
    return f"No {what} yet: the first {first:,} rows are drawn at random, so that nothing is assumed."


def first_model_sentence(first: int, labels: int) -> str:
    """Say when a study has its first model.

    >>> first_model_sentence(25, 3)
    'The first model is trained when the first 25 rows are answered: 3 of 25.'
    """
    return f"The first model is trained when the first {first:,} rows are answered: {labels:,} of {first:,}."


def right_sentence(labels: int, accuracy: float | None) -> str:
    """Say how often a model is right, or when that will be known.

    >>> right_sentence(80, 0.851)
    'Right for about 85 of 100.'
    >>> right_sentence(12, None)
    '12 labels so far. Estimates begin at the first fit with 30 labels of both classes.'
    """
    if accuracy is None:
        return f"{labels:,} labels so far. Estimates begin at the first fit with 30 labels of both classes."
    return f"Right for about {round(100 * accuracy)} of 100."


def _of_100(share: float, beside: float) -> str:
    """Write a share of a hundred, with a decimal where whole numbers would hide that it differs from another.

    >>> _of_100(0.84, 0.85), _of_100(0.886, 0.894), _of_100(0.881, 0.883)
    ('84', '88.6', '88')
    """
    digits = int(f"{100 * share:.0f}" == f"{100 * beside:.0f}" and abs(share - beside) >= SAME)
    return f"{100 * share:.{digits}f}"


def points(share: float) -> str:
    """Return a gap as people say it: in points, of a hundred, to one decimal.

    >>> points(0.1), points(0.013), points(0.01)
    ('10 points', '1.3 points', '1 point')
    """
    value = f"{round(100 * share, 1) + 0:g}"
    return f"{value} point{'s' * (value != '1')}"


def points_between(low: float, high: float) -> str:
    """Return two limits in points, rounded outward.

    >>> points_between(0.0, 0.2061)
    '0 to 20.7 points'
    """
    least, most = enclosed(low, high, 3)
    return f"{points(least).split()[0]} to {points(most)}"


def at_worst(low: float, high: float, tolerance: float) -> str:
    """Return the limit of an audit that its verdict rests on, in points, rounded away from the gap.

    >>> at_worst(0.02, 0.1004, 0.1), at_worst(0.1304, 0.2, 0.1), at_worst(0.3891, 0.3891, 0.1)
    ('at most 10.1 points', 'at least 13 points', 'at least 38.9 points')
    """
    least, most = enclosed(low, high, 3)
    return f"at least {points(least)}" if low > tolerance else f"at most {points(most)}"


#: Between what the months of a certified model say and what its audit found.
BEFORE_WATCH = "At the audit that was not so."

#: After a comparison that a plain model wins while labels come in.
PLAIN_SO_FAR = "If that stays so, use the plain one."

#: Why a study has no gap yet.
NO_GAP = "One group has no such labels yet, so the gap between groups is not known."

#: What a study says of its model: how it is shown, and the verdict. While labels come in, nothing is final.
ADVICE: dict[str, tuple[Literal["good", "bad", "open"], str]] = {
    "begin": ("open", "No model yet"),
    "early": ("open", "Too early to tell"),
    "certified": ("good", "Use this model"),
    "refuted": ("bad", "Do not use this model"),
    "undecided": ("open", "Cannot tell yet"),
    "useless": ("bad", "Do not use this model"),
    "plain": ("bad", "Use a plain model instead"),
    "above": ("bad", "Do not use this model"),
    "useless so far": ("open", "Do not use this model yet"),
    "plain so far": ("open", "A plain model is ahead so far"),
    "above so far": ("open", "Do not use this model yet"),
    "within": ("open", "Looks fair, not proven"),
    "short": ("open", "Cannot tell yet"),
    "unsure": ("open", "Cannot tell yet"),
    "audit under way": ("open", "An audit is under way"),
    "audit over": ("open", "The audit has ended"),
    "unseen": ("open", "The model cannot see the images"),
    "unheard": ("open", "The model cannot hear the recordings"),
}


def audit_sentences(labels: int, size: int, done: bool, gap: float | None, tolerance: float) -> list[str]:
    """Say where an audit of a model stands, and what was estimated before it.

    >>> print(*audit_sentences(100, 600, False, 0.051, 0.1))
    100 of at most 600 rows are answered; the audit decides. The estimate before it: 5.1 points apart; you
    allow 10 points.
    >>> print(*audit_sentences(360, 600, True, None, 0.1))
    360 of at most 600 rows are answered, and that decides. Issue the certificate: it says what they show.
    """
    said = f"{labels:,} of at most {size:,} rows are answered"
    if done:
        enough = ", and that decides" if labels < size else ""
        return [f"{said}{enough}. Issue the certificate: it says what they show."]
    before = (
        f"The estimate before it: {points(gap)} apart; you allow {points(tolerance)}."
        if gap is not None
        else ""
    )
    return [f"{said}; the audit decides.", *([before] if before else [])]


def apart_sentence(rates: Sequence[Mapping[str, Any]], classes: Sequence[str], tolerance: float) -> str:
    """Say which two groups differ most, and by how many points, in the order in which the groups come.

    >>> rates = [{"condition": "y=1", "group": g, "value": v} for g, v in (("men", 0.93), ("women", 0.8))]
    >>> print(apart_sentence(rates, ["no", "yes"], 0.1))
    Of rows that are “yes”, it says “yes” for 93.0 of 100 in group men and 80.0 of 100 in group women: 13
    points apart; you allow 10 points.
    """
    pairs = [(a, b) for a, b in combinations(rates, 2) if a["condition"] == b["condition"]]
    first, second = max(pairs, key=lambda pair: abs(pair[0]["value"] - pair[1]["value"]))
    negative, positive = classes
    of = {"y=1": f"rows that are “{positive}”", "y=0": f"rows that are “{negative}”", "all": "all rows"}
    return (
        f"Of {of[first['condition']]}, it says “{positive}” for {100 * first['value']:.1f} of 100 in group "
        f"{first['group']} and {100 * second['value']:.1f} of 100 in group {second['group']}: "
        f"{points(abs(first['value'] - second['value']))} apart; you allow {points(tolerance)}."
    )


def shown_rates(rates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Round rates to a tenth of a point so that the two which differ most show their gap when subtracted.

    The gap itself is what is rounded well: of those two rates, the one that moves less follows it.

    >>> rates = [{"condition": "y=1", "group": g, "value": v} for g, v in (("f", 0.8874), ("m", 0.9376))]
    >>> [rate["value"] for rate in shown_rates(rates)]
    [0.887, 0.937]
    """
    shown = [{**rate, "value": None if rate["value"] is None else round(rate["value"], 3)} for rate in rates]
    pairs = [
        (a, b)
        for a, b in combinations(range(len(rates)), 2)
        if rates[a]["condition"] == rates[b]["condition"]
        and rates[a]["value"] is not None
        and rates[b]["value"] is not None
    ]
    if not pairs:
        return shown
    a, b = max(pairs, key=lambda pair: abs(rates[pair[0]]["value"] - rates[pair[1]]["value"]))
    gap = round(rates[a]["value"] - rates[b]["value"], 3)
    moved = [(a, round(shown[b]["value"] + gap, 3)), (b, round(shown[a]["value"] - gap, 3))]
    at, value = min(moved, key=lambda move: abs(move[1] - rates[move[0]]["value"]))
    shown[at]["value"] = value
    return shown


def allowed_sentence(gap: Guess, tolerance: float, fitted: Mapping[str, Any]) -> str:
    """Say what labels alone tell of a gap and its tolerance, and what labels and pool together do.

    ``fitted`` is the entry of a study's history.

    >>> fitted = {"safety_cost": 0.0, "feasible": False, "needed_low": 300, "needed_high": 600, "level": 0.95}
    >>> allowed_sentence(Guess(0.13, 0.07, 0.19), 0.1, fitted)
    'Too few labels to be sure.'
    >>> print(allowed_sentence(Guess(0.08, 0.02, 0.19), 0.1, fitted | {"feasible": True}))
    By labels alone that is not sure. By labels and pool together it is within what you allow, with
    probability 0.95. Only an audit can promise it.
    """
    if gap.high <= tolerance and "safety_cost" in fitted and not fitted["feasible"]:
        return "By labels alone it is within what you allow, by labels and pool together that is not sure."
    if gap.high <= tolerance:
        return "By these labels it is within what you allow. Only an audit can promise it."
    if gap.low > tolerance:
        return "That is more than you allow, and not by chance."
    if "safety_cost" not in fitted:  # the oracle does not estimate its own error
        return "Too few labels to be sure by estimates alone; an audit tells with fewer."
    if not fitted["feasible"]:
        return "Too few labels to be sure."  # how many are needed is said where the tolerance is infeasible
    return (
        "By labels alone that is not sure. By labels and pool together it is within what you allow, with "
        f"probability {fitted['level']:g}. Only an audit can promise it."
    )


def rate_words(classes: Sequence[str]) -> dict[str, str]:
    """Return each rate in words, by its name and by the condition under which an estimate is made.

    >>> rate_words(["no", "yes"])["tpr"]
    'of rows that are “yes”: answered “yes”'
    """
    negative, positive = classes
    said = f"answered “{positive}”"
    tpr, fpr = f"of rows that are “{positive}”: {said}", f"of rows that are “{negative}”: {said}"
    every = f"of all rows: {said}"
    return {"tpr": tpr, "fpr": fpr, "selection_rate": every, "y=1": tpr, "y=0": fpr, "all": every}


def question_sentence(metric: str, classes: Sequence[str]) -> str:
    """Say what a study asks its model to keep.

    >>> question_sentence("tprp", ["no", "yes"])
    'of rows that are “yes”, all groups are answered “yes” equally often'
    """
    negative, positive = classes
    said = f"all groups are answered “{positive}” equally often"
    of = {
        "tprp": f"of rows that are “{positive}”, ",
        "fprp": f"of rows that are “{negative}”, ",
        "eo": f"of rows that are “{positive}”, and of rows that are “{negative}”, ",
    }
    return of.get(metric, "") + said


def gap_sentence(metric: str, classes: Sequence[str]) -> str:
    """Say what the gap is that a certificate bounds.

    >>> gap_sentence("tprp", ["no", "yes"])
    'The gap: of rows that are “yes”, how much more often one group is answered “yes” than another.'
    """
    negative, positive = classes
    of = {
        "tprp": f"rows that are “{positive}”",
        "fprp": f"rows that are “{negative}”",
        "eo": f"rows that are “{positive}”, or of rows that are “{negative}” if that is more",
    }
    return (
        f"The gap: of {of.get(metric, 'all rows')}, how much more often one group is answered “{positive}” "
        "than another."
    )


#: What a certificate of a study does not say.
CERTIFICATE_LIMITS = (
    "It is about this model on this pool of rows. Another model, or other rows, need one of their own.",
    "It takes the labels of the audit as true: it cannot see answers that are wrong in one group more often.",
    "It is about this gap alone. Other gaps, and groups that are not named here, may be larger.",
)


def verdict_sentence(verdict: str, lower: float, upper: float, delta: float) -> str:
    """Say what an audit found; ``delta`` is the chance that a limit of the gap is wrong.

    >>> verdict_sentence("certified", 0.0, 0.0931, 0.05)
    'Certified. With 95 % confidence the gap is at most 9.4 points.'
    >>> verdict_sentence("refuted", 0.12, 0.2, 0.05)
    'Refuted. With 95 % confidence the gap is at least 12 points.'
    """
    sure = f"ith {100 * (1 - delta):g} % confidence the gap is at"
    least, most = map(points, enclosed(lower, upper, 3))
    if verdict == "certified":
        return f"Certified. W{sure} most {most}."
    if verdict == "refuted":
        return f"Refuted. W{sure} least {least}."
    return f"The audit could not tell: w{sure} most {most}."


def counted_sentence(audit: int, counted: int) -> str:
    """Say on which labels the rates of a certificate rest: of the audit, and given before it.

    >>> counted_sentence(360, 510)
    '510 labels: 360 of the audit, which trained nothing, and 150 of before, which are counted whole.'
    >>> counted_sentence(360, 360)
    '360 labels of the audit, which trained nothing.'
    """
    if counted <= audit:
        return f"{audit:,} labels of the audit, which trained nothing."
    return (
        f"{counted:,} labels: {audit:,} of the audit, which trained nothing, and {counted - audit:,} of "
        "before, which are counted whole."
    )


def model_sentence(number: int, labels: int, model: Outcome | None, tolerance: float) -> str:
    """Say what is known of the model of a round.

    >>> print(model_sentence(2, 80, Outcome(Guess(0.81, 0.7, 0.9), None), 0.1))
    Model of round 2 on 80 labels: accuracy 0.810 (0.700 to 0.900), gap unknown: a group has too few labels,
    tolerance 0.1
    """
    head = f"Model of round {number} on {labels:,} labels"
    if model is None:
        return f"{head}: too few to estimate its accuracy"
    gap = "unknown: a group has too few labels" if model.gap is None else _interval(model.gap)
    return f"{head}: accuracy {_interval(model.accuracy)}, gap {gap}, tolerance {tolerance:g}"


def beside_sentences(plain: Outcome, constant: float, answer: str) -> list[str]:
    """Say what a model without a constraint and a constant answer reach.

    >>> beside_sentences(Outcome(Guess(0.85, 0.8, 0.9), None), 0.7, "yes")
    ['Without a constraint: accuracy 0.850 (0.800 to 0.900)', "Always 'yes': accuracy 0.700, gap 0"]
    """
    gap = "" if plain.gap is None else f", gap {_interval(plain.gap)}"
    return [
        f"Without a constraint: accuracy {_interval(plain.accuracy)}{gap}",
        f"Always '{answer}': accuracy {constant:.3f}, gap 0",
    ]


def _interval(guess: Guess) -> str:
    return f"{guess.value:.3f} ({guess.low:.3f} to {guess.high:.3f})"


#: Members of a model, in words; the constant one answers always the same.
MEMBER_NAMES = {
    "constant": "Always “{}”",
    "thresholds": "A threshold for each group",
    "blind": "One rule for all, without looking at the group",
    "rule": "A classifier",
}
#: A chance below this is called hardly any.
_HARDLY = 0.2
#: Why an audit of a size is suggested after one that could not tell.
AUDIT_MORE = "The last audit says that so many more labels would likely decide."


def audit_size_sentence(gap: float | None, labels: int, chance: float) -> str:
    """Say how many simulated audits of a size certify a model with the estimated gap, if there is one.

    >>> audit_size_sentence(0.05, 250, 0.85)
    'At the estimated gap of 5 points, audits with 250 labels certify in about 85 of 100 cases.'
    >>> audit_size_sentence(0.097, 850, 0.02)
    'At the estimated gap of 9.7 points hardly any audit certifies: with 850 labels about 2 of 100.'
    >>> audit_size_sentence(None, 250, 0.8)
    'With half the allowed gap, audits with 250 labels certify in about 80 of 100 cases.'
    """
    share = f"about {round(100 * chance)} of 100"
    at = "With half the allowed gap" if gap is None else f"At the estimated gap of {points(gap)}"
    if gap is not None and chance < _HARDLY:
        return f"{at} hardly any audit certifies: with {labels:,} labels {share}."
    return f"{at}, audits with {labels:,} labels certify in {share} cases."


def forecast_sentence(labels: int, accuracy: float, gap: float, tolerance: float) -> str:
    """Say what to expect of a study with so many labels.

    >>> forecast_sentence(250, 0.78, 0.041, 0.1)
    'With 250 labels expect about 78 right answers of 100 and a gap of about 4.1 points; you allow 10.'
    """
    return (
        f"With {labels:,} labels expect about {round(100 * accuracy)} right answers of 100 and a gap of "
        f"about {points(gap)}; you allow {100 * tolerance:g}."
    )


#: Asked of whoever makes a study without naming groups.
NO_PROTECTED = "Mark at least one column as protected: groups are compared by it."


def no_groups_words(different: int, most: int) -> str:
    """Say why a column cannot be protected.

    >>> no_groups_words(900, 50), no_groups_words(1, 50)
    ('900 different values: groups need 50 or fewer', 'one value only')
    """
    if different > most:
        return f"{different:,} different values: groups need {most} or fewer"
    return "one value only" if different == 1 else "no values that make groups"


def sampled_sentence(rows: int, of: int, key: str) -> str:
    """Say that the pool of a study is a sample, and where its rows are.

    >>> print(sampled_sentence(65536, 100000, "row in the table"))
    The pool is a random sample of 65,536 of 100,000 rows, copied into the study; the column 'row in the
    table' says where each row is. Certificates are about the sample.
    """
    return (
        f"The pool is a random sample of {rows:,} of {of:,} rows, copied into the study; the column {key!r} "
        "says where each row is. Certificates are about the sample."
    )


#: What lets a model see images and hear audio.
EMBED = (
    "Add embeddings, numbers that describe each image or recording: a column of lists of numbers, or an .npy "
    "file with a row for each row of the table. The page “Text and embeddings” of the documentation "
    "(docs/guides/text.md) shows local encoders."
)


def learns_only(learned: Sequence[str]) -> str:
    """Say from which columns alone a model learns, after "it".

    >>> learns_only(["age", "site"])
    'learns only from “age” and “site”.'
    """
    return f"learns only from {listed([f'“{name}”' for name in learned])}."


def unseen_sentence(unseen: Mapping[str, str], learned: Sequence[str] | None = None) -> str:
    """Say that a model does not see images or hear audio, and what it learns from instead, if that is known.

    ``unseen`` are the columns with the kind of each, "image" or "audio".

    >>> unseen_sentence({"photo": "image"}, ["age", "site"])
    'The model cannot see the images in “photo”; it learns only from “age” and “site”.'
    >>> unseen_sentence({"call": "audio"}, [])
    'The model cannot hear the recordings in “call”, and no other column is left to learn from.'
    """
    said = {"image": "see the images in", "audio": "hear the recordings in"}
    by_kind = [(said[kind], [f"“{n}”" for n, of in unseen.items() if of == kind]) for kind in said]
    verbs = listed([f"{verb} {', '.join(names)}" for verb, names in by_kind if names])
    if learned is None:
        return f"The model cannot {verbs}; it learns only from other columns."
    if not learned:
        return f"The model cannot {verbs}, and no other column is left to learn from."
    return f"The model cannot {verbs}; it {learns_only(learned)}"


def missing_sentence(names: Sequence[str]) -> str:
    """Name images and recordings that a table has and nobody sent.

    >>> missing_sentence(["7.png", "8.png"])
    '2 files that the table names were not sent: 7.png and 8.png.'
    """
    some = listed(names[:3]) + (", …" if len(names) > 3 else "")
    words = "file that the table names was" if len(names) == 1 else "files that the table names were"
    return f"{len(names):,} {words} not sent: {some}."


def goal_sentences(
    gap: str, metric: str, tolerance: float, budget: int, batch: int, classes: Sequence[str]
) -> list[str]:
    """Say what a new study is to reach, with how many labels, and what they mean; ``gap`` in words.

    >>> print(goal_sentences("difference", "tprp", 0.1, 250, 25, ["bad", "good"])[1])
    Labels: 250 in batches of 25; 'good' counts as positive, 'bad' as negative
    """
    negative, positive = classes
    return [
        f"Goal: a {gap} of at most {tolerance:g} (--metric {metric}, --tolerance {tolerance:g})",
        f"Labels: {budget:,} in batches of {batch:,}; {positive!r} counts as positive, {negative!r} as "
        "negative",
    ]


def observed_sentences(accepted: int, others: int, missing: int, random: bool, bought: int) -> list[str]:
    r"""Say what a certificate rests on where outcomes exist because rows were accepted.

    >>> for text in observed_sentences(600, 0, 12, False, 140):
    ...     print(text.replace("accepted. They", "accepted.\nThey"))
    Observed: the outcomes of 600 accepted rows, which exist because they were accepted.
    They are counted whole.
    Of 12 accepted rows no outcome was observed: the bounds hold whatever it is.
    Bought: 140 labels, all of rows whose outcome was not observed.
    """
    also = f", and of {others:,} rows that the model does not accept" if others else ""
    found = [
        f"Observed: the outcomes of {accepted:,} accepted rows, which exist because they were "
        f"accepted{also}. They are counted whole."
    ]
    if missing and random:
        found.append(
            f"Of {missing:,} accepted rows no outcome was observed: it is declared to be missing at random "
            "among the accepted rows of a group."
        )
    elif missing:
        found.append(f"Of {missing:,} accepted rows no outcome was observed: the bounds hold whatever it is.")
    return [*found, f"Bought: {bought:,} labels, all of rows whose outcome was not observed."]


#: Said in the certificate of an audit of a model that decides by lot.
DRAWN_ONCE = (
    "The classifier is randomised: each decision was drawn once with a fixed seed; those are audited."
)


def unknown_groups_sentence(unknown: int, rows: int) -> str:
    """Say in a certificate how many rows are of unknown group.

    >>> unknown_groups_sentence(30, 1000)
    'The group of 30 rows (3.0%) is unknown: the bounds hold whichever they belong to.'
    """
    share = unknown / max(rows, 1)
    return (
        f"The group of {unknown:,} rows ({share:.1%}) is unknown: the bounds hold whichever they belong to."
    )


def trial_in_words(
    labels: int, agreement: Mapping[str, float], judge: float, model: float, saving: float, heeded: bool
) -> str:
    """Say how far a judge agrees with people, and what to expect of him.

    >>> print(trial_in_words(60, {"men": 0.9, "women": 0.7}, 0.81, 0.86, 0.3, True))
    The judge agrees with people in 90% (men) and 70% (women) of rows, by 60 labels.
    His balanced agreement is 81%, the model's 86%. He is no better than the model: at most half of the labels
    can be saved. By these labels he saves at most about 30%.
    """
    by = " and ".join(f"{share:.0%} ({name})" for name, share in agreement.items())
    lines = [f"The judge agrees with people in {by} of rows, by {labels:,} labels."]
    beside = f"His balanced agreement is {judge:.0%}, the model's {model:.0%}."
    if not heeded:
        return "\n".join(
            [
                *lines,
                beside,
                "By the pilot he saves next to nothing: labels are drawn as if there were no judge.",
            ]
        )
    if judge <= model:
        beside += " He is no better than the model: at most half of the labels\ncan be saved."
    return "\n".join([*lines, f"{beside} By these labels he saves at most about {saving:.0%}."])


def judge_sentence(labels: int, saving: float, heeded: bool) -> str:
    """Say in a certificate what a judge was used for.

    >>> judge_sentence(240, 0.3, True)
    'A judge said where labels tell most (he saves at most about 30% of them). All 240 labels are from people; answers of the judge are not counted.'
    >>> judge_sentence(240, 0.02, False).partition(".")[0]
    'A judge was tried and is not heeded, because by the pilot he saves next to nothing'
    """  # noqa: E501
    used = (
        f"A judge said where labels tell most (he saves at most about {saving:.0%} of them)."
        if heeded
        else "A judge was tried and is not heeded, because by the pilot he saves next to nothing."
    )
    return f"{used} All {labels:,} labels are from people; answers of the judge are not counted."


def suspicion_sentence(
    kind: str, people: Sequence[str], facts: Sequence[Any], rows: int, alone: int = 0, wrong: float = 0.0
) -> str:
    """Say what is found about people who answer, and what to do; ``rows`` answers are probably wrong.

    Nobody else answered ``alone`` other rows; ``wrong`` of the answers to them are expected to be wrong.

    >>> print(suspicion_sentence("harsh", ["Ann"], [("F", "no", "yes", 0.41, 0.05)], 23))
    Ann says 'no' to 41% of F who deserve 'yes'; others to 5%. 23 answers of Ann are probably wrong: ask for
    these rows again.
    >>> print(suspicion_sentence("harsh", ["Ann"], [("F", "no", "yes", 0.41, 0.05)], 0, 40, 12.3))
    Ann says 'no' to 41% of F who deserve 'yes'; others to 5%. Nobody else answered 40 such rows of Ann, and
    about 12 of these answers are wrong: ask for these rows again.
    >>> print(suspicion_sentence("copies", ["Ann", "Bob"], (40.0, 6.6), 31))
    Ann and Bob give the same wrong answer to 40 rows; 7 would be expected. 31 answers of Ann and Bob are
    probably wrong: ask for these rows again.
    >>> print(suspicion_sentence("drift", ["Cem"], (0.16, 0.06, None), 0))
    Cem errs in 16% of the earlier answers and in 6% of the later ones.
    >>> print(suspicion_sentence("drift", ["Cem"], (0.04, 0.4, ("F", "yes")), 0))
    Cem errs in 4% of the earlier answers and in 40% of the later ones, of F who deserve 'yes'.
    >>> print(suspicion_sentence("drift", ["Ann", "Bob", "Cem"], (0.04, 0.3, None), 0))
    All together err in 4% of the earlier answers and in 30% of the later ones. Later labels are wrong more
    often than gold rows show that were answered before.
    """
    name, parts = " and ".join(people), []
    if kind == "copies":
        parts.append(
            f"{name} give the same wrong answer to {facts[0]:.0f} rows; {facts[1]:.0f} would be expected."
        )
    elif kind == "drift":
        first, last, where = facts
        who = f"{name} errs" if len(people) == 1 else "All together err"
        of = "" if where is None else f", of {where[0]} who deserve {where[1]!r}"
        parts.append(f"{who} in {first:.0%} of the earlier answers and in {last:.0%} of the later ones{of}.")
        if len(people) > 1 and last > first:
            parts.append("Later labels are wrong more often than gold rows show that were answered before.")
    else:
        beside = "in gold rows" if kind == "leaked" else "others"
        told = [
            f"{said!r} to {rate:.0%} of {group} who deserve {right!r}; {beside} to {other:.0%}"
            for group, said, right, rate, other in facts
        ]
        parts.append(f"{name} says {', and '.join(told)}.")
        if kind == "random":
            parts.append("That is hardly better than by chance.")
        if kind == "leaked":
            parts.append(f"{name} may know the gold rows: these answers to them are not counted.")
    if rows:
        many = "answer" if rows == 1 else "answers"
        again = (
            "is probably wrong: ask for this row" if rows == 1 else "are probably wrong: ask for these rows"
        )
        parts.append(f"{rows:,} {many} of {name} {again} again.")
    if round(wrong):
        such, are = "row" if alone == 1 else "rows", "is" if round(wrong) == 1 else "are"
        parts.append(
            f"Nobody else answered {alone:,} such {such} of {name}, and about {wrong:,.0f} of these answers "
            f"{are} wrong: ask for these rows again."
        )
    return " ".join(parts)


def suspicion_with_rows(words: str, rows: Sequence[object]) -> str:
    """Add to such a sentence which rows it speaks of; of many the most doubtful.

    >>> suspicion_with_rows("Ask for these rows again.", [7, 12])
    'Ask for these rows again. Rows: 7, 12.'
    """
    some = [str(row) for row in rows[:_MOST_ROWS]]
    rest = f", and {len(rows) - len(some):,} less doubtful ones" if len(rows) > len(some) else ""
    return f"{words} Rows: {', '.join(some)}{rest}." if some else words


def learned_noise_sentence(groups: Sequence[str], wrong: Any, doubt: Any) -> str:
    """Say in a certificate what was learned of wrong labels, by right label (0, then 1) and group.

    >>> print(learned_noise_sentence(["F"], [[0.02], [0.1]], [[0.01], [0.02]]))
    Labels told are wrong as often as gold rows show, whatever the decision: F 2.0% of negative ones (standard
    error 1.0%) and 10.0% of positive ones (2.0%). The bounds are widened for both. Gold rows were drawn at
    random, and the same people made the labels, who did not know which rows are gold.
    """
    told = "; ".join(
        f"{name} {wrong[0][g]:.1%} of negative ones ({'' if g else 'standard error '}{doubt[0][g]:.1%}) "
        f"and {wrong[1][g]:.1%} of positive ones ({doubt[1][g]:.1%})"
        for g, name in enumerate(groups)
    )
    return (
        f"Labels told are wrong as often as gold rows show, whatever the decision: {told}. The bounds are "
        "widened for both. Gold rows were drawn at random, and the same people made the labels, who did not "
        "know which rows are gold."
    )


def learned_from_sentence(file: str, sha256: str, answers: int, people: int, gold: int, opinions: int) -> str:
    """Say what wrong labels were learned from.

    >>> learned_from_sentence("a.csv", "ab12", 1200, 5, 300, 2)
    'wrong labels were learned from a.csv (sha256 ab12): 1,200 answers of 5 people, 300 gold rows; a label has 2 opinions'
    """  # noqa: E501
    many = f"{opinions} opinions" if opinions > 1 else "one opinion"
    return (
        f"wrong labels were learned from {file} (sha256 {sha256}): {answers:,} answers of {people:,} people, "
        f"{gold:,} gold rows; a label has {many}"
    )


def standing_sentence(
    verdict: str, since: str | None, allowed: str, needed: int | None, doubt: bool = False
) -> str:
    """Where a watched model stands; ``allowed`` is the allowed gap in words, ``doubt`` ended a certificate.

    >>> standing_sentence("refuted", "2026-05", "0.1", None)
    'Refuted: the gap is above 0.1 since about 2026-05.'
    >>> standing_sentence("undecided", "2025-01", "0.1", 600)
    'Cannot tell any more: the last certificate is of 2025-01. About 600 labels would likely certify again.'
    >>> print(standing_sentence("undecided", "2026-01", "0.1", None, doubt=True))
    Cannot tell any more: labels since raise doubt about the certificate of 2026-01. They do not say that more
    of them would certify a gap of at most 0.1.
    """
    if verdict == "refuted":
        return f"Refuted: the gap is above {allowed} since about {since}."
    if verdict == "certified":
        return f"Still certified: a gap of at most {allowed} was certified in {since}; nothing refutes it."
    if since is None:
        before, them = "there is no certificate yet.", "The labels so far"
    elif doubt:
        before, them = f"labels since raise doubt about the certificate of {since}.", "They"
    else:
        before, them = f"the last certificate is of {since}.", "The labels so far"
    more = (
        f"About {needed:,} labels would likely certify{' again' if since else ''}."
        if needed
        else f"{them} do not say that more of them would certify a gap of at most {allowed}."
    )
    return f"Cannot tell{' any more' if since else ''}: {before} {more}"


def standing_details(
    found: tuple[float | None, float, float],
    months: tuple[str, str] | None,
    labels: int,
    metric: str,
    tolerance: float,
    in_points: bool = False,
    known: int = 0,
) -> str:
    """What the state of a watched model rests on: the gap with its bounds.

    >>> standing_details((0.041, 0.0, 0.0927), ("2026-01", "2026-06"), 1200, "tprp", 0.1)
    'Gap from 2026-01 to 2026-06: 0.041, between 0 and 0.093 (tprp, tolerance 0.1). Labels in all: 1,200.'
    >>> standing_details((0.041, 0.0, 0.093), ("2026-01", "2026-01"), 1200, "tprp", 0.1, in_points=True)
    'Gap in 2026-01: 4.1 points, 0 to 9.3 points by the bounds (you allow 10 points). Labels in all: 1,200.'
    >>> standing_details((None, 0.0, 1.0), None, 0, "tprp", 0.1, known=3000)
    'No gap is measured yet (tprp, tolerance 0.1). Labels in all: 0; outcomes that were known: 3,000.'
    """
    gap, lower, upper = found
    limit = f"you allow {points(tolerance)}" if in_points else f"{metric}, tolerance {tolerance:g}"
    some = f"Labels in all: {labels:,}{f'; outcomes that were known: {known:,}' if known else ''}."
    if months is None or gap is None:
        return f"No gap is measured yet ({limit}). {some}"
    when = f"in {months[0]}" if months[0] == months[1] else f"from {months[0]} to {months[1]}"
    least, most = enclosed(lower, upper, 3)
    bounds = (
        f"{points(gap)}, {points_between(lower, upper)} by the bounds"
        if in_points
        else f"{gap:.3f}, between {least:g} and {most:g}"
    )
    return f"Gap {when}: {bounds} ({limit}). {some}"


def shift_sentences(shift: Mapping[str, Any]) -> list[str]:
    """How the last month differs from the first, as far as no label is needed.

    >>> groups = {"f": {"share": [0.3, 0.4], "selected": [0.5, 0.45]}}
    >>> shift_sentences({"months": ["2026-01", "2026-06"], "groups": groups, "psi": 0.31})
    ... # doctest: +NORMALIZE_WHITESPACE
    ['From 2026-01 to 2026-06 the share of f went from 30 % to 40 % of the rows, and that of its positive
      decisions from 50 % to 45 %.', 'Population stability index of the scores: 0.31 (above 0.25 is commonly
      called large).']
    """
    if not shift:
        return []
    first, last = shift["months"]
    lines = []
    for group, found in shift["groups"].items():
        (had, has), (gave, gives) = (
            [f"{100 * v:.0f} %" for v in found[name]] for name in ("share", "selected")
        )
        lines.append(
            f"From {first} to {last} the share of {group} went from {had} to {has} of the rows, and that of "
            f"its positive decisions from {gave} to {gives}."
        )
    if "psi" in shift:
        index = f"{shift['psi']:.2f} (above 0.25 is commonly called large)"
        lines.append(f"Population stability index of the scores: {index}.")
    return lines
