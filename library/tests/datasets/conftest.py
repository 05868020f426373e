from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Read before any test replaces the environment.
GIVEN = os.environ.get("FAIRASK_DATA")


def find_tables() -> Path | None:
    """The folder of published tables: FAIRASK_DATA, else shared/data beside the checkout."""
    beside = Path(__file__).parents[4] / "shared" / "data"
    if GIVEN:
        return Path(GIVEN)
    return beside if beside.is_dir() else None


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees or touches the user's folder, cache or mirror."""
    monkeypatch.delenv("FAIRASK_DATA", raising=False)
    monkeypatch.delenv("FAIRASK_DATA_URL", raising=False)
    monkeypatch.setenv("FAIRASK_CACHE", str(tmp_path / "cache"))
    # A proxy of the machine must not stand between a test and its own server.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published tables, set as FAIRASK_DATA."""
    folder = find_tables()
    if folder is None:
        pytest.skip("needs the published tables: set FAIRASK_DATA to a folder that holds them")
    monkeypatch.setenv("FAIRASK_DATA", str(folder))
    return folder
