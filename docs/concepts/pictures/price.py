"""Accuracy of the best model within each tolerance, on the rows that it was fitted to."""

import matplotlib.pyplot as plt
import numpy as np

from fairask import EmpiricalFairOracle
from fairask.datasets import load
from fairask.report import group_color
from fairask.report.figures import style
from fairask.report.words import METRIC_NAMES

data = load("adult")
rows = np.random.default_rng(0).choice(len(data.y), 4000, replace=False)
X, y, groups = data.X[rows], data.y[rows], data.groups[rows]
tolerances = np.array([0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2])

with style():
    fig, ax = plt.subplots(figsize=(7.4, 2.9), layout="constrained")
    for i, metric in enumerate(("tprp", "dp")):
        accuracy = []
        for tolerance in tolerances:
            model = EmpiricalFairOracle(metric=metric, tolerance=float(tolerance), random_state=0)
            accuracy.append(100 * (1 - model.fit(X, y, sensitive_features=groups).error_))
        ax.plot(tolerances, accuracy, marker="o", markersize=4, color=group_color(2 + i))
        place = (tolerances[2], accuracy[2])
        ax.annotate(METRIC_NAMES[metric], place, xytext=(10, -3), textcoords="offset points", va="top")
    ax.set(xlabel="tolerance", ylabel="accuracy, %")
    ax.set_title("A smaller tolerance costs accuracy")
