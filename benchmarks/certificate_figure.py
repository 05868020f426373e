# ruff: noqa: E501
"""Ratio and intersection certificates beside point estimates: the figure of docs/certificates.md.

    python -m benchmarks.certificate_figure [docs/img/certificates.svg]

Adult, groups by sex and age, a logistic regression of 500 labels, an audit of at most 1,500 more. Circles are
what a tool that compares the measured ratio with 0.8 sees in as many labels, drawn at random; bars are the
certificate, from the audit's own labels.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from fairask.audit import Audit
from fairask.datasets import load


def main() -> None:
    data = load("adult")
    y, X = np.asarray(data.y), StandardScaler().fit_transform(np.asarray(data.X, dtype=float))
    age = np.asarray(data.X, dtype=float)[:, 0]
    band = np.digitize(age, np.quantile(age, [0.25, 0.5, 0.75]))
    groups = np.array(
        [
            f"{g}, age {('youngest', 'younger', 'older', 'oldest')[b]}"
            for g, b in zip(data.groups, band, strict=True)
        ]
    )
    rng = np.random.default_rng(5)
    train = rng.choice(len(y), 500, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pred = LogisticRegression(C=0.1, max_iter=2000).fit(X[train], y[train]).predict(X)
    known = {int(row): int(y[row]) for row in train}
    audit = Audit(pred, groups, metric="tpr-ratio", tolerance=0.2, compare="rest", budget=1500, known=known)
    while not audit.done:
        rows = audit.ask().indices
        audit.tell(rows, y[rows])
    sample = rng.choice(len(y), audit.n_labels, replace=False)
    found = audit.certificate()
    print(found.headline())
    lines = []
    for c in found.comparisons[: len(found.groups)]:
        mine = groups == c.first
        parts = [sample[mine[sample] & (y[sample] == 1)], sample[~mine[sample] & (y[sample] == 1)]]
        naive = pred[parts[0]].mean() / pred[parts[1]].mean() if len(parts[0]) and len(parts[1]) else np.nan
        truth = pred[mine & (y == 1)].mean() / pred[~mine & (y == 1)].mean()
        low, high = max(1 - c.upper, 0.0), 1 - c.lower
        says = "at least 0.8" if low >= 0.8 else "below 0.8" if high < 0.8 else "cannot tell"
        tool = "no positive seen" if np.isnan(naive) else "pass" if naive >= 0.8 else "fail"
        lines.append(Line(c.first, naive, low, high, truth, tool, says))
        print(
            f"{c.first:24} measured {naive:5.2f} ({tool})   certificate {low:5.2f} to {high:5.2f} ({says})   truth {truth:5.2f}"
        )
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img/certificates.svg").write_text(drawn(lines))


class Line(NamedTuple):
    """A group beside all others: the ratio measured, its certificate, the truth, and both verdicts."""

    name: str
    naive: float
    low: float
    high: float
    truth: float
    tool: str
    says: str


def drawn(lines: list[Line]) -> str:
    """The figure as SVG: a bar per group, a hollow point for the estimate, a tick for the truth."""

    def x(value: float) -> float:
        return 180 + 340 * min(max(value, 0.0), 2.0) / 2

    def text(at: float, y: float, words: str, anchor: str = "start", colour: str = "#222") -> str:
        return (
            f'<text x="{at:.0f}" y="{y}" text-anchor="{anchor}" font-size="13" fill="{colour}">{words}</text>'
        )

    colours = {"pass": "#1a7f4b", "at least 0.8": "#1a7f4b", "fail": "#b3261e", "below 0.8": "#b3261e"}
    parts = [text(540, 34, "measured"), text(640, 34, "certificate")]
    for i, line in enumerate(lines):
        y = 60 + 28 * i
        parts.append(text(170, y + 4, line.name, "end"))
        parts.append(
            f'<line x1="{x(line.low):.1f}" x2="{x(line.high):.1f}" y1="{y}" y2="{y}" stroke="#2166ac" stroke-width="6"/>'
        )
        parts.append(
            f'<line x1="{x(line.truth):.1f}" x2="{x(line.truth):.1f}" y1="{y - 9}" y2="{y + 9}" stroke="#222" stroke-width="2"/>'
        )
        if not np.isnan(line.naive):
            parts.append(
                f'<circle cx="{x(line.naive):.1f}" cy="{y}" r="5" fill="#fff" stroke="#b35806" stroke-width="2"/>'
            )
        parts += [
            text(at, y + 4, said, colour=colours.get(said, "#8a6100"))
            for at, said in ((540, line.tool), (640, line.says))
        ]
    bottom = 60 + 28 * len(lines)
    axis = f'<line x1="{x(0.8)}" x2="{x(0.8)}" y1="40" y2="{bottom}" stroke="#777" stroke-dasharray="4 3"/>'
    axis += "".join(text(x(v), bottom + 16, f"{v:g}", "middle") for v in (0, 0.5, 0.8, 1, 1.5, 2))
    key = text(180, 16, "bar: certificate; circle: measured; tick: truth; dashed: 0.8")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {bottom + 26}" font-family="sans-serif" role="img" '
        f'aria-label="Ratios of true positive rates by group"><rect width="740" height="{bottom + 26}" fill="#fff"/>{key}{axis}{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    main()
