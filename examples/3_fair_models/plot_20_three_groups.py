"""
Three groups
============

Nothing changes with more than two groups: the gap is the largest difference between any two of them. The smallest group
decides how many labels you need.
"""

# %%
# Adult, with sex and age crossed to three groups.
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner, group_rates
from fairask.datasets import load
from fairask.report import group_color

data = load("adult", standardize=False)
age = data.X[:, data.feature_names.index("age")]
groups = np.where(data.groups == "Female", "women", np.where(age < 35, "younger men", "older men"))
X = load("adult").X

# %%
# Label 400 rows.
learner = FairActiveLearner(X, groups, metric="tprp", tolerance=0.1, batch_size=100, random_state=0)
for _ in range(4):
    query = learner.ask()
    learner.tell(query.indices, data.y[query.indices])

# %%
# Rates on the whole table, since all labels are known here.
decisions = learner.model_.predict(X, sensitive_features=groups)
rates = group_rates(data.y, decisions, groups)
print(rates.to_dict())

fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
names = list(rates.groups)
ax.barh(names, rates.conditioned(1), color=[group_color(i) for i in range(3)])
ax.set(xlim=(0, 1), xlabel="true positive rate", title="The model after 400 labels")
plt.show()
