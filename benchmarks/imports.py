"""Time of `from fairask import FairActiveLearner` beyond `import sklearn`, each in fresh processes.

python -m benchmarks.imports
"""

from benchmarks._machine import machine_line

import subprocess
import sys
import time


def seconds(statement, repeats=7):
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    base, full = seconds("import sklearn"), seconds("from fairask import FairActiveLearner")
    print("| statement | best of 7 |\n|---|---|")
    print(f"| import sklearn | {base:.2f} s |\n| from fairask import FairActiveLearner | {full:.2f} s |")
    print(f"\n{full - base:.2f} s more. {machine_line()}")


if __name__ == "__main__":
    main()
