"""Ten thousand tasks: parts when they are sent, and polls that read what has changed.

Label Studio is stood in for by a list here; ``python -m benchmarks.connect_tasks`` has a real one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from fairask_studio import Study
from fairask_studio.connect import Connector
from fairask_studio.connect.connector import Link, ensure_link
from fairask_studio.connect.labelstudio import LabelStudioTool
from studio.tests.study.conftest import people_table

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Listed:
    """What a connector uses of Label Studio's client, over a list of tasks."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.imports: list[int] = []
        self.read: list[int] = []
        self.clock = _BEGAN
        self.projects, self.tasks = self, SimpleNamespace(list=self.list, delete=self.delete)
        self.users = SimpleNamespace(
            list=lambda: [SimpleNamespace(id=1, email="ada@example.org", username="")]
        )

    def import_tasks(self, project: int, *, request: list[Any], return_task_ids: bool) -> Any:
        self.imports.append(len(request))
        self.clock += timedelta(minutes=1)
        first = len(self.found) + 1
        for number, task in enumerate(request, first):
            self.found.append(
                SimpleNamespace(id=number, data=task["data"], annotations=[], updated_at=self.clock)
            )
        return SimpleNamespace(task_ids=list(range(first, first + len(request))))

    def list(self, *, query: str, page_size: int, **_: Any) -> Any:
        wanted = {item["filter"]: item["value"] for item in json.loads(query)["filters"]["items"]}
        # Label Studio refuses every other form of a time.
        form = "%Y-%m-%dT%H:%M:%S.%fZ"
        given = wanted.get("filter:tasks:updated_at", _BEGAN.strftime(form))
        since = datetime.strptime(given, form).replace(tzinfo=UTC)
        found = [
            task for task in self.found if task.id > wanted["filter:tasks:id"] and task.updated_at > since
        ][:page_size]
        self.read.append(len(found))
        return SimpleNamespace(items=found)

    def delete(self, number: str) -> None:
        self.found = [task for task in self.found if task.id != int(number)]

    def annotate(self, position: int, number: int) -> None:
        self.clock += timedelta(minutes=1)
        task = self.found[position]
        value = {"type": "choices", "value": {"choices": ["good"]}}
        task.annotations.append(
            {"id": number, "completed_by": 1, "result": [value], "updated_at": self.clock.isoformat()}
        )
        task.updated_at = self.clock


def linked(study: Study) -> tuple[Connector, Listed]:
    client, link = Listed(), Link("labelstudio", "labelstudio", "http://ls", 1)
    ensure_link(study, link, "owner")
    return Connector(study, LabelStudioTool(study, link, client)), client


@pytest.mark.slow
def test_ten_thousand_tasks_are_sent_in_parts_and_read_by_change(make: Callable[..., Study]) -> None:
    study = make(table=people_table(10_500), budget=10_000, batch_size=10_000, strategy="passive")
    study.draw()
    work, client = linked(study)
    assert work.send() == 10_000
    assert client.imports == [250] * 40
    work.step()  # the first look is at all tasks
    assert sum(client.read) >= 10_000
    for number in range(1, 15):
        client.annotate(700 * number, number)
        client.read.clear()
        assert work.step().new == 1
        assert sum(client.read) < 300
    for _ in range(20):  # all tasks once in a while: that finds what left no trace
        client.read.clear()
        work.step()
        if sum(client.read) >= 10_000:
            break
    else:
        raise AssertionError("no poll has looked at all tasks")
    assert study.state().answered == 14


def test_second_tasks_of_a_row_are_deleted_unless_somebody_annotated_them(make: Callable[..., Study]) -> None:
    study = make()
    study.draw(4)
    work, client = linked(study)
    work.send()
    client.import_tasks(1, request=[{"data": task.data} for task in client.found], return_task_ids=True)
    client.annotate(5, 1)  # the second task of the second row
    work.step()
    assert [task.id for task in client.found] == [1, 3, 4, 6]
    assert study.state().answered == 1
    client.found = [task for task in client.found if task.id != 3]  # somebody deletes a task
    work.step()
    rows = [entry.index for entry in study.state().log.entries]
    assert sorted(task.data["fairask_row"] for task in client.found) == sorted(rows)
