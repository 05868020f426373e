"""Serving: processes, trainers, stopping, a study with many people."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psutil
import pytest
import typer
from sqlalchemy.exc import InvalidatePoolError, OperationalError
from typer.testing import CliRunner

from fairask.errors import FairaskWarning
from fairask_studio import Study, StudyError
from fairask_studio.cli.studio import studio
from fairask_studio.pages import create_app
from fairask_studio.pages.demo import Robot, demo_study
from fairask_studio.pages.server import serve, serve_demo, warn_of_sqlite
from fairask_studio.pages.stopgap import Stopgap
from fairask_studio.pages.worker import Trainer, TrainerProcess
from fairask_studio.store import database
from fairask_studio.store.store import Training
from studio.tests.forked import forked, serve_study
from studio.tests.pages.conftest import bearer, new_database
from studio.tests.pages.serving import serving
from studio.tests.pages.test_operations import free_port, until_reached
from studio.tests.study.conftest import people_table, truth


def until(done: Callable[[], object], seconds: float = 180.0) -> None:
    """Wait for something another process does."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def named(server: psutil.Process, name: str) -> list[psutil.Process]:
    """The processes of a studio with this name."""
    found = []
    for child in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += [child] if child.name() == name else []
    return found


@contextmanager
def replaced(trainer: TrainerProcess) -> Iterator[int]:
    """The number of the trainer's process; at the end another one is in its place."""
    until(lambda: trainer._process)
    before = trainer._process
    assert before is not None
    assert before.pid is not None
    yield before.pid
    until(lambda: trainer._process is not before)


@pytest.mark.slow
def test_the_trainers_process_draws_fits_and_ends(
    make: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairask_studio.pages.worker._GRACE", 60.0)  # the machine may be busy
    study = make(budget=20)
    trainer = TrainerProcess(study.target)
    trainer.start()
    try:
        until(lambda: study.store.waiting().free)
        while study.status()["labels"] < 20:
            rows = study.lease("ada", 5)
            study.tell(rows, ["good" if row % 2 else "bad" for row in rows], "ada")
        until(lambda: study.state().history and study.state().history[-1]["labels"] == 20)
        assert trainer.error is None
    finally:
        trainer.stop()
    assert trainer._process is not None
    assert trainer._process.exitcode == 0


@pytest.mark.slow
def test_a_trainers_process_that_dies_is_noticed(tmp_path: Path) -> None:
    trainer = TrainerProcess(str(tmp_path / "nothing"))
    trainer.start()
    with replaced(trainer):
        pass
    assert re.search("ended with code 1: no study in .*; it is started again", str(trainer.error))
    trainer.stop()


def test_behind_a_proxy_cookies_are_secure_and_guesses_are_counted_by_visitor(
    make: Callable[..., Study],
) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    with serving(create_app(study, train=False)) as url:

        def sign_in(token: str, visitor: str) -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=180)
            headers = {"X-Forwarded-For": visitor, "X-Forwarded-Proto": "https"}
            headers |= {"Host": "localhost", "Content-Type": "application/json"}
            connection.request("POST", "/api/session", json.dumps({"token": token}), headers)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer

        guesses = [sign_in("guess", "203.0.113.5").status for _ in range(9)]
        assert guesses == [401] * 8 + [429]
        let_in = sign_in(token, "203.0.113.6")
        assert let_in.status == 201
        assert "secure" in str(let_in.headers["set-cookie"]).lower()


def test_the_demos_annotator_labels_and_rests(tmp_path: Path) -> None:
    study, truth = demo_study(tmp_path / "german", budget=10, batch_size=5)
    with study:
        study.draw()
        robot = Robot(study, truth)
        assert all(robot.step() for _ in range(5))
        assert not robot.step()  # nothing is drawn
        learner = study.learner()
        assert learner.labels_.tolist() == [truth[row] for row in learner.labelled_indices_]


