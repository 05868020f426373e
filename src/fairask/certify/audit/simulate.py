"""Simulated audits of a pool whose labels are known: how often they decide, and how many labels they use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.certify.audit.plan import AuditPlan, PlanSettings
from fairask.certify.audit.schedule import Schedule, estimate_gap
from fairask.checks import check_count
from fairask.metrics import Float, Int, binary_labels, encode_groups, soft_predictions

__all__ = ["CERTIFIED", "REFUTED", "UNDECIDED", "AuditSimulation", "run_audits", "simulate_audit"]

UNDECIDED, CERTIFIED, REFUTED = 0, 1, 2


@dataclass(frozen=True)
class AuditSimulation:
    """Outcome of many simulated audits of one pool.

    Attributes
    ----------
    violation : float
        The pool's own violation.
    n_audits : int
        Audits simulated.
    certified, refuted, undecided : float
        Share of audits that ended with each verdict.
    wrong : float
        Share whose verdict contradicts the pool's violation.
    mean_labels : float
        Labels used, on average.
    labels_quantiles : tuple of int
        The 10th, 50th and 90th percentile of the labels used.
    decided_by : dict
        Labels at each look -> share of audits decided by then.
    """

    violation: float
    alpha: float
    delta: float
    n_audits: int
    certified: float
    refuted: float
    undecided: float
    wrong: float
    mean_labels: float
    labels_quantiles: tuple[int, int, int]
    decided_by: dict[int, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.headline()}\n{self.details()}"

    def headline(self) -> str:
        """Return the outcome as one sentence."""
        return (
            f"Of {self.n_audits:,} simulated audits {self.certified:.1%} certify, {self.refuted:.1%} refute "
            f"and {self.undecided:.1%} stay undecided; {self.wrong:.1%} are wrong."
        )

    def details(self) -> str:
        """Return the pool's violation, the labels used, and the share decided at each look."""
        low, middle, high = (f"{n:,}" for n in self.labels_quantiles)
        lines = [
            f"The pool's own violation is {self.violation:.4f}; tolerance {self.alpha:g}, "
            f"delta {self.delta:g}.",
            f"The audits use {self.mean_labels:,.0f} labels on average; {low}, {middle} and {high} "
            "at the 10th, 50th and 90th percentile.",
            "labels  decided by then",
        ]
        return "\n".join([*lines, *(f"{n:>6,}  {share:>15.1%}" for n, share in self.decided_by.items())])


def simulate_audit(
    y: ArrayLike,
    pred: ArrayLike,
    groups: ArrayLike,
    plan: AuditPlan | None = None,
    *,
    n_audits: int = 1000,
    pos_label: object = None,
    **settings: Unpack[PlanSettings],
) -> AuditSimulation:
    """Simulate audits of a pool whose labels are all known.

    The plan, or its fields as keywords, is that of each audit; the target is the pool.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 5000), rng.integers(0, 2, 5000)
    >>> pred = np.where(rng.random(5000) < 0.9, y, 1 - y)
    >>> result = simulate_audit(y, pred, groups, budget=600, n_audits=200)
    >>> result.certified > 0.95, result.wrong
    (True, 0.0)
    """
    plan = AuditPlan.of(plan, settings)
    if plan.metric == "dp":
        raise ValueError(
            "metric='dp' needs no labels, so there is nothing to simulate: use certify(None, ...)"
        )
    truth, score = binary_labels(y, pos_label), soft_predictions(pred, pos_label)
    names, codes = encode_groups(groups)
    if not len(truth) == len(score) == len(codes):
        raise ValueError(
            f"lengths disagree: y has {len(truth)}, pred has {len(score)}, groups has {len(codes)}"
        )
    n_audits = check_count(n_audits, "n_audits")
    rng = np.random.default_rng(plan.random_state)
    decision = rng.random(len(score)) < score if ((score > 0) & (score < 1)).any() else score == 1
    k = 2 * len(names)
    stratum = 2 * codes + decision
    size = np.bincount(stratum, minlength=k).reshape(-1, 2).astype(np.float64)
    ones = np.bincount(stratum, weights=truth, minlength=k).reshape(-1, 2).astype(np.float64)
    schedule = replace(plan, target="pool").schedule(len(truth))
    gap = float(estimate_gap(size, ones, size, schedule.conditions))
    shape = (n_audits, *size.shape)
    verdict, used = run_audits(np.broadcast_to(size, shape), np.broadcast_to(ones, shape), schedule, rng)
    share = [float(np.mean(verdict == v)) for v in range(3)]
    quantiles = np.quantile(used, [0.1, 0.5, 0.9], method="higher").astype(int)
    return AuditSimulation(
        violation=gap,
        alpha=plan.alpha,
        delta=plan.delta,
        n_audits=n_audits,
        certified=share[1],
        refuted=share[2],
        undecided=share[0],
        wrong=share[1] if gap > plan.alpha else share[2],
        mean_labels=float(used.mean()),
        labels_quantiles=(int(quantiles[0]), int(quantiles[1]), int(quantiles[2])),
        decided_by={t: float(np.mean((verdict > 0) & (used <= t))) for t in schedule.totals},
    )


def run_audits(size: Float, ones: Float, schedule: Schedule, rng: np.random.Generator) -> tuple[Int, Int]:
    """Run one audit for each pool given by its strata; return verdicts and labels used.

    Parameters
    ----------
    size, ones : ndarray of shape (audits, groups, 2)
        Rows and labels 1 of each stratum (group, prediction).
    schedule : Schedule
        The looks of the audits.
    rng : Generator
        Source of the draws.

    Examples
    --------
    >>> size = np.full((100, 2, 2), 500.0)
    >>> schedule = Schedule((1,), 0.1, 0.05, (200, 400))
    >>> ones, rng = np.zeros_like(size) + [50.0, 450.0], np.random.default_rng(0)
    >>> verdict, used = run_audits(size, ones, schedule, rng)
    >>> bool(np.mean(verdict == CERTIFIED) > 0.9), int(used.max())
    (True, 400)
    """
    verdict, used = np.zeros(len(size), dtype=np.int64), np.zeros(len(size), dtype=np.int64)
    open_ = np.arange(len(size))
    found, labels = np.zeros_like(size), np.zeros_like(size)
    for look in range(len(schedule.totals)):
        s, f, n = size[open_], found[open_], labels[open_]
        counts = schedule.next_counts(s, f, n, look).astype(np.float64)
        good = (ones[open_] - f).astype(np.int64)
        f = f + rng.hypergeometric(good, (s - n).astype(np.int64) - good, (counts - n).astype(np.int64))
        found[open_], labels[open_] = f, counts
        used[open_] = counts.sum(axis=(1, 2)).astype(np.int64)
        bounds = schedule.bounds(s, f, counts, look)
        certified, refuted = bounds.upper <= schedule.alpha, bounds.lower > schedule.alpha
        verdict[open_[certified]], verdict[open_[refuted & ~certified]] = CERTIFIED, REFUTED
        open_ = open_[~(certified | refuted)]
        if not len(open_):
            break
    return verdict, used
