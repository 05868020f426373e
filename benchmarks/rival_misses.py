"""Where FAL and FAL-CUR end away from the paper's numbers: which open choice would bring them there?

The paper prints neither the budgets nor the final model of its rivals. Each row changes one thing: how rows
are chosen, or which model is fitted in the end on the chosen rows. Every choice of rows is made once and all
final models are fitted on it; each is also tried together with the one final model that matters most, the
one without penalty.

    python -m benchmarks.rival_misses --method fal --trials 20 --out results/rival_misses.csv drug german

Rows that the file has already are not computed again.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed

from benchmarks.misses import COLUMNS, SETUP, done, unaware
from sklearn.linear_model import LogisticRegression

from fairask import EmpiricalFairOracle
from paper import get_method, run_trial
from paper.reported import PAPER
from paper.stats import apart, mean_and_error
from paper.trials import without_group
from fairask.errors import FairaskWarning
from fairask.experiment import evaluate
from fairask.oracle.logistic import INTERCEPT_RIDGE, SEPARABLE_RIDGE, solve_logistic, with_intercept

#: Changes of how rows are chosen; the final model stays the ridge regression, C = 1.
CHOICES = {
    "fal": {
        "as in the profile": {},
        "no penalty in FAL's own model": {"free": True},
        "25 labels at a time instead of one": {"batch": 25},
        "F measured on a fifth of the rows, labelled outside the budget": {"outside": True},
        "protected columns dropped": {"unaware": True},
        "uniform rows instead of chosen ones": {"uniform": True},
    },
    "falcur": {
        "as in the profile": {},
        "no penalty in FAL-CUR's own model": {"free": True},
        "far rows win, as in the released script": {"params": {"similarity": "distance"}},
        "clusters by capacity": {"params": {"clustering": "capacity"}},
        "protected columns dropped": {"unaware": True},
        "uniform rows instead of chosen ones": {"uniform": True},
    },
}
#: Final models, on the rows that the profile chooses. The first is the profile's, the second the oracle's.
FINAL = {
    "": {"C": 1.0},
    "final model without penalty": {},
    "final model with C = 0.1": {"C": 0.1},
    "final model with C = 10": {"C": 10.0},
    "final model without penalty, under the fairness constraint": {"fair": True},
}
#: Ends before the budget, by the grid's first point there.
SHARES = {"half of the labels": 0.5, "three quarters of the labels": 0.75}


def fit_free(X, y, weight=None):
    """As ``fit_plain``, but with the ridge that only keeps separable samples finite."""
    from fairask.strategies.baseline import PlainModel

    X1 = with_intercept(X)
    weight = np.ones(len(y)) if weight is None else weight
    total = float(weight.sum())
    fit = solve_logistic(X1, y[None, :], weight[None, :], ridge=SEPARABLE_RIDGE, tol=1e-6)
    penalty = np.full(X1.shape[1], SEPARABLE_RIDGE * total)
    penalty[-1] = INTERCEPT_RIDGE * total
    return PlainModel(X1, y, weight, fit.beta[0], penalty)


def final_model(learner, options):
    rows, n = learner.labelled_indices_, len(learner.labels_)
    model = LogisticRegression(C=options["C"]) if "C" in options else None
    fair = max(SETUP.tolerance - n**-0.5, 0.0)
    oracle = EmpiricalFairOracle(
        model, metric=learner.metric, tolerance=fair if options.get("fair") else 1.0, shift_threshold=False
    )
    groups = learner.pool.groups[rows]
    return oracle.fit(
        learner.pool.X[rows], learner.labels_, sensitive_features=np.asarray(learner.groups_)[groups]
    )


def one(name: str, which: str, label: str, options: dict, trial: int) -> dict[str, tuple[float, float]]:
    """One trial of a choice of rows: accuracy and gap by variant."""
    # Imported here: a worker must change its own modules, not a pickled copy of this process's.
    from fairask.strategies import baseline, fal, falcur

    warnings.simplefilter("ignore", FairaskWarning)
    problem, method = SETUP.problem(name), get_method(f"{which}-25")
    method = replace(
        method,
        batch=options.get("batch", method.batch),
        strategy_params=method.strategy_params | options.get("params", {}),
        pretrain=1.0 if options.get("uniform") else method.pretrain,
    )
    fal.fit_plain = falcur.fit_plain = fit_free if options.get("free") else baseline.fit_plain
    fal.Disparity = baseline.Disparity
    found: dict[str, tuple[float, float]] = {}

    def measure(learner, test):
        spent = len(learner.labels_)

        def tested(model):
            accuracy, gap = evaluate(model, *test, learner.metric)
            return 100.0 * accuracy, gap

        if label == "as in the profile":
            for text, share in SHARES.items():
                if spent >= share * problem.budget and text not in found:
                    found[text] = tested(final_model(learner, FINAL[""]))
                    free = tested(final_model(learner, FINAL["final model without penalty"]))
                    found[f"{text}, final model without penalty"] = free
        if spent == problem.budget:
            for text, final in FINAL.items():
                if label == "as in the profile":
                    found[text or label] = tested(final_model(learner, final))
                elif text in ("", "final model without penalty"):
                    found[f"{label}, {text}" if text else label] = tested(final_model(learner, final))
        return 0.0, 0.0

    def transform(data):
        if options.get("unaware"):
            # German's table has no column of the group's name, only one that is a function of it.
            data = without_group(data) if data.name == "german" else unaware(data)
        if options.get("outside"):
            order = np.random.default_rng([trial, 5]).permutation(len(data.y))
            apart_, kept = np.split(order, [len(order) // 5])
            codes = np.unique(data.groups, return_inverse=True)[1]
            X, y, groups = data.X[apart_], data.y[apart_].astype(float), codes[apart_]
            fal.Disparity = lambda _X, _y, _groups, n, metric: baseline.Disparity(X, y, groups, n, metric)
            data = replace(data, X=data.X[kept], y=data.y[kept], groups=data.groups[kept])
        return data

    run_trial(SETUP, problem, method, trial, transform, measure)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["drug", "german"])
    parser.add_argument("--method", default="fal", choices=list(CHOICES))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("rival_misses.csv"))
    arguments = parser.parse_args()
    method, title = arguments.method, get_method(f"{arguments.method}-25").paper
    if not arguments.out.exists():
        arguments.out.write_text(",".join(COLUMNS) + "\n")
    print("| dataset | method | change | accuracy % | gap | from the paper, in joint standard errors |")
    print("|---|---|---|---|---|---|")
    for name in arguments.problems:
        for label, options in CHOICES[method].items():
            if (name, method, label) in done(arguments.out):
                continue
            trials = Parallel(arguments.jobs)(
                delayed(one)(name, method, label, options, trial) for trial in range(arguments.trials)
            )
            for variant in trials[0]:
                values = np.array([found[variant] for found in trials])
                (accuracy, v), (accuracy_se, v_se) = mean_and_error(values)
                row = [name, method, variant, len(values), accuracy, accuracy_se, v, v_se]
                with arguments.out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(
                        [f"{x:.5f}" if isinstance(x, float) else x for x in row]
                    )
                by = apart(accuracy, accuracy_se, v, v_se, PAPER[name, title])
                print(
                    f"| {name} | {title} | {variant} | {accuracy:.1f} ± {accuracy_se:.1f} "
                    f"| {v:.3f} ± {v_se:.3f} | {by[0]:+.1f}, {by[1]:+.1f} |",
                    flush=True,
                )
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"\n{arguments.trials} trials; {machine}")


if __name__ == "__main__":
    main()
