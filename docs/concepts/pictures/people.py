"""Draw the same people under the same rule, once per metric: who counts, and who of them is selected."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from fairask.metrics import group_gap
from fairask.report.figures import INK, group_color, style

#: What each metric looks at: (true label of the people who count, name of the rate).
PARTS = {
    "tprp": [(1, "true positive rate")],
    "fprp": [(0, "false positive rate")],
    "eo": [(1, "true positive rate"), (0, "false positive rate")],
    "dp": [(None, "selection rate")],
}
STEPS = tuple(PARTS)
#: Positives and negatives per group, and how many of each the rule selects.
PEOPLE = {"group A": ((24, 20), (16, 4)), "group B": ((12, 7), (28, 5))}


def _arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y, pred, groups = [], [], []
    for name, ((positives, hits), (negatives, false)) in PEOPLE.items():
        y += [1] * positives + [0] * negatives
        pred += [1] * hits + [0] * (positives - hits) + [1] * false + [0] * (negatives - false)
        groups += [name] * (positives + negatives)
    return np.array(y), np.array(pred), np.array(groups)


def draw(metric: str) -> None:
    """Draw one metric: faded people do not count, filled people are selected."""
    y, pred, groups = _arrays()
    parts = PARTS[metric]
    with style():
        fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.5), layout="constrained")
        for i, (ax, name) in enumerate(zip(axes, PEOPLE, strict=True)):
            mine = groups == name
            labels, chosen = y[mine], pred[mine]
            place = np.arange(len(labels))
            x, height = place % 10, -(place // 10)
            counts = np.isin(labels, [part for part, _ in parts]) | (parts[0][0] is None)
            color = group_color(i)
            for marker, kind in (("o", 1), ("s", 0)):
                for shown in (True, False):
                    here = (labels == kind) & (counts == shown)
                    face = np.where(chosen[here] == 1, color, "white")
                    ax.scatter(
                        x[here], height[here], s=90, marker=marker, c=face, edgecolors=color, linewidths=1.4,
                        alpha=1.0 if shown else 0.14,
                    )  # fmt: skip
            rates = []
            for label, title in parts:
                who = mine if label is None else mine & (y == label)
                rates.append(f"{title} {pred[who].sum()}/{who.sum()} = {pred[who].mean():.2f}")
            ax.set_title(name + "\n" + "\n".join(rates), fontsize=10.5)
            ax.set(xlim=(-0.7, 9.7), ylim=(-3.7, 0.7))
            ax.axis("off")
        gap = group_gap(y, pred, groups, metric=metric)
        fig.supxlabel(
            f"circle: should be selected   square: should not   filled: is selected      {metric} = {gap:.2f}",
            fontsize=10,
            color=INK,
        )
