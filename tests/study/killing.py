"""Writers that are killed at random instants; what they were told is done is printed.

Run as a program: one process imports everything and forks the writers, so that a kill costs
milliseconds and not an import. Each writer opens the study, draws, labels, corrects, withdraws and fits,
and reports each act only after the study has returned from it.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time

from fairask.study import NotYoursError, Study

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


def main(target: str, kills: int, seed: int) -> None:
    Study.open(target).close()  # what is imported late is imported once
    rng = random.Random(seed)
    for kill in range(kills):
        children, pipes = [], []
        for writer in range(2):
            out, into = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(out)
                    write_until_killed(target, f"w{writer}", rng.randrange(2**31) + writer, into)
                except BaseException as error:
                    os.write(
                        into, (json.dumps(["failed", -1, f"w{writer}", repr(error)[:500]]) + "\n").encode()
                    )
                os._exit(1)
            os.close(into)
            children.append(pid)
            pipes.append(out)
        said = [b""] * len(pipes)
        # Acts to wait for, however long the machine takes for them; the others die while they open the study.
        wanted = rng.randrange(6) if rng.random() < 0.8 else 0
        while done(said) < wanted:
            ready = select.select(pipes, [], [], 60)[0]
            parts = {pipe: os.read(pipe, 1 << 16) for pipe in ready}
            if not any(parts.values()):
                break  # they ended, or hang
            said = [data + parts.get(pipe, b"") for data, pipe in zip(said, pipes, strict=True)]
        time.sleep(rng.uniform(0.0, 0.02 if wanted else 0.3))
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)
        print(json.dumps([kill, "planned", wanted, "", ""]))
        for pipe, data in zip(pipes, said, strict=True):
            while select.select([pipe], [], [], 0)[0] and (part := os.read(pipe, 1 << 16)):
                data += part
            os.close(pipe)
            for line in data.decode().splitlines():
                print(json.dumps([kill, *json.loads(line)]), flush=True)


def done(said: list[bytes]) -> int:
    """Count the acts that writers have reported."""
    return sum(data.count(b"\n") - data.count(b'["ready"') for data in said)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
