"""The studio under load: many annotators on loopback, each answering a while after being given a row.

    python -m benchmarks.studio_load                             # SQLite, one process, 50 people, 60 s
    python -m benchmarks.studio_load --postgres --processes 2    # a PostgreSQL server of its own
    python -m benchmarks.studio_load --highest                   # the highest rate it holds, SQLite
    python -m benchmarks.studio_load --highest --postgres --processes 2

Prints one table: times of "next row" and of an answer, rows handed out twice, 5xx, models fitted meanwhile.
With --highest the number of people is doubled until "next row" takes more than 50 ms at the 95th percentile,
a row is handed out twice or an answer is not 200 or 201; then the largest number that held is searched
by halving. Its labels a second are the highest rate held.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from fairask_studio import Study


#: Seconds that the 95th percentile of "next row" may take.
LIMIT = 0.05


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
        status, _, found = await self.request("POST", path, body)
        return status, found

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, bool, Any]:
        """Return status, whether Retry-After was sent, and the document."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status = int(answer.split(" ", 2)[1])
        length = int(answer.lower().split("content-length:")[1].split("\r\n")[0])
        self.tally.statuses[status] += 1
        retry = "retry-after:" in answer.lower()
        return status, retry, json.loads(await self.reader.readexactly(length))

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
        "import sys; from fairask_studio.pages.server import serve; "
        "serve(sys.argv[1], port=int(sys.argv[2]), processes=int(sys.argv[3]))"
    )
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen([sys.executable, "-c", code, target, str(port), str(processes)], env=env)
    try:
        while server.poll() is None:  # until it listens; on a busy machine that takes minutes
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.1)
        while server.poll() is None and not _has_trainer(server.pid):
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def _has_trainer(server: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return "fairask-trainer" in {p.name() for p in psutil.Process(server).children(recursive=True)}
    return False


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
    patience: float = 0.0,
    profile: str = "calibrated",
    serve: Callable[[str, int], contextlib.AbstractContextManager[int]] = served,
) -> tuple[Tally, Study]:
    """Make a study at ``target``, label it under load, and return what was seen and the study after.

    The server is stopped after the load, ``patience`` seconds later at most if there is no model yet.
    ``serve`` begins one at a target with so many processes, and yields its port.
    """
    pool, classes = make_pool(rows), ("bad", "good")
    study = Study.create(
        target, pool, protected="sex", classes=classes, budget=rows, random_state=0, profile=profile
    )
    study.people.add("owner", "owner")
    tokens = [study.people.add(f"p{i}") for i in range(people)]
    study.close()
    tally = Tally()

    async def everybody(port: int) -> None:
        until = time.monotonic() + seconds
        workers = [Annotator(port, token, tally).work(until, think) for token in tokens]
        await asyncio.gather(*workers)

    with serve(target, processes) as port:
        asyncio.run(everybody(port))
        until = time.monotonic() + patience
        while time.monotonic() < until and not _has_model(target):
            time.sleep(0.1)
    return tally, Study.open(target)


def _has_model(target: str) -> bool:
    with Study.open(target) as study:
        return bool(study.status()["history"])


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
    print(machine())


def machine() -> str:
    name = platform.processor() or platform.machine()
    load = os.getloadavg()[0]
    return f"{name}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}"


@dataclass(frozen=True)
class Trial:
    """One number of people, and what became of it."""

    people: int
    rate: float
    p95: float
    faults: int
    twice: int

    @property
    def held(self) -> bool:
        return self.p95 <= LIMIT and not self.faults and not self.twice

    def __str__(self) -> str:
        word = "held" if self.held else "not held"
        return (
            f"{self.people:6d} people   {self.rate:7.1f} labels/s   next row p95 {1000 * self.p95:7.1f} ms   "
            f"faults {self.faults}   twice {self.twice}   {word}"
        )


def highest(attempt: Callable[[int], Trial], first: int, steps: int) -> Trial | None:
    """The trial with the most people that held: doubling, then ``steps`` halvings; None when none did."""
    best: Trial | None = None
    low, high = 0, first
    while True:
        trial = attempt(high)
        print(trial, flush=True)
        if not trial.held:
            break
        best, low, high = trial, high, 2 * high
    for _ in range(steps):
        middle = (low + high) // 2
        if middle in (low, high):
            break
        trial = attempt(middle)
        print(trial, flush=True)
        if trial.held:
            low = middle
            if best is None or trial.rate > best.rate:
                best = trial
        else:
            high = middle
    return best


def try_people(target: str, people: int, seconds: float, think: float, processes: int, rows: int) -> Trial:
    """Run so many people against a fresh study at ``target``."""
    tally, study = run(target, people=people, seconds=seconds, think=think, processes=processes, rows=rows)
    with study:
        labels = study.status()["labels"]
    return Trial(
        people,
        labels / seconds,
        float(np.quantile(tally.next_seconds, 0.95)),
        sum(n for code, n in tally.statuses.items() if code not in (200, 201)),
        sum(n > 1 for n in tally.given.values()),
    )


def search(given: argparse.Namespace) -> None:
    """Find and print the highest rate held."""
    number = itertools.count()
    with contextlib.ExitStack() as stack:
        if given.postgres:
            import psycopg
            from studio.tests.study.postgres import running

            url = stack.enter_context(running())

            def fresh() -> str:
                name = f"load_{next(number)}"
                with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}")
                return f"{url}/{name}"
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())

            def fresh() -> str:
                return f"{folder}/study{next(number)}"

        def attempt(people: int) -> Trial:
            return try_people(fresh(), people, given.seconds, given.think, given.processes, given.rows)

        best = highest(attempt, given.people, given.steps)
    where = "PostgreSQL" if given.postgres else "SQLite"
    words = "none held" if best is None else f"{best.rate:.0f} labels a second with {best.people} people"
    print(
        f"highest      {where}, {given.processes} process(es), p95 of next row in 50 ms, no faults: {words}"
    )
    print(machine())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, help="default 60; 20 for each trial of --highest")
    parser.add_argument("--think", type=float, default=0.5)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--postgres", action="store_true", help="a server of its own, gone afterwards")
    parser.add_argument("--highest", action="store_true", help="find the highest rate held")
    parser.add_argument("--steps", type=int, default=3, help="halvings of the search, with --highest")
    given = parser.parse_args()
    given.seconds = given.seconds or (20.0 if given.highest else 60.0)
    if given.highest:
        search(given)
        return
    with contextlib.ExitStack() as stack:
        if given.postgres:
            from studio.tests.study.postgres import running

            target = stack.enter_context(running()) + "/postgres"
        else:
            target = stack.enter_context(tempfile.TemporaryDirectory()) + "/study"
        options = {name: getattr(given, name) for name in ("people", "seconds", "think", "processes", "rows")}
        tally, study = run(target, **options)
        with study:
            report(tally, study, given.seconds)


if __name__ == "__main__":
    main()
