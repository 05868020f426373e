"""Every route answers, and what is sent and answered fits the schema; nonsense is refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks

from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.pages.demo import Robot
from studio.tests.pages.conftest import signed
from studio.tests.pages.test_home import CSV, home
from studio.tests.pages.walking import LABELS, documented, walk_home, walk_study
from studio.tests.study.conftest import people_table

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


_CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("few_trees")
def test_no_request_breaks_the_api(tmp_path: Path) -> None:
    study = Study.create(
        tmp_path / "s", people_table(), protected="sex", classes=("bad", "good"), budget=60, random_state=0
    )
    headers = {"Authorization": f"Bearer {study.people.add('ada', 'owner')}"}
    rows = study.ask(25, "ada")
    study.tell(rows[:20], ["good", "bad"] * 10, "ada")
    study.refit(force=True)
    schema = schemathesis.openapi.from_asgi(
        "/api/openapi.json", create_app(study, local=False, train=False), headers=headers
    )
    seen: set[int] = set()
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def attempt(case: schemathesis.Case) -> None:
            seen.add(case.call_and_validate(checks=_CHECKS, headers=headers).status_code)

        attempt()
        tried += 1
    assert tried >= 20
    assert {200, 201, 404, 409, 422} <= seen  # it got past the door
    study.close()
