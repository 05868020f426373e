"""Random kills of server, trainer and desk while people label: nothing acknowledged may be lost.

``python -m benchmarks.studio_kills [--kills 1000] [--people 8] [--to FILE.csv]``: a studio is served,
annotators answer without a pause, and at random instants the server (with all its processes), the trainer or
the desk is killed with SIGKILL; a killed server is started again. Every 50 kills the study is compared with
what was acknowledged, and a line is added to the CSV file; the program goes on from that file when it is
started again. It ends with 1 when an acknowledged answer is lost or changed, a row is answered twice, or the
study is not whole.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.studio_load import Annotator, Tally, machine, make_pool
from fairask_studio import Study
from fairask_studio.integrity import verify

PIECE = 50
SERVING = 0.8
COLUMNS = ("kills", "server", "trainer", "desk", "acknowledged", "lost", "doubled", "whole", "seconds")
# One process imports everything and forks servers, so that a kill costs a start and not an import.
_FORKS = """
import os, sys
from fairask_studio.pages.server import serve
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.close(0)
        serve(sys.argv[1], port=int(sys.argv[2]))
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
"""


class Labeller(Annotator):
    """Somebody who answers at once, and begins again when the server is gone."""

    def __init__(self, port: int, token: str, acknowledged: dict[int, str]) -> None:
        super().__init__(port, token, Tally())
        self.acknowledged = acknowledged

    async def label(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            try:
                await self.connect()
                while not ended.is_set():
                    await self._one()
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.2)

    async def _one(self) -> None:
        status, found = await self.post("/api/next", {"count": 1})
        if status != 200 or not found["cards"]:
            await asyncio.sleep(0.1)
            return
        card = found["cards"][0]
        label = "good" if float(card["fields"][0]["value"]) > float(card["fields"][1]["value"]) else "bad"
        status, _ = await self.post("/api/answers", {"row": card["row"], "label": label})
        if status == 201:
            self.acknowledged[int(card["row"])] = label
        await asyncio.sleep(0.02)


class Service:
    """The studio's processes."""

    def __init__(self, target: str, port: int) -> None:
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "ignore", "-c", _FORKS, target, str(port)]
        self.forks = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=Path(tempfile.gettempdir(), "studio_kills.log").open("a"),  # noqa: SIM115
            text=True,
            bufsize=1,
        )
        self.start()

    def start(self) -> None:
        assert self.forks.stdin is not None
        assert self.forks.stdout is not None
        self.forks.stdin.write("start\n")
        self.process = int(self.forks.stdout.readline())

    def parts(self) -> dict[str, list[psutil.Process]]:
        """The processes by their name: server, trainer, desk."""
        found: dict[str, list[psutil.Process]] = {"server": [], "trainer": [], "desk": []}
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.process).children(recursive=True):
                part = child.name().removeprefix("fairask-")
                if part in found:
                    found[part].append(child)
            found["server"] = [psutil.Process(self.process)]
        return found

    def kill(self, part: str) -> bool:
        """Kill a part; return whether it was there."""
        parts = self.parts()
        for process in parts[part]:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        if part == "server" and parts["server"]:
            self.start()
        return bool(parts[part])

    def stop(self) -> None:
        assert self.forks.stdin is not None
        self.forks.stdin.close()
        os.kill(self.process, signal.SIGTERM)
        self.forks.wait(60)


def prepared(target: str, people: int) -> tuple[str, list[str]]:
    """Make the study, unless it is there, and give everybody a new token."""
    if not (Path(target) / "study.db").exists():
        rows = 60_000
        settings = {"budget": rows, "batch_size": 200, "strategy": "passive", "most_per_minute": 0}
        Study.create(
            target, make_pool(rows), protected="sex", classes=("bad", "good"), random_state=0, **settings
        ).close()
    with Study.open(target) as study:
        known = {person.name for person in study.people.all()}
        tokens = [
            study.people.add(name, role, renew=name in known)
            for name, role in [("owner", "owner"), *((f"p{i}", "annotator") for i in range(people))]
        ]
    return tokens[0], tokens[1:]


