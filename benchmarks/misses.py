"""Where we miss the paper's numbers: which change of the protocol would bring them back?

The paper prints neither budgets nor code, so each row changes one thing that it leaves open. Passive
sampling at its final budget needs one round only (uniform rows are uniform rows), so that part is cheap.

    python -m benchmarks.misses --method passive --out results/misses.csv drug adult crime

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
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from paper import get_method, get_setup, run_trial
from paper.reported import PAPER
from paper.stats import apart, mean_and_error
from fairask.datasets import make_synthetic
from fairask.datasets.dataset import Dataset
from fairask.experiment import evaluate
from fairask.metrics import group_gap

SETUP = get_setup("paper")
COLUMNS = ["problem", "method", "variant", "trials", "accuracy", "accuracy_se", "gap", "gap_se"]
PROTECTED = {
    "drug": ("Gender",),
    "german": ("personal_status",),
    "adult": ("sex",),
    "compas": ("sex",),
    "crime": ("racePctWhite", "racepctblack", "racePctAsian", "racePctHisp"),
    "bank": ("education",),
}

VARIANTS = {
    "as in the profile": {},
    "as in the profile, four times the trials": {"times": 4},
    "ridge 1e-4 on the mean loss": {"ridge": 1e-4},
    "ridge 1e-3 on the mean loss": {"ridge": 1e-3},
    "scikit-learn's lbfgs, no penalty, 100 iterations": {"lbfgs": 100},
    "no fairness constraint": {"free": True},
    "tolerance against the mean rate, not pairwise": {"doubled": True},
    "test on one draw of the randomised classifier": {"drawn": True},
    "protected columns dropped": {"transform": "unaware"},
    "categories as ordinal numbers": {"transform": "ordinal"},
    "no importance weights": {"weights": "none"},
    "importance weights": {"weights": "ips"},
    "1.25 times the budget": {"budget": 1.25},
    "1.5 times the budget": {"budget": 1.5},
    "2 times the budget": {"budget": 2.0},
}
#: Synthetic data has other unknowns. A trial's own test part holds some 15 positives of the minority, so
#: that even equal rates differ by about 0.1 on it; fresh rows show the gap itself.
SYNTHETIC = {
    "as in the profile": {},
    "tested on 20,000 fresh rows, half of them minority": {"fresh": True},
    "fresh rows, 2 times the budget": {"fresh": True, "budget": 2.0},
    "fresh rows, 4 times the budget": {"fresh": True, "budget": 4.0},
    "fresh rows, spread 10": {"fresh": True, "spread": 10.0},
    "fresh rows, spread 20": {"fresh": True, "spread": 20.0},
    "fresh rows, spread 100": {"fresh": True, "spread": 100.0},
}
#: What has no effect, or takes too long, on a method or dataset.
SKIP = {
    "passive": ("no importance weights", "importance weights"),
    "fare": (
        "as in the profile, four times the trials",
        "scikit-learn's lbfgs, no penalty, 100 iterations",
        "importance weights",
    ),
    "fare-diff": (
        "as in the profile, four times the trials",
        "scikit-learn's lbfgs, no penalty, 100 iterations",
        "no importance weights",
    ),
    "drug": ("categories as ordinal numbers",),
    "crime": ("categories as ordinal numbers",),
}


def unaware(data: Dataset) -> Dataset:
    names = PROTECTED[data.name]
    kept = [i for i, f in enumerate(data.feature_names) if f.split("=")[0] not in names]
    if len(kept) == len(data.feature_names):
        raise SystemExit(f"{data.name} has no column of {names}")
    return replace(data, X=data.X[:, kept], feature_names=[data.feature_names[i] for i in kept])


def ordinal(data: Dataset) -> Dataset:
    columns: dict[str, np.ndarray] = {}
    for i, feature in enumerate(data.feature_names):
        name, _, level = feature.partition("=")
        if not level:
            columns[name] = data.X[:, i]
        else:
            # A standardised indicator has two values; the larger one is "has this level".
            has = data.X[:, i] > data.X[:, i].mean()
            code = 1 + sum(f.startswith(f"{name}=") for f in data.feature_names[:i])
            columns[name] = columns.get(name, np.zeros(len(data.y))) + code * has
    X = np.stack(list(columns.values()), axis=1)
    return replace(data, X=(X - X.mean(axis=0)) / X.std(axis=0), feature_names=list(columns))


def drawn(model, X, y, groups, metric):
    predicted = model.predict(X)
    return float((predicted == y).mean()), group_gap(y, predicted, groups, metric)


def one(name: str, which: str, options: dict, trial: int) -> tuple[float, float]:
    # Imported here: a worker must change its own registry, not a pickled copy of this process's.
    from paper.methods import MODELS

    warnings.simplefilter("ignore")
    problem, method = SETUP.problem(name), get_method(which)
    budget = int(problem.budget * options.get("budget", 1.0)) // problem.batch * problem.batch
    problem = replace(problem, budget=budget, batch=budget if which == "passive" else problem.batch)
    if "weights" in options:
        method = replace(method, weights=options["weights"])
    if "ridge" in options:
        MODELS["variant"] = lambda: LogisticRegression(C=1.0 / (options["ridge"] * budget))
        method = replace(method, model="variant")
    if "lbfgs" in options:
        # In a pipeline, so that scikit-learn's own solver is used and not the oracle's fast path.
        MODELS["variant"] = lambda: make_pipeline(LogisticRegression(C=np.inf, max_iter=options["lbfgs"]))
        method = replace(method, model="variant")
    if options.get("free"):
        method = replace(method, tolerance=1.0, margin=None)
    if options.get("doubled"):
        method = replace(method, tolerance=2.0 * max(SETUP.tolerance - budget**-0.5, 0.0), margin=None)
    score = drawn if options.get("drawn") else evaluate
    if options.get("fresh"):
        # Raw coordinates, so that the fresh rows are on the scale of the rows learned from.
        spread = options.get("spread", problem.options["spread"])
        problem = replace(problem, options={"spread": spread, "standardize": False})
        test = make_synthetic(spread, 10_000, 10_000, random_state=[trial, 1], standardize=False)
        score = lambda model, X, y, groups, metric: (  # noqa: E731
            evaluate(model, X, y, groups, metric)[0],
            evaluate(model, test.X, test.y, test.groups, metric)[1],
        )
    transform = {"unaware": unaware, "ordinal": ordinal, None: None}[options.get("transform")]

    def measure(learner, rows):
        return score(learner.current_model(), *rows, learner.metric)

    result = run_trial(SETUP, problem, method, trial, transform, measure)
    return 100.0 * result.accuracy[-1], result.gap[-1]


def done(path: Path) -> set[tuple[str, str, str]]:
    if not path.exists():
        return set()
    with path.open() as file:
        return {(row["problem"], row["method"], row["variant"]) for row in csv.DictReader(file)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["drug", "adult", "crime"])
    parser.add_argument("--method", default="passive", choices=["passive", "fare", "fare-diff"])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("misses.csv"))
    arguments = parser.parse_args()
    method = arguments.method
    if not arguments.out.exists():
        arguments.out.write_text(",".join(COLUMNS) + "\n")
    print("| dataset | change | accuracy % | gap | from the paper, in joint standard errors |")
    print("|---|---|---|---|---|")
    for name in arguments.problems:
        paper = PAPER[name.removesuffix("-wide"), "Passive" if method == "passive" else "FARE"]
        for label, options in (SYNTHETIC if name == "synthetic-wide" else VARIANTS).items():
            skip = (*SKIP[method], *SKIP.get(name, ()))
            if label in skip or (name, method, label) in done(arguments.out):
                continue
            trials = arguments.trials * options.get("times", 1)
            values = Parallel(arguments.jobs)(
                delayed(one)(name, method, options, trial) for trial in range(trials)
            )
            (accuracy, v), (accuracy_se, v_se) = mean_and_error(np.array(values))
            row = [name, method, label, trials, accuracy, accuracy_se, v, v_se]
            with arguments.out.open("a", newline="") as file:
                csv.writer(file).writerow([f"{x:.5f}" if isinstance(x, float) else x for x in row])
            by = apart(accuracy, accuracy_se, v, v_se, paper)
            print(
                f"| {name} | {label} | {accuracy:.1f} ± {accuracy_se:.1f} | {v:.3f} ± {v_se:.3f} "
                f"| {by[0]:+.1f}, {by[1]:+.1f} |",
                flush=True,
            )
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"\n{arguments.trials} trials; {machine}")


if __name__ == "__main__":
    main()
