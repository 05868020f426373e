"""A studio under hostile connections: what people who label notice of them, and what the server uses.

``python -m benchmarks.studio_hostile [--seconds 15] [--connections 500]``: twenty people label, one answer
every half second, while somebody else opens that many connections and reads slowly, sends slowly, sends half
a request, a thousand requests at once, bodies of 1 GB, packed files that unpack to far more, wrong tokens, or
more connections than are allowed. The attacker works on the same cores, which makes the figures worse.
The server runs with the 1,024 files that a process may open by default. Prints for each attack the times of
"next row", what people were answered otherwise than 200 and 201, the most memory of the server and the
processes that it started (PSS: shared pages are counted once), and what the attacker's connections got;
"open" are those that the server had not closed in the end. Ends with 1 if an acknowledged label was lost,
nobody got a row for four seconds, or the server uses 1 GB more than without an attack.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import multiprocessing
import resource
import socket
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil
from benchmarks.studio_load import machine, served
from benchmarks.studio_soak import Seen, Worker, prepare
from studio.tests.test_fuzz import BOMBS

from fairask_studio import Study
from fairask_studio.pages.guard import MOST_AHEAD

#: Seconds without a row after which people count as stopped; bytes more than before.
STOPPED, GROWN = 4.0, 1 << 30
FILES = 1024
#: State of a connection that neither side has closed, as Linux counts them.
ESTABLISHED = 1


@dataclass
class Attack:
    """Where the server is, whom the attacker can pose as, and what came back."""

    port: int
    annotator: str
    owner: str
    connections: int
    until: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection that reads nothing by itself; what ends it is counted."""
        writer = None
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 12)
            yield reader, writer
        except OSError as error:
            self.answers[type(error).__name__] += 1
        finally:
            if writer is not None:
                writer.close()

    async def answer(self, reader: asyncio.StreamReader) -> None:
        """Count the status of an answer, or that the connection was closed."""
        with contextlib.suppress(TimeoutError):
            line = await asyncio.wait_for(reader.readline(), max(self.until - time.monotonic(), 0.1))
            self.answers[line.decode("latin-1").split(" ")[1] if line else "closed"] += 1
            return
        self.answers["open"] += 1

    async def rest(self) -> None:
        await asyncio.sleep(max(self.until - time.monotonic(), 0.0))

    async def unread(self, writer: asyncio.StreamWriter, requests: bytes) -> None:
        """Send requests, read nothing, and count whether the server closed the connection in the end."""
        transport: Any = writer.transport
        transport.pause_reading()
        writer.write(requests)
        await self.rest()
        is_open = not writer.is_closing() and (
            writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            == ESTABLISHED
        )
        self.answers["open" if is_open else "closed"] += 1

    def head(self, method: str, path: str, length: str, token: str = "") -> bytes:
        words = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", length]
        return "\r\n".join([*words, *([f"Authorization: Bearer {token}"] if token else []), "\r\n"]).encode()


async def nothing(attack: Attack, number: int) -> None:
    """Connect, and send nothing."""
    async with attack.connection() as (reader, _):
        await attack.answer(reader)


async def slow_head(attack: Attack, number: int) -> None:
    """Send a head, a byte per second."""
    async with attack.connection() as (reader, writer):
        answer = asyncio.create_task(attack.answer(reader))
        for byte in attack.head("GET", "/signin", "X-Long: " + "x" * 5000):
            writer.write(bytes([byte]))
            await asyncio.wait([answer], timeout=1.0)
            if answer.done():
                break
        await answer


async def half_body(attack: Attack, number: int) -> None:
    """Send a head, and half of what it says will come."""
    async with attack.connection() as (reader, writer):
        writer.write(attack.head("POST", "/api/next", "Content-Length: 10", attack.annotator) + b"{")
        await attack.answer(reader)


async def slow_reader(attack: Attack, number: int) -> None:
    """Ask for a page's file as often as is taken before a reply is read, and read none."""
    async with attack.connection() as (_, writer):
        await attack.unread(writer, attack.head("GET", "/static/any/studio.css", "X: y") * MOST_AHEAD)


