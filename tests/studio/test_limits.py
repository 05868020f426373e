"""A database that does not answer, and owners who ask much, stop nobody else."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2 as httpx
import pytest

from fairask.studio import create_app
from fairask.studio._desk import Desk
from fairask.studio._questions import RowFilter, row_page, start_audit, status
from fairask.study import Study, StudyError
from tests.studio.serving import serving

Make = Callable[..., Study]


@contextmanager
def frozen(study: Study) -> Iterator[None]:
    """Every query of the study waits until the end of the block."""
    go_on = threading.Event()
    read, write = study.store.database.read, study.store.database.write

    @contextmanager
    def waiting(way: Callable[..., object], *args: object, **options: object) -> Iterator[object]:
        go_on.wait()
        with way(*args, **options) as connection:  # type: ignore[attr-defined]
            yield connection

    study.store.database.read = lambda: waiting(read)  # type: ignore[method-assign,assignment]
    study.store.database.write = lambda durable=True: waiting(write, durable)  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        study.store.database.read, study.store.database.write = read, write  # type: ignore[method-assign]
        go_on.set()


@pytest.mark.slow
def test_a_frozen_database_gives_503_and_files_are_still_served(make: Make) -> None:
    study = make()
    token = study.people.add("ada", "owner")
    study.draw(10)
    headers = {"Authorization": f"Bearer {token}"}
    with serving(create_app(study, local=False, train=False)) as url, httpx.Client(timeout=60) as client:
        with frozen(study):
            study.people._known.clear()
            with ThreadPoolExecutor(60) as pool:
                asked = [
                    pool.submit(httpx.post, f"{url}/api/next", json={}, headers=headers, timeout=60)
                    for _ in range(60)
                ]
                time.sleep(0.5)
                assert client.get(f"{url}/healthz").status_code == 200
                assert client.get(f"{url}/static/studio.css").status_code == 200
                answers = [future.result() for future in asked]
            assert Counter(a.status_code for a in answers) == {503: 60}
            assert all(int(a.headers["retry-after"]) > 0 for a in answers)
        assert client.post(f"{url}/api/next", json={}, headers=headers).status_code == 200


def test_a_page_of_rows_is_counted_and_only_that_page_is_described(make: Make) -> None:
    study = make(budget=60)
    rows = study.ask(30, "ada")
    study.tell(rows[:20], ["good", "bad"] * 10, "ada")
    everything = row_page(study, RowFilter(), 0, 200)
    assert everything["total"] == 30
    assert [row["row"] for row in everything["rows"]] == rows[::-1]
    page = row_page(study, RowFilter(state="labelled"), 5, 4)
    assert page["total"] == 20
    assert [row["row"] for row in page["rows"]] == rows[:20][::-1][5:9]


def test_the_same_question_is_answered_once_while_nothing_happens(make: Make) -> None:
    study = make()
    desk, asked = Desk(study), []

    def question(study: Study) -> int:
        asked.append(1)
        time.sleep(0.05)
        return study.state().last

    with ThreadPoolExecutor(8) as pool:
        assert len({pool.submit(desk.ask, question).result() for _ in range(8)}) == 1
    assert len(asked) == 1
    study.draw(5)
    assert desk.ask(question) == study.state().last
    assert len(asked) == 2


@pytest.mark.slow
def test_the_desk_of_its_own_process_answers_refuses_and_survives_a_kill(make: Make) -> None:
    study = make()
    desk = Desk(study, apart=True)
    try:
        assert desk.ask(status)["labels"] == 0
        with pytest.raises(StudyError, match="no model to audit"):
            desk.do(start_audit, 5, "ada")
        assert desk._pool is not None
        for process in (desk._pool._processes or {}).values():
            process.kill()
        study.draw(5)
        assert desk.ask(status)["open"] == 5
    finally:
        desk.close()
