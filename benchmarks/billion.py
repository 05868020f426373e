"""A billion rows on a hundred workers, on paper: from measured costs to time, bytes and what breaks first.

    python -m benchmarks.scale --json scale.json
    python -m benchmarks.billion scale.json

What grows with the rows is taken from the power law of the measured counting passes, after a check that the
law found without the largest pool predicts the largest. What grows with the blocks (Dask's cost a task, bytes
of a histogram, merging them) is measured here at the number of blocks that a billion rows have.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from fairask.pools.cells import BlockCounts, CellIndex
from fairask.pools.sources.dask import OnDask
from benchmarks.scale_parts import BATCH, FEATURES, K, machine

ROWS, WORKERS, GROUPS = 10**9, 100, 2
BYTES_A_ROW = 4 * FEATURES + 1


def law(table: list[dict[str, float]], column: str) -> tuple[float, float]:
    """``seconds = a * rows ** e``, by least squares on logarithms."""
    e, log_a = np.polyfit(np.log([r["rows"] for r in table]), np.log([r[column] for r in table]), 1)
    return float(np.exp(log_a)), float(e)


def block_counts(rng: np.random.Generator, rows: int) -> BlockCounts:
    """A block in which every cell occurs: the most a block can send."""
    width = 1 << (K - 1)
    counts = rng.multinomial(rows, np.full(GROUPS * width, 1 / (GROUPS * width)))
    used = np.flatnonzero(counts)
    return BlockCounts(used // width, (used % width).astype(np.uint64), counts[used])


def nothing(shared: Any, call: int) -> int:
    return call


def seconds_a_task(tasks: int = 2000) -> float:
    """What a task that does nothing takes of the client and scheduler, in processor time."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        runner = OnDask(client)
        list(runner.run(nothing, None, {0: (0,)}))
        start = time.process_time()
        list(runner.run(nothing, None, {i: (i,) for i in range(tasks)}))
        return (time.process_time() - start) / tasks


def merging(blocks: int, rows: int) -> tuple[float, int]:
    """Processor seconds to merge the histograms of all blocks, and the bytes of one on the wire."""
    rng = np.random.default_rng(0)
    parts = [block_counts(rng, rows) for _ in range(blocks)]
    start = time.process_time()
    CellIndex(parts)
    return time.process_time() - start, len(pickle.dumps(parts[0], protocol=5))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measured", type=Path, help="what benchmarks/scale.py --json wrote")
    parser.add_argument("--bandwidth", type=float, default=100e6, help="bytes a second that a worker reads")
    args = parser.parse_args()
    measured = json.loads(args.measured.read_text())
    table = measured["parquet"]
    print(machine())
    a, e = law(table[:-1], "count cpu")
    largest = table[-1]
    predicted, rows = a * largest["rows"] ** e, largest["rows"]
    print(f"counting from Parquet, all pools but the largest: {a:.3g} * rows^{e:.3f} s of processor time")
    print(f"at {rows:,} rows that predicts {predicted:.2f} s, measured {largest['count cpu']:.2f} s")
    a, e = law(table, "count cpu")
    each = ROWS // WORKERS
    work, read = a * each**e, each * BYTES_A_ROW / args.bandwidth
    design, fit = (measured["in memory"][-1][name] for name in ("design cpu", "fit cpu"))
    task = seconds_a_task()
    speed = f"{args.bandwidth / 1e6:.0f} MB/s"
    print(f"a worker: {each:,} rows, {work:.1f} s of work, {read:.1f} s of reading at {speed}")
    print(f"a task costs client and scheduler {1e3 * task:.2f} ms; fit {fit:.3f} s, design {design:.3f} s\n")
    names = ("rows a block", "blocks", "tasks s", "merge s", "draw s", "round s", "MB moved")
    print("".join(f"{name:>14}" for name in names))
    for rows in (1 << 18, 1 << 20, 1 << 22):
        blocks = -(-ROWS // rows)
        merge, size = merging(blocks, rows)
        # Blocks are handed out one at a time, so the last ones may wait for a block to end.
        one = max(work / each, read / each) * rows
        draw = one * -(-BATCH // WORKERS)
        total = max(work, read, blocks * task) + one + merge + design + fit + draw
        moved = (blocks * size + BATCH * BYTES_A_ROW) / 1e6
        seconds = "".join(f"{value:>14.2f}" for value in (blocks * task, merge, draw, total))
        print(f"{rows:>14,}{blocks:>14,}{seconds}{moved:>14.1f}")
    print(
        f"\nread where it lies: {ROWS * BYTES_A_ROW / 1e9:.0f} GB; rows moved: {BATCH} of {BYTES_A_ROW} bytes"
    )
    print(f"tasks cost more than the workers' own time beyond {max(work, read) / task:,.0f} blocks")


if __name__ == "__main__":
    main()
