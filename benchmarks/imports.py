"""What it costs to begin: processor seconds of imports and of the largest table of the package.

    python -m benchmarks.imports

Each statement runs in a process of its own, the best of 7. An empty program is subtracted. ``from fairask
import FairActiveLearner`` cannot take less than ``import sklearn.base``, on which it stands.
"""

from benchmarks._machine import machine_line

import resource
import subprocess
import sys

STATEMENTS = (
    "import fairask",
    "import numpy",
    "from fairask.datasets import load",
    "from fairask.datasets import load; load('adult')",
    "import sklearn.base",
    "from fairask import FairActiveLearner",
)


def seconds(statement, repeats=7):
    best = float("inf")
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def main():
    empty = seconds("pass")
    print("| statement | processor seconds |\n|---|---|")
    for statement in STATEMENTS:
        print(f"| `{statement}` | {seconds(statement) - empty:.2f} |", flush=True)
    print(f"\n{machine_line()}")


if __name__ == "__main__":
    main()