async def slow_owner(attack: Attack, number: int) -> None:
    """Ask for all labels as their owner, and read none."""
    async with attack.connection() as (_, writer):
        await attack.unread(writer, attack.head("GET", "/api/export/labels.csv", "X: y", attack.owner))


async def ahead(attack: Attack, number: int) -> None:
    """Send a thousand requests without waiting for a reply, again and again."""
    while time.monotonic() < attack.until:
        async with attack.connection() as (reader, writer):
            writer.write(attack.head("GET", "/static/any/studio.css", "X: y") * 1000)
            await attack.answer(reader)
        await asyncio.sleep(0.1)


async def large_body(attack: Attack, number: int) -> None:
    """Send 1 GB, said beforehand or in parts, as nobody, an annotator or an owner."""
    token = ("", attack.annotator, attack.owner)[number % 3]
    length = ("Content-Length: 1073741824", "Transfer-Encoding: chunked")[number % 2]
    path = ("/api/answers", "/api/labels?name=a.csv", "/signin")[number // 6 % 3]
    part = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
    async with attack.connection() as (reader, writer):
        writer.write(attack.head("POST", path, length, token))
        answer = asyncio.create_task(attack.answer(reader))
        for _ in range(1 << 14):
            if time.monotonic() > attack.until or writer.is_closing():
                break
            writer.write(part if number % 2 else part[7:-2])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(writer.drain(), 1.0)
            if answer.done() and number % 4:  # others go on sending after the refusal
                break
        await answer


async def bombs(attack: Attack, number: int) -> None:
    """Send files that unpack to far more, as an owner, one after the other."""
    if number >= 4:
        return
    with tempfile.TemporaryDirectory() as folder:
        names = [name for name in BOMBS if name not in ("Parquet of long texts", "wide CSV")]
        for name in itertools.islice(itertools.cycle(names), number, None):
            if time.monotonic() > attack.until:
                return
            data = await asyncio.to_thread(lambda name=name: BOMBS[name][0](Path(folder)).read_bytes())
            for suffix in ("csv", "parquet", "json"):
                async with attack.connection() as (reader, writer):
                    path = f"/api/labels?name={quote(name)}.{suffix}"
                    writer.write(attack.head("POST", path, f"Content-Length: {len(data)}", attack.owner))
                    writer.write(data)
                    await writer.drain()
                    await attack.answer(reader)


async def wrong_tokens(attack: Attack, number: int) -> None:
    """Try one token after the other."""
    while time.monotonic() < attack.until:
        async with attack.connection() as (reader, writer):
            writer.write(attack.head("POST", "/api/next", "Content-Length: 2", f"wrong-{number}") + b"{}")
            await attack.answer(reader)
        await asyncio.sleep(0.2)


async def many(attack: Attack, number: int) -> None:
    """Open a connection and send half a head, again and again."""
    while time.monotonic() < attack.until:
        async with attack.connection() as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: local")
            await attack.answer(reader)
        await asyncio.sleep(0.1)


Send = Callable[[Attack, int], Coroutine[Any, Any, None]]
#: Name, what one connection does, connections as a share of those asked for.
ATTACKS: tuple[tuple[str, Send | None, float], ...] = (
    ("nobody attacks", None, 0),
    ("send nothing", nothing, 1),
    ("heads, a byte per second", slow_head, 1),
    ("halves of bodies", half_body, 1),
    ("read no reply (files)", slow_reader, 1),
    ("read no reply (labels.csv)", slow_owner, 1),
    ("a thousand requests at once", ahead, 1),
    ("bodies of 1 GB", large_body, 0.1),
    ("packed files", bombs, 0.1),
    ("wrong tokens", wrong_tokens, 0.1),
    ("more than are allowed", many, 2.4),
)


def attack_with(name: str, attack: Attack, seconds: float, pipe: Any) -> None:
    """Carry out an attack in a process of its own, which says when it begins and what was answered."""
    send = next(send for called, send, _ in ATTACKS if called == name)
    warnings.simplefilter("ignore")
    pipe.send(None)

    async def everybody() -> None:
        attack.until = time.monotonic() + seconds
        if send is None:
            await attack.rest()
            return
        tasks = [asyncio.create_task(send(attack, number)) for number in range(attack.connections)]
        done, left = await asyncio.wait(tasks, timeout=seconds + 2.0)
        for task in left:
            task.cancel()
        attack.answers["open"] += len(left)
        for task in done:
            task.result()

    asyncio.run(everybody())
    pipe.send(attack.answers)


async def memory(server: psutil.Process, used: list[int]) -> None:
    """Note again and again what the server and the processes that it started use."""
    while True:
        size = 0
        for process in (server, *server.children(recursive=True)):
            with contextlib.suppress(psutil.Error):  # it has just ended
                size += process.memory_full_info().pss
        used.append(size)
        await asyncio.sleep(0.5)


async def run(port: int, tokens: list[str], owner: str, given: argparse.Namespace, seen: Seen) -> bool:
    """Carry out one attack after the other while people label; print a line for each."""
    good, used = True, list[int]()
    watching = asyncio.create_task(memory(psutil.Process().children()[0], used))
    workers = [Worker(port, token, seen, f"p{i}") for i, token in enumerate(tokens[1:])]
    people = [asyncio.create_task(worker.annotate(time.monotonic() + 3600, 0.5)) for worker in workers]
    await asyncio.sleep(15.0)  # until the first models are there, and rows are drawn ahead
    plain, context = max(used), multiprocessing.get_context("spawn")
    print("| attack | connections | next row: p50, p95, worst | not 200 or 201 | memory, MB | attacker got |")
    print(f"|{'---|' * 6}")
    for name, _, share in ATTACKS:
        if given.only not in name:
            continue
        attack = Attack(port, tokens[0], owner, round(share * given.connections))
        mine, theirs = context.Pipe()
        process = context.Process(target=attack_with, args=(name, attack, given.seconds, theirs))
        process.start()
        await asyncio.to_thread(mine.recv)
        begun, before, lost = time.monotonic(), seen.tally.statuses.copy(), seen.bad.copy()
        used.clear()
        answers = await asyncio.to_thread(mine.recv)
        took = [1000 * t for at, t in seen.next_rows if at >= begun]
        rows = [begun, *(c for c in seen.rows_came if c >= begun), time.monotonic()]
        waited = max(b - a for a, b in itertools.pairwise(rows))
        refused = {s: n for s, n in (seen.tally.statuses - before).items() if s not in (200, 201)}
        refused |= {"lost" if s == 0 else s: n for s, n in (seen.bad - lost).items()}
        missed = [f"{waited:.1f} s without a row"] * (waited >= STOPPED)
        missed += [f"{(max(used) - plain) >> 20:,} MB more"] * (max(used) - plain >= GROWN)
        good &= not missed
        p50, p95, worst = np.quantile(took, [0.5, 0.95, 1.0]) if took else [np.inf] * 3
        said = ", ".join(f"{n:,} {what}" for what, n in sorted(answers.items()) if n)
        print(
            f"| {name} | {attack.connections:,} | {p50:.0f}, {p95:.0f}, {worst:.0f} ms | {refused or 'none'} "
            f"| {max(used) >> 20:,} | {said} |{' NOT HELD: ' * bool(missed)}{', '.join(missed)}",
            flush=True,
        )
        process.join()
        await asyncio.sleep(3.0)
    for task in (*people, watching):
        task.cancel()
    await asyncio.gather(*people, watching, return_exceptions=True)
    return good


def kept(target: str, seen: Seen) -> bool:
    """Count what was acknowledged and what is in the study."""
    with Study.open(target) as study:
        answers = study.state().answers
        lost = sum(
            row not in answers or all(study.config.class_name(a.code) != label for a in answers[row].values())
            for row, label in seen.acknowledged.items()
        )
        doubled = sum(len(found) > 1 for row, found in answers.items() if row in seen.acknowledged)
    print(f"{len(seen.acknowledged):,} labels acknowledged, {lost} lost, {doubled} doubled")
    return not lost and not doubled


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="of each attack")
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--only", default="", help="attacks with this in their name")
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/study"
        owner, tokens = prepare(target, 20_000, 21)
        with served(target, 1) as port:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the attacker may open more
            seen = Seen()
            good = asyncio.run(run(port, tokens, owner, given, seen))
        good &= kept(target, seen)
    print(machine())
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
