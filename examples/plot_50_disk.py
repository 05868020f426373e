"""
A pool on disk
==============

A pool need not fit in memory. ``open_pool`` reads an array on disk, a Parquet file or a bucket in blocks; the learner does not notice.
The same rows and the same seed give the same draws.
"""

# %%
# A million numbers on disk as two arrays.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner
from fairask.pools import open_pool

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
groups = (rng.random(100_000) < 0.1).astype(int)
X = rng.normal(size=(100_000, 10)) + 0.5 * groups[:, None]
y = (X[:, 0] + np.where(groups == 1, X[:, 1], 0) + rng.normal(size=100_000) > 0).astype(int)
np.save(folder / "X.npy", X)
np.save(folder / "groups.npy", groups)

# %%
# The learner reads the pool block by block, once per round.
asked = {}
for name, pool in (("on disk", open_pool(folder / "X.npy", folder / "groups.npy")), ("in memory", None)):
    learner = (
        FairActiveLearner(X, groups, random_state=0)
        if pool is None
        else FairActiveLearner(pool, random_state=0)
    )
    rows = []
    for _ in range(3):
        query = learner.ask(25)
        learner.tell(query.indices, y[query.indices])
        rows.append(query.indices)
    asked[name] = np.concatenate(rows)
print((asked["on disk"] == asked["in memory"]).all())

# %%
fig, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
for i, rows in enumerate(asked.values()):
    ax.scatter(rows, np.full(len(rows), i), s=25, color="#332288")
ax.set(
    yticks=[0, 1], yticklabels=list(asked), xlabel="row of the pool", ylim=(-0.6, 1.6), title="The same draws"
)
plt.show()