@pytest.mark.long
@pytest.mark.slow
def test_a_killed_or_stopped_trainer_is_started_again(make: Callable[..., Study]) -> None:
    study = make(budget=20)
    trainer = TrainerProcess(study.target)
    trainer.start()
    try:
        until(lambda: study.store.waiting().free)
        with replaced(trainer) as process:
            os.kill(process, signal.SIGKILL)
        study.tell(rows := study.lease("ada", 10), ["good", "bad"] * (len(rows) // 2), "ada")
        until(lambda: study.state().history)  # the second one works
        until(lambda: study.store.training().error is None)
        trainer.patience = 4.0  # two beats; the imports before the first one may take longer
        with replaced(trainer) as process:
            os.kill(process, signal.SIGSTOP)  # alive, and it does nothing
    finally:
        trainer.stop()
    assert not trainer.alive


def test_starting_the_studio_does_not_overdraw(make: Callable[..., Study]) -> None:
    study = make(budget=200, batch_size=10)
    rows = study.ask(100, "ada")
    study.tell(rows, ["good", "bad"] * 50, "ada")
    for _ in range(3):  # three starts
        trainer = Trainer(study)
        trainer._draw_seconds = 1.0  # on a slow machine
        trainer.step()
        trainer.step()
        assert study.store.waiting().free <= 10 + trainer.low(1)


def test_people_who_wait_get_rows_at_once_where_a_draw_takes_long(make: Callable[..., Study]) -> None:
    study = make(budget=100, batch_size=10)
    study.tell(rows := study.ask(30, "ada"), ["good", "bad"] * 15, "ada")
    assert len(rows) == 30
    trainer = Trainer(study)
    trainer._draw_seconds = 60.0
    with study.lock:  # nobody has answered lately, and nobody holds a row
        study.state().seen["ada"] = "2020-01-01T00:00:00.000Z"
    trainer.step()
    drawn = study.state().log.entries[30:]
    assert {entry.component for entry in drawn} == {"uniform"}
    assert [entry.propensity for entry in drawn[:2]] == [1 / 170, 1 / 169]


def test_the_trainer_waits_for_its_database_in_one_line_and_goes_on(
    make: Callable[..., Study], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database, "_FIRST_WAIT", 0.001)
    trainer, refusals = Trainer(make()), 6
    faults: list[Exception] = [
        OperationalError("BEGIN IMMEDIATE", {}, Exception("database is locked")),
        InvalidatePoolError("the server was restarted"),
    ]

    def broken() -> None:
        if len(tried) <= 2 * refusals:
            raise faults[len(tried) > refusals]

    tried: list[int] = []
    begin = trainer.study.store.waiting
    monkeypatch.setattr(trainer.study.store, "waiting", lambda: (tried.append(1), broken(), begin())[2])
    trainer.run(lambda: trainer.study.state().batches > 0)
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "the trainer waits for the database and tries again: database is locked",
        "the trainer waits for the database and tries again: the server was restarted",
        "the trainer goes on: the database answers",
    ]
    assert not any(record.exc_info for record in caplog.records)
    assert trainer.error is None


def test_annotators_and_owners_are_told_that_the_trainer_stopped(make: Callable[..., Study]) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    client = bearer(create_app(study, local=False, train=False), token)
    assert client.post("/api/next", json={}).json()["training"]
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").status_code == 200
    study.store.set_training(Training(error="the training process was killed by signal 9"))
    told = client.post("/api/next", json={}).json()
    assert "being started again" in told["notice"]
    assert not told["training"]
    assert "signal 9" in client.get("/api/status").json()["error"]
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s", "--demo"], "give a study or --demo"),
        (["nothing"], "no study in 'nothing'"),
        (["--demo", "--host", "0.0.0.0"], "the demo is for this machine only"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], message: str) -> None:
    app = typer.Typer()
    app.command()(studio)
    result = CliRunner().invoke(app, [*words, "--no-open"])
    assert message in str(result.exception)
    assert result.output == ""


