"""
When to stop
============

A stopping rule ends the loop before the budget is spent. ``Plateau`` stops when the model's own estimate of its error no longer
moves.
"""

# %%
import matplotlib.pyplot as plt

from fairask import FairActiveLearner, simulate
from fairask.datasets import load
from fairask.stopping import Plateau

data = load("adult")
learner = FairActiveLearner(
    data.X[:5000], data.groups[:5000], batch_size=100, stopping=Plateau(rounds=3, by=0.01), random_state=0
)
history = simulate(learner, data.y[:5000], budget=2000)
print(learner.stop_reason_)

# %%
# The estimate needs no test labels: it comes from the calibrated probabilities on the pool.
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.plot(history["labels"], history["error"], marker="o", color="#332288")
ax.set(
    xlabel="labels", ylabel="estimated error", title=f"stopped after {history['labels'][-1]} of 2,000 labels"
)
plt.show()
