"""Simulated audits: how likely a pool whose labels are known would have been decided, and at what cost."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairask.certify._design import estimate_gap
from fairask.certify._run import run_audits
from fairask.certify._sample import binary_labels, soft_predictions
from fairask.certify.schedule import make_plan
from fairask.metrics import encode_groups

__all__ = ["AuditSimulation", "simulate_audit"]


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
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        rows = [f"    {n:>6,} labels: {share:.1%} decided" for n, share in self.decided_by.items()]
        return "\n".join(
            [
                f"{self.n_audits:,} simulated audits of a pool whose violation is {self.violation:.4f} "
                f"(tolerance {self.alpha:g}, delta {self.delta:g})",
                f"  certified {self.certified:.1%}, refuted {self.refuted:.1%}, "
                f"undecided {self.undecided:.1%}, wrong {self.wrong:.1%}",
                f"  labels: mean {self.mean_labels:.0f}, 10/50/90 % "
                + "/".join(str(q) for q in self.labels_quantiles),
                *rows,
            ]
        )


def simulate_audit(
    y: ArrayLike,
    pred: ArrayLike,
    groups: ArrayLike,
    *,
    metric: str = "tprp",
    alpha: float = 0.1,
    delta: float = 0.05,
    budget: int = 1000,
    looks: int = 5,
    n_audits: int = 1000,
    pos_label: Any = None,
    random_state: int = 0,
) -> AuditSimulation:
    """Simulate audits of a pool whose labels are all known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 5000), rng.integers(0, 2, 5000)
    >>> pred = np.where(rng.random(5000) < 0.9, y, 1 - y)
    >>> result = simulate_audit(y, pred, groups, budget=600, n_audits=200)
    >>> result.certified > 0.95, result.wrong
    (True, 0.0)
    """
    if metric == "dp":
        raise ValueError(
            "metric='dp' needs no labels, so there is nothing to simulate: use certify(None, ...)"
        )
    truth, score = binary_labels(y, pos_label), soft_predictions(pred, pos_label)
    names, codes = encode_groups(groups)
    if not len(truth) == len(score) == len(codes):
        raise ValueError(
            f"lengths disagree: y has {len(truth)}, pred has {len(score)}, groups has {len(codes)}"
        )
    if isinstance(n_audits, bool) or not isinstance(n_audits, int | np.integer) or n_audits < 1:
        raise ValueError(f"n_audits must be a whole number of at least 1, got {n_audits!r}")
    rng = np.random.default_rng(random_state)
    decision = rng.random(len(score)) < score if ((score > 0) & (score < 1)).any() else score == 1
    k = 2 * len(names)
    stratum = 2 * codes + decision
    size = np.bincount(stratum, minlength=k).reshape(-1, 2).astype(np.float64)
    ones = np.bincount(stratum, weights=truth, minlength=k).reshape(-1, 2).astype(np.float64)
    plan = make_plan(metric, alpha, delta, budget, looks, "pool", len(truth))
    gap = float(estimate_gap(size, ones, size, plan.conditions))
    shape = (int(n_audits), *size.shape)
    verdict, used = run_audits(np.broadcast_to(size, shape), np.broadcast_to(ones, shape), plan, rng)
    share = [float(np.mean(verdict == v)) for v in range(3)]
    quantiles = np.quantile(used, [0.1, 0.5, 0.9], method="higher").astype(int)
    return AuditSimulation(
        violation=gap,
        alpha=plan.alpha,
        delta=plan.delta,
        n_audits=int(n_audits),
        certified=share[1],
        refuted=share[2],
        undecided=share[0],
        wrong=share[1] if gap > plan.alpha else share[2],
        mean_labels=float(used.mean()),
        labels_quantiles=(int(quantiles[0]), int(quantiles[1]), int(quantiles[2])),
        decided_by={t: float(np.mean((verdict > 0) & (used <= t))) for t in plan.totals},
    )
