"""Label Studio: drawn rows become tasks of a project, annotations become answers.

Whatever order Label Studio shows tasks in, a task is a row that was drawn, and its annotations count for
that row alone. Annotations are read by polling, and told at once by a webhook where the studio can be
reached. Both end in the same place, which knows what it has taken.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, TypeVar
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from fairask.errors import UserError
from fairask.learner import FairActiveLearner
from fairask_studio import Study
from fairask_studio.columns import ColumnInfo
from fairask_studio.config import Config
from fairask_studio.connect.connector import (
    Link,
    OutgoingRow,
    ToolUnreachable,
    columns_for,
    ensure_link,
    is_token,
    name_people,
)
from fairask_studio.connect.outside import check_address, outside_client
from fairask_studio.estimates import positive_probability
from fairask_studio.events import Cell, Document
from fairask_studio.files import TASK_CHECK, TASK_ROW, chosen
from fairask_studio.tools import OutsideAnswer, TakenAnswer

#: Columns with these displays have a place of their own; all others stand in one table.
_OBJECTS = {"image": "Image", "audio": "Audio", "long": "Text", "markdown": "Text"}
_LONGEST_NAME = 64


def label_config(config: Config, columns: Sequence[ColumnInfo]) -> str:
    """Return the labelling configuration of a study: its question, columns and classes.

    Examples
    --------
    >>> config = Config.make(protected="sex", classes=("bad", "good"), question="Repaid?")
    >>> print(label_config(config, [ColumnInfo("letter", "text", display="long")]))
    <View>
      <Header value="Repaid?" />
      <Header value="letter" size="5" />
      <Text name="column0" value="$column0" />
      <Table name="row" value="$fields" />
      <Choices name="label" toName="row" choice="single-radio" required="true">
        <Choice value="bad" hotkey="1" />
        <Choice value="good" hotkey="2" />
      </Choices>
      <TextArea name="note" toName="row" placeholder="Note (optional)" rows="2" maxSubmissions="1" />
    </View>
    """
    lines = [f"<Header value={quoteattr(config.question)} />"]
    for number, column in enumerate(columns):
        if column.display in _OBJECTS:
            tag = _OBJECTS[column.display]
            lines.append(f'<Header value={quoteattr(column.title or column.name)} size="5" />')
            lines.append(f'<{tag} name="column{number}" value="$column{number}" />')
    lines.append('<Table name="row" value="$fields" />')
    lines.append('<Choices name="label" toName="row" choice="single-radio" required="true">')
    for number, name in enumerate(config.classes, 1):
        lines.append(f'  <Choice value={quoteattr(name)} hotkey="{number}" />')
    lines.append("</Choices>")
    note = 'placeholder="Note (optional)" rows="2" maxSubmissions="1"'
    lines.append(f'<TextArea name="note" toName="row" {note} />')
    return "\n".join(["<View>", *(f"  {line}" for line in lines), "</View>"])


def check_config(xml: str, classes: Sequence[str]) -> str | None:
    """Return what a project's configuration lacks to label a study; None if nothing.

    Examples
    --------
    >>> check_config('<View><Choices name="c"><Choice value="bad"/></Choices></View>', ["bad", "good"])
    "no choice 'good'"
    """
    try:
        tree = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        return f"no XML that can be read ({error})"
    offered = {choice.get("alias") or choice.get("value") for choice in tree.iter("Choice")}
    lacking = [name for name in classes if name not in offered]
    return f"no choice {lacking[0]!r}" if lacking else None


def task_of(row: OutgoingRow, columns: Sequence[ColumnInfo]) -> Document:
    """Return a row as a task, with its number and check code."""
    fields: dict[str, str] = {}
    own: Document = {}
    for number, column in enumerate(columns):
        words = _words(column, row.cells[column.name])
        if column.display in _OBJECTS:
            own[f"column{number}"] = words
        else:
            title = column.title or column.name
            fields[title if title not in fields else f"{title} ({column.name})"] = words
    return {"data": {**own, "fields": fields, TASK_ROW: row.row, TASK_CHECK: row.check}}


def _words(column: ColumnInfo, value: Cell) -> str:
    text = column.code_of(value)
    return f"{column.values.get(text, text)} {column.unit}".strip()


def person_names(people: Sequence[Any]) -> dict[str, str]:
    """Return names of Label Studio's users by their number: the address, or what else there is."""
    names = {}
    for person in people:
        name = (person.email or person.username or "").strip()
        usable = 1 <= len(name) <= _LONGEST_NAME and name.isprintable()
        names[str(person.id)] = name if usable else f"Label Studio user {person.id}"
    return names


