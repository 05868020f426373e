"""Estimate the share of positives from uneven draws, with and without propensities."""

import matplotlib.pyplot as plt
import numpy as np

from fairask.datasets import load
from fairask.report.figures import INK, group_color, style

data = load("adult")
rng = np.random.default_rng(0)
# Each woman is four times as likely to be drawn as each man.
chance = np.where(data.groups == "Female", 4.0, 1.0)
chance /= chance.sum()
plain, weighted = [], []
for _ in range(3000):
    rows = rng.choice(len(data.y), 100, p=chance)
    weight = 1 / (len(data.y) * chance[rows])
    plain.append(data.y[rows].mean())
    weighted.append(np.average(data.y[rows], weights=weight))

with style():
    fig, ax = plt.subplots(figsize=(7.4, 2.8), layout="constrained")
    bins = np.arange(0.055, 0.43, 0.01)
    ax.hist(plain, bins, density=True, alpha=0.5, color=group_color(0), label="labels counted once each")
    ax.hist(
        weighted,
        bins,
        density=True,
        alpha=0.5,
        color=group_color(1),
        label="labels weighted by 1 / propensity",
    )
    ax.axvline(data.y.mean(), color=INK, linewidth=1.5)
    ax.annotate(
        "the pool's share ",
        (data.y.mean(), ax.get_ylim()[1] * 0.93),
        ha="left",
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=9.5,
    )
    ax.set(xlabel="estimated share of people with the higher income", yticks=[])
    ax.legend(frameon=False, loc="center right", fontsize=9.5)
    ax.set_title("3,000 samples of 100 labels, women drawn four times as often")
