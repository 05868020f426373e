"""
The price of a tolerance
========================

The oracle alone, without active learning: fit the most accurate model for several tolerances and see what fairness costs on data
that you have labelled already.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from fairask import EmpiricalFairOracle, evaluate
from fairask.datasets import load

data = load("adult")
rows = np.random.default_rng(0).choice(len(data.y), 6000, replace=False)
X, X_test, y, y_test, groups, groups_test = train_test_split(
    data.X[rows], data.y[rows], data.groups[rows], random_state=0
)

# %%
# Selection rates (``dp``) differ most on Adult, so their price is the steepest.
tolerances = [0.0, 0.03, 0.06, 0.1, 0.15, 0.2]
found = []
for tolerance in tolerances:
    oracle = EmpiricalFairOracle(metric="dp", tolerance=tolerance, random_state=0)
    oracle.fit(X, y, sensitive_features=groups)
    found.append(evaluate(oracle, X_test, y_test, groups_test, metric="dp"))
accuracy, gap = np.transpose(found)

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.plot(gap, accuracy, marker="o", color="#332288")
for tolerance, x, height in zip(tolerances, gap, accuracy, strict=True):
    ax.annotate(f"{tolerance:g}", (x, height), xytext=(5, -12), textcoords="offset points")
ax.set(
    xlabel="difference of selection rates on new rows",
    ylabel="accuracy on new rows",
    title="One dot per tolerance",
)
plt.show()
