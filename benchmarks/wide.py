"""What a round costs with many features, sparse features and many groups, against 100 dense features.

    python -m benchmarks.wide

20,000 rows, 250 labels, one BLAS thread. A round is tell with its fit, then ask, 25 labels: processor
seconds, the least of three.
"""

from __future__ import annotations

import time
import warnings

from benchmarks import _machine  # sets one thread before numpy loads
import numpy as np
from scipy import sparse

from fairask import FairActiveLearner

ROWS, LABELS = 20_000, 250


def dense(features, n_groups=2, seed=0):
    """Rows with twenty latent factors, as embeddings have."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=ROWS)
    factors = rng.normal(size=(ROWS, 20))
    X = factors @ rng.normal(size=(20, features)) / 20**0.5 + 0.5 * rng.normal(size=(ROWS, features))
    y = (factors[:, 0] + 0.5 * (groups % 2) + rng.normal(size=ROWS) > 0).astype(int)
    return X, y, groups


def words(features=50_000, length=60, seed=0):
    """Sparse rows of word counts; the first thousand words say something of the label."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, size=ROWS)
    y = (rng.random(ROWS) < 0.4 + 0.2 * groups).astype(int)
    topic = rng.integers(500, size=(ROWS, 10)) + np.where(
        rng.random((ROWS, 10)) < 0.7, 500 * y[:, None], 1000
    )
    columns = np.hstack([topic, rng.integers(1500, features, size=(ROWS, length - 10))])
    ends = np.arange(ROWS + 1) * length
    return (
        sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), shape=(ROWS, features)),
        y,
        groups,
    )


def seconds(X, y, groups, **settings):
    """Processor seconds of a round."""
    found = []
    for seed in range(3):
        learner = FairActiveLearner(X, groups, batch_size=25, random_state=seed, **settings)
        query = learner.ask(LABELS)
        learner.tell(query.indices, y[query.indices])
        query = learner.ask()
        start = time.process_time()
        learner.tell(query.indices, y[query.indices])
        learner.ask()
        found.append(time.process_time() - start)
    return min(found)


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    cases = {
        "100 dense features": (dense(100), {"estimator": "linear"}),
        "768 dense features": (dense(768), {"estimator": "linear"}),
        "2,000 dense features": (dense(2000), {"estimator": "linear"}),
        "50,000 sparse features": (words(), {"estimator": "linear"}),
        "20 dense features, 50 groups": (dense(20, 50), {"estimator": "linear"}),
        "20 dense features, 50 groups, the paper's profile": (dense(20, 50), {"profile": "paper"}),
        "100 dense features, the paper's profile": (dense(100), {"profile": "paper"}),
        "768 dense features, the paper's profile": (dense(768), {"profile": "paper"}),
    }
    print("| rows | s per round | ratio |\n|---|---|---|")
    first = None
    for name, (data, settings) in cases.items():
        found = seconds(*data, **settings)
        first = found if first is None else first
        print(f"| {name} | {found:.3f} | {found / first:.1f} |", flush=True)
    print(f"\n{_machine.machine_line()}")


if __name__ == "__main__":
    main()
