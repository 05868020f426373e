"""
Seven strategies on one pool
============================

Which rows does each strategy ask for? The pool has two features. In the majority the first one decides the label, in the minority the
second. :doc:`/strategies/README` says how each strategy works; PANDA has :doc:`an example of its own <plot_17_panda>`.
"""

# %%
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
# The first batch is drawn uniformly; the strategy chooses the other 75 rows.
def chosen(strategy):
    """Return the rows that a strategy asks for after the first batch."""
    learner = FairActiveLearner(X, groups, strategy=strategy, batch_size=25, random_state=0)
    asked = []
    for _ in range(4):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
        asked.append(query.indices)
    return np.concatenate(asked[1:])


rows = {
    "every row alike": chosen(strategy="passive"),
    "every group alike": chosen(strategy="group_balanced"),
    "where the model is unsure": chosen(strategy="uncertainty"),
    "where fair models disagree": chosen(strategy="fare"),
    "expected to be fairer": chosen(strategy="fal"),
    "one per cluster": chosen(strategy="falcur"),
    "positives of who is behind": chosen(strategy="falcon"),
}
names = ["passive", "group_balanced", "uncertainty", "fare", "fal", "falcur", "falcon"]

# %%
# Passive sampling asks few rows of the minority. Uncertainty sampling follows the boundary of the model, and no weight undoes such a choice.
# FARE asks at the boundaries of both groups, with a known probability for every row.
fig, axes = plt.subplots(4, 2, figsize=(7, 11), layout="constrained", sharex=True, sharey=True)
for ax, name, (words, picked) in zip(axes.flat, names, rows.items(), strict=False):
    ax.scatter(*X.T, s=3, color="#808080", alpha=0.35, linewidths=0)
    for code, group in enumerate(("majority", "minority")):
        here = picked[groups[picked] == group]
        ax.scatter(*X[here].T, s=22, color=group_color(code), label=f"{group}: {len(here)}")
    ax.set(xticks=[], yticks=[], title=f"{name}: {words}")
    ax.title.set_fontsize(10)
    ax.legend(loc="lower left", fontsize=8)
axes.flat[-1].set_axis_off()
plt.show()
