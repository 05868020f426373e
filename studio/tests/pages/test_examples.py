"""The examples of the OpenAPI document are true: each is answered as it says, and fits its schema."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import Robot, create_app
from fairask_studio.pages._examples import EXAMPLES
from studio.tests.pages.conftest import signed
from studio.tests.pages.test_home import CSV, home
from studio.tests.pages.walking import LABELS, shape, walk_home, walk_study

__all__ = ["home"]


def _check(which: str, walked: dict[str, Any]) -> None:
    if os.environ.get("FAIRASK_EXAMPLES"):
        known = json.loads(EXAMPLES.read_text()) if EXAMPLES.exists() else {}
        EXAMPLES.write_text(json.dumps({**known, which: walked}, indent=1, ensure_ascii=False) + "\n")
    kept = json.loads(EXAMPLES.read_text())[which]
    again = f"FAIRASK_EXAMPLES=1 python -m pytest {__file__} writes the examples anew"
    for route, example in walked.items():
        assert route in kept, f"{route} has no example; add it to tests/studio/walking.py. {again}"
        assert _alike(example["response"], kept[route]["response"]), f"{route} answers otherwise. {again}"
        assert shape(example.get("request")) == shape(kept[route].get("request")), f"{route}. {again}"


def _alike(one: object, other: object) -> bool:
    """Whether two answers have the same fields with values of the same kind; null is of any kind."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return not one or not other or _alike(one[0], other[0])
    return one is None or other is None or shape(one) == shape(other)


def _validate(app: FastAPI) -> None:
    """Check that every route has an example, and that all examples fit their schemas."""
    document = app.openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            route = f"{method.upper()} {path.removeprefix('/api')}"
            parts = [*operation.get("requestBody", {}).get("content", {}).values()]
            answers = [r for code, r in operation["responses"].items() if code.startswith("2")]
            shown = [
                content for r in answers for content in r.get("content", {}).values() if "example" in content
            ]
            assert shown, f"{route} has no example; add it to tests/studio/walking.py"
            assert all("example" in part for part in parts), f"{route} has no example of its body"
            for content in [*parts, *shown]:
                schema = {**content.get("schema", {}), "components": document["components"]}
                jsonschema.validate(content["example"], schema)
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    jsonschema.validate(parameter["example"], parameter["schema"])


@pytest.mark.slow  # five models and an audit
@pytest.mark.usefixtures("few_trees")
def test_every_example_of_a_study_is_what_its_route_answers(study: Study) -> None:
    app = create_app(study, train=False)
    app.state.access.local_name = "ada"  # not whoever runs the tests
    with TestClient(app, base_url="http://localhost") as client:
        app.state.robot = Robot(study, LABELS)  # the demo's, which is not started
        _check("study", walk_study(signed(client), study))
    _validate(app)


def test_every_example_of_the_home_page_is_what_its_route_answers(home: TestClient) -> None:
    _check("home", walk_home(home, CSV))
    _validate(home.app)  # type: ignore[arg-type]
