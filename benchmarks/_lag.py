"""The machine's own delay: how late a process that only sleeps is woken, and how long 5 ms of work take.

Times of a server cannot be better than this. Beside them it says how much of a figure is the machine's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PROGRAM = """
import select, sys, time
late, slow = [], []
while not select.select([sys.stdin], [], [], 0)[0]:
    began = time.perf_counter()
    time.sleep(0.02)
    woken, used = time.perf_counter(), time.process_time()
    late.append(woken - began - 0.02)
    while time.process_time() - used < 0.005:
        pass
    slow.append(time.perf_counter() - woken - 0.005)
for found in (late, slow):
    found.sort()
    print(*(1000 * found[int(q * (len(found) - 1))] for q in (0.5, 0.95, 0.99, 1.0)))
"""


@contextmanager
def lag() -> Iterator[list[str]]:
    """Yield a list that has the delay in words when the block ends."""
    said: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as sleeper:
        try:
            yield said
        finally:
            found, _ = sleeper.communicate("\n")
            for what, line in zip(("woken late", "5 ms of work late"), found.splitlines(), strict=False):
                p50, p95, p99, worst = (float(value) for value in line.split())
                said.append(
                    f"{what:18} p50 {p50:6.1f}   p95 {p95:6.1f}   p99 {p99:6.1f}   worst {worst:6.1f} ms"
                )