def annotated_answers(
    data: Mapping[str, Any], annotations: Sequence[Document], people: Mapping[str, str]
) -> list[OutsideAnswer]:
    """Return the answers of a task; those of people whose name is not known yet are left out."""
    found = []
    for annotation in annotations:
        who = annotation.get("completed_by")
        name = people.get(str(who["id"] if isinstance(who, dict) else who))
        if name is not None:
            choices, note = chosen(annotation.get("result") or [])
            # No label for a task that was skipped, an empty one where nothing was chosen.
            label = None if annotation.get("was_cancelled") else ", ".join(choices)
            found.append(
                OutsideAnswer(
                    str(annotation["id"]), _microseconds(annotation["updated_at"]), data[TASK_ROW], name,
                    label, data.get(TASK_CHECK), note,
                )
            )  # fmt: skip
    return found


def _microseconds(moment: str) -> int:
    """Return a time as a whole number that grows.

    Examples
    --------
    >>> _microseconds("1970-01-01T00:00:01Z"), _microseconds("1970-01-01T00:00:01.000002Z")
    (1000000, 1000002)
    """
    at = datetime.fromisoformat(moment)
    return int(at.replace(microsecond=0).timestamp()) * 1_000_000 + at.microsecond


def webhook_answers(
    payload: Document, project: int | None, people: Mapping[str, str], at: float
) -> list[OutsideAnswer]:
    """Return the answers that a webhook of Label Studio tells; none for other events and other projects.

    Examples
    --------
    >>> gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 5}], "project": {"id": 1}}
    >>> webhook_answers(gone, 1, {}, at=2.0)[0].gone, webhook_answers(gone, 2, {}, at=2.0)
    (True, [])
    """
    if (payload.get("project") or {}).get("id") != project:
        return []
    if payload.get("action") == "ANNOTATIONS_DELETED":
        version = int(at * 1_000_000)
        return [OutsideAnswer(str(a["id"]), version, -1, "", gone=True) for a in payload["annotations"]]
    if payload.get("action") not in ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"):
        return []
    annotations, tasks = payload["annotation"], payload["task"]
    if isinstance(annotations, dict):
        annotations, tasks = [annotations], [tasks]
    return [
        answer
        for annotation, task in zip(annotations, tasks, strict=True)
        if TASK_ROW in task["data"]
        for answer in annotated_answers(task["data"], [annotation], people)
    ]


class Predictor:
    """Predicts with the study's model, which is fitted again only when it has changed."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._lock = threading.Lock()
        self._learner: tuple[str, FairActiveLearner] | None = None

    @property
    def version(self) -> str | None:
        """The model's name; None before the first fit."""
        with self.study.lock:
            model = self.study.state().model
        return None if model is None else f"round {model['round']}, {model['digest'][:12]}"

    def positive(self, rows: Sequence[int]) -> list[float]:
        """Return the probability with which each row is predicted positive; none before the first fit."""
        version = self.version
        if version is None or not rows:
            return []
        with self._lock:
            if self._learner is None or self._learner[0] != version:
                self._learner = (version, self.study.learner(at=self.study.state().trained_to))
            learner = self._learner[1]
            indices = np.array(rows, dtype=np.int64)
            return [float(value) for value in positive_probability(learner, indices)]

    def predictions(self, rows: Sequence[int]) -> list[Document]:
        """Return Label Studio's predictions of rows; none before the first fit."""
        classes = self.study.config.classes
        return [
            {
                "model_version": self.version,
                "score": max(p, 1.0 - p),
                "result": [
                    {
                        "from_name": "label",
                        "to_name": "row",
                        "type": "choices",
                        "value": {"choices": [classes[int(p > 0.5)]]},
                    }
                ],
            }
            for p in self.positive(rows)
        ]


