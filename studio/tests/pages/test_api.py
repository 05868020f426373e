"""Every route answers, and what is sent and answered fits the schema of the OpenAPI document."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from fairask_studio import Study
from fairask_studio.pages import Robot, create_app
from studio.tests.pages.conftest import signed
from studio.tests.pages.test_home import CSV, home
from studio.tests.pages.walking import LABELS, documented, walk_home, walk_study

__all__ = ["home"]


def _validate(app: FastAPI, walked: dict[str, Any]) -> None:
    """Check that every route has an example, and that all examples fit their schemas."""
    document = documented(app, walked)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            route = f"{method.upper()} {path.removeprefix('/api')}"
            parts = [*operation.get("requestBody", {}).get("content", {}).values()]
            answers = [r for code, r in operation["responses"].items() if code.startswith("2")]
            shown = [
                content for r in answers for content in r.get("content", {}).values() if "example" in content
            ]
            assert shown, f"{route} has no example; add it to walking.py"
            assert all("example" in part for part in parts), f"{route} has no example of its body"
            for content in [*parts, *shown]:
                schema = {**content.get("schema", {}), "components": document["components"]}
                jsonschema.validate(content["example"], schema)
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    jsonschema.validate(parameter["example"], parameter["schema"])


@pytest.mark.slow  # five models and an audit
@pytest.mark.usefixtures("few_trees")
def test_every_route_of_a_study_answers_as_its_schema_says(study: Study) -> None:
    app = create_app(study, train=False)
    app.state.access.local_name = "ada"  # not whoever runs the tests
    with TestClient(app, base_url="http://localhost") as client:
        app.state.robot = Robot(study, LABELS)  # the demo's, which is not started
        walked = walk_study(signed(client), study)
    _validate(app, walked)


def test_every_route_of_the_home_page_answers_as_its_schema_says(home: TestClient) -> None:
    _validate(home.app, walk_home(home, CSV))  # type: ignore[arg-type]
