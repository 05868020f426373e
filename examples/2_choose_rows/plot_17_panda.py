"""
Strategy: PANDA, a learned policy
=================================

PANDA (Sharaf, Daume III and Ni, 2022) learns which rows to pick: it plays active learning again and again on the first labels, and trains a policy whose picks gave an accurate and fair model. It needs PyTorch: ``pip install 'fairask[panda]'``. So this page is not run where the site is built without PyTorch; the tests run it, and this is its picture:

.. image:: /img/panda.png
   :alt: Rows that PANDA asked for, most of them on the upper side of the pool
   :width: 480
"""

# %%
# A pool with two features. In the majority the first feature decides the label, in the minority the second.
import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner
from fairask.report import group_color

rng = np.random.default_rng(0)
groups = np.where(rng.random(1200) < 0.15, "minority", "majority")
small = groups == "minority"
X = rng.normal(size=(1200, 2)) + 0.5 * small[:, None]
y = (np.where(small, X[:, 1], X[:, 0]) + 0.3 * rng.normal(size=1200) > 0).astype(int)

# %%
# The first 50 rows are drawn uniformly, and the policy is trained on their labels. Then it chooses. So few labels seldom make a policy
# that is better than uniform picks. ``unconverged="use"`` uses it all the same and warns; the default raises an error.
import warnings

learner = FairActiveLearner(
    X,
    groups,
    strategy="panda",
    strategy_params={"pretrain": 50, "iterations": 20, "unconverged": "use"},
    batch_size=50,
    random_state=0,
)
asked = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for _ in range(3):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
        asked.append(query.indices)
chosen = np.concatenate(asked[1:])

# %%
# The policy sees the rows alone, not the model. Here it has learned to prefer the upper side of the pool.
fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for code, name in enumerate(("majority", "minority")):
    here = groups == name
    ax.scatter(*X[here].T, s=8, color=group_color(code), alpha=0.3, linewidths=0)
    picked = chosen[groups[chosen] == name]
    ax.scatter(
        *X[picked].T,
        s=45,
        color=group_color(code),
        edgecolors="#111111",
        label=f"{name}: {len(picked)} asked",
    )
ax.set(xticks=[], yticks=[], title="Rows that panda asked for")
ax.legend(loc="lower left")
plt.show()
# sphinx_gallery_thumbnail_path = 'img/panda.png'
