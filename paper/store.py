"""Results of many trials: read from result files or from packed Parquet, one file a problem and method."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask.experiment.runner import read_run
from fairask.metrics import Float
from paper.methods import METHODS
from paper.problems import SETUPS, get_setup

__all__ = ["Curves", "by_problem", "load_curves", "pack", "packed_trials"]

_COLUMNS = ("trial", "round", "labels", "accuracy", "gap", "converged", "feasible")


@dataclass(frozen=True)
class Curves:
    """All trials of a method on a problem.

    Attributes
    ----------
    problem, method : str
    labels : ndarray of shape (rounds,)
    accuracy, gap : ndarray of shape (trials, rounds)
        On each trial's test rows, in expectation over the randomised classifier.
    group_labels : dict of group to ndarray of shape (trials, rounds)
        Labels spent on each group.
    trials : ndarray of shape (trials,)
        Their numbers; trials of the same number share their split.
    settings : dict
        The method's settings when the results were made.
    converged : ndarray of shape (trials,)
        Whether the strategy, if it learns how to choose, learned to.
    feasible : ndarray of shape (trials, rounds), or None
        False where the model said that its labels are too few; None where that was not recorded.
    """

    problem: str
    method: str
    labels: NDArray[np.int64]
    accuracy: Float
    gap: Float
    group_labels: dict[str, NDArray[np.int64]]
    trials: NDArray[np.int64]
    settings: dict[str, Any]
    converged: NDArray[np.bool_] | None = None
    feasible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.converged is None:
            object.__setattr__(self, "converged", np.ones(len(self.trials), dtype=bool))

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def failed(self) -> int:
        """Trials that did not converge."""
        return int((~np.asarray(self.converged)).sum())

    def regardless(self) -> Curves:
        """Return all trials as if they had converged."""
        return replace(self, converged=None)

    def of_converged(self) -> Curves:
        """Return the trials that converged."""
        keep = np.asarray(self.converged)
        if keep.all():
            return self
        return replace(
            self,
            accuracy=self.accuracy[keep],
            gap=self.gap[keep],
            group_labels={group: counts[keep] for group, counts in self.group_labels.items()},
            trials=self.trials[keep],
            converged=keep[keep],
            feasible=None if self.feasible is None else self.feasible[keep],
        )


def load_curves(folder: Path, setup: str = "paper") -> dict[tuple[str, str], Curves]:
    """Return the results under ``folder`` by (problem, method), in the order of tables.

    Reads packed files where there are any, else result files. Results that were made with settings
    other than the registry's are an error: their tables would not say what they show.
    """
    base = folder / setup
    found = {(c.problem, c.method): c for c in (_read_parquet(p) for p in sorted(base.glob("*.parquet")))}
    if not found:
        found = {(c.problem, c.method): c for c in _read_runs(base)}
    if not found:
        raise FileNotFoundError(f"no results of setup {setup!r} under {folder}; run `python -m paper run`")
    for (problem, name), curves in found.items():
        if curves.settings != METHODS[name].settings:
            raise ValueError(
                f"the results of {name} on {problem} under {folder} were made with other settings than the "
                f"method has now; run it again"
            )
    order = [(p, m) for p in get_setup(setup).problems for m in METHODS]
    return {key: found[key] for key in order if key in found}


def _read_runs(base: Path) -> list[Curves]:
    out = []
    for folder in sorted(base.glob("*/*-*")):
        name, _, digest = folder.name.rpartition("-")
        if name not in METHODS or METHODS[name].digest != digest:
            continue  # results of settings that were tried and given up do no harm
        runs = [read_run(path, name) for path in sorted(folder.glob("trial-*.json"))]
        if not runs:
            continue
        groups = runs[0].group_labels
        said = all(len(r.feasible) == len(runs[0].labels) for r in runs)
        out.append(
            Curves(
                problem=folder.parent.name,
                method=name,
                labels=runs[0].labels,
                accuracy=np.array([r.accuracy for r in runs]),
                gap=np.array([r.gap for r in runs]),
                group_labels={g: np.array([r.group_labels[g] for r in runs]) for g in groups},
                trials=np.array([r.trial for r in runs]),
                settings=METHODS[name].settings,
                converged=np.array([r.converged for r in runs]),
                feasible=np.array([r.feasible for r in runs]) if said else None,
            )
        )
    return out


def _packed(target: Path, setup: str, problem: str, method: str) -> tuple[Path, Curves | None]:
    """Where a method's results are packed, and those there now if they were made with its settings."""
    path = target / setup / f"{problem}__{method}.parquet"
    here = _read_parquet(path) if path.exists() else None
    return path, here if here is not None and here.settings == METHODS[method].settings else None


