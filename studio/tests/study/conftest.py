"""Studies to test with, on both databases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from fairask_studio import Study
from studio.tests.study import postgres

_NUMBER = itertools.count()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres.running() as url:
        yield url


def new_database(url: str) -> str:
    name = f"study_{next(_NUMBER)}"
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{url}/{name}"


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return new_database(request.getfixturevalue("postgres_url"))


def people_table(rows: int = 200, seed: int = 0) -> dict[str, list[Any]]:
    """Applicants whose outcome depends on income, debt and, a little, on their group."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=rows)
    return {
        "income": (rng.normal(size=rows) + 0.5 * sex).round(3).tolist(),
        "debt": rng.normal(size=rows).round(3).tolist(),
        "job": [["none", "clerk", "smith"][i] for i in rng.integers(3, size=rows)],
        "sex": [["f", "m"][s] for s in sex],
    }


def truth(table: dict[str, list[Any]]) -> list[str]:
    score = np.array(table["income"]) - np.array(table["debt"])
    noise = np.random.default_rng(1).normal(size=len(score))
    return [["bad", "good"][int(v)] for v in score + noise > 0]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Study]]:
    """Make a small study; closed at the end of the test."""
    made: list[Study] = []

    def build(target: str | None = None, **settings: Any) -> Study:
        given = {"protected": "sex", "classes": ("bad", "good"), "budget": 60, "batch_size": 10,
                 "random_state": 3, **settings}  # fmt: skip
        table = given.pop("table", people_table())
        where = str(tmp_path / "study") if target is None else target
        made.append(Study.create(where, table, **given))
        return made[-1]

    yield build
    for study in made:
        study.close()
