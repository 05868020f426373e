"""How far the calibrated oracle's estimate of its own gap is off, and what its parts do about it.

    python benchmarks/gap_error.py adult compas --trials 24

On rows that were never labelled, the true positive rates of the final model are compared with the plug-in
estimate of the pool and with the corrected one, on other splits than the benchmark's. Variants take one part
away: the groups' own intercepts and shifts (a prior deviation so small that one intercept serves all), or the
fixed prior of the correction (a prior so wide that the labels decide).
"""

from __future__ import annotations

import sys
from pathlib import Path
import argparse
import os
import warnings
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _machine import machine_line
from joblib import Parallel, delayed

from fairask import FairActiveLearner, simulate
from fairask.oracle import calibrated, plugin, probability

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # paper/ is beside this folder
from paper.problems import get_setup
from paper.trials import split, trial_data

#: Trials of the benchmark are numbered from 0.
FIRST_TRIAL = 2000
#: Prior deviations of a group's intercept, and of the plug-in's gap.
VARIANTS = {
    "as it is": (probability.INTERCEPT_DEVIATION, plugin.PRIOR),
    "one intercept for all groups": (1e-3, plugin.PRIOR),
    "correction by the labels alone": (probability.INTERCEPT_DEVIATION, 10.0),
}


def one(name, variant, trial):
    """True gap less the plug-in's, and less the corrected one's."""
    # Both are set in every trial, so that no variant inherits another's.
    probability.INTERCEPT_DEVIATION, prior = VARIANTS[variant]
    calibrated.gap_corrections = partial(plugin.gap_corrections, prior=prior)
    problem = get_setup("paper").problem(name)
    data = trial_data(problem, trial)
    train, _ = split(problem, data, 0.25, trial).parts
    X, y, groups = data.X[train], data.y[train], data.groups[train]
    learner = FairActiveLearner(X, groups, batch_size=25, random_state=trial)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulate(learner, y, problem.budget)
    model = learner.current_model()
    rest = np.setdiff1d(np.arange(len(y)), learner.labelled_indices_)
    codes = np.searchsorted(model.groups_.astype(str), groups[rest].astype(str))
    positive = model.predict_proba(X[rest], sensitive_features=groups[rest])[:, 1]
    p = model.calibration_.model.proba(X[rest], codes)
    true = [positive[(codes == g) & (y[rest] == 1)].mean() for g in (0, 1)]
    plug = [positive[codes == g] @ p[codes == g] / p[codes == g].sum() for g in (0, 1)]
    error = (true[0] - true[1]) - (plug[0] - plug[1])
    return error, error - model.correction_.bias[0]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=["adult", "compas"])
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print("| dataset | variant | plug-in: mean, rms error | corrected: mean, rms error |\n|---|---|---|---|")
    for name in arguments.problems:
        for variant in VARIANTS:
            trials = range(FIRST_TRIAL, FIRST_TRIAL + arguments.trials)
            found = Parallel(arguments.jobs)(delayed(one)(name, variant, trial) for trial in trials)
            errors = np.array(found)
            mean, rms = errors.mean(axis=0), np.sqrt((errors**2).mean(axis=0))
            print(
                f"| {name} | {variant} | {mean[0]:+.3f}, {rms[0]:.3f} | {mean[1]:+.3f}, {rms[1]:.3f} |",
                flush=True,
            )
    print(f"\n{arguments.trials} trials, {machine_line()}")


if __name__ == "__main__":
    main()
