"""Fit the most accurate model that is fair by one metric, and measure it by all four."""

import matplotlib.pyplot as plt
import numpy as np

from fairask import EmpiricalFairOracle, group_gap
from fairask.datasets import load
from fairask.report.figures import style
from fairask.report.words import METRIC_NAMES

data = load("adult")
rows = np.random.default_rng(0).choice(len(data.y), 4000, replace=False)
X, y, groups = data.X[rows], data.y[rows], data.groups[rows]
metrics = list(METRIC_NAMES)
table = np.empty((len(metrics) + 1, len(metrics)))
for i, metric in enumerate([None, *metrics]):
    model = EmpiricalFairOracle(metric=metric or "tprp", tolerance=0.02 if metric else 1.0, random_state=0)
    model.fit(X, y, sensitive_features=groups)
    selected = model.predict_proba(X)[:, 1]  # the share with which the randomised model selects each row
    table[i] = [group_gap(y, selected, groups, metric=m) for m in metrics]

with style():
    fig, ax = plt.subplots(figsize=(7.4, 3.2), layout="constrained")
    ax.imshow(table, cmap="Oranges", vmin=0, vmax=0.3, aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        ax.text(
            j,
            i,
            f"{value:.2f}",
            ha="center",
            va="center",
            fontsize=11,
            color="#111111" if value < 0.2 else "white",
        )
    ax.set_xticks(range(len(metrics)), [f"{m}" for m in metrics])
    ax.set_yticks(range(len(metrics) + 1), ["no constraint", *(f"{m} within 0.02" for m in metrics)])
    ax.set_title("Rows: what the model is fair by. Columns: its gap")
    ax.grid(False)
    ax.tick_params(length=0)
