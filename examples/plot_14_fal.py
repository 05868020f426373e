"""
Strategy: FAL, expected unfairness
==================================

FAL (Anahideh and others, 2022) takes the most uncertain rows and, among those, asks for the ones that are expected to make the model fairer, by refitting it with each possible answer.
"""

# %%
# A pool with two features. In the majority the first feature decides the label, in the minority the second.
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner
from fairask.report import group_color

rng = np.random.default_rng(0)
groups = np.where(rng.random(1200) < 0.15, "minority", "majority")
small = groups == "minority"
X = rng.normal(size=(1200, 2)) + 0.5 * small[:, None]
y = (np.where(small, X[:, 1], X[:, 0]) + 0.3 * rng.normal(size=1200) > 0).astype(int)

# %%
# The first batch is drawn uniformly; the strategy chooses the other 125 rows.
learner = FairActiveLearner(
    X, groups, strategy="fal", strategy_params={"candidates": 64}, batch_size=25, random_state=0
)
asked = []
for _ in range(6):
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])
    asked.append(query.indices)
chosen = np.concatenate(asked[1:])

# %%
# Uncertain rows again, but among them those that move the difference between the groups.
fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for code, name in enumerate(("majority", "minority")):
    here = groups == name
    ax.scatter(*X[here].T, s=8, color=group_color(code), alpha=0.3, linewidths=0)
    picked = chosen[groups[chosen] == name]
    ax.scatter(
        *X[picked].T,
        s=45,
        color=group_color(code),
        edgecolors="#111111",
        label=f"{name}: {len(picked)} asked",
    )
ax.set(xticks=[], yticks=[], title="Rows that fal asked for")
ax.legend(loc="lower left")
plt.show()
