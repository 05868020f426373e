"""What measurements of rounds on large pools share: the rows, a learner, clocks and tables."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairask import FairActiveLearner
from fairask.rules import LinearRule
from fairask.pools.runners import cores

FEATURES, K, LABELS, BATCH = 20, 10, 100, 25
NAMES = [f"x{j}" for j in range(FEATURES)]
ROW_GROUP, FILE_ROWS = 1 << 18, 1 << 21
TRUTH = np.random.default_rng(7).standard_normal(FEATURES).astype(np.float32)


def make_block(block: int, rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([1, block])
    return rng.standard_normal((rows, FEATURES), dtype=np.float32), rng.integers(0, 2, rows, dtype=np.int8)


def make_arrays(n: int) -> tuple[Any, Any]:
    X, groups = np.empty((n, FEATURES), dtype=np.float32), np.empty(n, dtype=np.int8)
    for b, start in enumerate(range(0, n, FILE_ROWS)):
        stop = min(start + FILE_ROWS, n)
        X[start:stop], groups[start:stop] = make_block(b, stop - start)
    return X, groups


def write_parquet(folder: Path, n: int) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    for b, start in enumerate(range(0, n, FILE_ROWS)):
        X, groups = make_block(b, min(start + FILE_ROWS, n) - start)
        features = {name: X[:, j] for j, name in enumerate(NAMES)}
        # Engines without an order of rows need a key; the other passes do not read it.
        table = pa.table({**features, "group": groups, "id": np.arange(start, start + len(X))})
        pq.write_table(table, folder / f"part-{b:03}.parquet", row_group_size=ROW_GROUP)
    return folder


def least(function: Callable[[], Any], repeats: int) -> Any:
    """Least elapsed and processor seconds, as an array of two."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return np.min(times, axis=0)


def split(found: dict[str, Any]) -> dict[str, float]:
    """One column for elapsed time, one for processor time."""
    out: dict[str, float] = {}
    for name, value in found.items():
        if np.ndim(value):
            out[name], out[f"{name} cpu"] = (float(v) for v in value)
        else:
            out[name] = value
    return out


def labelled_learner(pool: Any, profile: Any = "paper") -> FairActiveLearner:
    """A learner with its first labels, so that the next batch is a FARE round."""
    # The paper's oracle: k linear classifiers, one matrix product.
    learner = FairActiveLearner(
        pool, strategy_params={"k": K}, profile=profile, batch_size=BATCH, random_state=0
    )
    query = learner.ask(LABELS)
    rng = np.random.default_rng(0)
    score = pool.take(query.indices) @ TRUTH + 2.0 * rng.standard_normal(LABELS)
    learner.tell(query.indices, (score > 0).astype(int))
    return learner


def ask_again(learner: FairActiveLearner) -> None:
    """The same batch as before, with its features: a round's cost must not drift with the labels."""
    state = learner.state.batches, list(learner.state.log.entries), dict(learner.state.log.position)
    query = learner.ask()
    learner.pool.take(query.indices)
    learner.state.batches, learner.state.log.entries, learner.state.log.position = state
    for row in query.indices.tolist():
        getattr(learner.pool, "_cached", {}).pop(row, None)


def rules_of(learner: FairActiveLearner) -> list[LinearRule]:
    rng = np.random.default_rng(0)
    y = learner.labelled().y
    solutions = learner.fair_fit()(np.where(rng.random((K, len(y))) < 0.1, 1.0 - y, y))
    return [solution.sample(rng) for solution in solutions]


def bare_product(X: Any, rules: list[LinearRule], repeats: int) -> Any:
    beta = np.array([rule.beta[:-1] for rule in rules], dtype=np.float32)
    rows, columns = np.ascontiguousarray(beta.T), beta
    return np.minimum(least(lambda: X @ rows, repeats), least(lambda: columns @ X.T, repeats))


def exponent(table: list[dict[str, float]], column: str) -> float:
    """Slope of log time in log rows, by least squares."""
    rows, seconds = np.log([r["rows"] for r in table]), np.log([r[column] for r in table])
    return float(np.polyfit(rows, seconds, 1)[0])


def show(title: str, table: list[dict[str, float]]) -> None:
    print(f"\n{title}", flush=True)
    for name in table[0]:
        digits = ",.0f" if name == "rows" else ".4g"
        print(f"{name:>22}" + "".join(f"{row[name]:>14{digits}}" for row in table))
    if len(table) > 1:
        for name in (name for name in ("round", "per row", "count") if name in table[0]):
            whole, cpu = exponent(table, name), exponent(table, f"{name} cpu")
            print(f"exponent of {name}: {whole:.3f} elapsed, {cpu:.3f} processor time")


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (t.split(":")[1].strip() for t in info.read_text().splitlines() if "model name" in t), model
        )
    return f"{model}, {cores()} cores; Python {platform.python_version()}, NumPy {np.__version__}"
