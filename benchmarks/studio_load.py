"""The studio under load: many annotators on loopback, each answering a while after being given a row.

    python benchmarks/studio_load.py                             # SQLite, one process, 50 people, 60 s
    python benchmarks/studio_load.py --postgres --processes 2    # a PostgreSQL server of its own
    python benchmarks/studio_load.py --think 0 --seconds 20      # the highest rate it holds

Prints one table: times of "next row" and of an answer, rows handed out twice, 5xx, models fitted meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from fairask.study import Study


@dataclass
class Tally:
    next_seconds: list[float] = field(default_factory=list)
    answer_seconds: list[float] = field(default_factory=list)
    waited: int = 0
    given: Counter[int] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)


class Annotator:
    """A keep-alive HTTP/1.1 connection with just what the load needs: the client must cost little."""

    def __init__(self, port: int, token: str, tally: Tally) -> None:
        self.port, self.token, self.tally = port, token, tally

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status = int(answer.split(" ", 2)[1])
        length = int(answer.lower().split("content-length:")[1].split("\r\n")[0])
        self.tally.statuses[status] += 1
        return status, json.loads(await self.reader.readexactly(length))

    async def work(self, until: float, think: float) -> None:
        await self.connect()
        while time.monotonic() < until:
            began = time.perf_counter()
            status, found = await self.post("/api/next", {"count": 1})
            self.tally.next_seconds.append(time.perf_counter() - began)
            if status != 200 or not found["cards"]:
                self.tally.waited += 1
                await asyncio.sleep(0.1)
                continue
            card = found["cards"][0]
            self.tally.given[card["row"]] += 1
            await asyncio.sleep(think)
            label = "good" if float(card["fields"][0]["value"]) > float(card["fields"][1]["value"]) else "bad"
            began = time.perf_counter()
            await self.post("/api/answers", {"row": card["row"], "label": label})
            self.tally.answer_seconds.append(time.perf_counter() - began)
        self.writer.close()


def make_pool(rows: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=rows)
    numbers = rng.normal(size=(rows, 6)).round(3)
    pool: dict[str, list[Any]] = {f"x{i}": numbers[:, i].tolist() for i in range(6)}
    pool["kind"] = [f"k{v}" for v in rng.integers(5, size=rows)]
    pool["sex"] = [["f", "m"][g] for g in group]
    return pool


@contextlib.contextmanager
def served(target: str, processes: int) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    code = (
        "import sys; from fairask.studio import serve; "
        "serve(sys.argv[1], port=int(sys.argv[2]), processes=int(sys.argv[3]))"
    )
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen([sys.executable, "-c", code, target, str(port), str(processes)], env=env)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.1)
        time.sleep(5.0)  # the trainer's process has started
        yield port
    finally:
        server.terminate()
        server.wait()


def quantiles(seconds: list[float]) -> str:
    p50, p95, p99 = np.quantile(seconds, [0.5, 0.95, 0.99]) * 1000
    return f"p50 {p50:6.1f}   p95 {p95:6.1f}   p99 {p99:6.1f}   worst {max(seconds) * 1000:6.1f} ms"


def run(
    target: str,
    *,
    people: int = 50,
    seconds: float = 60.0,
    think: float = 0.5,
    processes: int = 1,
    rows: int = 20_000,
) -> tuple[Tally, Study]:
    """Make a study at ``target``, label it under load, and return what was seen and the study after."""
    study = Study.create(
        target, make_pool(rows), protected="sex", classes=("bad", "good"), budget=rows, random_state=0
    )
    study.people.add("owner", "owner")
    tokens = [study.people.add(f"p{i}") for i in range(people)]
    study.close()
    tally = Tally()

    async def everybody(port: int) -> None:
        until = time.monotonic() + seconds
        workers = [Annotator(port, token, tally).work(until, think) for token in tokens]
        await asyncio.gather(*workers)

    with served(target, processes) as port:
        asyncio.run(everybody(port))
    return tally, Study.open(target)


def report(tally: Tally, study: Study, seconds: float) -> None:
    status = study.status()
    twice = sum(n > 1 for n in tally.given.values())
    errors = sum(n for code, n in tally.statuses.items() if code >= 500)
    rate = status["labels"] / seconds
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"next row     {quantiles(tally.next_seconds)}   ({len(tally.next_seconds)} requests)")
    print(f"answer       {quantiles(tally.answer_seconds)}   ({len(tally.answer_seconds)} requests)")
    print(f"labels       {status['labels']} ({rate:.0f} a second), {tally.waited} empty answers")
    print(f"given twice  {twice}        5xx {errors}        statuses {dict(sorted(tally.statuses.items()))}")
    print(f"meanwhile    {len(status['history'])} models fitted, {status['batches']} batches drawn")
    print(f"processor    {used.ru_utime + used.ru_stime:.1f} s used by the server, trainer included")
    machine = platform.processor() or platform.machine()
    load = os.getloadavg()[0]
    print(f"{machine}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, default=0.5)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--postgres", action="store_true", help="a server of its own, gone afterwards")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if given.postgres:
            from tests.study.postgres import running

            target = stack.enter_context(running()) + "/postgres"
        else:
            target = stack.enter_context(tempfile.TemporaryDirectory()) + "/study"
        options = {name: getattr(given, name) for name in ("people", "seconds", "think", "processes", "rows")}
        tally, study = run(target, **options)
        with study:
            report(tally, study, given.seconds)


if __name__ == "__main__":
    main()
