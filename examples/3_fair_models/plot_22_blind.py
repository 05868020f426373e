"""
Blind to the group
==================

By default the model has one threshold per group, so it reads the group when it predicts. Where that is not allowed, ``blind=True``
makes a model that decides from the features alone. What that costs depends on the data.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner, evaluate
from fairask.datasets import load

data = load("adult")
# Leave out the protected column itself, and keep 6,000 rows.
rows = np.random.default_rng(0).choice(len(data.y), 6000, replace=False)
kept = [i for i, name in enumerate(data.feature_names) if "sex" not in name.lower()]
X, y, groups = data.X[np.ix_(rows, kept)], data.y[rows], data.groups[rows]

# %%
# The same seeds for both kinds of model, four runs each.
points = {}
for blind in (False, True):
    points[blind] = []
    for seed in range(4):
        learner = FairActiveLearner(X, groups, blind=blind, batch_size=100, random_state=seed)
        for _ in range(3):
            query = learner.ask()
            learner.tell(query.indices, y[query.indices])
        points[blind].append(evaluate(learner.model_, X, y, groups))

# %%
# Towards the upper left is better: accurate and fair.
fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for blind, color in ((False, "#332288"), (True, "#999933")):
    accuracy, gap = np.transpose(points[blind])
    ax.scatter(gap, accuracy, s=60, color=color, label="blind" if blind else "reads the group")
ax.axvline(0.1, color="#111111", linestyle="--", linewidth=1)
ax.set(xlabel="difference of true positive rates", ylabel="accuracy", xlim=(0, None))
ax.legend()
plt.show()
