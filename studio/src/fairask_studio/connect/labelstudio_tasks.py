"""Label Studio's documents: the labelling configuration, tasks, and annotations as answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from fairask_studio import Config
from fairask_studio.columns import ColumnInfo
from fairask_studio.connect.outgoing import OutgoingRow
from fairask_studio.events import Cell, Document
from fairask_studio.files import chosen
from fairask_studio.tools import OutsideAnswer

#: Keys of a task that are the study's own.
ROW, CHECK = "fairask_row", "fairask_check"
#: Columns with these displays have a place of their own; all others stand in one table.
_OBJECTS = {"image": "Image", "long": "Text", "markdown": "Text"}
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
    return {"data": {**own, "fields": fields, ROW: row.row, CHECK: row.check}}


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
            label, note = _said(annotation)
            found.append(
                OutsideAnswer(
                    str(annotation["id"]), _microseconds(annotation["updated_at"]), data[ROW], name, label,
                    data.get(CHECK), note,
                )
            )  # fmt: skip
    return found


def _said(annotation: Document) -> tuple[str | None, str]:
    """Return label and note; no label for a task that was skipped, an empty one where nothing was chosen."""
    choices, note = chosen(annotation.get("result") or [])
    return None if annotation.get("was_cancelled") else ", ".join(choices), note


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
        if ROW in task["data"]
        for answer in annotated_answers(task["data"], [annotation], people)
    ]
