"""
A pool on a Dask cluster
========================

A Dask data frame is a pool: its workers sort their own rows into cells and send back counts. Here the cluster is two partitions on this
machine; a real one takes the same lines.
"""

# %%
import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairask import FairActiveLearner
from fairask.pools import open_pool

rng = np.random.default_rng(0)
frame = pd.DataFrame(rng.normal(size=(20_000, 4)), columns=["income", "debt", "years", "visits"])
frame["sex"] = np.where(rng.random(20_000) < 0.2, "f", "m")
y = (frame["income"] - frame["debt"] + rng.normal(size=20_000) > 0).to_numpy().astype(int)

# %%
# ``open_pool`` takes the data frame and the name of the protected column.
pool = open_pool(dd.from_pandas(frame, npartitions=2), "sex")
learner = FairActiveLearner(pool, random_state=0)
share = []
for _ in range(5):
    query = learner.ask(100)
    learner.tell(query.indices, y[query.indices])
    share.append(float(np.mean(frame["sex"].to_numpy()[query.indices] == "f")))

# %%
# After the first, uniform batch the smaller group gets more than its share.
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
ax.bar(range(1, 6), share, color="#332288")
ax.axhline(0.2, color="#111111", linestyle="--", linewidth=1)
ax.annotate("share of the pool", (5.5, 0.2), ha="right", va="bottom")
ax.set(xlabel="batch", ylabel="share of women", xticks=range(1, 6), ylim=(0, 1))
plt.show()
