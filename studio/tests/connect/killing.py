"""People label in Label Studio while it, the studio and the connector are killed; then all is counted."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from fairask.oracle.linear_forest import LinearForestClassifier
from fairask_studio import Study
from fairask_studio.connect.connector import Link, ensure_link
from fairask_studio.connect.labelstudio import connect_project, open_client, register_webhook
from fairask_studio.integrity import verify
from studio.tests.connect import labelstudio
from studio.tests.connect.labelstudio import OWNER, Person, Server, token_of
from studio.tests.connect.twin import same_draws
from studio.tests.study.conftest import truth

__all__ = ["Counts", "label_under_kills"]

ROOT = Path(__file__).parents[3]
#: The sources beside these tests, not those of an installation.
SOURCES = os.pathsep.join(str(ROOT / part) for part in ("library/src", "studio/src", ""))


@dataclass(frozen=True)
class Counts:
    """What was counted after the kills."""

    kills: dict[str, int]
    labels: int
    lost: int  #: annotations in Label Studio that the study does not have, though their row has room
    doubled: int  #: rows with more answers than people were asked for, or two of one person
    wrong: int  #: answers that are not what Label Studio says
    refused: int
    drawn: int  #: rows drawn, all as the study without a connector draws them


def annotate(person: Person, project: int, labels: list[str], seed: int, ended: threading.Event) -> None:
    """Label what Label Studio gives until the study is done; sometimes wrongly at first."""
    rng = random.Random(seed)
    while not ended.is_set():
        try:
            task = person.next(project)
            if task is None:
                ended.wait(1.0)
                continue
            row = task["data"]["fairask_row"]
            if rng.random() < 0.15:
                number = person.annotate(task["id"], "bad" if labels[row] == "good" else "good")
                person.change(number, labels[row])
            else:
                person.annotate(task["id"], labels[row])
        except (httpx.HTTPError, KeyError):
            ended.wait(0.1)  # killed, or a kill left the database locked for a moment


def label_under_kills(
    server: Server,
    study: Study,
    table: dict[str, list[Any]],
    kills: int,
    folder: Path,
    crowd_size: int = 20,
) -> Counts:
    """Kill each of the three ``kills`` times while people label the whole study, and count."""
    labels = truth(table)
    port = labelstudio.free_port()
    with open_client(server.url, token_of(OWNER)) as client:
        link = Link("labelstudio", "labelstudio", server.url)
        link = replace(link, project=connect_project(client, study, "kills", link))
        token = ensure_link(study, link, "owner")
        register_webhook(client, link, f"http://127.0.0.1:{port}", token)
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forking.py")), study.target, server.url,
         token_of(OWNER), str(port), str(LinearForestClassifier().n_trees)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdout.readline()
    ended = threading.Event()
    project = int(link.project or 0)
    crowd = [
        threading.Thread(target=annotate, args=(person, project, labels, seed, ended))
        for seed, person in enumerate(labelstudio.people(server, crowd_size))
    ]
    for thread in crowd:
        thread.start()
    rng = random.Random(kills)
    victims = [name for name in ("studio", "connector", "labelstudio") for _ in range(kills)]
    rng.shuffle(victims)
    budget = study.config.budget
    try:
        for number, victim in enumerate(victims):
            # Kills are spread over the labels: wait until their share of them is there.
            _wait_for_labels(study, 0.8 * budget * number / len(victims))
            time.sleep(rng.uniform(0.0, 0.3))
            if victim == "labelstudio":
                server.kill()
            else:
                program.stdin.write(f"{victim}\n")
                program.stdin.flush()
                program.stdout.readline()
        server.wait()
        _wait_for_labels(study, budget)
        ended.set()
        for thread in crowd:
            thread.join()
        there = _annotations(server, project)
        _wait(lambda: _agree(study, there), 60.0)
    finally:
        ended.set()
        program.stdin.close()
        program.wait()
        program.stdout.close()
    return _count(study, there, {name: victims.count(name) for name in set(victims)}, table, folder)


def _labels(study: Study) -> int:
    with study.lock:
        state = study.state()
        return state.answered - state.skipped


def _wait_for_labels(study: Study, count: float) -> None:
    _wait(lambda: _labels(study) >= count)


def _wait(done: Any, seconds: float = 900.0) -> None:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)


def _annotations(server: Server, project: int) -> dict[str, tuple[int, str]]:
    """Row and label of all annotations in Label Studio, by their number."""
    return {
        str(annotation["id"]): (task["data"]["fairask_row"], annotation["result"][0]["value"]["choices"][0])
        for task in server.owner.tasks(project)
        for annotation in task["annotations"]
    }


def _lost(study: Study, there: dict[str, tuple[int, str]]) -> list[str]:
    """Annotations that were neither taken nor refused, of rows that have room for another answer.

    One person who labels two tasks of the same row alike says nothing new: that is no answer of its own.
    """
    state = study.state()
    known = {ref for _, ref in state.outside.taken} | {ref for _, ref in state.outside.refused}
    return [
        ref
        for ref, (row, _) in there.items()
        if ref not in known and len(state.answers.get(row, {})) < state.config.overlap
    ]


def _agree(study: Study, there: dict[str, tuple[int, str]]) -> bool:
    return not _lost(study, there) and not _wrong(study, there)


def _wrong(study: Study, there: dict[str, tuple[int, str]]) -> int:
    state = study.state()
    return sum(
        state.config.class_name(state.answers[taken.row][taken.who].code) != there[ref][1]
        for (_, ref), taken in state.outside.taken.items()
        if ref in there and not taken.gone
    )


def _count(
    study: Study,
    there: dict[str, tuple[int, str]],
    kills: dict[str, int],
    table: dict[str, list[Any]],
    folder: Path,
) -> Counts:
    assert verify(study.target).problems == ()
    state = study.state()
    doubled = sum(len(given) > state.config.overlap for given in state.answers.values())
    told = Counter((e.data["row"], e.who) for e in study.store.events() if e.kind == "labelled")
    told.subtract((e.data["row"], e.who) for e in study.store.events() if e.kind == "withdrawn")
    doubled += sum(count > 1 for count in told.values())
    return Counts(
        kills,
        _labels(study),
        len(_lost(study, there)),
        doubled,
        _wrong(study, there),
        len(state.outside.refused),
        same_draws(study, table, folder),
    )