def packed_trials(target: Path, setup: str, problem: str, method: str) -> set[int]:
    """Return the numbers of the trials that ``target`` holds with the method's present settings."""
    here = _packed(target, setup, problem, method)[1]
    return set() if here is None else set(here.trials.tolist())


def pack(folder: Path, target: Path) -> list[Path]:
    """Merge the result files under ``folder`` into the Parquet files under ``target``; return their paths.

    Trials that are packed already and not in ``folder`` stay, if they were made with the same settings.
    """
    written = []
    for setup in SETUPS:
        for curves in _read_runs(folder / setup):
            path, here = _packed(target, setup, curves.problem, curves.method)
            path.parent.mkdir(parents=True, exist_ok=True)
            merged = curves if here is None else _merged(here, curves)
            _write_parquet(merged, get_setup(setup).problem(curves.problem).metric, path)
            written.append(path)
    if not written:
        raise FileNotFoundError(f"no result files under {folder}; run `python -m paper run --out {folder}`")
    return written


def _merged(old: Curves, new: Curves) -> Curves:
    """Trials of both, in order; of a trial that both have, that of ``new``."""
    keep = ~np.isin(old.trials, new.trials)
    trials = np.concatenate([old.trials[keep], new.trials])
    order = np.argsort(trials)

    def joined(of_old: NDArray[Any], of_new: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([of_old[keep], of_new])[order]

    said = old.feasible is not None and new.feasible is not None
    return replace(
        new,
        accuracy=joined(old.accuracy, new.accuracy),
        gap=joined(old.gap, new.gap),
        group_labels={g: joined(old.group_labels[g], n) for g, n in new.group_labels.items()},
        trials=trials[order],
        converged=joined(np.asarray(old.converged), np.asarray(new.converged)),
        feasible=joined(np.asarray(old.feasible), np.asarray(new.feasible)) if said else None,
    )


def _write_parquet(curves: Curves, metric: str, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    trials, rounds = curves.accuracy.shape
    columns: dict[str, Any] = {
        "trial": pa.array(np.repeat(curves.trials, rounds).astype(np.int16)),
        "round": pa.array(np.tile(np.arange(rounds), trials).astype(np.int16)),
        "labels": pa.array(np.tile(curves.labels, trials).astype(np.int32)),
        "accuracy": pa.array(curves.accuracy.ravel()),
        "gap": pa.array(curves.gap.ravel()),
        "metric": pa.array([metric] * (trials * rounds)).dictionary_encode(),
    }
    if curves.failed:  # files of methods that have nothing to converge stay as they are
        columns["converged"] = pa.array(np.repeat(np.asarray(curves.converged), rounds))
    if curves.feasible is not None:
        columns["feasible"] = pa.array(curves.feasible.ravel())
    for group, counts in curves.group_labels.items():
        columns[f"labels[{group}]"] = pa.array(counts.ravel().astype(np.int32))
    about = {"problem": curves.problem, "method": curves.method, "settings": curves.settings}
    table = pa.table(columns).replace_schema_metadata({"fairask": json.dumps(about, sort_keys=True)})
    scratch = path.with_suffix(".tmp")
    pq.write_table(table, scratch, compression="zstd")
    scratch.replace(path)


def _read_parquet(path: Path) -> Curves:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    metadata = table.schema.metadata or {}
    if b"fairask" not in metadata:
        raise ValueError(f"{path} is not a result file of the benchmark")
    about = json.loads(metadata[b"fairask"])
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "metric"}
    rounds = int(columns["round"].max()) + 1
    by_trial = {name: values.reshape(-1, rounds) for name, values in columns.items()}
    groups = {n[len("labels[") : -1]: v for n, v in by_trial.items() if n not in _COLUMNS}
    return Curves(
        problem=about["problem"],
        method=about["method"],
        labels=by_trial["labels"][0].astype(np.int64),
        accuracy=by_trial["accuracy"],
        gap=by_trial["gap"],
        group_labels={g: v.astype(np.int64) for g, v in groups.items()},
        trials=by_trial["trial"][:, 0].astype(np.int64),
        settings=about["settings"],
        converged=by_trial["converged"][:, 0].astype(bool) if "converged" in by_trial else None,
        feasible=by_trial["feasible"].astype(bool) if "feasible" in by_trial else None,
    )


def by_problem(curves: dict[tuple[str, str], Curves]) -> dict[str, dict[str, Curves]]:
    """Return the results by problem, then by method."""
    out: dict[str, dict[str, Curves]] = defaultdict(dict)
    for (problem, method), value in curves.items():
        out[problem][method] = value
    return dict(out)
