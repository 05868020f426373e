"""When to stop asking: small rules that can be combined.

A rule looks at a learner and returns the reason to stop, or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.errors import suggest
from fairask.metrics import Int

__all__ = ["AnyOf", "Budget", "Certified", "Plateau", "StoppingRule"]


class Verdict(Protocol):
    """The part of a certificate that a rule reads."""

    @property
    def verdict(self) -> str:
        """``"certified"``, ``"refuted"`` or ``"undecided"``."""
        ...

    @property
    def upper(self) -> float:
        """Upper limit of the gap."""
        ...


class Stoppable(Protocol):
    """The part of a learner that rules read."""

    @property
    def labelled_indices_(self) -> Int:
        """Labelled rows."""
        ...

    @property
    def history_(self) -> Mapping[str, NDArray[np.generic]]:
        """One entry per answered batch, by column."""
        ...

    @property
    def certificate_(self) -> Verdict | None:
        """Certificate of the current model."""
        ...


class StoppingRule(Protocol):
    """Decides whether a learner has enough labels."""

    def reason(self, learner: Stoppable) -> str | None:
        """Why to stop now, in words; None to go on."""
        ...


@dataclass(frozen=True)
class Budget:
    """Stop when ``labels`` are spent.

    Examples
    --------
    >>> from fairask import FairActiveLearner
    >>> Budget(10).reason(FairActiveLearner(np.eye(4), [0, 1, 0, 1])) is None
    True
    """

    labels: int

    def reason(self, learner: Stoppable) -> str | None:
        """See :class:`StoppingRule`."""
        spent = len(learner.labelled_indices_)
        return f"the budget of {self.labels} labels is spent" if spent >= self.labels else None


@dataclass(frozen=True)
class Plateau:
    """Stop when a column of the history has moved by at most ``by`` over the last ``rounds`` rounds.

    The default column is the model's own estimate of its error: for the calibrated oracle that comes from
    probabilities of rows that did not train them. The first estimates are too low and rise: that counts as
    a move. Rounds without new labels and models that interpolate their labels are left out.

    Examples
    --------
    >>> Plateau(rounds=2).reason_for([0.30, 0.20, 0.199, 0.1995])
    'error has moved by at most 0.005 in 2 rounds'
    >>> Plateau(rounds=2).reason_for([0.01, 0.20, 0.25, 0.26]) is None
    True
    """

    rounds: int = 3
    by: float = 0.005
    column: str = "error"

    def reason(self, learner: Stoppable) -> str | None:
        """See :class:`StoppingRule`."""
        history = learner.history_
        if history and self.column not in history:
            raise ValueError(f"column={self.column!r} is not in the history; known: {', '.join(history)}")
        names = (self.column, "labels", "interpolates")
        kept = {name: np.asarray(history[name]).tolist() for name in names if name in history}
        return self.reason_in([dict(zip(kept, row, strict=True)) for row in zip(*kept.values(), strict=True)])

    def reason_in(self, history: Sequence[Mapping[str, float]]) -> str | None:
        """Apply the rule to entries of a history: the last one at each number of labels counts."""
        last = {entry["labels"]: entry for entry in history}
        return self.reason_for([e[self.column] for e in last.values() if not e.get("interpolates")])

    def reason_for(self, values: ArrayLike) -> str | None:
        """Apply the rule to a sequence of numbers."""
        numbers = np.asarray(values, dtype=np.float64)
        if len(numbers) <= self.rounds or np.ptp(numbers[-self.rounds - 1 :]) > self.by:
            return None
        return f"{self.column} has moved by at most {self.by:g} in {self.rounds} rounds"


@dataclass(frozen=True)
class Certified:
    """Stop when the current model has been audited and is certified.

    Examples
    --------
    >>> from fairask import FairActiveLearner
    >>> Certified().reason(FairActiveLearner(np.eye(4), [0, 1, 0, 1])) is None
    True
    """

    def reason(self, learner: Stoppable) -> str | None:
        """See :class:`StoppingRule`."""
        certificate = learner.certificate_
        if certificate is None or certificate.verdict != "certified":
            return None
        return f"the model is certified: gap at most {certificate.upper:.3f}"


@dataclass(frozen=True)
class AnyOf:
    """Stop when any of the rules says so.

    Examples
    --------
    >>> AnyOf((Budget(100), Plateau())).rules[0]
    Budget(labels=100)
    """

    rules: tuple[StoppingRule, ...]

    def reason(self, learner: Stoppable) -> str | None:
        """See :class:`StoppingRule`."""
        return next((reason for rule in self.rules if (reason := rule.reason(learner))), None)


def make_rule(text: str) -> StoppingRule:
    """Make a rule from text: ``plateau``, ``certified``, ``budget:300``, or several with commas between them.

    ``plateau:5`` looks at 5 rounds and ``plateau:5:0.01`` for moves above 0.01.

    Examples
    --------
    >>> make_rule("plateau:5:0.01")
    Plateau(rounds=5, by=0.01, column='error')
    >>> make_rule("budget:300, certified")
    AnyOf(rules=(Budget(labels=300), Certified()))
    """
    rules = tuple(_one_rule(part.strip()) for part in text.split(","))
    return rules[0] if len(rules) == 1 else AnyOf(rules)


def _one_rule(text: str) -> StoppingRule:
    name, *values = text.split(":")
    kinds: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "budget": (Budget, (int,)),
        "plateau": (Plateau, (int, float)),
        "certified": (Certified, ()),
    }
    if name not in kinds:
        raise ValueError(f"stopping rule {text!r} is unknown; {suggest(name, kinds)}")
    make, types = kinds[name]
    try:
        given = [kind(value) for kind, value in zip(types, values, strict=len(values) > len(types))]
        if not all(value > 0 for value in given) or (name == "budget" and not given):
            raise ValueError
    except ValueError:
        usage = {"budget": "budget:LABELS", "plateau": "plateau[:ROUNDS[:BY]]", "certified": "certified"}[
            name
        ]
        raise ValueError(f"stopping rule {text!r}: write {usage}, numbers above 0") from None
    rule: StoppingRule = make(*given)
    return rule
