"""Serving: the trainer's own process, and the command."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fairask.cli.studio import register
from fairask.studio import Robot, TrainerProcess, create_app, demo_study
from fairask.study import Study
from tests.studio.serving import serving


def until(done: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something another process does."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def test_the_trainers_process_draws_fits_and_ends(make: Callable[..., Study]) -> None:
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
    assert trainer._process.returncode == 0


def test_a_trainers_process_that_dies_is_noticed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trainer = TrainerProcess(str(tmp_path / "nothing"))
    trainer.start()
    until(lambda: trainer.error)
    assert "ended with code 1" in str(trainer.error)
    assert "no study in" in capfd.readouterr().err
    trainer.stop()


def test_behind_a_proxy_cookies_are_secure_and_guesses_are_counted_by_visitor(
    make: Callable[..., Study],
) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    with serving(create_app(study, train=False)) as url:

        def sign_in(token: str, visitor: str) -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a study or --demo"),
        (["s", "--demo"], "give a study or --demo"),
        (["nothing"], "no study in 'nothing'"),
        (["--demo", "--host", "0.0.0.0"], "the demo is for this machine only"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], message: str) -> None:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, [*words, "--no-open"])
    assert message in str(result.exception)
    assert result.output == ""
