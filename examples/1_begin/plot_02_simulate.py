"""
What labels would buy
=====================

An old table with labels shows what labels would buy: hide them, let two strategies ask for some, and measure on rows that were set
aside. Five runs per strategy show the noise too.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner, simulate
from fairask.datasets import load
from fairask.report import draw_learning_curves

data = load("adult")


def run(strategy, seed):
    """Return labels, accuracy and gap of one run."""
    rows = np.random.default_rng(seed).permutation(len(data.y))
    pool, test = rows[:4000], rows[4000:12_000]
    learner = FairActiveLearner(
        data.X[pool], data.groups[pool], strategy=strategy, batch_size=100, random_state=seed
    )
    measure = (data.X[test], data.y[test], data.groups[test])
    history = simulate(learner, data.y[pool], budget=400, test=measure)
    return history["labels"], history["test_accuracy"], history["test_gap"]


# %%
# Both strategies see the same splits.
results = {}
for strategy in ("fare", "passive"):
    runs = [run(strategy, seed) for seed in range(5)]
    results[strategy] = runs[0][0], [r[1] for r in runs], [r[2] for r in runs]

fig, axes = plt.subplots(2, 1, figsize=(7, 5.5), layout="constrained", sharex=True)
draw_learning_curves(results, tolerance=0.1, ax=axes)
plt.show()
