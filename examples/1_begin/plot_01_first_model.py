"""
A fair model in ten lines
=========================

The loop of every fairask program: ask which rows to label, tell their labels, look at the model. German Credit stands for your
table, and its labels stand for your annotators.
"""

# %%
# The pool is what can be asked about; the test rows only measure.
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner, evaluate
from fairask.datasets import load
from fairask.report import draw_learning_curves

data = load("german")
rows = np.random.default_rng(0).permutation(len(data.y))
pool, test = rows[:700], rows[700:]

# %%
# Ask for 25 rows at a time, and measure after every batch.
learner = FairActiveLearner(data.X[pool], data.groups[pool], metric="tprp", tolerance=0.1, random_state=0)
labels, accuracy, gaps = [], [], []
for _ in range(8):
    query = learner.ask(25)
    learner.tell(query.indices, data.y[pool][query.indices])
    found = evaluate(learner.model_, data.X[test], data.y[test], data.groups[test], metric="tprp")
    labels.append(25 * (len(labels) + 1))
    accuracy.append(found[0])
    gaps.append(found[1])

# %%
# One run is noisy: :doc:`plot_02_simulate` repeats it.
fig, axes = plt.subplots(2, 1, figsize=(7, 5.5), layout="constrained", sharex=True)
draw_learning_curves({"fare": (labels, [accuracy], [gaps])}, tolerance=0.1, ax=axes)
plt.show()
