"""The paper's rivals: a plain logistic regression on the labels they choose, after a pretraining share.

The share is swept within the budget; tables show the best member of a family.
"""

from typing import Any

from paper.methods.method import PaperMethod

_PLAIN: dict[str, Any] = {
    "tolerance": 1.0,
    "margin": None,
    "weights": "none",
    "model": "ridge",
    "pretrain_param": "pretrain",
}


def _sweep(name: str, label: str, strategy: str, shares: tuple[float, ...], **rest: Any) -> list[PaperMethod]:
    return [
        PaperMethod(
            f"{name}-{round(100 * share)}", f"{label}, {share:.0%} pretraining", strategy,
            paper=label, family=label, pretrain=share, **_PLAIN, **rest,
        )
        for share in shares
    ]  # fmt: skip


_BARE: dict[str, Any] = {"tolerance": 1.0, "margin": None, "weights": "none"}


def _instead(name: str, label: str, strategy: str, constraint: str, **rest: Any) -> PaperMethod:
    """What people would use instead of fairask, with the default's classifier."""
    return PaperMethod(name, label, strategy, constraint=constraint, **(_BARE | rest))


METHODS = [
    *_sweep("fal", "FAL", "fal", (0.1, 0.25, 0.5), batch=1, metric_param="metric"),
    *_sweep("falcur", "FAL-CUR", "falcur", (0.1, 0.25, 0.5), batch=25),
    # Trials without convergence are marked and left out of the tables, but seen in the sweep.
    *_sweep(
        "panda",
        "PANDA",
        "panda",
        (0.25, 0.5),
        metric_param="metric",
        strategy_params={"unconverged": "use"},
    ),
    # Unconstrained, so that an advantage is not the classifier's. FAL and FAL-CUR choose rows by their own
    # logistic regression; the model at the end is the default's classifier.
    _instead("plain-passive", "Passive, no constraint", "passive", "none"),
    _instead("plain-uncertainty", "Uncertainty, no constraint", "uncertainty", "none"),
    _instead(
        "plain-fal", "FAL, default's classifier", "fal", "none",
        batch=1, pretrain=0.25, pretrain_param="pretrain", metric_param="metric",
    ),
    _instead(
        "plain-falcur", "FAL-CUR, default's classifier", "falcur", "none",
        batch=25, pretrain=0.25, pretrain_param="pretrain",
    ),
    # Made fair afterwards. ExponentiatedGradient fits the classifier dozens of times: measured at the end.
    _instead("threshold-optimizer", "Passive + ThresholdOptimizer", "passive", "threshold_optimizer"),
    _instead("relaxed-thresholds", "Passive + RelaxedThresholdOptimizer", "passive", "relaxed_thresholds"),
    _instead(
        "exponentiated-gradient", "Passive + ExponentiatedGradient", "passive", "exponentiated_gradient",
        rounds=1,
    ),
]  # fmt: skip
