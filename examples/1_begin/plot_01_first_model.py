"""
A fair model in ten lines
=========================

The loop of every fairask program: ask which rows to label, tell their labels, look at the model. German Credit stands for your
table, and its labels stand for your annotators.
"""

# %%
# The pool is what can be asked about; the test rows only measure.
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner, evaluate
from fairask.datasets import load

data = load("german")
rows = np.random.default_rng(0).permutation(len(data.y))
pool, test = rows[:700], rows[700:]

# %%
# Ask for 25 rows at a time, and measure after every batch.
learner = FairActiveLearner(data.X[pool], data.groups[pool], metric="tprp", tolerance=0.1, random_state=0)
labels, accuracy, gaps = [], [], []
for _ in range(8):
    query = learner.ask(25)
    learner.tell(query.indices, data.y[pool][query.indices])
    found = evaluate(learner.model_, data.X[test], data.y[test], data.groups[test], metric="tprp")
    labels.append(25 * (len(labels) + 1))
    accuracy.append(found[0])
    gaps.append(found[1])

# %%
# One run is noisy: :doc:`plot_02_simulate` repeats it.
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.bar(labels, gaps, width=18, color=["#332288" if gap <= 0.1 else "#D55E00" for gap in gaps])
ax.axhline(0.1, color="#111111", linestyle="--", linewidth=1)
for place, height, share in zip(labels, gaps, accuracy, strict=True):
    ax.annotate(f"{share:.0%}", (place, height), ha="center", va="bottom")
ax.set(xlabel="labels", ylabel="gap", title="The gap after each batch, and the accuracy above it")
plt.show()
