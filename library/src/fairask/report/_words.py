"""What to say about a comparison: sentences, settings, and plain values for JSON."""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version

import numpy as np

from fairask.experiment import Comparison, LabelledTable, Task
from fairask.experiment.method import BASELINE
from fairask.experiment.safety import infeasible_sentence
from fairask.experiment.story import stop_sentence
from fairask.metrics import Float


def headline(c: Comparison) -> str:
    """The case the user is in, or the verdict where runs have no references; then how many labels suffice.

    Where a constant answer is as good there is no number of labels to speak of.
    """
    beside = c.beside()
    if beside is None:
        return verdict(c)
    return beside.sentence() + ("" if beside.case == "no better" else f" {c.enough().sentence()}")


def verdict(c: Comparison) -> str:
    """In how many runs each method is within the tolerance, and in how many its model said "infeasible".

    Examples
    --------
    >>> from fairask.experiment import METHODS, Run
    >>> runs = [Run(m, 0, np.array([50]), np.array([0.8]), np.array([v]))
    ...         for m, v in [("fare", 0.05), ("passive", 0.2)]]
    >>> methods = [METHODS["fare"], METHODS["passive"]]
    >>> verdict(Comparison("t", "y", "sex", methods, runs, Task(budget=50), 1, {}))
    'With 50 labels FARE is within 0.1 in 1 of 1 runs; passive in 0 of 1.'
    """
    parts = []
    for i, method in enumerate(c.methods):
        end = c.final(method.name)
        head = f"With {c.task.budget:,} labels {method.label} is within {c.task.tolerance:g}"
        parts.append(
            f"{method.label if i else head} in {end.within} of {end.runs}{'' if i else ' runs'}",
        )
    said = [
        infeasible_sentence(method.label, runs, c.final(method.name).runs, needed)
        for method in c.methods
        for runs, needed in [c.infeasible(method.name)]
    ]
    return " ".join(["; ".join(parts) + ".", *filter(None, said)])


def stops(c: Comparison) -> list[str]:
    """For each method, where the stopping rule would have ended its runs, and what that costs.

    Examples
    --------
    >>> from fairask.experiment import METHODS, Run
    >>> values = np.array([50, 100]), np.array([0.79, 0.80]), np.array([0.05, 0.04])
    >>> runs = [Run("fare", 0, *values, stopped=50)]
    >>> stops(Comparison("t", "y", "sex", [METHODS["fare"]], runs, Task(budget=100), 1, {}))[0]
    'FARE: the stopping rule fired in 1 of 1 run, at 50 labels in the mean: accuracy 0.790 (0.800 at 100),
    violation 0.050 (0.040).'
    """
    out = []
    for method in c.methods:
        runs = c.of(method.name)
        at = [np.flatnonzero(r.labels <= min(r.stopped or c.task.budget, c.task.budget))[-1] for r in runs]
        points = [(run.accuracy[i], run.violation[i]) for run, i in zip(runs, at, strict=True)]
        accuracy, violation = np.mean(points, axis=0)
        end = c.final(method.name)
        ends = (
            f"accuracy {accuracy:.3f} ({end.accuracy:.3f} at {c.task.budget:,}), violation "
            f"{violation:.3f} ({end.violation:.3f})"
        )
        out.append(stop_sentence(method.label, [run.stopped for run in runs], c.task.budget, ends))
    return out


def savings(c: Comparison) -> list[str]:
    """For each fair method, what the baseline would need to do as well, with an interval over trials."""
    return [
        c.saving(method.name).sentence(method.label, c.final(method.name).accuracy)
        for method in c.methods
        if method.name != BASELINE and not method.constraint
    ]


def column_lines(c: Comparison) -> list[str]:
    """For each method, the violations of each protected column alone; none where there is one column.

    Examples
    --------
    >>> from fairask.experiment import METHODS, Run
    >>> values = np.array([50]), np.array([0.8]), np.array([0.05])
    >>> runs = [Run("fare", 0, *values, by_column={"sex": 0.02, "race": 0.04})]
    >>> print(column_lines(Comparison("t", "y", "sex", [METHODS["fare"]], runs, Task(budget=50), 1, {}))[0])
    FARE, violation of each column by itself: sex 0.020, race 0.040; of their combinations 0.050.
    """
    out = []
    for method in c.methods:
        if found := c.by_column(method.name):
            each = ", ".join(f"{column} {guess.value:.3f}" for column, guess in found.items())
            whole = c.final(method.name).violation
            out.append(
                f"{method.label}, violation of each column by itself: {each}; of their combinations "
                f"{whole:.3f}."
            )
    return out


def audit_line(c: Comparison) -> str | None:
    """What the audit found, in one line; None if there was none.

    Examples
    --------
    >>> from fairask.audit import certify
    >>> from fairask.experiment import METHODS, Run
    >>> proof = certify([1] * 400, [1] * 400, [0, 1] * 200)
    >>> values = np.array([50]), np.array([0.8]), np.array([0.05])
    >>> runs = [Run("fare", 0, *values, certificate=proof)]
    >>> print(audit_line(Comparison("t", "y", "sex", [METHODS["fare"]], runs, Task(budget=50), 1, {})))
    Audit of FARE's first model with 400 more labels: Certified: the difference in true positive
    rates is at most 0.1 (95% confidence: 0.0149 or less).
    """
    if c.audited is None:
        return None
    name, proof = c.audited
    return f"Audit of {name}'s first model with {proof.n_labels:,} more labels: {proof.headline()}"


