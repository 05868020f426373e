"""Simulated audits of a pool whose labels are known: how often they decide, and how many labels they use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.layout import Counts, Layout
from fairask.audit.plan import AuditPlan, PlanSettings
from fairask.audit.questions import QUESTIONS
from fairask.audit.schedule import Schedule
from fairask.audit.strata import Strata, split_groups
from fairask.checks import check_count, check_lengths
from fairask.metrics import Float, Int, binary_labels

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
    tolerance: float
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
            f"The pool's own violation is {self.violation:.4f}; tolerance {self.tolerance:g}, "
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
    score: ArrayLike | None = None,
    **settings: Unpack[PlanSettings],
) -> AuditSimulation:
    """Simulate audits of a pool whose labels are all known.

    The plan, or its fields as keywords, is that of each audit; the target is the pool. With a ``score`` rows
    are drawn by bins of it too.

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
    if not QUESTIONS[plan.metric].labels:
        raise ValueError(
            f"metric={plan.metric!r} needs no labels, so there is nothing to simulate: use certify(None, ...)"
        )
    truth = binary_labels(y, pos_label)
    n_audits = check_count(n_audits, "n_audits")
    bins = 1 if score is None else plan.score_bins(len(split_groups(groups)[0]))
    check_lengths(y=len(truth), pred=len(np.asarray(pred)), groups=len(np.asarray(groups)))
    strata = Strata.of_rows(pred, groups, None, pos_label, plan.random_state, None, score, bins)
    rng = np.random.default_rng(plan.random_state)
    size = strata.sizes.astype(np.float64)
    ones = np.array([truth[queue].sum() for queue in strata.queues], dtype=np.float64)
    layout = replace(strata.layout, rest=plan.compare == "rest")
    schedule = replace(plan, target="pool", also=()).schedule(len(truth))
    whole = Counts(size[None], ones[None], (size - ones)[None], np.zeros((1, len(size))))
    gap = float(schedule.bounds(whole, layout, 0).estimate[0])
    shape = (n_audits, len(size))
    codes, used = play(
        Truth(np.broadcast_to(size, shape), np.broadcast_to(ones, shape)), schedule, layout, rng
    )
    verdict = codes[:, 0]
    share = [float(np.mean(verdict == v)) for v in range(3)]
    quantiles = np.quantile(used, [0.1, 0.5, 0.9], method="higher").astype(int)
    return AuditSimulation(
        violation=gap,
        tolerance=plan.tolerance,
        delta=plan.delta,
        n_audits=n_audits,
        certified=share[1],
        refuted=share[2],
        undecided=share[0],
        wrong=share[1] if gap > plan.tolerance else share[2],
        mean_labels=float(used.mean()),
        labels_quantiles=(int(quantiles[0]), int(quantiles[1]), int(quantiles[2])),
        decided_by={t: float(np.mean((verdict > 0) & (used <= t))) for t in schedule.totals},
    )


@dataclass(frozen=True)
class Truth:
    """Pools whose labels are all known, one per simulated audit: arrays of shape (audits, strata).

    ``lost_ones`` and ``lost_zeros`` of the labels belong to rows that nobody can label; labels of known
    strata are told from the beginning. ``noise`` is the probability of a wrong label in each stratum.
    """

    size: Float
    ones: Float
    lost_ones: Float | None = None
    lost_zeros: Float | None = None
    noise: Float | None = None


def run_audits(
    size: Float, ones: Float, schedule: Schedule, rng: np.random.Generator, layout: Layout | None = None
) -> tuple[Int, Int]:
    """Run one audit for each pool given by its strata; return verdicts and labels used.

    Parameters
    ----------
    size, ones : ndarray of shape (audits, groups, 2), or (audits, strata) with a layout
        Rows and labels 1 of each stratum (group, prediction).
    schedule : Schedule
        The looks of the audits.
    rng : Generator
        Source of the draws.
    layout : Layout, optional
        What the strata are, if not (group, prediction).

    Examples
    --------
    >>> size = np.full((100, 2, 2), 500.0)
    >>> schedule = AuditPlan(budget=400, looks=2).schedule(2000)
    >>> ones, rng = np.zeros_like(size) + [50.0, 450.0], np.random.default_rng(0)
    >>> verdict, used = run_audits(size, ones, schedule, rng)
    >>> bool(np.mean(verdict == CERTIFIED) > 0.8), int(used.max())
    (True, 400)
    """
    n = len(size)
    flat = layout or Layout.plain(size.shape[1])
    codes, used = play(Truth(size.reshape(n, -1), ones.reshape(n, -1)), schedule, flat, rng)
    return codes[:, 0], used


def play(truth: Truth, schedule: Schedule, layout: Layout, rng: np.random.Generator) -> tuple[Int, Int]:
    """Run audits; return the verdicts of all claims, of shape (audits, claims), and the labels used."""
    size = truth.size
    n, k = size.shape
    zero = np.zeros((n, k))
    lost = [zero if v is None else v for v in (truth.lost_ones, truth.lost_zeros)]
    noise = np.zeros(k) if truth.noise is None else truth.noise
    left = np.stack([truth.ones - lost[0], size - truth.ones - lost[1], lost[0] + lost[1]]).astype(np.int64)
    told = np.zeros((3, n, k), dtype=np.int64)
    told[:, :, layout.known] = left[:, :, layout.known]
    left[:, :, layout.known] = 0
    verdict, used = np.zeros((n, len(schedule.claims)), dtype=np.int64), np.zeros(n, dtype=np.int64)
    open_ = np.arange(n)
    for look in range(len(schedule.totals)):
        have = Counts(size[open_], *told[:, open_].astype(np.float64))
        # Skipped rows cost no label: one more row is drawn for each, once.
        plain = Counts(have.size, have.ones, have.zeros, np.zeros_like(have.ones))
        goal = schedule.next_counts(plain, layout, look)
        wanted = goal - np.where(layout.known, 0, plain.labels).astype(np.int64)
        for _ in range(3):
            part, rest = _draw(left[:, open_], np.maximum(wanted, 0), rng)
            left[:, open_] = rest
            flips = rng.binomial(part[0], noise) - rng.binomial(part[1], noise) if noise.any() else 0
            told[:, open_] += np.stack([part[0] - flips, part[1] + flips, part[2]])
            wanted = part[2]
            if not wanted.any():
                break
        now = Counts(size[open_], *told[:, open_].astype(np.float64))
        drawn = np.where(layout.known, 0.0, now.ones + now.zeros)
        used[open_] = np.rint(drawn @ layout.cost).astype(np.int64)
        verdict[open_], _ = schedule.verdicts(now, layout, look, verdict[open_])
        open_ = open_[(verdict[open_] == 0).any(axis=1)]
        if not len(open_):
            break
    return verdict, used


def _draw(left: Int, wanted: Int, rng: np.random.Generator) -> tuple[Int, Int]:
    """Draw rows without replacement from strata of three kinds of rows."""
    wanted = np.minimum(wanted, left.sum(axis=0))
    first = rng.hypergeometric(left[0], left[1] + left[2], wanted)
    rest = wanted - first
    second = rng.hypergeometric(left[1], left[2], rest) if left[2].any() else rest
    part = np.stack([first, second, rest - second])
    return part, left - part
