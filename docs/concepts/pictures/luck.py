"""The measured difference of one fixed model on test sets of several sizes."""

import matplotlib.pyplot as plt
import numpy as np

from fairask.report.figures import INK, group_color, style

RATES, TOLERANCE = (0.80, 0.75), 0.1
rng = np.random.default_rng(0)
sizes = [25, 50, 100, 200, 400, 800]
with style():
    fig, ax = plt.subplots(figsize=(7.4, 3.2), layout="constrained")
    for i, n in enumerate(sizes):
        shares = [rng.binomial(n, rate, size=2000) / n for rate in RATES]
        gap = np.abs(shares[0] - shares[1])
        ax.scatter(
            i + rng.uniform(-0.3, 0.3, 400),
            gap[:400],
            s=5,
            alpha=0.5,
            rasterized=True,
            color=group_color(2),
            linewidths=0,
        )
        wrong = np.mean(gap > TOLERANCE)
        ax.annotate(f"{wrong:.0%} above", (i, 0.345), ha="center", fontsize=9.5)
    ax.axhline(TOLERANCE, color=INK, linestyle=(0, (5, 3)), linewidth=1.2)
    ax.axhline(RATES[0] - RATES[1], color=INK, linewidth=1.2)
    ax.annotate("the truth", (len(sizes) - 0.6, RATES[0] - RATES[1]), va="bottom", fontsize=9.5)
    ax.annotate("tolerance", (len(sizes) - 0.6, TOLERANCE), va="bottom", fontsize=9.5)
    ax.set(ylim=(0, 0.37), xlim=(-0.5, len(sizes) + 0.1), xlabel="labelled positives per group")
    ax.set_xticks(range(len(sizes)), sizes)
    ax.set_title("Measured difference of the same model, by luck of the test set")
