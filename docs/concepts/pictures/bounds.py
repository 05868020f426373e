"""The bounds of a certificate as labels arrive, for one generated pool."""

import matplotlib.pyplot as plt
import numpy as np

from fairask.audit import certify
from fairask.report.figures import INK, method_color, style

rng = np.random.default_rng(4)
n = 2000
groups = np.where(rng.random(n) < 0.5, "a", "b")
y = (rng.random(n) < 0.5).astype(int)
pred = (rng.random(n) < np.where(y == 1, np.where(groups == "a", 0.88, 0.86), 0.3)).astype(int)
sizes = np.array([50, 100, 150, 200, 300, 400, 600, 800, 1100, 1500, 2000])
found = [certify(y[:m], pred[:m], groups[:m], metric="tprp") for m in sizes]
low, middle, high = (np.array([getattr(c, name) for c in found]) for name in ("lower", "estimate", "upper"))

with style():
    fig, ax = plt.subplots(figsize=(7.4, 3.1), layout="constrained")
    ax.fill_between(sizes, low, high, color=method_color("fare"), alpha=0.18, linewidth=0)
    ax.plot(sizes, middle, color=method_color("fare"), marker="o", markersize=3.5)
    ax.axhline(0.1, color=INK, linestyle=(0, (5, 3)), linewidth=1.2)
    ax.axhspan(0.1, 0.5, color="#D55E00", alpha=0.08, linewidth=0)
    certified = sizes[high <= 0.1]
    if len(certified):
        ax.axvline(certified[0], color=INK, linewidth=1)
        ax.annotate(
            f"certified with {certified[0]} labels",
            (certified[0], 0.4),
            xytext=(6, 0),
            textcoords="offset points",
        )
    ax.annotate("above the tolerance of 0.1", (1990, 0.46), ha="right", fontsize=9.5)
    ax.set(ylim=(0, 0.5), xlim=(0, 2020), xlabel="labels", ylabel="difference")
    ax.set_title("Estimate and bounds of a certificate")
