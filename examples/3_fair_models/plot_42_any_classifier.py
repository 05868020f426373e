"""
Any classifier as the base learner
==================================

The fair oracle wraps a classifier of scikit-learn. Logistic regression is the default and the fastest; others are given as
``estimator``.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fairask import FairActiveLearner, evaluate
from fairask.datasets import load

data = load("adult")

# %%
# The calibrated oracle needs probabilities, which nearly all classifiers have.
estimators = {
    "logistic regression": None,
    "random forest": RandomForestClassifier(30, min_samples_leaf=5, random_state=0),
    "decision tree": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
}


def measure(estimator, seed):
    """Return accuracy and gap of a model of 500 labels, on other rows."""
    rows = np.random.default_rng(seed).permutation(len(data.y))
    pool, test = rows[:5000], rows[5000:15_000]
    learner = FairActiveLearner(
        data.X[pool], data.groups[pool], strategy="group_balanced", estimator=estimator, random_state=seed
    )
    query = learner.ask(500)
    learner.tell(query.indices, data.y[pool][query.indices])
    return evaluate(learner.model_, data.X[test], data.y[test], data.groups[test])


found = {name: np.array([measure(model, seed) for seed in range(4)]) for name, model in estimators.items()}

# %%
# A dot per run.
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.6), layout="constrained", sharey=True)
for ax, column, title in zip(axes, (0, 1), ("accuracy", "difference of true positive rates"), strict=True):
    for height, values in enumerate(found.values()):
        ax.scatter(values[:, column], np.full(4, height), s=40, color="#332288", alpha=0.7)
    ax.set(title=title, yticks=range(3), yticklabels=list(found), ylim=(-0.5, 2.5))
axes[1].axvline(0.1, color="#111111", linestyle="--", linewidth=1)
axes[1].set_xlim(0, None)
plt.show()
