"""
Audit a random forest
=====================

A model that you have, from any library, can be audited: the audit needs its predictions and the groups, and asks for as few labels as
it can. It stops as soon as the model is certified or refuted.
"""

# %%
# A forest, trained on some rows of Adult. The other rows are the pool of the audit.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from fairask.audit import Audit
from fairask.datasets import load

data = load("adult")
rows = np.random.default_rng(0).permutation(len(data.y))
train, pool = rows[:2000], rows[2000:22_000]
forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(data.X[train], data.y[train])
predictions, groups, y = forest.predict(data.X[pool]), data.groups[pool], data.y[pool]

# %%
# Ask, look the labels up, tell. The bounds are looked at after each batch, on a schedule that was fixed before.
audit = Audit(predictions, groups, metric="fprp", budget=3000, looks=10, random_state=0)
steps = []
while not audit.done:
    query = audit.ask()
    audit.tell(query.indices, y[query.indices])
    steps.append(audit.certificate())
print(steps[-1])

# %%
# The grey line is the difference on the whole pool, which the audit never sees.
truth = abs(np.subtract(*[predictions[(groups == g) & (y == 0)].mean() for g in np.unique(groups)]))
labels = [c.n_labels for c in steps]
fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.fill_between(labels, [c.lower for c in steps], [c.upper for c in steps], alpha=0.2, color="#332288")
ax.plot(labels, [c.estimate for c in steps], marker="o", color="#332288")
ax.axhline(0.1, color="#111111", linestyle="--", linewidth=1)
ax.axhline(truth, color="#808080", linewidth=1)
ax.set(xlabel="labels", ylabel="difference of false positive rates", ylim=(0, None), title=steps[-1].verdict)
plt.show()
