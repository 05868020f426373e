"""What a table of any size costs: one pass when it is opened, and the same for every round after it.

    python -m benchmarks.scale --rows 100000 1000000 10000000 100000000
    python -m benchmarks.scale --audit --rows 100000 1000000 10000000 100000000

Each line is a process of its own. The pass reads the columns, counts the groups and draws the sample; it is
compared with a bare scan of the same columns. A round asks for 25 rows and fits the default model. Peak
memory is that of the whole process; DuckDB is given 512 MB. Seconds are processor time of all threads. With
``--audit``, an audit of 1,000 labels is begun instead: it reads predictions and groups, and no more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks._machine import machine_line  # before numpy: it fixes the threads

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairask import FairActiveLearner
from fairask.audit import AuditPlan
from fairask.audit.predictions import open_audit_table
from fairask.pools import open_pool, open_source
from fairask.pools.sample import SAMPLE
from fairask.pools.engine import Engine

FEATURES = ["a", "b", "c", "d"]
COLUMNS = [*FEATURES, "sex"]
#: The column that is audited as a model's predictions.
AUDITED = "label"
ROUNDS, BATCH = 6, 25
_PART = 1_000_000


def write(file: Path, rows: int) -> None:
    """Write people as Parquet: four numbers, a label that follows from them, a group and a key."""
    writer = None
    for start in range(0, rows, _PART):
        n = min(_PART, rows - start)
        rng = np.random.default_rng([0, start])
        X = rng.standard_normal((n, 4), dtype=np.float32)
        sex = rng.choice(2, n, p=[0.3, 0.7])
        label = X[:, 0] + 0.5 * X[:, 1] * (1 + sex) + 0.5 * rng.standard_normal(n) > 0.4
        part = pa.table(
            {
                **{name: X[:, i] for i, name in enumerate(FEATURES)},
                "sex": pa.array(np.array(["f", "m"])[sex]),
                "label": label.astype(np.int8),
                "id": np.arange(start, start + n),
            }
        )
        writer = writer or pq.ParquetWriter(file, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def seconds(work: Any) -> tuple[float, Any]:
    """Processor time of a call, in all threads, and what it returns: other jobs do not change it."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def measure_audit(kind: str, file: str) -> dict[str, float]:
    """Begin an audit of one table and ask for its first rows; run in a process of its own."""
    place = file if kind == "parquet" else f"duckdb:///{file}#people"
    source, columns = open_source(place), [AUDITED, "sex"]
    if isinstance(source, Engine):
        source.table.get_backend().raw_sql("SET memory_limit = '512MB'")
        bare = source.table.group_by("sex").aggregate(source.table[AUDITED].sum())
        scan = seconds(bare.to_pyarrow)[0]
    else:
        scan = seconds(lambda: sum(batch.num_rows for batch in source.batches(columns)))[0]
    opened, table = seconds(lambda: open_audit_table(place, predictions=AUDITED, protected="sex"))
    begun, audit = seconds(lambda: table.audit(AuditPlan()))
    taken, _ = seconds(lambda: table.source.take(audit.ask().indices))
    return {"scan": scan, "pass": opened + begun, "take": taken, "peak": _peak()}


def measure(kind: str, file: str, sample: int) -> dict[str, float]:
    """Open one table, ask and tell; run in a process of its own."""
    if kind == "parquet":
        source = open_source(file)
        scan = seconds(lambda: sum(batch.num_rows for batch in source.batches(COLUMNS)))[0]
    else:
        import ibis

        database = ibis.duckdb.connect(file, read_only=True, memory_limit="512MB", threads=2)
        people = database.table("people")
        source = Engine(people)
        numbers = {name: people[name].sum() for name in FEATURES}
        bare = people.group_by("sex").aggregate(**numbers, rows=people.count())
        scan = seconds(bare.to_pyarrow)[0]
    opened, pool = seconds(lambda: open_pool(source, "sex", columns=FEATURES, sample=sample))
    learner = FairActiveLearner(pool, batch_size=BATCH, random_state=0)
    rounds = []
    for _ in range(ROUNDS):
        asked, query = seconds(learner.ask)
        labels = source.take(pool.keys[query.indices], ["label"]).column("label").to_numpy()
        rounds.append(asked + seconds(lambda q=query, y=labels: learner.tell(q.indices, y))[0])
    return {
        "scan": scan,
        "pass": opened,
        "round": float(np.median(rounds[1:])),
        "peak": _peak(),
    }


def _peak() -> float:
    """Most memory that this process has held, in MB; getrusage would count its parent's too."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    """Print one line per size, and what must hold of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--folder", type=Path, help="keeps the tables for the next time")
    parser.add_argument("--audit", action="store_true", help="begin audits, instead of asking for rows")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.measure:
        found = measure_audit(*args.measure) if args.audit else measure(*args.measure, args.sample)
        print(json.dumps(found))
        return
    print(machine_line())
    last = "200 rows, s" if args.audit else "a round, s"
    if not args.audit:
        print(f"sample of {args.sample:,} rows, batches of {BATCH}, the default model\n")
    print(f"| table | rows | bare scan, s | the pass, s | of a scan | {last} | peak memory, MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        for kind in ("parquet", "duckdb"):
            found = []
            for rows in args.rows:
                file = folder / f"people-{rows}.parquet"
                if not file.exists():
                    write(file, rows)
                if kind == "duckdb":
                    file = _database(file)
                command = [sys.executable, "-m", "benchmarks.scale", "--sample", str(args.sample)]
                command += ["--audit"] * args.audit
                done = subprocess.run(
                    [*command, "--measure", kind, str(file)], check=True, capture_output=True, text=True
                )
                one = json.loads(done.stdout)
                found.append(one["take" if args.audit else "round"])
                print(
                    f"| {kind} | {rows:,} | {one['scan']:.2f} | {one['pass']:.2f} | "
                    f"{one['pass'] / one['scan']:.1f} | {found[-1]:.2f} | {one['peak']:,.0f} |",
                    flush=True,
                )
                if kind == "duckdb" and args.folder is None:
                    file.unlink()
            if not args.audit:
                print(f"| {kind} | last round / first | | | | {found[-1] / found[0]:.2f} | |", flush=True)


def _database(file: Path) -> Path:
    """Copy a Parquet file into a database of DuckDB."""
    import duckdb

    place = file.with_suffix(".db")
    if not place.exists():
        with duckdb.connect(str(place), config={"memory_limit": "2GB"}) as database:
            database.execute(f"CREATE TABLE people AS SELECT * FROM read_parquet('{file}')")
    return place


if __name__ == "__main__":
    main()
