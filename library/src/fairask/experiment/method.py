"""Methods, which are a name and how to make a learner, and the task that all of them get."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from sklearn.linear_model import LogisticRegression

from fairask.errors import UserError, suggest
from fairask.experiment.rivals import Decide, decider
from fairask.experiment.table import Split
from fairask.learner import PROFILES, FairActiveLearner, Profile, Promise
from fairask.metrics import Metric
from fairask.oracle import EmpiricalFairOracle, LinearForestClassifier
from fairask.oracle.base import decision_probability
from fairask.stopping import StoppingRule
from fairask.strategies import STRATEGIES

#: The method that the others must beat.
BASELINE = "passive"
#: Settings that a method's digest leaves out: they came later and say nothing.
_UNSAID = {"constraint": "", "promise": "prior"}


@dataclass(frozen=True)
class Task:
    """A fairness goal, a number of labels and a seed.

    Attributes
    ----------
    metric, tolerance
        As in the learner.
    budget, batch : int
        Labels per run and per batch.
    baseline_budget : int
        Labels for passive sampling, to see how many more it needs.
    seed : int
        Seed of all trials.
    blind : bool
        Whether calibrated models must decide without the group. The paper's never read it by itself.
    randomized : bool
        Whether calibrated models may decide by lot. The paper's always may.
    audited, audit : str, int
        The method whose model of trial 0 is audited, and the labels for that, besides the budget.
    stop : StoppingRule, optional
        A rule that does not end the runs; the labels at which it first says stop are recorded.
    """

    metric: Metric = "tprp"
    tolerance: float = 0.1
    budget: int = 700
    batch: int = 50
    baseline_budget: int = 0
    seed: int = 0
    blind: bool = False
    randomized: bool = False
    audited: str = ""
    audit: int = 0
    stop: StoppingRule | None = None


@dataclass(frozen=True)
class BatchPlan:
    """Sizes of batches, and the labels at which a run is measured.

    Attributes
    ----------
    budget, batch : int
        Labels per run and per batch.
    reach : int
        Labels after the budget's end, if more than the budget.
    stride : int
        Labels per batch after the budget's end, if more than ``batch``: there a curve is only read off.
    first : int
        Labels of the first batch, if they differ.
    grid : int
        Batches end at multiples of it, and only there (and after the first batch and the budget) the model
        is measured; 0 measures after every batch.

    Examples
    --------
    >>> batches = BatchPlan(75, 10, first=30, grid=25)
    >>> [batches.size(spent) for spent in (0, 30, 40, 70)], batches.is_measured(40)
    ([30, 10, 10, 5], False)
    """

    budget: int
    batch: int
    reach: int = 0
    first: int = 0
    grid: int = 0
    stride: int = 0

    def size(self, spent: int) -> int:
        """Size of the batch after ``spent`` labels, before it is cut to the labels left."""
        if spent < self.first:
            return self.first
        if spent >= self.budget:
            return max(self.stride, self.batch)
        return min(self.batch, self.grid - spent % self.grid) if self.grid else self.batch

    def is_measured(self, spent: int) -> bool:
        """Whether the model of ``spent`` labels is measured."""
        return not self.grid or spent % self.grid == 0 or spent in (self.first, self.budget)


@dataclass(frozen=True)
class Method:
    """A strategy with its settings.

    Attributes
    ----------
    name, label : str
        Identifier, and name in tables and figures.
    strategy, strategy_params
        As in the learner.
    weights : {"ips", "lure", "none"}, optional
        Importance weights in error and rates; None leaves the choice to the profile.
    profile : {"calibrated", "paper"}
    constraint : str
        How the model is made fair: "" is the learner's own oracle, else a key of
        :data:`fairask.experiment.rivals.CONSTRAINTS`, of which "none" makes nothing fair.
    promise : {"prior", "distribution-free"}
        As in the learner.

    Examples
    --------
    >>> METHODS["uncertainty"].describe()
    'strategy uncertainty, profile calibrated, weights none'
    >>> METHODS["threshold_optimizer"].describe()
    'strategy passive, the default classifier made fair by threshold_optimizer'
    """

    name: str
    label: str
    strategy: str
    strategy_params: Mapping[str, object] = field(default_factory=dict)
    weights: str | None = None
    profile: Profile = "calibrated"
    constraint: str = ""
    promise: Promise = "prior"

    def describe(self) -> str:
        """Return the settings in words."""
        if self.constraint:
            fair = "unconstrained" if self.constraint == "none" else f"made fair by {self.constraint}"
            return f"strategy {self.strategy}, the default classifier {fair}"
        given = ", ".join(f"{k} = {v}" for k, v in self.strategy_params.items())
        weights = "" if self.weights is None else f", weights {self.weights}"
        weights += "" if self.promise == "prior" else f", promise {self.promise}"
        return f"strategy {self.strategy}{f' ({given})' if given else ''}, profile {self.profile}{weights}"

    @property
    def settings(self) -> dict[str, object]:
        """What determines the method's results, as plain JSON."""
        given = {key: value for key, value in asdict(self).items() if key not in ("name", "label")}
        return {key: value for key, value in given.items() if key not in _UNSAID or value != _UNSAID[key]}

    @property
    def digest(self) -> str:
        """Eight characters that change with the settings."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def is_baseline(self) -> bool:
        """Whether this is the method that the others must beat."""
        return self.name == BASELINE

    def plan_batches(self, task: Task, rows: int) -> BatchPlan:
        """Batches of a run on a pool of ``rows``; the baseline may go past the budget, in larger batches."""
        reach = task.baseline_budget if self.is_baseline else 0
        return BatchPlan(task.budget, task.batch, reach, stride=task.budget // 4)

    def learner(self, split: Split, task: Task, trial: int) -> FairActiveLearner:
        """Make the learner of a trial. All methods of a trial share its seed, and so their first batch."""
        bare = bool(self.constraint)
        calibrated = self.profile == "calibrated" and not bare
        return FairActiveLearner(
            split.table.X[split.pool],
            split.table.groups[split.pool],
            strategy=self.strategy,
            strategy_params=dict(self.strategy_params),
            metric=task.metric,
            tolerance=1.0 if bare else task.tolerance,
            profile=self.profile,
            promise=self.promise,
            margin=None if bare else "auto",
            oracle=self.unconstrained_oracle() if bare else None,
            blind=task.blind and calibrated,
            randomized=task.randomized and calibrated,
            risk_weights=self.weights,
            fairness_weights=self.weights or "ips",
            batch_size=task.batch,
            random_state=int(np.random.SeedSequence([task.seed, trial]).generate_state(1)[0]),
        )

    def unconstrained_oracle(self) -> EmpiricalFairOracle:
        """What a learner without a constraint chooses rows by; only uncertainty sampling reads it."""
        if self.strategy == "uncertainty":
            return EmpiricalFairOracle(LinearForestClassifier(random_state=0), shift_threshold=False)
        return EmpiricalFairOracle(LogisticRegression(C=1.0), shift_threshold=False)

    def decider(self, learner: FairActiveLearner, tolerance: float) -> Decide:
        """Return how rows are decided after the labels of a learner."""
        if self.constraint:
            return decider(self.constraint, learner, tolerance)
        model = learner.current_model()
        return lambda X, groups: decision_probability(model, X, groups)


#: Methods that a comparison can name.
METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        Method("fare", "FARE", "fare"),
        Method("passive", "passive", "passive"),
        Method("group_balanced", "group-balanced", "group_balanced"),
        # The choice is deterministic: there are no propensities, hence no weights.
        Method("uncertainty", "uncertainty", "uncertainty", weights="none"),
        # Algorithm 1 with the paper's oracle, and its ablation, by its source the setting of its experiments.
        Method("fare_paper", "FARE of the paper", "fare", {"diff_share": 0.5}, profile="paper"),
        Method(
            "fare_diff_paper", "FARE of the paper, λ_diff alone", "fare", {"diff_share": 1.0}, "none", "paper"
        ),
        Method("passive_paper", "passive of the paper", "passive", profile="paper"),
        # What people would use instead, with the default's classifier.
        Method("plain", "no constraint", "passive", weights="none", constraint="none"),
        Method(
            "plain_uncertainty",
            "uncertainty, no constraint",
            "uncertainty",
            weights="none",
            constraint="none",
        ),
        Method("plain_fal", "FAL, no constraint", "fal", weights="none", constraint="none"),
        Method("plain_falcur", "FAL-CUR, no constraint", "falcur", weights="none", constraint="none"),
        *(
            Method(name, f"passive + {title}", "passive", weights="none", constraint=name)
            for name, title in (
                ("threshold_optimizer", "ThresholdOptimizer"),
                ("relaxed_thresholds", "RelaxedThresholdOptimizer"),
                ("exponentiated_gradient", "ExponentiatedGradient"),
                ("linear_post", "LinearPost"),
                ("oxonfair", "OxonFair"),
            )
        ),
        # A promise for any distribution needs uniform labels.
        Method("distribution_free", "passive, distribution-free", "passive", promise="distribution-free"),
    )
}
METHODS |= {name: Method(name, name, name) for name in STRATEGIES if name not in METHODS}

#: What is compared when nothing is named, by profile.
DEFAULTS = {"calibrated": ("fare", "passive", "fare_paper"), "paper": ("fare", "passive", "fare_diff_paper")}


def choose_methods(names: Sequence[str] | None, profile: str = "calibrated") -> list[Method]:
    """Return the methods by name, once each, the baseline always among them.

    ``profile`` is what they are made of, unless their name says so.

    >>> [m.label for m in choose_methods(["fare"])]
    ['FARE', 'passive']
    """
    made_of = next((p for p in PROFILES if p == profile), None)
    if made_of is None:
        raise UserError(f"unknown profile {profile!r}", f"--profile: {suggest(profile, PROFILES)}")
    wanted = dict.fromkeys(names or DEFAULTS[profile])
    wanted = {name.replace("-", "_"): None for name in wanted}
    for name in wanted:
        if name not in METHODS:
            raise UserError(f"unknown strategy {name!r}", f"--strategy: {suggest(name, METHODS)}")
    methods = [METHODS[name] for name in dict.fromkeys([*wanted, BASELINE])]
    return [m if m.profile == "paper" else replace(m, profile=made_of) for m in methods]
