"""Fifty people for ten minutes, with everything that goes wrong in a month.

``python -m benchmarks.studio_soak [--minutes 10] [--postgres]``: a study with 100,000 labels, 50 people and
owners' pages open. The trainer is killed every minute. The database is frozen for 20 s twice: PostgreSQL by
stopping its processes, SQLite by holding its lock for writing. Prints what was lost, doubled or handed out
twice, the statuses, the p95 of "next row" outside the freezes, and the time to recover after each freeze.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sqlite3
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from benchmarks._lag import lag
from benchmarks.studio_load import Annotator, Tally, machine, make_pool, quantiles, served

from fairask_studio import Study
from fairask_studio.events import RowLabelled, RowsDrawn

FREEZE = 20.0
OWNERS = ("/api/status", "/api/events", "/api/rows?limit=50", "/api/certificates", "/api/model")


@dataclass
class Seen:
    """What the annotators and owners saw."""

    tally: Tally = field(default_factory=Tally)
    acknowledged: dict[int, str] = field(default_factory=dict)
    holders: dict[int, set[str]] = field(default_factory=dict)
    next_rows: list[tuple[float, float]] = field(default_factory=list)  # when asked, seconds
    rows_came: list[float] = field(default_factory=list)  # when somebody was given a row
    owners: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)  # when 503 came
    bad: Counter[int] = field(
        default_factory=Counter
    )  # 5xx other than 503 with Retry-After, and lost connections


class Worker(Annotator):
    """An annotator who repeats what was not acknowledged."""

    def __init__(self, port: int, token: str, seen: Seen, name: str) -> None:
        super().__init__(port, token, seen.tally)
        self.seen, self.name = seen, name

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        while True:
            try:
                status, retry, found = await self.request(method, path, body)
            except (OSError, asyncio.IncompleteReadError):
                self.seen.bad[0] += 1
                await asyncio.sleep(0.5)
                await self.connect()
                continue
            if status >= 500 and not (status == 503 and retry):
                self.seen.bad[status] += 1
            if status == 503:
                self.seen.busy.append(time.monotonic())
                await asyncio.sleep(1.0)
                if method == "POST":
                    continue
            return status, found

    async def annotate(self, until: float, think: float) -> None:
        await self.connect()
        # People differ from row to row: between half and one and a half times the mean.
        pace = np.random.default_rng(zlib.crc32(self.name.encode()))
        await asyncio.sleep(think * float(pace.random()))
        while time.monotonic() < until:
            began = time.monotonic()
            status, found = await self.ask("POST", "/api/next", {"count": 1})
            self.seen.next_rows.append((began, time.monotonic() - began))
            if status == 200 and found["cards"]:
                self.seen.rows_came.append(time.monotonic())
            if status != 200 or not found["cards"]:
                self.tally.waited += 1
                await asyncio.sleep(found["retry"] if status == 200 else 1.0)  # as the page does
                continue
            card = found["cards"][0]
            row = int(card["row"])
            self.seen.holders.setdefault(row, set()).add(self.name)
            await asyncio.sleep(think * float(pace.uniform(0.5, 1.5)))
            label = "good" if float(card["fields"][0]["value"]) > float(card["fields"][1]["value"]) else "bad"
            status, _ = await self.ask("POST", "/api/answers", {"row": row, "label": label})
            if status == 201:
                self.seen.acknowledged[row] = label

    async def watch(self, until: float) -> None:
        await self.connect()
        while time.monotonic() < until:
            for path in OWNERS:
                began = time.monotonic()
                await self.ask("GET", path)
                self.seen.owners.append(time.monotonic() - began)
                await asyncio.sleep(0.4)


def prepare(target: str, labels: int, people: int) -> tuple[str, list[str]]:
    """Make a study with so many labels; return the tokens of an owner and the annotators."""
    rows = labels + 60_000
    pool = make_pool(rows)
    study = Study.create(
        target,
        pool,
        protected="sex",
        classes=("bad", "good"),
        budget=rows,
        sample=rows,
        random_state=0,
        most_per_minute=0,
    )
    names = list(pool)
    positive = [a > b for a, b in zip(pool[names[0]], pool[names[1]], strict=True)]  # as annotators answer
    order = np.random.default_rng(1).permutation(rows)[:labels].tolist()
    drawn = RowsDrawn(
        0, order, [1 / rows] * labels, ["uniform"] * labels, [rows - i for i in range(labels)], []
    )
    study.store.append("before", drawn, *(RowLabelled(row, int(positive[row])) for row in order))
    study.close()
    study = Study.open(target)  # which makes the queue of the events
    owner = study.people.add("owner", "owner")
    tokens = [study.people.add(f"p{i}") for i in range(people)]
    study.close()
    return owner, tokens


def freeze_sqlite(target: str) -> Callable[[], Callable[[], None]]:
    def freeze() -> Callable[[], None]:
        connection = sqlite3.connect(Path(target) / "study.db", timeout=60, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")

        def thaw() -> None:
            connection.rollback()
            connection.close()

        return thaw

    return freeze


def freeze_postgres(home: psutil.Process) -> Callable[[], Callable[[], None]]:
    def freeze() -> Callable[[], None]:
        stopped = [home, *home.children(recursive=True)]
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)

        def thaw() -> None:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)

        return thaw

    return freeze


async def trouble(
    until: float, seconds: float, freeze: Callable[[], Callable[[], None]]
) -> tuple[int, list[tuple[float, float]]]:
    """Kill the trainer every minute, and freeze the database at a third and at two thirds of the time."""
    kills, freezes, began = 0, [], time.monotonic()
    plan = sorted(
        [(began + 60 * k - 20, "kill") for k in range(1, int(seconds // 60) + 2)]
        + [(began + seconds * k / 3, "freeze") for k in (1, 2)]
    )
    for at, what in plan:
        if at > until - 5:
            break
        await asyncio.sleep(max(at - time.monotonic(), 0))
        if what == "kill":
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if process.name() == "fairask-trainer":
                        process.kill()
                        kills += 1
        else:
            thaw, start = await asyncio.to_thread(freeze), time.monotonic()
            await asyncio.sleep(FREEZE)
            await asyncio.to_thread(thaw)
            freezes.append((start, time.monotonic()))
    return kills, freezes


def report(seen: Seen, kills: int, freezes: list[tuple[float, float]], study: Study) -> bool:
    """Print the figures; return whether all are as they must be."""
    recoveries = []
    for _, end in freezes:
        after = [came for came in seen.rows_came if came > end]
        recoveries.append(min(after) - end if after else float("inf"))
    # A request that began before or in a freeze, or within the 5 s allowed for recovery, is not counted.
    outside = [took for at, took in seen.next_rows if not any(s - took - 1 < at < e + 5 for s, e in freezes)]
    with study.lock:
        answers = {row: given for row, given in study.state().answers.items() if "before" not in given}
    lost = sum(
        row not in answers or all(study.config.class_name(a.code) != label for a in answers[row].values())
        for row, label in seen.acknowledged.items()
    )
    doubled = sum(len(given) > 1 for given in answers.values())
    twice = sum(len(holders) > 1 for holders in seen.holders.values())
    p95 = float(np.quantile(outside, 0.95))
    print(f"next row     {quantiles(outside)}   ({len(outside)} requests outside the freezes)")
    print(f"owners       {quantiles(seen.owners)}   ({len(seen.owners)} requests)")
    print(
        f"labels       {len(seen.acknowledged)} acknowledged, {lost} lost, {doubled} doubled, "
        f"{twice} rows handed out twice"
    )
    print(
        f"statuses     {dict(sorted(seen.tally.statuses.items()))}; "
        f"5xx other than 503 with Retry-After, or no answer: {dict(seen.bad)}"
    )
    print(
        f"trouble      trainer killed {kills} times; database frozen {len(freezes)} times for {FREEZE:.0f} s"
    )
    calm = sum(not any(s <= at <= e + 5 for s, e in freezes) for at in seen.busy)
    print(f"busy         503 outside the freezes: {calm}; no row to give: {seen.tally.waited} times")
    print(f"recovery     {', '.join(f'{r:.1f} s' for r in recoveries)} after a freeze until a row came")
    print(machine())
    good = not (lost or doubled or twice or seen.bad) and p95 < 0.1 and all(r <= 5 for r in recoveries)
    print("all held" if good else "NOT all held")
    return good


@contextlib.contextmanager
def place(postgres: bool) -> Iterator[tuple[str, Callable[[], Callable[[], None]]]]:
    if not postgres:
        with tempfile.TemporaryDirectory() as folder:
            yield f"{folder}/study", freeze_sqlite(f"{folder}/study")
        return
    from studio.tests.study.postgres import started

    with started() as server:
        port = server.url.rpartition(":")[2]
        (home,) = (p for p in psutil.process_iter() if p.name() == "postgres" and port in p.cmdline())
        yield f"{server.url}/postgres", freeze_postgres(home)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds from row to answer")
    parser.add_argument("--labels", type=int, default=100_000, help="labels that are there before")
    parser.add_argument("--owners", type=int, default=3, help="owners' pages open")
    parser.add_argument("--postgres", action="store_true", help="a server of its own, gone afterwards")
    given = parser.parse_args()
    seconds, seen = 60 * given.minutes, Seen()
    with place(given.postgres) as (target, freeze):
        owner, tokens = prepare(target, given.labels, given.people)

        async def everybody(port: int) -> tuple[int, list[tuple[float, float]]]:
            until = time.monotonic() + seconds
            people = [
                Worker(port, t, seen, f"p{i}").annotate(until, given.think) for i, t in enumerate(tokens)
            ]
            pages = [Worker(port, owner, seen, f"owner{i}").watch(until) for i in range(given.owners)]
            found, *_ = await asyncio.gather(trouble(until, seconds, freeze), *people, *pages)
            return found

        with served(target, 1) as port, lag() as late:
            kills, freezes = asyncio.run(everybody(port))
        with Study.open(target) as study:
            good = report(seen, kills, freezes, study)
    print("\n".join(f"machine      {words}" for words in late))
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
