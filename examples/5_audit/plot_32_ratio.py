"""
The four-fifths rule, with a certificate
========================================

Some rules ask for a ratio: the rate of each group must be at least four fifths of the highest. An audit with ``metric="tpr-ratio"``
decides that. Its gap is 1 minus the least ratio, so a ratio of at least 0.8 is ``tolerance=0.2``.
"""

# %%
# A model, trained on some rows of Adult. Point estimates from 300 labelled rows say little: here
# are 200 of them.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from fairask.audit import Audit
from fairask.datasets import load

data = load("adult")
rng = np.random.default_rng(0)
rows = rng.permutation(len(data.y))
train, pool = rows[:2000], rows[2000:22_000]
model = LogisticRegression(class_weight="balanced", max_iter=500).fit(data.X[train], data.y[train])
predictions, groups, y = model.predict(data.X[pool]), data.groups[pool], data.y[pool]


def ratio(at):
    """The least ratio of true positive rates among some rows."""
    rates = [predictions[at][(groups[at] == g) & (y[at] == 1)].mean() for g in np.unique(groups)]
    return min(rates) / max(rates)


points = [ratio(rng.choice(len(y), 300, replace=False)) for _ in range(200)]
print(
    f"On all rows: {ratio(np.arange(len(y))):.2f}. Above 0.8 by 300 labels: {np.mean(np.array(points) >= 0.8):.0%} of estimates."
)

# %%
# The audit draws positives of both groups on purpose and stops when the question is decided.
audit = Audit(predictions, groups, metric="tpr-ratio", tolerance=0.2, budget=4000, looks=10, random_state=0)
steps = []
while not audit.done:
    query = audit.ask()
    audit.tell(query.indices, y[query.indices])
    steps.append(audit.certificate())
print(steps[-1])

# %%
# Left: what point estimates say. Right: the bounds of the audit, look by look.
fig, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), layout="constrained", sharey=True, width_ratios=(1, 2)
)
left.hist(points, bins=20, orientation="horizontal", color="#999999")
left.set(xlabel="of 200 samples of 300 labels", ylabel="least ratio of true positive rates")
labels = [c.n_labels for c in steps]
right.fill_between(
    labels, [1 - c.upper for c in steps], [1 - c.lower for c in steps], alpha=0.2, color="#332288"
)
right.plot(labels, [1 - c.estimate for c in steps], marker="o", color="#332288")
right.set(xlabel="labels of the audit", title=steps[-1].verdict)
for ax in (left, right):
    ax.axhline(0.8, color="#111111", linestyle="--", linewidth=1)
    ax.axhline(ratio(np.arange(len(y))), color="#808080", linewidth=1)
plt.show()
