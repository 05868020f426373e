"""One FARE round on pools from a million rows up: seconds, peak memory, and what the machine itself takes.

    python -m benchmarks.scale                      # everything, 1 to 30 million rows
    python -m benchmarks.scale --rows 1e6 3e6 --parts memory parquet

A round is everything between "these rows are labelled" and "label these next": fitting k = 10 perturbed
fair classifiers, their predictions on every row, the design, the draw. The bare times next to it are one
matrix product of those k classifiers with the pool, one read of the array, and one pyarrow scan of the same
columns, in the same process. Every figure is the least of several repeats. Processor time (all threads) is
given next to elapsed time: on a machine with other work it is the steadier of the two.

``fixed`` is the part of a round that no row enters: the fits on the labels, and the design on the cells.
``per row`` is the rest of the round. Exponents and ratios are printed for the whole round and for that part.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_parts import (
    BATCH,
    FEATURES,
    FILE_ROWS,
    K,
    NAMES,
    ROW_GROUP,
    TRUTH,
    ask_again,
    bare_product,
    labelled_learner,
    least,
    machine,
    make_arrays,
    make_block,
    rules_of,
    show,
    split,
    write_parquet,
)
from fairask.design import disagreement_design
from fairask.pools import Pool, SubPool, open_pool, sub_pool_size
from fairask.pools.sources.engine import keyed

PARTS = ["memory", "sub_pool", "torch", "parquet", "polars", "duckdb", "skactiveml", "dask"]


def in_memory(n: int, repeats: int) -> dict[str, float]:
    X, groups = make_arrays(n)
    pool = Pool(X, groups, 2)
    learner = labelled_learner(pool)
    rules = rules_of(learner)
    product, read = bare_product(X, rules, repeats), least(lambda: X.max(), repeats)
    cells = pool.by_prediction(rules)
    every = np.arange(BATCH) % len(cells.counts)
    found: dict[str, Any] = {
        "rows": n,
        "product": product,
        "read": read,
        "fit": least(lambda: rules_of(learner), repeats),
        "count": least(lambda: pool.by_prediction(rules), repeats),
        "design": least(lambda: disagreement_design(cells.patterns, cells.counts), repeats),
        "find": least(lambda: cells.locate(every, np.zeros(BATCH, dtype=np.int64)), repeats),
        "round": least(lambda: ask_again(learner), repeats),
    }
    return split(apart(found, product + read))


def apart(found: dict[str, Any], bare: Any) -> dict[str, Any]:
    """What depends on the rows and what does not, and both against the bare times."""
    found["fixed"] = found["fit"] + found["design"]
    found["per row"] = found["round"] - found["fixed"]
    found["round ratio"] = found["round"] / bare
    found["per-row ratio"] = found["per row"] / bare
    return found


def scan(folder: Path) -> int:
    import pyarrow.dataset as ds

    columns = [*NAMES, "group"]
    return sum(batch.num_rows for batch in ds.dataset(folder).to_batches(columns=columns))


def peak_gb() -> float:
    """Peak resident memory of this process; getrusage would count the parent's from before the start."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(text for text in status.read_text().splitlines() if text.startswith("VmHWM"))
        return int(line.split()[1]) / 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def from_parquet(folder: Path, n: int, repeats: int) -> dict[str, float]:
    """Times of a round on a folder; run in a process of its own, whose peak memory is the pool's."""
    pool = open_pool(folder, "group", NAMES, preprocess="none", group_values=[0, 1])
    learner = labelled_learner(pool)
    rules = rules_of(learner)
    count = least(lambda: pool.by_prediction(rules), repeats)
    drawn = labelled_learner(open_pool(folder, "group", NAMES, preprocess="none", group_values=[0, 1]))
    whole = least(lambda: ask_again(drawn), repeats)
    peak = peak_gb()
    bare = least(lambda: scan(folder), repeats)
    X, _ = make_block(0, FILE_ROWS)
    product = bare_product(X, rules, repeats) * n / FILE_ROWS
    cells = pool.by_prediction(rules)
    found: dict[str, Any] = {
        "rows": n,
        "scan": bare,
        "product": product,
        "fit": least(lambda: rules_of(learner), repeats),
        "count": count,
        "design": least(lambda: disagreement_design(cells.patterns, cells.counts), repeats),
        "round": whole,
    }
    return split({**apart(found, bare + product), "peak GB": peak})


