"""Two workers against one, and the memory of a worker.

    FAIRASK_DATA=... python -m benchmarks.runner [--trials 40] [--datasets drug,adult]

The runs alternate, and the best of each counts: what else the machine does can only slow a run down.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from joblib import Parallel, delayed

from fairask.experiment.runner import run

from paper import Job, plan


def seconds(planned: list[Job], jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run(planned, Path(folder), workers=jobs)
        return time.perf_counter() - start


def peak(planned: list[Job]) -> float:
    """Peak memory in GB of a fresh process that computes these trials."""
    for job in planned:
        job.run()
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--datasets", default="drug,adult")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    names = arguments.datasets.split(",")
    planned = plan("paper", names, ["fare"], arguments.trials)
    one, two = [], []
    for _ in range(arguments.repeats):
        one.append(seconds(planned, 1))
        two.append(seconds(planned, 2))
    largest = plan("paper", ["adult", "bank", "crime"], ["fare", "passive"], 1)
    (memory,) = Parallel(n_jobs=2)([delayed(peak)(largest)])
    print(f"| {len(planned)} trials of FARE on {', '.join(names)} | wanted | measured |")
    print("|---|---|---|")
    print(f"| one worker, s | | {min(one):.1f} |")
    print(f"| two workers, s | | {min(two):.1f} |")
    print(f"| two workers are faster by | 1.7 | {min(one) / min(two):.2f} |")
    print(f"| peak memory of a worker (adult, bank, crime), GB | 2 | {memory:.2f} |")
    load = os.getloadavg()[0]
    print(
        f"\n{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}"
    )


if __name__ == "__main__":
    main()
