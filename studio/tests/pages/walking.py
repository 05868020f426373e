"""A walk through the whole API: each route once, with a request that works; the examples of the API."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.connect.connector import Link, ensure_link
from studio.tests.study.conftest import people_table, truth

__all__ = ["LABELS", "Walk", "documented", "shape", "walk_home", "walk_study"]

LABELS = truth(people_table())
#: Secrets, which are not for a file: by the names of their fields.
_SECRETS = {
    "token": "shown-only-once",
    "path": "/?code=shown-only-once",
    "address": "/s/loans/?code=shown-only-once",
}


class Walk:
    """Calls the API, and keeps what was sent and answered."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.examples: dict[str, dict[str, Any]] = {}

    def __call__(
        self, route: str, body: object = None, *, query: dict[str, Any] | None = None, **parts: object
    ) -> Any:
        """Send a request; ``parts`` fill the path."""
        method, _, path = route.partition(" ")
        raw = isinstance(body, str)
        filled = re.sub(r"\{(\w+)\}", lambda part: str(parts[part[1]]), path)
        answer = self.client.request(
            method, f"/api{filled}", params=query, json=None if raw else body, content=body if raw else None
        )
        assert answer.status_code < 300, f"{route}: {answer.status_code} {answer.text[:300]}"
        kind = answer.headers["content-type"].partition(";")[0]
        found = answer.json() if kind == "application/json" else answer.text[:120] if "text" in kind else ""
        example: dict[str, Any] = {"status": answer.status_code, "kind": kind, "response": _short(found)}
        if parts or query:
            example["parameters"] = {**parts, **(query or {})}
        if body is not None:
            example["request"] = _short(body)
        self.examples[route] = example
        return found


def _short(value: object, name: str = "") -> Any:
    """Cut lists and texts; leave secrets out."""
    if isinstance(value, dict):
        return {key: _short(found, key) for key, found in value.items()}
    if isinstance(value, list):
        return [_short(found) for found in value[:2]]
    if isinstance(value, str):
        return _SECRETS.get(name, value if len(value) <= 300 else value[:299] + "…")
    return value


def shape(value: object) -> object:
    """What must be the same in an example and in an answer: names of fields, and kinds of values."""
    if isinstance(value, dict):
        return {key: shape(found) for key, found in value.items()}
    if isinstance(value, list):
        return [shape(found) for found in value]
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def walk_study(client: TestClient, study: Study) -> dict[str, dict[str, Any]]:
    """Walk as an owner with a study that has 20 of 60 rows drawn."""
    walk = Walk(client)
    walk("GET /me")
    walk("GET /demo")
    walk("PUT /demo", {"paused": True})
    walk(
        "PUT /settings",
        {
            "question": "Will they repay?",
            "columns": {"income": {"title": "Income", "unit": "k€"}},
            "guidelines": "Repaid within **a year** is good.",
        },
    )
    walk("GET /settings")
    walk("POST /people", {"name": "ada", "role": "owner"})
    walk("POST /people", {"name": "bob", "role": "annotator"})
    walk("GET /people")
    walk("PUT /people/{name}", {"role": "reviewer"}, name="bob")
    walk("PUT /people/{name}", {"role": "annotator"}, name="bob")
    walk("PUT /address", {"address": "https://label.example.org"})
    walk("POST /people/{name}/invitation", {"hours": 72}, name="bob")
    walk("POST /programs", {"name": "nightly", "role": "annotator", "until": "2999-12-31"})
    walk("GET /programs")
    walk("DELETE /programs/{name}", name="nightly")
    walk("POST /qr", "https://studio.example.org/?code=abc")
    _label(walk, study)
    walk("GET /proxies")
    _own(walk, study)
    walk("DELETE /people/{name}", name="bob")
    token = study.people.add("eve")
    walk("POST /session", {"token": token})
    walk.client.cookies.clear()
    page = client.get("/label", params={"code": study.people.invite("ada")}).text
    walk.client.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
    walk("DELETE /session")
    return walk.examples