_T = TypeVar("_T")
#: ``label_studio_sdk.LabelStudio``, which is imported when it is needed.
Client: TypeAlias = Any
#: Tasks per page, and what is read of each. One poll in so many looks at all tasks; every poll if they are
#: few.
_PAGE, _INCLUDE = 500, "id,data,updated_at,annotations,completed_by,result,was_cancelled"
_FULL_EVERY, _FEW = 20, 300
_EVENTS = ["ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"]
#: Seconds for which a task that was changed is read again: clocks differ, and changes become visible late.
_OVERLAP = 30
#: Seconds for one request.
_TIMEOUT = 60
_GONE = "The labels that were taken stay in the study; connect it to another project with --project"


@contextmanager
def open_client(url: str, token: str) -> Iterator[Client]:
    """Yield Label Studio's own client, and close its connections; needs the extra ``labelstudio``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own deprecated calls
        from label_studio_sdk import LabelStudio

    check_address(url)
    with outside_client([url], _TIMEOUT, follow_redirects=True) as http:
        yield LabelStudio(base_url=url.rstrip("/"), api_key=token, timeout=_TIMEOUT, httpx_client=http)


def _ask(url: str, call: Callable[[], _T]) -> _T:
    """Call Label Studio; ToolUnreachable for what passes, UserError for what does not."""
    import httpx
    from label_studio_sdk.core.api_error import ApiError

    try:
        return call()
    except (httpx.HTTPError, OSError) as error:
        raise ToolUnreachable(f"Label Studio at {url}: {error or type(error).__name__}") from error
    except ApiError as error:
        status = error.status_code or 0
        if status >= 500 or status in (0, 408, 409, 425, 429):
            raise ToolUnreachable(f"Label Studio at {url} answered {status}") from error
        if status in (401, 403):
            raise UserError(
                f"Label Studio at {url} refuses the token ({status})",
                "Take an access token from its account page; the person must see the whole project",
            ) from error
        if status == 404:
            raise UserError(
                f"Label Studio at {url} has no such project (it may be deleted)", _GONE
            ) from error
        raise UserError(f"Label Studio at {url} answered {status}: {str(error.body)[:300]}", _GONE) from error


def link_project(client: Client, study: Study, project: str, link: Link, studio: str, who: str) -> Link:
    """Link a study to a project; with the address of a studio, Label Studio tells it of annotations.

    Returns the link with the project's number. See :func:`connect_project` for ``project``.
    """
    studio = studio.rstrip("/")
    link = replace(link, project=connect_project(client, study, project, link))
    tells = bool(studio) and _is_told(client, link, studio, study)
    token = ensure_link(study, link, who, renew=bool(studio) and not tells)
    if studio and token:
        register_webhook(client, link, studio, token)
    return link


def connect_project(client: Client, study: Study, project: str, link: Link) -> int:
    """Return the number of the study's project in Label Studio: made, or adopted if it is there.

    ``project`` is a number or a title. A project without tasks gets the study's configuration. One with tasks
    keeps its own, which must offer the study's classes.
    """
    return _ask(link.url, lambda: _connect_project(client, study, project, link))


def _connect_project(client: Client, study: Study, project: str, link: Link) -> int:
    xml = label_config(study.config, columns_for(study.config, link.protected))
    if project.isdigit():
        found = client.projects.get(int(project))
    else:
        same = [p for p in client.projects.list(title=project) if p.title == project]
        if len(same) > 1:
            numbers = ", ".join(str(p.id) for p in same)
            raise UserError(f"{len(same)} projects are named {project!r}", f"Give a number: {numbers}")
        if not same:
            made = client.projects.create(
                title=project,
                description=study.config.question,
                label_config=xml,
                maximum_annotations=study.config.overlap,
                show_collab_predictions=link.predictions,
            )
            return int(made.id)
        found = client.projects.get(same[0].id)
    number = int(found.id)
    if not found.task_number:
        client.projects.update(number, label_config=xml, maximum_annotations=study.config.overlap)
        return number
    lacking = check_config(found.label_config or "", study.config.classes)
    if lacking is not None:
        raise UserError(
            f"project {number} has tasks, and its labelling configuration has {lacking}",
            "Give another project, or add the study's classes to its configuration",
        )
    return number


def _webhook_place(link: Link, studio: str) -> str:
    return f"{studio}/api/connect/{link.name}/webhook"


def _is_told(client: Client, link: Link, studio: str, study: Study) -> bool:
    """Whether the project has a webhook to the studio with the link's token."""
    with study.lock:
        now = study.state().outside.links.get(link.name)
    return now is not None and any(
        webhook.url == _webhook_place(link, studio)
        and is_token(now, str((webhook.headers or {}).get("Authorization", "")).removeprefix("Bearer "))
        for webhook in _ask(link.url, lambda: client.webhooks.list(project=str(link.project)))
    )


