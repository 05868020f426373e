"""
Wide embeddings
===============

Embeddings of texts, images or sounds have hundreds of columns, more than there are labels. The default model is penalised, and its
penalty is chosen out of fold, so it learns from them without a step that reduces the width.
"""

# %%
# Made-up embeddings of 512 columns. Sixteen hidden directions carry the content, one of them the label and one the group.
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner, simulate

rng = np.random.default_rng(0)
n = 2500
hidden = rng.normal(size=(n, 16))
groups = np.where(hidden[:, 1] + rng.normal(size=n) > 1, "b", "a")
y = (hidden[:, 0] + np.where(groups == "b", 0.6 * hidden[:, 2], 0) + 0.4 * rng.normal(size=n) > 0).astype(int)
X = hidden @ rng.normal(size=(16, 512)) / 4 + 0.5 * rng.normal(size=(n, 512))

# %%
# 240 labels for 512 columns.
results = {}
for strategy in ("fare", "passive"):
    learner = FairActiveLearner(X[:1000], groups[:1000], strategy=strategy, batch_size=80, random_state=0)
    history = simulate(learner, y[:1000], budget=240, test=(X[1000:], y[1000:], groups[1000:]))
    results[strategy] = history["test_accuracy"], history["test_gap"]

# Lower right is better: accurate and fair. The last dot has all labels.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for strategy, (accuracy, gap) in results.items():
    ax.plot(accuracy, gap, "o-", markersize=7, label=strategy)
ax.axhline(0.1, color="#111111", linestyle="--", linewidth=1)
ax.set(xlabel="accuracy", ylabel="gap", ylim=(0, None))
ax.legend()
plt.show()
