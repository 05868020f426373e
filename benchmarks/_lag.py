"""The machine's own scheduling delay: how late a process that only sleeps is woken.

Times of a server cannot be better than this. Beside them it says how much of a figure is the machine's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PROGRAM = """
import select, sys, time
late = []
while not select.select([sys.stdin], [], [], 0)[0]:
    began = time.perf_counter()
    time.sleep(0.005)
    late.append(time.perf_counter() - began - 0.005)
late.sort()
print(*(1000 * late[int(q * (len(late) - 1))] for q in (0.5, 0.95, 0.99, 1.0)))
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
            p50, p95, p99, worst = (float(value) for value in found.split())
            said.append(f"p50 {p50:6.1f}   p95 {p95:6.1f}   p99 {p99:6.1f}   worst {worst:6.1f} ms")
