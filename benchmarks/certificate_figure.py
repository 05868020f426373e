# ruff: noqa: E501
"""Ratio and intersection certificates beside point estimates: the figure of docs/certificates.md.

    python benchmarks/certificate_figure.py [docs/img/certificates.svg]

Adult, groups by sex and age, a logistic regression of 500 labels, an audit of at most 1,500 more. Points are
what a tool that prints rates of as many labels, drawn at random, would say; bars are the certificate.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from fairask.certify import Audit
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
    audit = Audit(pred, groups, metric="tpr-ratio", alpha=0.2, compare="rest", budget=1500, known=known)
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
        lines.append((c.first, naive, 1 - c.upper, 1 - c.lower, truth))
        print(
            f"{c.first:24} point estimate {naive:5.2f}   certificate {1 - c.upper:5.2f} to {1 - c.lower:5.2f}   truth {truth:5.2f}"
        )
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img/certificates.svg").write_text(drawn(lines))


def drawn(lines: list[tuple[str, float, float, float, float]]) -> str:
    """The figure as SVG: a bar per group, a hollow point for the estimate, a tick for the truth."""

    def x(value: float) -> float:
        return 190 + 360 * min(max(value, 0.0), 2.0) / 2

    parts = []
    for i, (name, naive, low, high, truth) in enumerate(lines):
        y = 40 + 26 * i
        parts.append(f'<text x="180" y="{y + 4}" text-anchor="end" font-size="12">{name}</text>')
        parts.append(
            f'<line x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y}" y2="{y}" stroke="#2166ac" stroke-width="5"/>'
        )
        parts.append(
            f'<line x1="{x(truth):.1f}" x2="{x(truth):.1f}" y1="{y - 8}" y2="{y + 8}" stroke="#222"/>'
        )
        if not np.isnan(naive):
            parts.append(
                f'<circle cx="{x(naive):.1f}" cy="{y}" r="4" fill="#fff" stroke="#b35806" stroke-width="2"/>'
            )
    bottom = 40 + 26 * len(lines)
    axis = f'<line x1="{x(0.8)}" x2="{x(0.8)}" y1="20" y2="{bottom}" stroke="#777" stroke-dasharray="4 3"/>'
    axis += "".join(
        f'<text x="{x(v)}" y="{bottom + 16}" text-anchor="middle" font-size="12">{v:g}</text>'
        for v in (0, 0.5, 0.8, 1, 1.5, 2)
    )
    key = '<text x="190" y="14" font-size="12">bar: certificate, circle: point estimate, tick: truth; dashed: 0.8</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 {bottom + 24}" font-family="sans-serif" role="img" '
        f'aria-label="Ratios of true positive rates by group">{key}{axis}{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    main()
