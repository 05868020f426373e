"""
A fair oracle of your own
=========================

The oracle is what turns labels into a model. Any subclass of :class:`fairask.oracle.FairOracle` can take the place of the built-in
ones. This one finds the same share of the positives of every group: each group gets the cut that 70 % of its labelled positives
pass.
"""

# %%
# Three methods: ``fit`` for users, ``fit_labelled`` for the learner, ``perturbed`` for strategies that need several models.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from fairask import FairActiveLearner, group_rates
from fairask.datasets import load
from fairask.oracle import FairOracle, Labelled, PerturbedModel
from fairask.report import group_color
from fairask.rules import GroupLinearRule


class SameRecall(FairOracle):
    """Select so that every group finds the share ``recall`` of its positives."""

    def __init__(self, recall=0.7, metric="tprp", tolerance=0.1, random_state=None):
        self.recall, self.metric, self.tolerance, self.random_state = recall, metric, tolerance, random_state

    def _rule(self, rows, y, weights):
        line = LogisticRegression(C=0.1).fit(rows.X, y, sample_weight=weights)
        score = line.decision_function(rows.X)
        cuts = [
            np.quantile(score[(rows.groups == g) & (y == 1)], 1 - self.recall) for g in range(rows.n_groups)
        ]
        return GroupLinearRule(np.r_[line.coef_[0], line.intercept_], np.array(cuts))

    def fit(self, X, y, sensitive_features=None, sample_weight=None, fairness_weight=None):
        names, codes = np.unique(sensitive_features, return_inverse=True)
        return self.fit_labelled(Labelled.of(X, np.asarray(y, float), codes, list(names), sample_weight))

    def fit_labelled(self, labelled, background=None):
        rule = self._rule(labelled, labelled.y, labelled.risk_weights)
        self.members_, self.weights_ = [rule], np.ones(1)
        self.classes_ = np.array(labelled.classes)
        self.groups_ = np.array(labelled.group_values, dtype=object)
        self.error_ = float(np.mean(rule.decide(labelled.X, labelled.groups) != labelled.y))
        self.gap_, self.rates_ = 0.0, {}
        self.feasible_, self.interpolates_, self.n_fits_ = True, False, 1
        return self

    def perturbed(self, labelled, labels=None, weights=None):
        k = len(weights if labels is None else labels)
        labels = np.tile(labelled.y, (k, 1)) if labels is None else labels
        weights = np.ones((k, len(labelled))) if weights is None else weights
        rules = [self._rule(labelled, y, w) for y, w in zip(labels, weights, strict=True)]
        return [PerturbedModel([rule], np.ones(1), self.error_) for rule in rules]


# %%
# The learner uses it like any other oracle.
data = load("german")
oracle = SameRecall(recall=0.7)
learner = FairActiveLearner(data.X, data.groups, oracle=oracle, strategy="group_balanced", random_state=0)
for _ in range(4):
    query = learner.ask(75)
    learner.tell(query.indices, data.y[query.indices])

# %%
# On the whole table the two groups come close to the share that was asked for.
decisions = learner.model_.predict(data.X, sensitive_features=data.groups)
rates = group_rates(data.y, decisions, data.groups)
fig, ax = plt.subplots(figsize=(6.5, 2.4), layout="constrained")
ax.barh(list(rates.groups), rates.conditioned(1), color=[group_color(0), group_color(1)])
ax.axvline(0.7, color="#111111", linestyle="--", linewidth=1)
ax.set(xlim=(0, 1), xlabel="share of the positives that are found")
plt.show()
