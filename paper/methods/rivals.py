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
]
