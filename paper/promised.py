"""Thresholds with and without a promise: the file of ``benchmarks/promised.py`` in words."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper.render import fold
from paper.stats import mean_and_error

__all__ = ["TITLES", "promised_line", "promised_section"]

TITLES = {
    "default": "default",
    "passive": "default, uniform labels",
    "distribution_free": "distribution-free",
    "linear_post": "LinearPost",
    "oxonfair": "OxonFair",
    "threshold_optimizer": "ThresholdOptimizer",
    "plain": "no constraint",
}
_TOLERANCE = 0.1
#: What the others are compared with: it learns from the same labels on the same split.
_BESIDE = "passive"

Row = dict[str, str]


def promised_section(path: Path) -> list[str]:
    """Return what is said of each kind of data, and its tables; nothing where the benchmark was not run."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = list(csv.DictReader(file))
    lines = [
        "All but the first learn from the same uniform labels, with the same classifier. *Ahead* is in "
        "points of accuracy, on the same split and labels as the default with uniform labels; one standard "
        "error. Methods have different numbers of trials, so compare them by it. Splits are drawn anew, so "
        "that a method's figures differ from those above. "
        "*Silently above*: the gap on the test part is above 0.1, and the model did not say that its labels "
        "are too few, as only the default and the distribution-free one can "
        "(`python -m benchmarks.promised run --trials 100`).\n"
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        tables = list(dict.fromkeys(row["table"] for row in own))
        if kind == "populations":
            lines += [
                f"**{len(tables)} populations**, 250 labels, judged on 20,000 fresh rows. {_ahead(own)}\n"
            ]
            lines += [*_table(own), ""]
            continue
        lines += [f"**{kind.capitalize()}**. {_ahead(own)}\n", *_table(own), ""]
        each: list[str] = []
        for name in tables:
            of_table = [row for row in own if row["table"] == name]
            each += [f"{name}, {int(of_table[0]['labels']):,} labels:\n", *_table(of_table), ""]
        lines += fold(f"Each of the {len(tables)}", each)
    return lines


def promised_line(path: Path) -> list[str]:
    """Return one sentence on the populations, or nothing where the benchmark was not run."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "populations"]
    said = _ahead(rows)
    return [f"Thresholds from the same uniform labels, on populations. {said}"] if said else []


def _values(rows: Iterable[Row], method: str) -> dict[tuple[str, str], tuple[float, float, bool]]:
    """Accuracy, gap and feasibility by table and trial."""
    return {
        (row["table"], row["trial"]): (float(row["accuracy"]), float(row["gap"]), row["feasible"] == "1")
        for row in rows
        if row["method"] == method
    }


def _gain(rows: Sequence[Row], method: str) -> tuple[float, float]:
    """How many points more accurate a method is than the default on the same labels, and the error."""
    own, beside = _values(rows, method), _values(rows, _BESIDE)
    shared = [100.0 * (own[at][0] - beside[at][0]) for at in own if at in beside]
    if len(shared) < 2:
        return np.nan, np.nan
    mean, error = mean_and_error(np.array(shared))
    return float(mean), float(error)


def _silent(rows: Sequence[Row], method: str) -> float:
    return float(np.mean([gap > _TOLERANCE and fine for _, gap, fine in _values(rows, method).values()]))


def _ahead(rows: Sequence[Row]) -> str:
    """Say who is more accurate than the default on the same labels, and how often each is silently above."""
    present = [m for m in TITLES if m not in ("default", _BESIDE) and _values(rows, m)]
    if not _values(rows, _BESIDE) or not present:
        return ""
    gains = {method: _gain(rows, method) for method in present}
    ahead = [
        f"{TITLES[m]} ({gain:+.1f} ± {error:.1f})" for m, (gain, error) in gains.items() if gain > 2 * error
    ]
    behind = [
        f"{TITLES[m]} ({gain:+.1f} ± {error:.1f})" for m, (gain, error) in gains.items() if gain < -2 * error
    ]
    silent = [f"{TITLES[m]} {100 * _silent(rows, m):.0f} %" for m in (_BESIDE, *present)]
    return (
        f"More accurate than the default on the same labels: {', '.join(ahead) or 'none'}; less: "
        f"{', '.join(behind) or 'none'}. Silently above the tolerance: {', '.join(silent)}."
    )


def _table(rows: Sequence[Row]) -> list[str]:
    lines = [
        "| method | trials | accuracy, % | ahead | silently above, % | infeasible, % | gap |",
        "|---|---|---|---|---|---|---|",
    ]
    for method, title in TITLES.items():
        if not (found := _values(rows, method)):
            continue
        accuracy, gap, feasible = (np.array(column) for column in zip(*found.values(), strict=True))
        gain, error = _gain(rows, method)
        said = "" if method == _BESIDE or np.isnan(gain) else f"{gain:+.1f} ± {error:.1f}"
        lines.append(
            f"| {title} | {len(found)} | {100 * accuracy.mean():.1f} | {said} | "
            f"{_share((gap > _TOLERANCE) & feasible)} | {_share(~feasible)} | {gap.mean():.3f} |"
        )
    return lines


def _share(hits: NDArray[np.bool_]) -> str:
    return f"{100 * hits.mean():.0f} ± {100 * (hits.mean() * (1 - hits.mean()) / len(hits)) ** 0.5:.0f}"
