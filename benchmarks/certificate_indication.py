"""Can the labels that trained a model say something about it? Bounds from out-of-fold predictions.

    python -m benchmarks.certificate_indication [--runs 20]

FARE learns from a pool of 3,000 rows. After 250, 500 and 700 labels each labelled row is predicted by a model
fitted on the other four fifths, and the gap is bounded from these predictions, with the propensities of
the draws: by betting, which is valid at every moment for draws with known propensities, and by Hajek's
estimate with Newcombe's interval. The floor of the propensities that betting needs is the least one drawn, so
betting looks better here than it may. The truth is the gap of the model itself on the whole pool.
Results go to ``results/certificates/indication.csv``; runs that are there are not run again.
"""

from __future__ import annotations

import argparse
import functools
import warnings

import numpy as np

from benchmarks.certificate_runs import Rows
from fairask import FairActiveLearner
from fairask.experiment.loop import play
from fairask.metrics import encode_groups, group_gap
from fairask.rules import decide
from paper.bounds import METHODS as BOUNDS
from paper.bounds import Sample
from benchmarks.populations import Population, ten, twelve

NAMES = ("base rates", "label noise", "interaction")
LABELS = (250, 500, 700)
ROWS, FOLDS = 3000, 5
METHODS = ("betting", "hajek")


@functools.cache
def populations() -> dict[str, Population]:
    return {**twelve(), **ten()}


def out_of_fold(learner: FairActiveLearner) -> np.ndarray:
    """Probability of a positive decision on each labelled row, by models that did not see it."""
    rows = learner.labelled()
    said, fold = np.empty(len(rows)), np.arange(len(rows)) % FOLDS
    for part in range(FOLDS):
        oracle = learner.fit_on(rows.where(fold != part))
        held = fold == part
        votes = decide(oracle.members_, rows.X[held], rows.groups[held]).astype(float)
        said[held] = np.clip(np.asarray(oracle.weights_) @ votes, 0.0, 1.0)
    return said


def one(name: str, seed: int) -> dict[str, object]:
    rng = np.random.default_rng([41, seed])
    X, y, groups = populations()[name].draw(ROWS, rng)
    learner = FairActiveLearner(X, groups, profile="paper", batch_size=100, random_state=seed)
    found: dict[str, object] = {}
    for labels in LABELS:
        for _ in play(learner, y.__getitem__, labels):
            pass
        rows = learner.labelled()
        said = learner.current_model().predict(X, sensitive_features=groups, random_state=seed)
        found[f"truth_{labels}"] = group_gap(y, said, groups)
        chance = np.array([entry.propensity for entry in learner.state.log.entries])
        _, codes = encode_groups(rows.groups)
        drawn = Sample(
            2, codes, rows.y.astype(float), out_of_fold(learner), chance, ROWS, float(chance.min())
        )
        for method in METHODS:
            _, found[f"{method}_{labels}"] = BOUNDS[method](drawn, (1,), 0.05)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    rows = Rows("indication")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(args.runs):
            for name in NAMES:
                rows.once({"population": name, "seed": seed}, lambda name=name, seed=seed: one(name, seed))
    print("Upper bounds on the gap of the model from its own training labels, 95 % each")
    print(f"{'population':12} {'labels':>6} {'runs':>5} {'gap':>10} " + " ".join(
        f"{m + ' bound':>14} {'below truth':>12}" for m in METHODS
    ))  # fmt: skip
    for name in NAMES:
        mine = [row for row in rows.rows if row["population"] == name]
        for labels in LABELS:
            truth = np.array([float(row[f"truth_{labels}"]) for row in mine])
            line = f"{name:12} {labels:>6} {len(mine):>5} {np.median(truth):>10.3f} "
            for method in METHODS:
                upper = np.array([float(row[f"{method}_{labels}"]) for row in mine])
                line += f" {np.median(upper):>14.3f} {np.mean(upper < truth):>12.0%}"
            print(line)


if __name__ == "__main__":
    main()
