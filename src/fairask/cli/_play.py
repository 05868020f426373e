"""What ``demo`` and ``simulate`` share: check, run, say, write."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from fairask.cli._compare import Setup, pool_size
from fairask.cli._errors import WrongUse
from fairask.report import Comparison, Method, curves_display, write_report

__all__ = ["Output", "check_counts", "data_hash", "play"]

#: Passive sampling gets this many times the budget, to see how many labels a method saves.
BASELINE_FACTOR = 3


@dataclass(frozen=True)
class Output:
    """Where results go."""

    report: Path | None
    figure: Path | None = None
    quiet: bool = False
    json: bool = False
    no_color: bool = False

    def check(self) -> None:
        """Raise before the work, not after it, when a file cannot be written."""
        for path in (self.report, self.figure):
            if path is None:
                continue
            if path.is_dir():
                raise WrongUse(f"{path} is a folder", "Give the name of a file to write")
            if not path.parent.is_dir():
                raise WrongUse(f"there is no folder {path.parent}", f"Make it first: mkdir -p {path.parent}")


def check_counts(
    *, trials: int, jobs: int | None, seed: int, budget: int, batch: int, rows: int, audit: int = 0
) -> None:
    """Raise what is wrong with the numbers of a comparison."""
    for name, value, least in (
        ("trials", trials, 1),
        ("jobs", 1 if jobs is None else jobs, 1),
        ("seed", seed, 0),
        ("budget", budget, 1),
        ("batch", batch, 1),
    ):
        if value < least:
            raise WrongUse(f"--{name} {value} is too small", f"Give a whole number, {least} or more")
    pool = pool_size(rows)
    if audit < 0:
        raise WrongUse(f"--audit-labels {audit} is too small", "Give a whole number; 0 for no audit")
    if budget > pool:
        raise WrongUse(
            f"--budget {budget:,} is larger than the pool of {pool:,} ({rows:,} rows less those for testing)",
            f"Give a budget of at most {pool:,}",
        )
    if audit and budget + audit > pool:
        raise WrongUse(
            f"{audit:,} labels to audit and {budget:,} to learn are more than the pool of {pool:,}",
            f"Audit with at most {pool - budget:,}, or not at all",
        )
    if batch > budget:
        raise WrongUse(
            f"--batch {batch:,} is larger than the budget of {budget:,}",
            "Give a smaller batch or a larger budget",
        )


def data_hash(X: Any, y: Any, groups: Any) -> str:
    """Return the sha256 of an encoded table.

    Examples
    --------
    >>> X, y = np.zeros((2, 1)), np.array([0, 1])
    >>> data_hash(X, y, ["a", "b"]) == data_hash(X, y, ["a", "c"])
    False
    """
    digest = hashlib.sha256()
    for part in (np.ascontiguousarray(X, dtype="<f8"), np.ascontiguousarray(y, dtype="<i8")):
        digest.update(repr(part.shape).encode() + part.tobytes())
    digest.update("\0".join(map(str, groups)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def play(
    setup: Setup,
    methods: Sequence[Method],
    *,
    trials: int,
    jobs: int | None,
    output: Output,
    title: str,
    target: str,
    protected: str,
    command: str,
    digest: str,
    notes: Sequence[str] = (),
    savings: bool = False,
) -> Comparison:
    """Run a comparison, show it, and write its report."""
    from joblib import cpu_count

    from fairask.cli._screen import console, watch

    workers = min(jobs or cpu_count(), trials * len(methods))
    screen = console(no_color=output.no_color)
    talk = not output.quiet and not output.json
    if talk:
        screen.print(f"{title}: {target}, groups by {protected}", style="bold", markup=False)
        for note in notes:
            screen.print(f"note: {note}", markup=False)
    runs = watch(setup, methods, trials, workers, screen if talk else None)
    names, counts = np.unique(setup.groups, return_counts=True)
    comparison = Comparison(
        title=title,
        target=target,
        protected=protected,
        methods=list(methods),
        runs=runs,
        budget=setup.budget,
        batch=setup.batch,
        trials=trials,
        seed=setup.seed,
        metric=setup.metric,
        tolerance=setup.tolerance,
        pool_shares={str(g): float(n) / len(setup.y) for g, n in zip(names, counts, strict=True)},
        settings=_settings(setup, trials, digest),
        command=command,
        notes=list(notes),
    )
    show(comparison, output, screen, savings=savings)
    return comparison


def show(comparison: Comparison, output: Output, screen: Any, *, savings: bool) -> None:
    """Write and print a comparison."""
    from fairask.cli._screen import results_table

    talk = not output.quiet and not output.json
    if output.figure is not None:
        curves_display(comparison).plot().figure_.savefig(output.figure, dpi=110)
    if output.report is not None:
        write_report(comparison, output.report)
    if output.json:
        print(json.dumps(comparison.to_dict(), indent=1, allow_nan=False))
        return
    if talk:
        screen.print()
        screen.print(results_table(comparison))
        screen.print()
    screen.print(comparison.verdict(), style="bold", markup=False)
    if talk:
        if (line := comparison.audit_line()) is not None:
            screen.print(line, markup=False)
        if any(run.stopped is not None for run in comparison.runs):
            for line in comparison.stops():
                screen.print(line, markup=False)
        if savings:
            for line in comparison.savings():
                screen.print(line, markup=False)
        for name, path in (("figure", output.figure), ("report", output.report)):
            if path is not None:
                screen.print(f"{name}: {path}", markup=False)


def _settings(setup: Setup, trials: int, digest: str) -> dict[str, str]:
    rows, features = setup.X.shape
    pool = pool_size(rows)
    audit = f"at most {setup.audit:,} labels besides, first run of {setup.audited}" if setup.audit else "none"
    how = "within each group and label" if setup.stratify else "at random"
    return {
        "table": f"{rows:,} rows, {features:,} features, {100 * setup.y.mean():.1f} % positive",
        "split": f"{pool:,} rows for the pool, {rows - pool:,} for testing, {how}, anew in every run",
        "fairness": f"{setup.metric} ≤ {setup.tolerance:g}, fitted at that less a margin: from the evidence "
        "(profile calibrated), 1/√labels (paper)",
        "model": "profile calibrated: logistic regression with a ridge chosen out of fold, thresholds "
        f"{'without' if setup.blind else 'by'} the group, chosen on the pool; paper: logistic regression "
        "without penalty in the empirical fair oracle",
        "labels": f"{setup.budget:,} in batches of {setup.batch:,}; passive up to {setup.baseline_budget:,}",
        "audit": audit,
        "runs and seed": f"{trials:,} runs, seed {setup.seed}",
        "versions": versions(),
        "sha256 of the data": digest,
    }


def versions() -> str:
    """Versions of what the numbers depend on."""
    packages = (f"{p} {version(p)}" for p in ("fairask", "numpy", "scipy", "scikit-learn"))
    return ", ".join([f"Python {platform.python_version()}", *packages])
