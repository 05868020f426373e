"""Tables that played no part when the default was made: the file of ``benchmarks/heldout.py`` in words."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from fairask.metrics import Float
from paper.methods import METHODS
from paper.stats import mean_and_error

__all__ = ["heldout_lines", "heldout_table"]

_TOLERANCE = 0.1

#: Accuracy and gap at the end of the budget, by table and method, then by trial.
Ends = dict[tuple[str, str], dict[int, tuple[float, float]]]


def _read(path: Path | None) -> Ends:
    ends: Ends = defaultdict(dict)
    if path is not None and path.exists():
        with path.open() as file:
            for row in csv.DictReader(file):  # in the order of the rounds: the last one stays
                value = float(row["accuracy"]), float(row["gap"])
                ends[row["table"], row["method"]][int(row["trial"])] = value
    return ends


def _values(trials: dict[int, tuple[float, float]]) -> Float:
    return np.array(list(trials.values()))


def heldout_lines(path: Path | None) -> list[str]:
    """Return one sentence on the default there, or nothing where it was not run."""
    ends = _read(path)
    tables = list(dict.fromkeys(table for table, method in ends if method == "default"))
    if not tables:
        return []
    ours = {table: ends[table, "default"] for table in tables}
    gaps = [float(_values(ours[table])[:, 1].mean()) for table in tables]
    ahead = []
    for (table, method), trials in ends.items():
        shared = sorted(set(trials) & set(ours.get(table, ())))
        if method == "default" or len(shared) < 3 or _values(trials)[:, 1].mean() > _TOLERANCE:
            continue
        gain, error = mean_and_error(np.array([trials[t][0] - ours[table][t][0] for t in shared]))
        if gain > 2 * error:
            ahead.append(
                f"{METHODS[method].label} on {table} (+{100 * float(gain):.1f} ± {100 * float(error):.1f})"
            )
    count = min(len(trials) for trials in ours.values())
    return [
        f"On {len(tables)} public tables that played no part when it was made ({count} trials), the "
        f"default's mean gap is {min(gaps):.3f} to {max(gaps):.3f}. Methods whose mean gap is within the "
        "tolerance, and that are more accurate by over two standard errors on the same splits: "
        f"{'; '.join(ahead) or 'none'} "
        "(`python -m benchmarks.heldout`)."
    ]


def heldout_table(path: Path | None) -> list[str]:
    """Return the lines of the table: accuracy, gap, trials above the tolerance."""
    ends = _read(path)
    if not ends:
        return []
    tables = list(dict.fromkeys(table for table, _ in ends))
    methods = sorted({method for _, method in ends}, key=list(METHODS).index)
    lines = [
        "Public tables chosen, with budget, batch, target and groups, before any method was run on them "
        "(`python -m benchmarks.heldout`), and before the default was made. Accuracy % / mean gap / "
        "trials above 0.1.\n",
        f"| method | {' | '.join(tables)} |",
        f"|---{'|---' * len(tables)}|",
    ]
    for method in methods:
        cells = []
        for table in tables:
            found = _values(ends[table, method])
            mean, error = mean_and_error(found[:, 0])
            few = "" if len(found) >= 100 else f" ({len(found)} trials)"
            cells.append(
                f"{100 * float(mean):.1f} ± {100 * float(error):.1f} / {found[:, 1].mean():.3f} / "
                f"{(found[:, 1] > _TOLERANCE).mean():.0%}{few}"
            )
        lines.append(f"| {METHODS[method].label} | {' | '.join(cells)} |")
    return lines
