"""The present default against the one before it, on the same trials."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from paper.methods import METHODS
from paper.stats import mean_and_error
from paper.store import Curves

__all__ = ["changes", "worse_line"]

Results = dict[tuple[str, str], Curves]
#: By dataset and method: trials, the mean change of accuracy (points) and gap, and their errors.
Found = dict[tuple[str, str], tuple[int, float, float, float]]


def _found(results: Results, before: Path) -> Found:
    old: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    with before.open() as file:
        for row in csv.DictReader(file):
            ends = old.setdefault((row["dataset"], row["method"]), {})
            ends[int(row["trial"])] = float(row["accuracy"]), float(row["gap"])
    out: Found = {}
    for key, ends in old.items():
        if (curves := results.get(key)) is None:
            continue
        shared = [i for i, trial in enumerate(curves.trials.tolist()) if trial in ends]
        was = np.array([ends[int(curves.trials[i])] for i in shared])
        now = np.stack([curves.accuracy[shared, -1], curves.gap[shared, -1]], axis=1)
        mean, error = mean_and_error(now - was)
        out[key] = len(shared), 100.0 * float(mean[0]), 100.0 * float(error[0]), float(mean[1])
    return out


def changes(results: Results, before: Path) -> list[str]:
    """Return the table; ``before`` has the ends of the trials of the default before, if it is there."""
    if not before.exists():
        return []
    lines = [
        "The present default against the one before it (`results/before.csv`), on the same trials:\n",
        "| dataset | method | trials | points of accuracy | gap |",
        "|---|---|---|---|---|",
    ]
    for (name, method), (n, gain, error, gap) in _found(results, before).items():
        lines.append(f"| {name} | {METHODS[method].label} | {n} | {gain:+.1f} ± {error:.1f} | {gap:+.3f} |")
    return [*lines, ""]


def worse_line(results: Results, before: Path) -> list[str]:
    """Name the datasets on which the present default is less accurate by two standard errors or more."""
    if not before.exists():
        return []
    worse = [
        f"{name.capitalize()} {gain:+.1f} ± {error:.1f} points at a gap smaller by {-gap:.3f} ({n} trials)"
        for (name, method), (n, gain, error, gap) in _found(results, before).items()
        if method == "default" and gain < -2.0 * error
    ]
    said = "; ".join(worse)
    return [f"Less accurate than the default before it, on the same trials: {said}."] if worse else []
