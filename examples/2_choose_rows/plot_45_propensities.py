"""
Where the labels went
=====================

Every draw records its design and its probability. A bar per group shows which design spent how many labels on it, against the
group's share of the pool.
"""

# %%
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner
from fairask.datasets import load
from fairask.report import draw_label_spend

data = load("german")
learner = FairActiveLearner(data.X, data.groups, batch_size=25, random_state=0)
drawn = Counter()
for _ in range(8):
    query = learner.ask()
    drawn.update(zip(data.groups[query.indices], query.components, strict=True))
    learner.tell(query.indices, data.y[query.indices])

# %%
names = np.unique(data.groups)
counts = {g: {c: n for (group, c), n in drawn.items() if group == g} for g in names}
shares = {str(g): float(np.mean(data.groups == g)) for g in names}
fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
draw_label_spend({"fare": counts}, shares, ax=ax)
plt.show()