def in_engine(engine: str, folder: Path, n: int, repeats: int) -> dict[str, float]:
    """Times of a round whose counting is a query of an engine; run in a process of its own."""
    pool = open_pool(_engine_frame(engine, folder), "group", NAMES, preprocess="none", group_values=[0, 1])
    learner = labelled_learner(pool)
    rules = rules_of(learner)
    pool.by_prediction(rules)  # looks at the extremes of the columns, once per pool
    found: dict[str, Any] = {
        "rows": n,
        "count": least(lambda: pool.by_prediction(rules), repeats),
        "round": least(lambda: ask_again(learner), repeats),
    }
    peak = peak_gb()
    own = open_pool(folder, "group", NAMES, preprocess="none", group_values=[0, 1])
    found["own count"] = least(lambda: own.by_prediction(rules), repeats)
    found["count / own"] = found["count"] / found["own count"]
    found["same cells"] = float(
        np.array_equal(pool.by_prediction(rules).counts, own.by_prediction(rules).counts)
    )
    return split({**found, "peak GB": peak})


def _engine_frame(engine: str, folder: Path) -> Any:
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(folder / "*.parquet")
    import duckdb

    return keyed(duckdb.read_parquet(str(folder / "*.parquet")), "id")


def on_tensors(n: int, repeats: int) -> dict[str, float]:
    """The same rows as an array and as a CPU tensor."""
    import torch

    X, groups = make_arrays(n)
    array, tensor = Pool(X, groups, 2), open_pool(torch.from_numpy(X), torch.from_numpy(groups))
    learners = [labelled_learner(array), labelled_learner(tensor)]
    rules = rules_of(learners[0])
    found: dict[str, Any] = {
        "rows": n,
        "numpy count": least(lambda: array.by_prediction(rules), repeats),
        "torch count": least(lambda: tensor.by_prediction(rules), repeats),
        "numpy round": least(lambda: ask_again(learners[0]), repeats),
        "torch round": least(lambda: ask_again(learners[1]), repeats),
    }
    found["count ratio"] = found["torch count"] / found["numpy count"]
    found["round ratio"] = found["torch round"] / found["numpy round"]
    return split(found)


def sub_pools(n: int, runs: int = 400) -> dict[str, float]:
    """Batches from sub-pools and batches from all rows: what weighted means of a row's value spread.

    Cells and designs differ from one sub-pool to the next. The default classifier's round is timed as well.
    """
    from fairask.sampling import Proposal, draw, from_sub_pool, importance_weights

    X, groups = make_arrays(n)
    pool = Pool(X, groups, 2)
    rules = rules_of(labelled_learner(pool))
    value = (X @ TRUTH > 0).astype(float)
    truth, spread = value.mean(), {}

    def estimate(seen: Any, rng: np.random.Generator) -> float:
        cells = seen.by_prediction(rules)
        design = disagreement_design(cells.patterns, cells.counts)
        uniform = np.full(len(cells.counts), 1.0 / cells.counts.sum())
        proposal = Proposal(
            cells, {"diff": design.per_row, "uniform": uniform}, {"diff": 0.5, "uniform": 0.5}
        )
        draws = draw(proposal, BATCH, rng)
        draws = from_sub_pool(draws, seen) if isinstance(seen, SubPool) else draws
        weights = importance_weights("ips", draws.propensities, draws.pool_sizes, n)
        return float(np.mean(weights * value[draws.indices]))

    for name in ("whole", "sub-pool"):
        rng = np.random.default_rng(3)
        seen = (pool if name == "whole" else SubPool(pool, sub_pool_size(BATCH), rng) for _ in range(runs))
        spread[name] = np.array([estimate(one, rng) - truth for one in seen])
    learner = labelled_learner(pool, profile="calibrated")
    return split(
        {
            "rows": n,
            "batches": runs,
            "said price": BATCH * (1 / sub_pool_size(BATCH) - 1 / n),
            "measured price": float(spread["sub-pool"].var() / spread["whole"].var() - 1.0),
            "its error": float(2.0 / np.sqrt(runs)),
            "bias / error": float(spread["sub-pool"].mean() / spread["sub-pool"].std() * np.sqrt(runs)),
            "default's round": least(lambda: ask_again(learner), 3),
        }
    )


