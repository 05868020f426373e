"""What several methods did on the same table, over several trials, and what to say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.certify import Certificate
from fairask.learner import Profile

__all__ = ["BASELINE", "Comparison", "Method", "Run", "Snapshot"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]

#: The method that the others must beat.
BASELINE = "passive"


@dataclass(frozen=True)
class Method:
    """A strategy with its settings, and what to call it."""

    key: str
    label: str
    strategy: str
    params: Mapping[str, Any] = field(default_factory=dict)
    weights: str | None = None  #: importance weights, where they are not the profile's
    profile: Profile = "calibrated"

    def settings(self) -> str:
        """Return the settings in words."""
        given = ", ".join(f"{k} = {v}" for k, v in self.params.items())
        weights = "" if self.weights is None else f", weights {self.weights}"
        return f"strategy {self.strategy}{f' ({given})' if given else ''}, profile {self.profile}{weights}"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The sampling distributions of one round: rows thinned out, probabilities of the whole pool.

    Attributes
    ----------
    labels : int
        Labels before the round.
    points : ndarray of shape (rows, 2)
        First two principal components.
    ratios : dict of str to ndarray
        Probability of each row, as a multiple of uniform, by component.
    drawn : dict of str to ndarray of shape (n, 2)
        Where the rows lie that each component drew.
    """

    labels: int
    points: Float
    ratios: dict[str, Float]
    drawn: dict[str, Float]


