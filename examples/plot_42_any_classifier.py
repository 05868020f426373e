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
from sklearn.naive_bayes import GaussianNB

from fairask import FairActiveLearner, evaluate
from fairask.datasets import load

data = load("german")
rows = np.random.default_rng(0).permutation(len(data.y))
pool, test = rows[:700], rows[700:]

# %%
# The calibrated oracle needs probabilities, which nearly all classifiers have.
estimators = {
    "logistic regression": None,
    "random forest": RandomForestClassifier(30, min_samples_leaf=5, random_state=0),
    "naive Bayes": GaussianNB(),
}
found = {}
for name, estimator in estimators.items():
    learner = FairActiveLearner(
        data.X[pool], data.groups[pool], strategy="group_balanced", estimator=estimator, random_state=0
    )
    query = learner.ask(200)
    learner.tell(query.indices, data.y[pool][query.indices])
    found[name] = evaluate(learner.model_, data.X[test], data.y[test], data.groups[test])

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.6), layout="constrained", sharey=True)
axes[0].barh(list(found), [accuracy for accuracy, _ in found.values()], color="#332288")
axes[1].barh(list(found), [violation for _, violation in found.values()], color="#999933")
axes[1].axvline(0.1, color="#111111", linestyle="--", linewidth=1)
axes[0].set(title="accuracy", xlim=(0.5, 0.8))
axes[1].set(title="difference of true positive rates")
plt.show()
