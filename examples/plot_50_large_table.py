"""
A table that does not fit in memory
===================================

``open_pool`` reads a table of any size once, block by block: it counts the groups and keeps a uniform sample, which is the pool. Every round then
costs the same, whatever the size of the table. A database is opened in the same way, by its address or as a table of Ibis.
"""

# %%
# A Parquet file of 300,000 rows, of which the pool keeps 20,000.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from pyarrow.parquet import write_table

from fairask import FairActiveLearner, open_pool

file = Path(tempfile.mkdtemp()) / "people.parquet"
rng = np.random.default_rng(0)
n = 300_000
sex = np.where(rng.random(n) < 0.1, "f", "m")
income, debt = rng.normal(size=n), rng.normal(size=n)
y = (income - np.where(sex == "f", debt, 0) + rng.normal(size=n) > 0).astype(int)
write_table(pa.table({"sex": sex, "income": income, "debt": debt}), file)
pool = open_pool(file, "sex", sample=20_000)
print(pool, "of", pool.of)

# %%
# The learner numbers the rows of the pool; ``pool.keys`` says which rows of the table they are.
learner = FairActiveLearner(pool, random_state=0)
asked = []
for _ in range(3):
    query = learner.ask(50)
    rows = pool.keys[query.indices]
    learner.tell(query.indices, y[rows])
    asked.append(rows)

# %%
fig, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
for batch, rows in enumerate(asked, start=1):
    women = sex[rows] == "f"
    for chosen, color, label in ((~women, "#999933", "men"), (women, "#332288", "women")):
        place = np.full(chosen.sum(), batch)
        ax.scatter(rows[chosen], place, s=25, color=color, label=label if batch == 1 else None)
ax.set(xlabel="row of the table", ylabel="batch", yticks=[1, 2, 3], ylim=(0.4, 3.9))
ax.legend(ncols=2, loc="upper right")
plt.show()
