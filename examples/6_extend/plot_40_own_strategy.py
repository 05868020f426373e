"""
A strategy of your own
======================

A strategy is a frozen dataclass with a ``name`` and a method ``propose``. It returns probabilities or a ranking.
:mod:`fairask.testing` checks it the way the strategies of the package are checked.
"""

# %%
# This one asks for the rows that are farthest from all labelled rows.
from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

from fairask import FairActiveLearner
from fairask.sampling import Proposal
from fairask.testing import check_strategy


@dataclass(frozen=True)
class Farthest:
    """Rows farthest from the labelled ones."""

    name: ClassVar[str] = "farthest"

    def propose(self, labelled, pool, fit, rng):
        """Rank the rows of the pool by their distance to the nearest labelled row."""
        X = pool.take(pool.rows)
        distance = np.min([np.linalg.norm(X - x, axis=1) for x in labelled.X], axis=0)
        return Proposal(pool.everything(), ranking=pool.rows[np.argsort(-distance)])


check_strategy(Farthest())

# %%
# It works like any other strategy.
rng = np.random.default_rng(0)
X = rng.normal(size=(800, 2))
groups = rng.integers(2, size=800)
y = (X[:, 0] + 0.5 * rng.normal(size=800) > 0).astype(int)
learner = FairActiveLearner(X, groups, strategy=Farthest(), batch_size=20, random_state=0)
for _ in range(3):
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])

fig, ax = plt.subplots(figsize=(5.5, 4.6), layout="constrained")
ax.scatter(*X.T, s=8, color="#999999", linewidths=0)
ax.scatter(*X[query.indices].T, s=45, color="#332288", label="the third batch")
ax.set(xticks=[], yticks=[])
ax.legend()
plt.show()