def against_skactiveml(repeats: int, n: int = 100_000) -> dict[str, float]:
    """The same round by query-by-committee: k classifiers on the same labels, the batch where they differ."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import QueryByCommittee
    from sklearn.ensemble import BaggingClassifier
    from sklearn.linear_model import LogisticRegression

    X, groups = make_arrays(n)
    learner = labelled_learner(Pool(X, groups, 2))
    y = np.full(n, np.nan)
    y[learner.labelled_indices_] = learner.labels_
    committee = SklearnClassifier(
        BaggingClassifier(LogisticRegression(), n_estimators=K, random_state=0), classes=[0, 1]
    )
    query = QueryByCommittee(method="vote_entropy", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = least(lambda: query.query(X, y, ensemble=committee, batch_size=BATCH), repeats)
    ours = least(lambda: ask_again(learner), repeats)
    return split({"rows": n, "scikit-activeml": theirs, "fairask": ours, "ratio": theirs / ours})


def _cpu() -> float:
    return time.process_time()


def scan_files(files: list[str]) -> None:
    import pyarrow.parquet as pq

    beta = np.random.default_rng(0).standard_normal((FEATURES, K)).astype(np.float32)
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(ROW_GROUP, columns=NAMES, use_threads=False):
            np.stack([column.to_numpy() for column in batch.columns], axis=1) @ beta


def bare_speed_up(folder: Path, repeats: int) -> float:
    """How much faster two processes scan and multiply than one: what this machine has to give."""
    from concurrent.futures import ProcessPoolExecutor

    files = sorted(str(file) for file in folder.iterdir())
    halves = [files[0::2], files[1::2]]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        list(executor.map(scan_files, [files[:1]] * 4))
        one = least(lambda: executor.submit(scan_files, files).result(), repeats)[0]
        two = least(lambda: list(executor.map(scan_files, halves)), repeats)[0]
    return float(one / two)


def on_dask(folder: Path, n: int, repeats: int) -> dict[str, float]:
    """A counting pass on one worker and on two.

    The second speed-up is that of processor time on the longest path, the busiest worker's and the client's
    (scheduler included): what two free cores would show, also where other work shares them.
    """
    from distributed import Client, LocalCluster

    found: dict[str, float] = {"rows": n}
    local = open_pool(folder, "group", NAMES, preprocess="none", group_values=[0, 1])
    rules = rules_of(labelled_learner(local))
    for workers in (1, 2):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            pool = open_pool(folder, "group", NAMES, preprocess="none", group_values=[0, 1], client=client)
            pool.by_prediction(rules)  # workers import on their first task
            times = []
            for _ in range(repeats):
                before, start = client.run(_cpu), (time.perf_counter(), time.process_time())
                pool.by_prediction(rules)
                elapsed, here = time.perf_counter() - start[0], time.process_time() - start[1]
                busiest = max(after - before[worker] for worker, after in client.run(_cpu).items())
                times.append((elapsed, here + busiest))
        found[f"{workers} worker(s)"], found[f"{workers} worker(s) cpu"] = np.min(times, axis=0).tolist()
    for kind in ("", " cpu"):
        found[f"speed-up{kind}"] = found[f"1 worker(s){kind}"] / found[f"2 worker(s){kind}"]
    found["machine's speed-up"] = bare_speed_up(folder, repeats)
    return found


def in_own_process(part: str, folder: Path, n: int, repeats: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "--one", part, str(folder), str(n), str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 3e6, 1e7, 3e7])
    parser.add_argument("--parts", nargs="+", default=PARTS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the tables here")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    if args.one:
        part, folder, n, repeats = args.one
        function = {
            "parquet": from_parquet,
            "dask": on_dask,
            "polars": partial(in_engine, "polars"),
            "duckdb": partial(in_engine, "duckdb"),
        }[part]
        print(json.dumps(function(Path(folder), int(n), int(repeats))))
        return
    sizes = [int(n) for n in args.rows]
    print(machine(), flush=True)
    tables: dict[str, list[dict[str, float]]] = {}

    def book(title: str, part: str, rows: list[dict[str, float]]) -> None:
        tables[part] = rows
        show(f"{title} (seconds)", rows)
        if args.json:
            args.json.write_text(json.dumps({"machine": machine(), **tables}, indent=1))

    if "memory" in args.parts:
        book("in memory", "in memory", [in_memory(n, args.repeats) for n in sizes])
    if "sub_pool" in args.parts:
        n = min(sizes[-1], 1_000_000)
        book("the default classifier, from sub-pools", "sub_pool", [sub_pools(n)])
    if "skactiveml" in args.parts:
        book("query-by-committee of scikit-activeml", "skactiveml", [against_skactiveml(args.repeats)])
    if "torch" in args.parts:
        n = min(sizes[-1], 10_000_000)
        book("arrays and CPU tensors", "torch", [on_tensors(n, args.repeats)])
    if set(args.parts) & {"parquet", "polars", "duckdb", "dask"}:
        with tempfile.TemporaryDirectory() as scratch:
            folders = {n: write_parquet(Path(scratch) / str(n), n) for n in sizes}
            if "parquet" in args.parts:
                measured = [in_own_process("parquet", folders[n], n, args.repeats) for n in sizes]
                book("from Parquet", "parquet", measured)
            for engine in ("polars", "duckdb"):
                if engine in args.parts:
                    measured = [in_own_process(engine, folders[n], n, args.repeats) for n in sizes]
                    book(f"in {engine}", engine, measured)
            if "dask" in args.parts:
                n = sizes[-1]
                book("on Dask", "dask", [in_own_process("dask", folders[n], n, args.repeats)])


if __name__ == "__main__":
    main()
