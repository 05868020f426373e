"""Worker processes change no result. They fit whole forests, so this file does without ``few_trees``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import Result

from library.tests.cli.test_commands import SMALL


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(fairask: Callable[..., Result]) -> None:
    one, two = (json.loads(fairask(*SMALL, "--jobs", jobs, "--json").stdout) for jobs in (1, 2))
    assert one == two
