"""
A table on disk
===============

A table need not fit in memory. ``open_pool`` reads it once, counts its groups, and keeps a uniform sample, which is the pool from then on.
"""

# %%
# People in a Parquet file.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairask import FairActiveLearner
from fairask.pools import open_pool, open_source

file = Path(tempfile.mkdtemp()) / "people.parquet"
rng = np.random.default_rng(0)
sex = np.where(rng.random(100_000) < 0.1, "f", "m")
income, debt = rng.normal(size=(2, 100_000))
repaid = (income + np.where(sex == "f", debt, 0) + rng.normal(size=100_000) > 0).astype(int)
pq.write_table(pa.table({"income": income, "debt": debt, "sex": sex, "repaid": repaid}), file)

# %%
# The pool has 20,000 of the rows; ``keys`` says which.
people = open_source(file)
pool = open_pool(people, "sex", drop=["repaid"], sample=20_000)
print(pool)

# %%
# Labels are looked up by the rows' keys.
learner = FairActiveLearner(pool, random_state=0)
share = []
for _ in range(5):
    query = learner.ask(50)
    rows = people.take(pool.keys[query.indices], ["sex", "repaid"])
    learner.tell(query.indices, rows.column("repaid").to_numpy())
    share.append(rows.column("sex").to_pylist().count("f") / 50)

# %%
# After the first, uniform batch the smaller group gets more than its share.
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
ax.bar(range(1, 6), share, color="#332288")
ax.axhline(0.1, color="#111111", linestyle="--", linewidth=1)
ax.annotate("share of the table", (5.5, 0.1), ha="right", va="bottom")
ax.set(xlabel="batch", ylabel="share of women", xticks=range(1, 6), ylim=(0, 1))
plt.show()