def _label(walk: Walk, study: Study) -> None:
    first, second = (card["row"] for card in walk("POST /next", {"count": 2})["cards"])
    walk("POST /answers", {"row": first, "label": LABELS[first], "note": ""})
    walk("POST /answers", {"row": second, "label": LABELS[second], "note": "the income is hard to read"})
    walk("GET /answers")
    walk("GET /answers/{row}", row=first)
    walk("PUT /answers/{row}", {"label": LABELS[first]}, row=first)
    walk("DELETE /answers/{row}", row=second)
    walk("GET /cells/{row}/{column}", row=first, column="job")
    made = walk("POST /flags", {"row": first, "text": "Is this the same person as row 3?"})
    walk("GET /flags/mine")
    walk("GET /flags", query={"row": first})
    walk("POST /flags/{flag}", {"text": "No, they only share a name.", "resolve": True}, flag=made["id"])
    walk("PUT /known/{row}", {"label": "good", "use": "example", "why": "Income covers the debt."}, row=7)
    known = "row,gold,use,explanation\n8,bad,practice,No job.\n9,good,gold,\n"
    walk("POST /known", known, query={"name": "gold.csv", "unchecked": True})
    walk("GET /known")
    walk("GET /examples")
    walk("DELETE /known/{row}", row=9)
    rows = study.ask(40, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    walk("POST /answers", {"row": second, "label": LABELS[second]})
    study.refit(force=True)


def _own(walk: Walk, study: Study) -> None:
    row = next(iter(study.state().answers))
    walk("GET /status")
    walk("GET /story")
    walk("GET /events", query={"limit": 2})
    walk("GET /people/figures")
    walk("GET /people/errors")
    walk("POST /people/again", {"rows": 3})
    walk("GET /rows", query={"search": "smith", "sort": "-income", "columns": "income", "limit": 2})
    walk("GET /rows/{row}", row=row)
    walk("PUT /rows/{row}", {"label": "good"}, row=row)
    walk("GET /rows/{row}/history", row=row)
    taken = walk("POST /reopened", {"name": "ada", "look": False})
    walk("GET /reopened")
    walk("DELETE /reopened/{event}", event=taken["event"])
    walk("POST /model")
    walk("GET /model")
    walk("GET /model/details")
    walk("GET /audit")
    walk("POST /audit", {"labels": 12})
    walk("DELETE /audit")
    walk("POST /audit", {"labels": 12})
    while study.state().audit is not None and not study.state().audit.done:  # type: ignore[union-attr]
        study.draw()
        rows = study.ask(12, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
    walk("POST /certificate")
    walk("GET /certificates")
    walk("GET /export/{name}", name="labels.csv")
    walk("POST /model")
    drawn = study.ask(1, "ada")[0]
    walk("POST /labels", f"row,label\n{drawn},good\n", query={"name": "labels.csv", "unchecked": True})
    _connect(walk, study)


def _connect(walk: Walk, study: Study) -> None:
    token = ensure_link(study, Link("webhook", "webhook", "https://example.org/rows"), "ada")
    row = study.ask(1, "ada")[0]
    walk("GET /connect")
    mine, walk.client = (
        walk.client,
        TestClient(
            walk.client.app, base_url="http://localhost", headers={"Authorization": f"Bearer {token}"}
        ),
    )
    answer = {
        "id": "17",
        "version": 1,
        "row": row,
        "check": study.row_codes([row])[row],
        "who": "ada",
        "label": "good",
    }
    walk("POST /connect/{name}/answers", {"answers": [answer]}, name="webhook")
    walk("GET /connect/{name}/health", name="webhook")
    walk("POST /connect/{name}/setup", name="webhook")
    walk("POST /connect/{name}/predict", {"tasks": [{"data": {"row": row}}]}, name="webhook")
    walk("POST /connect/{name}/webhook", {"action": "PROJECT_UPDATED"}, name="webhook")
    walk.client = mine


def walk_home(client: TestClient, csv: str) -> dict[str, dict[str, Any]]:
    """Walk as whoever opened the printed address of a folder without studies."""
    walk = Walk(client)
    walk("GET /me")
    table = walk("POST /tables", csv, query={"name": "comments.csv"})
    known = {"label": "complaint", "positive": "yes", "protected": ["sex"], "tolerance": 0.1, "budget": 60}
    walk("PUT /tables/{table}/files", "GIF89a", query={"name": "photos/1.gif"}, table=table["id"])
    walk("GET /tables/{table}/file", query={"name": "1.gif"}, table=table["id"])
    walk("GET /tables/{table}", table=table["id"])
    walk("POST /tables/{table}/learned", {"protected": ["sex"], "drop": ["complaint"]}, table=table["id"])
    walk("POST /tables/{table}/forecast", known, table=table["id"])
    walk("GET /tables/{table}/forecast", table=table["id"])
    walk.client.app.state.forecasts.stop()  # type: ignore[attr-defined]
    walk("POST /studies", {
        "table": table["id"], "name": "comments", "question": "Is it a complaint?", "classes": ["no", "yes"],
        "protected": ["sex"], "displays": {"comment": "markdown"}, "drop": ["score", "complaint"],
        "tolerance": 0.1, "budget": 30,
    })  # fmt: skip
    walk("GET /studies")
    walk("POST /studies/{name}/open", name="comments")
    walk("POST /studies/{name}/copy", {"name": "again"}, name="comments")
    walk("PUT /studies/{name}", {"archived": True}, name="again")
    walk("DELETE /studies/{name}", {"name": "again"}, name="again")
    token = walk.client.app.state.access.people.add("ada", "owner")  # type: ignore[attr-defined]
    walk("POST /session", {"token": token})
    page = client.get("/").text
    walk.client.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
    walk("DELETE /session")
    return walk.examples


def documented(app: FastAPI, examples: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document of an app, with examples by route."""
    found = app.openapi()
    for route, example in examples.items():
        method, _, path = route.partition(" ")
        operation = found["paths"].get(f"/api{path}", {}).get(method.lower())
        if operation is not None:
            _add(operation, example)
    return found


def _add(operation: dict[str, Any], example: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        given = example.get("parameters", {})
        if parameter["name"] in given:
            parameter["example"] = given[parameter["name"]]
    if "request" in example:
        kind = "application/json" if isinstance(example["request"], dict) else "application/octet-stream"
        body = operation.setdefault("requestBody", {"content": {kind: {"schema": {}}}})
        for content in body["content"].values():
            content["example"] = example["request"]
    answered = operation["responses"].setdefault(
        str(example["status"]), {"description": "Successful Response"}
    )
    answered.setdefault("content", {}).setdefault(example["kind"], {})["example"] = example["response"]
