"""What goes past the paper: half the labels, what choosing rows brings, what a blind model costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairask.metrics import Float
from paper.problems import Setup
from paper.reported import PAPER
from paper.stats import mean_and_error
from paper.store import Curves

__all__ = ["beyond_section"]

Results = Mapping[tuple[str, str], Curves]

OURS = "default"


def beyond_section(results: Results, setup: Setup) -> list[str]:
    """Markdown for all results of the calibrated default that are there; nothing without any."""
    tables = [name for name in setup.problems if (name, OURS) in results and (name, "FARE") in PAPER]
    tables = [name for name in tables if name != "synthetic"]
    if not tables:
        return []
    parts = [
        "The default: the average of a ridge logistic regression and a random forest, thresholds that are "
        "within "
        "the tolerance with probability 0.95, FARE over bootstrapped models with shares that adapt, 25 "
        "labels per round. One setting for all tables. All six were looked at while it was made; "
        "[others](unseen.md) were not.\n",
    ]
    for title, lines in (
        ("With half the labels", _half(results, setup, tables)),
        ("The same oracle with passive sampling", _same_oracle(results, setup)),
        ("Blind to the group", _blind(results, setup, tables)),
    ):
        if lines:
            parts += [f"## {title}\n", *lines, ""]
    return parts


def _cell(curves: Curves, alpha: float, at: int = -1) -> str:
    accuracy, gap = curves.accuracy[:, at], curves.gap[:, at]
    mean, error = mean_and_error(accuracy)
    above = float((gap > alpha).mean())
    return f"{100 * float(mean):.1f} ± {100 * float(error):.1f} / {gap.mean():.3f} / {above:.0%}"


def _ended(curves: Curves, budget: int) -> int:
    """Position of the round at which a budget was spent."""
    return int(np.flatnonzero(curves.labels <= budget)[-1])


def _half(results: Results, setup: Setup, tables: list[str]) -> list[str]:
    lines = [
        "| dataset | labels | accuracy % / gap / trials above α | the paper's FARE, all labels | "
        "reached | labels to reach it |",
        "|---|---|---|---|---|---|",
    ]
    reached = 0
    for name in tables:
        curves, problem = results[name, OURS], setup.problem(name)
        at = _ended(curves, problem.budget // 2)
        paper = PAPER[name, "FARE"]
        accuracy, gap = curves.accuracy.mean(axis=0), curves.gap.mean(axis=0)
        enough = np.flatnonzero((100 * accuracy >= paper.accuracy) & (gap <= setup.tolerance))
        needed = f"{curves.labels[enough[0]]:,}" if len(enough) else f"> {curves.labels[-1]:,}"
        holds = 100 * accuracy[at] >= paper.accuracy and gap[at] <= setup.tolerance
        reached += bool(holds)
        lines.append(
            f"| {problem.title} | {curves.labels[at]:,} of {problem.budget:,} | "
            f"{_cell(curves, setup.tolerance, at)} | {paper.accuracy:.1f} / {paper.gap:.3f} | "
            f"{'✓' if holds else '✗'} | {needed} |"
        )
    return [
        f"The paper's FARE at its full budget is reached on {reached} of {len(tables)}. Half is the last "
        "round within half the budget.\n",
        *lines,
    ]


def _paired(one: Curves, other: Curves) -> Float:
    """Differences of final accuracy on the trials, and so the splits, that both have."""
    common = np.intersect1d(one.trials, other.trials)
    ends = [c.accuracy[np.searchsorted(c.trials, common), -1] for c in (one, other)]
    return np.asarray(ends[0] - ends[1])


def _same_oracle(results: Results, setup: Setup) -> list[str]:
    lines = ["| dataset | trials | exploring | passive | gain in points |", "|---|---|---|---|---|"]
    for problem in setup.problems:
        ours, passive = results.get((problem, OURS)), results.get((problem, "default-passive"))
        if ours is None or passive is None:
            continue
        differences = _paired(ours, passive)
        gain, error = mean_and_error(differences)
        lines.append(
            f"| {setup.problem(problem).title} | {len(differences)} | {_cell(ours, setup.tolerance)} | "
            f"{_cell(passive, setup.tolerance)} | {100 * float(gain):+.1f} ± {100 * float(error):.1f} |"
        )
    return lines if len(lines) > 2 else []


def _blind(results: Results, setup: Setup, tables: list[str]) -> list[str]:
    lines = [
        "The model decides without the group, and without every column that is a function of it.\n",
        "| dataset | trials | blind | price in points |",
        "|---|---|---|---|",
    ]
    for name in tables:
        if (name, "default-blind") in results:
            blind, ours = results[name, "default-blind"], results[name, OURS]
            price, error = mean_and_error(_paired(ours, blind))
            lines.append(
                f"| {setup.problem(name).title} | {len(blind)} | {_cell(blind, setup.tolerance)} | "
                f"{100 * float(price):.1f} ± {100 * float(error):.1f} |"
            )
    return lines if len(lines) > 3 else []
