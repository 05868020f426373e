"""
Strategy: the rows the model is least sure of
=============================================

The classic of active learning. Rows close to the decision boundary are asked first. It knows nothing of groups, and since the choice is not random, no weight can undo it.
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
learner = FairActiveLearner(X, groups, strategy="uncertainty", batch_size=25, random_state=0)
asked = []
for _ in range(6):
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])
    asked.append(query.indices)
chosen = np.concatenate(asked[1:])

# %%
# The chosen rows lie along a line: the boundary of the current model.
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
ax.set(xticks=[], yticks=[], title="Rows that uncertainty asked for")
ax.legend(loc="lower left")
plt.show()