def test_a_port_in_use_is_said_before_anything_else(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for start in (
            lambda: serve(str(tmp_path / "no study at all"), port=port),
            lambda: serve_demo(port=port),
        ):
            with pytest.raises(StudyError, match=f"port {port} is in use") as refused:
                start()
            assert f"--port {port + 1}" in refused.value.remedy


def test_the_demo_ends_although_a_visitor_left_rows_unanswered(make: Callable[..., Study]) -> None:
    assert demo_study(tempfile.mkdtemp() + "/german")[0].config.lease_seconds <= 30
    study = make(budget=12, batch_size=6, lease_seconds=1.0)
    study.draw()
    assert len(study.lease("visitor", 2)) == 2
    robot = Robot(study, truth(people_table()))
    trainer = Trainer(study)
    while not study.status()["complete"]:
        if not robot.step():
            trainer.step()


def test_people_get_rows_although_the_trainer_is_dead(make: Callable[..., Study]) -> None:
    study = make(budget=200, batch_size=10)
    token = study.people.add("ada")
    app = create_app(study, local=False, train=False)
    client = bearer(app, token)
    study.store.set_training(Training(error="the training process was killed by signal 9"))
    assert client.post("/api/next", json={}).json()["cards"] == []
    app.state.stopgap._empty -= 4.0  # seconds pass
    assert len(client.post("/api/next", json={"count": 2}).json()["cards"]) == 2
    drawn = study.state().log.entries
    assert [entry.propensity for entry in drawn] == [1 / (200 - i) for i in range(10)]
    assert {entry.component for entry in drawn} == {"uniform"}
    while study.draw(50, uniform=True) is not None:  # to the last row, none twice
        pass
    assert sorted(entry.index for entry in study.state().log.entries) == list(range(200))
    study.tell(rows := study.lease("bob", 60), ["good", "bad"] * 30, "bob")
    assert study.refit()["labels"] == len(rows) == 60  # type: ignore[index]


def test_the_queue_stays_filled_until_the_trainer_draws_again(
    make: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, stopgap = make(budget=200, batch_size=5), Stopgap()
    counted = study.store.waiting
    monkeypatch.setattr(study.store, "waiting", lambda max_age=0.0: counted())  # no old counts
    assert not stopgap.wait(study, "ada", stopped=False)
    assert stopgap.retry == 0.4
    stopgap._empty -= 4.0  # type: ignore[operator] # seconds pass
    assert stopgap.wait(study, "ada", stopped=False)
    sizes = []
    for _ in range(3):
        rows = study.lease("ada", 200)
        sizes.append(len(rows))
        stopgap.found(study)  # nobody waits although no trainer draws
        study.tell(rows, ["good"] * len(rows), "ada")
    assert sizes == [5, 10, 20]  # larger and larger, so that a slow trainer gets its time
    study.draw(5, uniform=True)  # the trainer draws
    study.lease("ada", 200)
    stopgap.found(study)
    assert study.store.waiting().free == 0  # and the next batch is the trainer's again


@pytest.mark.long
@pytest.mark.slow
def test_the_studio_ends_although_visitors_hold_half_requests(make: Callable[..., Study]) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    port = free_port()
    head = f"POST /api/next HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Length: 9\r\n\r\n{"
    with forked(serve_study, study.target, port, 1, 1) as server:
        until_reached(port, server.is_running)
        visitors = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for visitor, said in zip(visitors, ("", "GET / HT", head), strict=True):
            visitor.sendall(said.encode())
        asked = {"Authorization": f"Bearer {token}"}
        assert (
            httpx.get(f"http://127.0.0.1:{port}/api/certificates", headers=asked, timeout=120).status_code
            == 200
        )
        until(lambda: named(server, "fairask-trainer") and named(server, "fairask-desk"))
        others = server.children(recursive=True)
        server.terminate()
        server.wait(120)  # raises if it does not end
    assert psutil.wait_procs(others, timeout=120)[1] == []
    for visitor in visitors:
        visitor.close()
    assert study.state().batches == 1  # it has served: the first batch was drawn


def test_an_sqlite_with_a_known_fault_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.46.1")
    with pytest.warns(FairaskWarning, match=r"SQLite 3\.46\.1 .* PostgreSQL"):
        warn_of_sqlite(str(tmp_path))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.51.3")
    warn_of_sqlite(str(tmp_path))  # warnings are errors in the tests
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.46.1")
    warn_of_sqlite("postgresql://host/loans")


Make = Callable[..., Study]


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return new_database(request.getfixturevalue("postgres_url"))


#: Read by every new process: those that serve are slow to begin, as on a small machine.
SLOW_START = """
import sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    time.sleep(5.5)
"""


@contextmanager
def two_processes(target: str, folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """A studio of two server processes; its port and the process that started them."""
    slow = "://" not in target  # where the study is has no part in it: once is enough
    if slow:
        (folder / "sitecustomize.py").write_text(SLOW_START)
    port = free_port()
    with forked(serve_study, target, port, 2, 8, str(folder) if slow else "") as server:
        # Two that listen, and the trainer.
        until(lambda: len(server.children(recursive=True)) >= 3)
        until(lambda: _reached(port))
        yield port, server


def _reached(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def send(port: int, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
    """One request on a connection of its own, so that either process may take it."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=180)) as connection:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = json.loads(answer.read())
    return answer.status, data


@pytest.mark.long
@pytest.mark.slow
def test_guesses_and_the_trainers_end_are_known_to_both(make: Make, target: str, tmp_path: Path) -> None:
    study = make(target)
    token = study.people.add("ada", "owner")
    with two_processes(target, tmp_path) as (port, server):
        statuses = Counter(send(port, "POST", "/api/session", {"token": "guess"})[0] for _ in range(40))
        assert statuses == {401: 8, 429: 32}
        until(lambda: study.store.waiting().free)  # the trainer draws
        assert send(port, "GET", "/api/status", token=token)[1]["error"] is None
        until(lambda: named(server, "fairask-trainer"))
        (trainer,) = named(server, "fairask-trainer")
        os.kill(trainer.pid, signal.SIGKILL)
        known = study.status()["batches"]
        rows = study.lease("ada", 10)
        study.tell(rows, ["good"] * len(rows), "ada")
        until(lambda: study.status()["batches"] > known)  # another one was started, and draws
        until(lambda: send(port, "GET", "/readyz")[0] == 200)  # and both know that it works


def test_what_the_trainer_says_is_read_by_every_process(make: Make, target: str) -> None:
    study = make(target)
    assert study.store.training() == Training()
    with Study.open(target) as other:
        study.store.set_training(Training("training"))
        assert other.store.training() == Training("training")
        other.store.set_training(Training(None, "x" * 5000))
        assert study.store.training() == Training(None, "x" * 2000)
