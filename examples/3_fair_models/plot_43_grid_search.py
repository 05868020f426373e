"""
GridSearchCV over a fair model
==============================

:class:`~fairask.EmpiricalFairOracle` is a scikit-learn estimator, so its settings can be searched. The protected attribute travels with
the rows by metadata routing.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from fairask import EmpiricalFairOracle
from fairask.datasets import load

data = load("german")

# %%
# ``set_fit_request`` and ``set_score_request`` say that ``fit`` and ``score`` want the groups; ``GridSearchCV``
# then splits them with the rows.
strengths = [0.001, 0.01, 0.1, 1.0, 10.0]
with sklearn.config_context(enable_metadata_routing=True):
    oracle = EmpiricalFairOracle(LogisticRegression(max_iter=1000), tolerance=0.05, random_state=0)
    oracle.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=True)
    search = GridSearchCV(oracle, {"estimator__C": strengths}, cv=3)
    search.fit(data.X, data.y, sensitive_features=data.groups)
print(search.best_params_)

# %%
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
mean, spread = (np.asarray(search.cv_results_[f"{name}_test_score"]) for name in ("mean", "std"))
ax.errorbar(strengths, mean, spread, marker="o", color="#332288", capsize=3)
ax.set(xscale="log", xlabel="C, inverse strength of the ridge", ylabel="accuracy out of fold")
plt.show()