async def trouble(
    service: Service, kills: int, rng: random.Random, acknowledged: dict[int, str]
) -> dict[str, int]:
    """Kill so many times: four kills of five hit a studio that has taken an answer since the last kill."""
    done = {"server": 0, "trainer": 0, "desk": 0}
    while sum(done.values()) < kills:
        known, part = len(acknowledged), rng.choices(list(done), (6, 3, 1))[0]
        serving = rng.random() < SERVING
        while serving and (len(acknowledged) == known or not service.parts()[part]):
            await asyncio.sleep(0.1)
            if not psutil.pid_exists(service.process):
                raise SystemExit("the server ended by itself; its words are in studio_kills.log")
        await asyncio.sleep(rng.uniform(0.0, 1.0))
        done[part] += await asyncio.to_thread(service.kill, part)
    return done


async def watch(port: int, owner: str, ended: asyncio.Event) -> None:
    """An owner's page, so that there is a desk."""
    page = Annotator(port, owner, Tally())
    while not ended.is_set():
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await page.connect()
            while not ended.is_set():
                await page.request("GET", "/api/certificates")
                await asyncio.sleep(1.0)
        await asyncio.sleep(0.5)


def compared(target: str, acknowledged: dict[int, str]) -> tuple[int, int, bool]:
    """Return acknowledged answers that are lost, rows with two answers, and whether the study is whole."""
    whole = verify(target).sound
    with Study.open(target) as study:
        answers, config = study.state().answers, study.config
        said = {row: [config.class_name(a.code) for a in given.values()] for row, given in answers.items()}
    lost = sum(said.get(row) != [label] for row, label in acknowledged.items())
    return lost, sum(len(labels) > 1 for labels in said.values()), whole


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def piece(target: str, kills: int, people: int, seed: int) -> dict[str, object]:
    """Kill so many times; return a line of the table."""
    owner, tokens = prepared(target, people)
    port, began = free_port(), time.monotonic()
    service, acknowledged = Service(target, port), dict[int, str]()

    async def everybody() -> dict[str, int]:
        ended = asyncio.Event()
        others = [
            asyncio.create_task(Labeller(port, token, acknowledged).label(ended)) for token in tokens
        ] + [asyncio.create_task(watch(port, owner, ended))]
        while not acknowledged:  # it works
            await asyncio.sleep(0.1)
        done = await trouble(service, kills, random.Random(seed), acknowledged)
        ended.set()
        await asyncio.gather(*others)
        return done

    try:
        done = asyncio.run(everybody())
    finally:
        service.stop()
    lost, doubled, whole = compared(target, acknowledged)
    seconds = round(time.monotonic() - began, 1)
    values = (sum(done.values()), *done.values(), len(acknowledged), lost, doubled, whole, seconds)
    return dict(zip(COLUMNS, values, strict=True))


def read(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.open())) if file.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--to", type=Path, default=Path(tempfile.gettempdir()) / "studio_kills.csv")
    given = parser.parse_args()
    folder = given.to.with_suffix(".study")
    folder.mkdir(parents=True, exist_ok=True)
    while (known := sum(int(line["kills"]) for line in read(given.to))) < given.kills:
        line = piece(str(folder / "study"), min(PIECE, given.kills - known), given.people, known)
        new = not given.to.exists()
        with given.to.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if new:
                writer.writeheader()
            writer.writerow(line)
        print(line, flush=True)
    lines = read(given.to)
    totals = {name: sum(int(line[name]) for line in lines) for name in COLUMNS[:7]}
    bad = totals["lost"] or totals["doubled"] or any(line["whole"] != "True" for line in lines)
    parts = ", ".join(f"{name} {totals[name]}" for name in COLUMNS[1:4])
    print(
        f"{totals['kills']} kills ({parts}): "
        f"{totals['acknowledged']} answers acknowledged, {totals['lost']} lost, {totals['doubled']} doubled; "
        f"the study is {'NOT ' if bad else ''}whole"
    )
    print(machine())
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
