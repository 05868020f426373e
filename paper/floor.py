"""How often a model that is exactly fair would look unfair: test parts are small, their rates noisy."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from paper.problems import Problem, Setup
from paper.trials import split, trial_data

__all__ = ["gap_noise", "read_floors", "write_floors"]


def gap_noise(problem: Problem, setup: Setup) -> tuple[float, float]:
    """Standard deviation of a measured gap of true positive rates, and the share above the tolerance.

    The model has the same true rate in both groups, that of a logistic regression on the pool of trial 0.
    """
    data = trial_data(problem, 0)
    rows = split(problem, data, setup.test_share, 0)
    model = LogisticRegression(max_iter=2000).fit(data.X[rows.pool], data.y[rows.pool])
    positive = rows.held_out[data.y[rows.held_out] == 1]
    rate = float(model.predict(data.X[positive]).mean())
    sizes = np.unique(data.groups[positive], return_counts=True)[1]
    deviation = float(np.sqrt(rate * (1.0 - rate) * (1.0 / sizes).sum()))
    return deviation, float(2.0 * norm.sf(setup.tolerance / deviation))


def write_floors(setup: Setup, path: Path) -> Path:
    """Write the noise of every problem with two groups and one rate; needs the tables."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "deviation", "above"])
        for problem in setup.problems.values():
            if problem.metric == "tprp":
                deviation, above = gap_noise(problem, setup)
                writer.writerow([problem.name, f"{deviation:.4f}", f"{above:.4f}"])
    return path


def read_floors(path: Path) -> dict[str, float]:
    """Share of trials above the tolerance by test noise alone, by problem; empty without the file."""
    if not path.exists():
        return {}
    with path.open() as file:
        return {row["problem"]: float(row["above"]) for row in csv.DictReader(file)}