def register_webhook(client: Client, link: Link, studio: str, token: str) -> None:
    """Let the project tell the studio of annotations, in place of any webhook that did so before."""
    place, project = _webhook_place(link, studio), link.project

    def register() -> None:
        for webhook in client.webhooks.list(project=str(project)):
            if webhook.url == place and webhook.id is not None:
                client.webhooks.delete(webhook.id)
        client.webhooks.create(
            url=place, project=project, send_payload=True, send_for_all_actions=False, is_active=True,
            actions=_EVENTS, headers={"Authorization": f"Bearer {token}"},
        )  # fmt: skip

    _ask(link.url, register)


class LabelStudioTool:
    """A project of Label Studio.

    Parameters
    ----------
    study : Study
    link : Link
        With the project's number.
    client : label_studio_sdk.LabelStudio
    """

    most = 250

    def __init__(self, study: Study, link: Link, client: Client) -> None:
        self.study, self.link, self.client = study, link, client
        self.columns = columns_for(study.config, link.protected)
        self.predictor = Predictor(study) if link.predictions else None
        self._tasks: dict[int, int] | None = None  # rows by the number of their task; None: look
        self._newest = ""
        self._polls = 0
        self._lost: list[int] = []

    def _ask(self, call: Callable[[], _T]) -> _T:
        return _ask(self.link.url, call)

    # -- rows to tasks --------------------------------------------------------------------------

    def send(self, rows: Sequence[OutgoingRow]) -> None:
        """Make tasks of those rows that have none."""
        if self._tasks is None:
            self.answers()
        there = set((self._tasks or {}).values())
        wanted = [row for row in rows if row.row not in there]
        tasks = [task_of(row, self.columns) for row in wanted]
        if self.predictor is not None:
            for task, found in zip(tasks, self.predictor.predictions([r.row for r in wanted]), strict=False):
                task["predictions"] = [found]
        if not tasks:
            return
        known, self._tasks = self._tasks or {}, None  # if this fails, nobody knows which tasks were made
        send = partial(self.client.projects.import_tasks, self._project, request=tasks, return_task_ids=True)
        made = self._ask(send)
        numbers = made.task_ids or []
        if len(numbers) == len(wanted):
            self._tasks = {**known, **{n: row.row for n, row in zip(numbers, wanted, strict=True)}}

    @property
    def _project(self) -> int:
        assert self.link.project is not None
        return self.link.project

    def missing(self, rows: Sequence[int]) -> list[int]:
        """Return rows whose task was deleted in Label Studio, as the last look at all tasks found."""
        lost, self._lost = set(self._lost), []
        return [row for row in rows if row in lost]

    # -- annotations to answers -----------------------------------------------------------------

    def answers(self) -> list[OutsideAnswer]:
        """Return the annotations of tasks that were changed lately; of all tasks from time to time."""
        full = self._tasks is None or len(self._tasks) <= _FEW or self._polls % _FULL_EVERY == 0
        self._polls += 1
        # Taken before the tasks are read: an answer that a webhook brings meanwhile is not missing there.
        taken = self._taken()
        found = self._read(None if full or not self._newest else self._newest)
        mine = [
            task for task in found if isinstance(task.data, dict) and isinstance(task.data.get(TASK_ROW), int)
        ]
        if found:
            newest = max(task.updated_at for task in found)
            self._newest = max(self._newest, newest.isoformat())
        tasks = {int(task.id): int(task.data[TASK_ROW]) for task in mine}
        self._tasks = tasks if full else {**(self._tasks or {}), **tasks}
        if full:
            self._look_for_lost(mine)
        self._learn_names(mine)
        people = self.study.state().outside.links[self.link.name].people or {}
        answers = [a for task in mine for a in annotated_answers(task.data, task.annotations or [], people)]
        return answers + self._deleted(mine, taken)

    def _read(self, since: str | None) -> list[Any]:
        """Return tasks in the order of their numbers, each page after the last number of the one before."""
        found: list[Any] = []
        last = 0
        while True:
            items: list[dict[str, Any]] = [_filter("id", "greater", "Number", last)]
            if since is not None:
                items.append(_filter("updated_at", "greater", "Datetime", _earlier(since)))
            query = json.dumps({"filters": {"conjunction": "and", "items": items}, "ordering": ["tasks:id"]})
            options = {"fields": "all", "include": _INCLUDE, "query": query, "page": 1, "page_size": _PAGE}
            page = self._ask(partial(self.client.tasks.list, project=self._project, **options)).items or []
            found += page
            if len(page) < _PAGE:
                return found
            last = max(task.id for task in page)

    def _look_for_lost(self, tasks: Sequence[Any]) -> None:
        """Note rows whose tasks are gone, and delete second tasks of a row that nobody has annotated."""
        there: dict[int, Any] = {}
        for task in sorted(tasks, key=lambda task: (not task.annotations, task.id)):
            if task.data[TASK_ROW] not in there:
                there[task.data[TASK_ROW]] = task
            elif not task.annotations:
                # A kill between two attempts to make the tasks: one of the two is enough.
                self._ask(partial(self.client.tasks.delete, str(task.id)))
        with self.study.lock:
            sent = self.study.state().outside.sent.get(self.link.name, set())
        self._lost = [row for row in sent if row not in there]

    def _learn_names(self, tasks: Sequence[Any]) -> None:
        people = self.study.state().outside.links[self.link.name].people or {}
        seen = {str(a.get("completed_by")) for task in tasks for a in task.annotations or []}
        if seen - set(people):
            users = self._ask(self.client.users.list)
            name_people(self.study, self.link.name, person_names(users))

    def _taken(self) -> list[tuple[str, TakenAnswer]]:
        with self.study.lock:
            taken = self.study.state().outside.taken
            return [(ref, a) for (link, ref), a in taken.items() if link == self.link.name and not a.gone]

    def _deleted(self, tasks: Sequence[Any], taken: Sequence[tuple[str, TakenAnswer]]) -> list[OutsideAnswer]:
        """Return answers that were taken, whose task is there and whose annotation is not."""
        there = {str(a["id"]) for task in tasks for a in task.annotations or []}
        seen = {int(task.id) for task in tasks}
        rows: dict[int, bool] = {}  # whether all tasks of a row were seen
        for number, row in (self._tasks or {}).items():
            rows[row] = rows.get(row, True) and number in seen
        return [
            OutsideAnswer(ref, answer.version + 1, answer.row, answer.who, gone=True)
            for ref, answer in taken
            if ref not in there and rows.get(answer.row)
        ]


def _filter(column: str, operator: str, kind: str, value: object) -> dict[str, Any]:
    return {"filter": f"filter:tasks:{column}", "operator": operator, "type": kind, "value": value}


def _earlier(moment: str) -> str:
    """Return a moment somewhat earlier, in the one form of times that Label Studio's filters accept."""
    earlier = datetime.fromisoformat(moment).astimezone(UTC) - timedelta(seconds=_OVERLAP)
    return earlier.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