def plan_line(c: Comparison) -> str | None:
    """What audits of the first model would buy, in one line; None if none was planned.

    Examples
    --------
    >>> from fairask.audit import plan_audit
    >>> from fairask.experiment import METHODS, Run
    >>> plan = plan_audit([0, 1] * 2000, [0] * 2000 + [1] * 2000, budgets=[50, 1000], n_audits=20)
    >>> runs = [Run("fare", 0, np.array([50]), np.array([0.8]), np.array([0.05]), audit_plan=plan)]
    >>> print(plan_line(Comparison("t", "y", "sex", [METHODS["fare"]], runs, Task(budget=50), 1, {})))
    Audits of such a model with 50 and 1,000 labels certify it in 0% and 100% of cases if groups are
    alike.
    """
    plan = next((run.audit_plan for run in c.runs if run.audit_plan is not None), None)
    if plan is None:
        return None
    budgets = _listed([f"{row.budget:,}" for row in plan.rows])
    chances = _listed([f"{row.certify_alike:.0%}" for row in plan.rows])
    return (
        f"Audits of such a model with {budgets} labels certify it in {chances} of cases if groups are alike."
    )


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def settings_of(table: LabelledTable, task: Task, trials: int) -> dict[str, str]:
    """Everything that made the results, for the reader of a report."""
    audit = f"at most {task.audit:,} labels besides, first run of {task.audited}" if task.audit else "none"
    known = table.describe()
    return {
        "table": known.pop("table"),
        "split": known.pop("split"),
        "fairness": f"{task.metric} ≤ {task.tolerance:g}, fitted at that less a margin: from the evidence "
        "(profile calibrated), 1/√labels (paper)",
        "model": "profile calibrated: average of a ridge logistic regression and a random forest, thresholds "
        f"{'without' if task.blind else 'by'} the group, chosen on the pool; paper: logistic regression "
        "without penalty in the empirical fair oracle",
        "labels": f"{task.budget:,} in batches of {task.batch:,}; passive up to {task.baseline_budget:,}",
        "audit": audit,
        "runs and seed": f"{trials:,} runs, seed {task.seed}",
        "versions": versions(),
        **known,
    }


def versions() -> str:
    """Versions of what the numbers depend on."""
    packages = (f"{p} {version(p)}" for p in ("fairask", "numpy", "scipy", "scikit-learn"))
    return ", ".join([f"Python {platform.python_version()}", *packages])


def to_dict(c: Comparison) -> dict[str, object]:
    """Return plain values for JSON; NaN becomes null."""
    methods = []
    for method in c.methods:
        labels, accuracy, violation = c.curves(method.name)
        methods.append(
            {
                "method": method.name,
                "label": method.label,
                "settings": method.describe(),
                **{k: _number(v) for k, v in asdict(c.final(method.name)).items()},
                **_needs(c, method.name),
                "labels_that_suffice": c.enough(method.name).labels,
                **dict(zip(("infeasible_runs", "labels_needed"), c.infeasible(method.name), strict=True)),
                "violation_by_column": {k: _number(v.value) for k, v in c.by_column(method.name).items()},
                "labels": labels.tolist(),
                "accuracy_by_round": _numbers(accuracy.mean(axis=0)),
                "violation_by_round": _numbers(violation.mean(axis=0)),
                "final_accuracy_by_trial": _numbers(accuracy[:, -1]),
                "final_violation_by_trial": _numbers(violation[:, -1]),
            }
        )
    return {
        "table": c.title,
        "headline": headline(c),
        "case": None if (beside := c.beside()) is None else beside.case,
        "verdict": verdict(c),
        "references": [
            {"label": label, "labels": labels, **{k: _number(v) for k, v in asdict(end).items()}}
            for label, labels, end in c.references()
        ],
        "budget": c.task.budget,
        "batch": c.task.batch,
        "trials": c.trials,
        "seed": c.task.seed,
        "metric": c.task.metric,
        "tolerance": c.task.tolerance,
        "baseline_budget": c.baseline_reach(),
        "methods": methods,
        "audit": None
        if c.audited is None
        else {
            "method": c.audited[0],
            "trial": 0,
            "certificate": c.audited[1].to_dict(),
            "plan": next((run.audit_plan.to_dict() for run in c.runs if run.audit_plan is not None), None),
        },
        "settings": dict(c.settings),
        "notes": list(c.notes),
        "command": c.command,
    }


def _needs(c: Comparison, name: str) -> dict[str, object]:
    """Labels that the baseline needs, null for more than it was given; one run has no interval."""
    if name == BASELINE:
        return {"baseline_needs": None, "baseline_needs_interval": None}
    saved = c.saving(name)
    needed, low, high = (int(v) if np.isfinite(v) else None for v in (saved.needed, saved.low, saved.high))
    return {"baseline_needs": needed, "baseline_needs_interval": [low, high] if saved.has_interval else None}


def _number(value: float) -> float | None:
    return None if value != value else value


def _numbers(values: Float) -> list[float | None]:
    return [_number(v) for v in values.tolist()]
