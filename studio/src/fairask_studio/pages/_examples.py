"""Examples in the OpenAPI document: for each route a request, and what was answered to it.

They are in ``examples.json``, which a walk through the API of a real study writes
(``FAIRASK_EXAMPLES=1 python -m pytest tests/studio/test_examples.py``). The tests take the same walk and
compare, so an example that is no longer true is found.
"""

from __future__ import annotations

import json
from pathlib import Path

from fastapi import FastAPI

from fairask_studio.events import Document

EXAMPLES = Path(__file__).parent / "examples.json"


def _examples(which: str) -> dict[str, Document]:
    found: dict[str, Document] = json.loads(EXAMPLES.read_text("utf-8"))[which]
    return found


def document_examples(app: FastAPI, which: str) -> None:
    """Add the examples of ``which`` API ("study" or "home") to the OpenAPI document of an app."""
    plain = app.openapi

    def documented() -> Document:
        if app.openapi_schema is None:
            found = plain()
            for route, example in _examples(which).items():
                method, _, path = route.partition(" ")
                operation = found["paths"].get(f"/api{path}", {}).get(method.lower())
                if operation is not None:
                    _add(operation, example)
        return plain()

    app.openapi = documented  # type: ignore[method-assign]


def _add(operation: Document, example: Document) -> None:
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