@dataclass(frozen=True, eq=False)
class Run:
    """One method in one trial.

    Attributes
    ----------
    method, trial
        Which.
    labels, accuracy, violation : ndarray of shape (rounds,)
        On the test rows, after every batch; the baseline may go past the budget.
    spend : dict
        ``{group: {component: labels}}`` within the budget.
    rates : dict
        ``{"tpr" | "fpr" | "selection_rate": [a rate for each group]}`` at the budget.
    warnings : dict of str to int
        Rounds in which a warning of this category was given.
    snapshot : Snapshot or None
    certificate : Certificate or None
        Of the model at the budget, from labels drawn after it was fitted.
    stopped : int or None
        Labels at which a stopping rule would have ended the run.
    """

    method: str
    trial: int
    labels: Int
    accuracy: Float
    violation: Float
    spend: dict[str, dict[str, int]]
    rates: dict[str, list[float]]
    warnings: dict[str, int] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    certificate: Certificate | None = None
    stopped: int | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one table.

    Attributes
    ----------
    title, target, protected : str
        The table, what is predicted, and what the groups are.
    methods : list of Method
    runs : list of Run
    budget, batch, trials, seed : int
    metric, tolerance
        The fairness goal.
    pool_shares : dict of str to float
        Share of each group.
    settings : dict of str to str
        Everything else that made these results, for the reader.
    command : str
        Makes them again.
    notes : list of str
        What was done to the table.
    """

    title: str
    target: str
    protected: str
    methods: list[Method]
    runs: list[Run]
    budget: int
    batch: int
    trials: int
    seed: int
    metric: str
    tolerance: float
    pool_shares: dict[str, float]
    settings: dict[str, str] = field(default_factory=dict)
    command: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> dict[str, str]:
        """What to call each method."""
        return {m.key: m.label for m in self.methods}

    def of(self, key: str) -> list[Run]:
        """Runs of a method, by trial."""
        return sorted((r for r in self.runs if r.method == key), key=lambda r: r.trial)

    def curves(self, key: str, *, whole: bool = False) -> tuple[Int, Float, Float]:
        """Labels, and accuracy and violation of shape (trials, rounds), within the budget or ``whole``."""
        runs = self.of(key)
        labels = runs[0].labels
        kept = np.ones(len(labels), bool) if whole else labels <= self.budget
        accuracy = np.stack([r.accuracy for r in runs])[:, kept]
        return labels[kept], accuracy, np.stack([r.violation for r in runs])[:, kept]

    def final(self, key: str) -> dict[str, float]:
        """Accuracy and violation at the budget: mean, standard error, and in how many runs it is fair."""
        _, accuracy, violation = self.curves(key)
        n = len(accuracy)
        out: dict[str, float] = {}
        for name, values in (("accuracy", accuracy[:, -1]), ("violation", violation[:, -1])):
            out[name] = float(values.mean())
            out[f"{name}_se"] = float(values.std(ddof=1) / n**0.5) if n > 1 else float("nan")
        out["within"] = int((violation[:, -1] <= self.tolerance).sum())
        out["runs"] = n
        return out

    def baseline_needs(self, key: str) -> int | None:
        """Labels with which the baseline is on average as accurate as ``key`` at the budget, and fair.

        Fair means: mean violation within the tolerance, or no larger than the method's own.
        None if the baseline never gets there within the labels it was given.
        """
        goal = self.final(key)
        labels, accuracy, violation = self.curves(BASELINE, whole=True)
        limit = max(self.tolerance, goal["violation"])
        there = (accuracy.mean(axis=0) >= goal["accuracy"]) & (violation.mean(axis=0) <= limit)
        return int(labels[np.argmax(there)]) if there.any() else None

    def baseline_reach(self) -> int:
        """Labels that the baseline was given."""
        return int(self.curves(BASELINE, whole=True)[0][-1])

    def verdict(self) -> str:
        """One sentence: in how many runs each method is within the tolerance.

        Examples
        --------
        >>> runs = [Run(m, 0, np.array([50]), np.array([0.8]), np.array([v]), {}, {})
        ...         for m, v in [("fare", 0.05), ("passive", 0.2)]]
        >>> methods = [Method("fare", "FARE", "fare"), Method("passive", "passive", "passive")]
        >>> Comparison("t", "y", "sex", methods, runs, 50, 50, 1, 0, "tprp", 0.1, {}).verdict()
        'With 50 labels FARE is within 0.1 in 1 of 1 runs; passive in 0 of 1.'
        """
        parts = []
        for i, method in enumerate(self.methods):
            end = self.final(method.key)
            head = (
                f"With {self.budget:,} labels {method.label} is within {self.tolerance:g}"
                if i == 0
                else method.label
            )
            parts.append(f"{head} in {end['within']} of {end['runs']}{' runs' if i == 0 else ''}")
        return "; ".join(parts) + "."

    def stops(self) -> list[str]:
        """For each method, where the stopping rule would have ended its runs, and what that costs.

        Examples
        --------
        >>> values = np.array([50, 100]), np.array([0.79, 0.80]), np.array([0.05, 0.04])
        >>> runs = [Run("fare", 0, *values, {}, {}, stopped=50)]
        >>> methods = [Method("fare", "FARE", "fare")]
        >>> Comparison("t", "y", "sex", methods, runs, 100, 50, 1, 0, "tprp", 0.1, {}).stops()[0]
        'FARE would stop at 50 labels (mean of 1): accuracy 0.790 (0.800 at 100), violation 0.050 (0.040).'
        """
        out = []
        for method in self.methods:
            runs = [run for run in self.runs if run.method == method.key]
            at = [np.flatnonzero(r.labels <= min(r.stopped or self.budget, self.budget))[-1] for r in runs]
            labels = np.mean([run.labels[i] for run, i in zip(runs, at, strict=True)])
            accuracy = np.mean([run.accuracy[i] for run, i in zip(runs, at, strict=True)])
            violation = np.mean([run.violation[i] for run, i in zip(runs, at, strict=True)])
            end = self.final(method.key)
            out.append(
                f"{method.label} would stop at {labels:,.0f} labels (mean of "
                f"{len(runs)}): accuracy {accuracy:.3f} ({end['accuracy']:.3f} at "
                f"{self.budget:,}), violation {violation:.3f} ({end['violation']:.3f})."
            )
        return out

    def savings(self) -> list[str]:
        """For each method, what the baseline would need to do as well."""
        out = []
        for method in self.methods:
            if method.key == BASELINE:
                continue
            needs = self.baseline_needs(method.key)
            accuracy = self.final(method.key)["accuracy"]
            goal = f"{method.label}'s accuracy at {self.budget:,} labels ({accuracy:.3f}), as fairly,"
            if needs is None:
                out.append(f"Passive sampling does not reach {goal} with {self.baseline_reach():,} labels.")
            elif needs > self.budget:
                out.append(
                    f"Passive sampling reaches {goal} with {needs:,} labels: {needs - self.budget:,} more."
                )
            else:
                out.append(
                    f"Passive sampling reaches {goal} with {needs:,} labels: {method.label} saves none here."
                )
        return out

    @property
    def audited(self) -> tuple[str, Certificate] | None:
        """The method of which one model was audited, by name, and the certificate."""
        return next(
            ((self.names[r.method], r.certificate) for r in self.runs if r.certificate is not None), None
        )

    def audit_line(self) -> str | None:
        """What the audit found, in one line; None if there was none.

        Examples
        --------
        >>> from fairask.certify import certify
        >>> proof = certify([1] * 400, [1] * 400, [0, 1] * 200)
        >>> values = np.array([50]), np.array([0.8]), np.array([0.05])
        >>> runs = [Run("fare", 0, *values, {}, {}, certificate=proof)]
        >>> methods = [Method("fare", "FARE", "fare")]
        >>> print(Comparison("t", "y", "sex", methods, runs, 50, 50, 1, 0, "tprp", 0.1, {}).audit_line())
        Audit of FARE's first model with 400 more labels: Certified: the difference in true positive
        rates is at most 0.1 (95% confidence: 0.0149 or less).
        """
        if self.audited is None:
            return None
        name, proof = self.audited
        return f"Audit of {name}'s first model with {proof.n_labels:,} more labels: {proof.headline()}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes null."""
        methods = []
        for method in self.methods:
            labels, accuracy, violation = self.curves(method.key)
            needs = None if method.key == BASELINE else self.baseline_needs(method.key)
            methods.append(
                {
                    "method": method.key,
                    "label": method.label,
                    "settings": method.settings(),
                    **{k: _number(v) for k, v in self.final(method.key).items()},
                    "baseline_needs": needs,
                    "labels": labels.tolist(),
                    "accuracy_by_round": _numbers(accuracy.mean(axis=0)),
                    "violation_by_round": _numbers(violation.mean(axis=0)),
                    "final_accuracy_by_trial": _numbers(accuracy[:, -1]),
                    "final_violation_by_trial": _numbers(violation[:, -1]),
                }
            )
        return {
            "table": self.title,
            "verdict": self.verdict(),
            "budget": self.budget,
            "batch": self.batch,
            "trials": self.trials,
            "seed": self.seed,
            "metric": self.metric,
            "tolerance": self.tolerance,
            "baseline_budget": self.baseline_reach(),
            "methods": methods,
            "audit": None
            if self.audited is None
            else {"method": self.audited[0], "trial": 0, "certificate": self.audited[1].to_dict()},
            "settings": self.settings,
            "notes": self.notes,
            "command": self.command,
        }


def _number(value: float) -> float | None:
    return None if value != value else value


def _numbers(values: Float) -> list[float | None]:
    return [_number(v) for v in values.tolist()]
