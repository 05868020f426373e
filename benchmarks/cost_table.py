"""Which engine when, and what a counting pass over a billion rows costs on each: one table of results.

    python -m benchmarks.cost_table                     # results/scale and results/gpu
    python -m benchmarks.cost_table FOLDER              # two_cores.json, sixteen_cores.json, gpu.json in it

The files are what ``benchmarks/scale.py --json`` wrote on two and on sixteen cores, and ``benchmarks/gpu.py
--out``. Peaks of memory that were measured again later are in ``memory.json``. A pass counts 20 float32
features by k = 10 rules; the seconds of the largest size are scaled to a billion rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results"
#: Part of the file, its column, what it is, and when to take it.
ENGINES = (
    ("torch", "numpy count", "array in memory", "the features fit in memory"),
    ("torch", "torch count", "tensor in memory", "the same, and PyTorch is installed"),
    ("parquet", "count", "Parquet, read by fairask", "files on disk or in a bucket; least memory"),
    ("polars", "count", "Polars over the same files", "the pool is a query, or there are many cores"),
    ("duckdb", "count", "DuckDB over the same files", "the rows are in a database already"),
)


def per_billion(table: list[dict[str, float]], column: str) -> str:
    last = table[-1]
    return f"{last[column] / last['rows'] * 1e9:,.3g}"


def lines(
    two: dict[str, Any], sixteen: dict[str, Any], gpu: dict[str, Any], memory: dict[str, Any]
) -> list[str]:
    found = [
        "| the rows are | take it when | 2 cores, s | 16 cores, s | peak GB on 2 cores |",
        "|---|---|---|---|---|",
    ]
    for part, column, what, when in ENGINES:
        peak = memory.get(part, two[part])[-1].get("peak GB")
        cells = [what, when, per_billion(two[part], column), per_billion(sixteen[part], column)]
        found.append(f"| {' | '.join(cells)} | {'the rows' if peak is None else f'{peak:.1f}'} |")
    for part, what in (("float32", "tensor on a GPU"), ("bfloat16", "the same, 384 bfloat16 features")):
        cost = per_billion(gpu[part], "count")
        found.append(
            f"| {what} | the features fit on it | {cost} (GPU) | {cost} (GPU) | the rows, on the GPU |"
        )
    found += ["", f"Processor: {sixteen['machine']}. GPU: {gpu['machine'].split(';')[0]}."]
    return found


def main() -> None:
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    places = (given, given) if given else (RESULTS / "scale", RESULTS / "gpu")
    files = [places[0] / "two_cores.json", places[0] / "sixteen_cores.json", places[1] / "gpu.json"]
    again = places[0] / "memory.json"
    memory = json.loads(again.read_text()) if again.exists() else {}
    print("\n".join(lines(*(json.loads(file.read_text()) for file in files), memory)))


if __name__ == "__main__":
    main()
