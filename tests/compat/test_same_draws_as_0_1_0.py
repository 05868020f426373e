"""The same seeds give the same draws and models as version 0.1.0 did."""

import json

import pytest

from tests.compat.digests import CASES, FILE

STORED = json.loads(FILE.read_text())


SLOW = ("adult-blind",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in sorted(CASES)]
)
def test_the_same_seed_gives_the_same_draws_and_decisions(name: str) -> None:
    assert CASES[name]() == STORED[name]
