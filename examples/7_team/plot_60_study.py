"""
A study that survives
=====================

A study is a learner on a log that is never rewritten. It can be closed, opened by somebody else, and continued; killing the process
loses no answer.
"""

# %%
# A table with names, as people have it.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from pyarrow.csv import write_csv

from fairask_studio import Study

rng = np.random.default_rng(0)
n = 600
income, debt = rng.normal(40, 12, n).round(1), rng.gamma(2, 5, n).round(1)
sex = np.where(rng.random(n) < 0.3, "f", "m")
repaid = np.where(income - 1.5 * debt + rng.normal(0, 8, n) > 20, "good", "bad")
folder = Path(tempfile.mkdtemp())
write_csv(pa.table({"income": income, "debt": debt, "sex": sex}), folder / "loans.csv")

# %%
# Ada makes the study and labels a batch.
with Study.create(
    folder / "loans",
    folder / "loans.csv",
    protected="sex",
    classes=("bad", "good"),
    random_state=0,
) as study:
    rows = study.ask(40, who="ada")
    study.tell(rows, [repaid[row] for row in rows], who="ada")
    study.refit()

# %%
# Next day Bob opens it and goes on.
with Study.open(folder / "loans") as study:
    for _ in range(3):
        rows = study.ask(40, who="bob")
        study.tell(rows, [repaid[row] for row in rows], who="bob")
        study.refit()
    history = study.status()["history"]

# %%
# Every model is in the history, with its out-of-fold estimate.
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
labels = [entry["labels"] for entry in history]
accuracy = [entry["estimate"]["accuracy"]["value"] for entry in history]
ax.plot(labels, accuracy, marker="o", color="#332288")
ax.set(xlabel="labels", ylabel="accuracy out of fold")
plt.show()
