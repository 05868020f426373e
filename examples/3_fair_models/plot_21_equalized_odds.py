"""
Equalized odds
==============

``metric="eo"`` asks for equal true positive *and* equal false positive rates. Here the same labels are fitted with each metric, and
each model is measured by both rates.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fairask import EmpiricalFairOracle, group_gap
from fairask.datasets import load

data = load("adult")
rows = np.random.default_rng(1).choice(len(data.y), 3000, replace=False)
X, y, groups = data.X[rows], data.y[rows], data.groups[rows]

# %%
# The oracle finds the most accurate classifier within the tolerance on these rows.
found = {}
for metric in ("tprp", "fprp", "eo"):
    model = EmpiricalFairOracle(metric=metric, tolerance=0.02, random_state=0)
    model.fit(X, y, sensitive_features=groups)
    share = model.predict_proba(X)[:, 1]  # how often the randomised model selects each row
    found[metric] = [group_gap(y, share, groups, metric=m) for m in ("tprp", "fprp")]

# %%
# Only ``eo`` keeps both differences within 0.02.
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
place = np.arange(3)
for i, name in enumerate(("true positive rates", "false positive rates")):
    ax.bar(
        place + 0.38 * i,
        [found[m][i] for m in found],
        0.36,
        label=f"difference of {name}",
        color=("#332288", "#999933")[i],
    )
ax.axhline(0.02, color="#111111", linestyle="--", linewidth=1)
ax.set_xticks(place + 0.19, [f"fitted with {m!r}" for m in found])
ax.legend()
plt.show()
