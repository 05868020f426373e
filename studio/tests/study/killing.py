"""Writers that are killed at random instants; what they were told is done is written to a file.

:func:`main` runs in a process that has imported everything, and forks the writers: a kill costs milliseconds
and not an import. Two writers are at work; one of them is killed and started again while the other goes on.
Each opens the study, draws, labels, corrects, withdraws and fits, and reports each act only after the study
has returned from it.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import time
from pathlib import Path

from fairask.oracle.linear_forest import LinearForestClassifier
from fairask_studio import Study
from fairask_studio.errors import NotYoursError

CLASSES = ("bad", "good")


def report(pipe: int, act: str, row: int, who: str, label: str) -> None:
    line = json.dumps([act, row, who, label]) + "\n"
    os.write(pipe, line.encode())  # shorter than PIPE_BUF, so whole or not at all


def write_until_killed(target: str, who: str, seed: int, pipe: int) -> None:
    rng = random.Random(seed)
    study = Study.open(target)
    report(pipe, "ready", -1, who, "")
    while True:
        rows = study.lease(who, 2, seconds=0.5)
        if not rows:
            study.refit()
            if study.draw() is None and study.status()["complete"]:
                os._exit(0)
        for row in rows:
            label = CLASSES[rng.random() < 0.5]
            try:
                study.tell([row], [label], who)
            except NotYoursError:
                continue  # the lease ran out while this process was not running
            report(pipe, "told", row, who, label)
            if rng.random() < 0.1:
                label = CLASSES[rng.random() < 0.5]
                study.correct(row, label, who, decide=False)
                report(pipe, "told", row, who, label)
            elif rng.random() < 0.05:
                study.withdraw(row, who)
                report(pipe, "withdrawn", row, who, "")
        if rng.random() < 0.1:
            study.refit()


class Writer:
    """A process that writes, and what it has reported."""

    def __init__(self, target: str, who: str, seed: int) -> None:
        self.pipe, into = os.pipe()
        self.said = b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.pipe)
                write_until_killed(target, who, seed, into)
            except BaseException as error:
                failure = json.dumps(["failed", -1, who, repr(error)[:500]]) + "\n"
                os.write(into, failure.encode())
            os._exit(1)
        os.close(into)

    def read(self) -> bool:
        """Take what it has written; return whether that was anything."""
        part = os.read(self.pipe, 1 << 16)
        self.said += part
        return bool(part)

    def acts(self) -> int:
        """Count the acts that it has reported."""
        return self.said.count(b"\n") - self.said.count(b'["ready"')

    def take(self) -> list[list[object]]:
        """Return what it has reported, once."""
        lines, self.said = self.said.decode().splitlines(), b""
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        while self.read():
            pass
        os.close(self.pipe)


def main(target: str, kills: int, seed: int, report_to: str) -> None:
    LinearForestClassifier.__init__.__defaults__ = (6,)  # as the fixture few_trees does in the test
    Study.open(target).close()  # what is imported late is imported once
    rng = random.Random(seed)
    writers = [Writer(target, f"w{number}", rng.randrange(2**31)) for number in range(2)]
    with Path(report_to).open("w") as file:
        for kill in range(kills):
            # Acts to wait for, however long the machine takes for them; else it may die opening the study.
            wanted = rng.randrange(6) if rng.random() < 0.8 else 0
            while sum(writer.acts() for writer in writers) < wanted:
                ready = select.select([writer.pipe for writer in writers], [], [], 60)[0]
                read = [writer.read() for writer in writers if writer.pipe in ready]
                if not any(read):
                    break  # they ended, or hang
            time.sleep(rng.uniform(0.0, 0.02 if wanted else 0.1))
            number = rng.randrange(2)
            writers[number].kill()
            print(json.dumps([kill, "planned", wanted, "", ""]), file=file)
            for writer in writers:
                for act in writer.take():
                    print(json.dumps([kill, *act]), file=file)
            writers[number] = Writer(target, f"w{number}", rng.randrange(2**31))
        for writer in writers:
            writer.kill()
            for act in writer.take():
                print(json.dumps([kills, *act]), file=file)
