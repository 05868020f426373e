"""The paper's rivals: a plain logistic regression on the labels they choose, after a pretraining share.

The share is swept within the budget; tables show the best member of a family.
"""

from typing import Any

from fairask.bench.methods._method import Method

_PLAIN: dict[str, Any] = {
    "tolerance": 1.0,
    "margin": None,
    "weights": "none",
    "model": "ridge",
    "pretrain_param": "pretrain",
}


def _sweep(
    name: str, label: str, colour: str, strategy: str, shares: tuple[float, ...], **rest: Any
) -> list[Method]:
    return [
        Method(
            f"{name}-{round(100 * share)}", f"{label}, {share:.0%} pretraining", colour, strategy,
            paper=label, family=label, pretrain=share, **_PLAIN, **rest,
        )
        for share in shares
    ]  # fmt: skip


METHODS = [
    *_sweep("fal", "FAL", "orange", "fal", (0.1, 0.25, 0.5), batch=1, metric_param="metric"),
    *_sweep("falcur", "FAL-CUR", "purple", "falcur", (0.1, 0.25, 0.5), batch=25),
    # Trials without convergence are marked and left out of the tables, but seen in the sweep.
    *_sweep(
        "panda",
        "PANDA",
        "yellow",
        "panda",
        (0.25, 0.5),
        metric_param="metric",
        strategy_params={"unconverged": "use"},
    ),
]
