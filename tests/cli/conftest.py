from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from fairask.cli._app import app


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write into the test's folder, and see neither the user's data nor a terminal's width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAIRASK_DATA", raising=False)
    monkeypatch.delenv("FAIRASK_DATA_URL", raising=False)
    monkeypatch.setenv("FAIRASK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def fairask() -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*words: Any) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """A labelled table that can be learned: income and age decide, groups differ in income."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(240):
        sex = "m" if i % 3 else "f"
        income, age = rng.normal(50 + 5 * (sex == "m"), 15), int(rng.integers(18, 80))
        paid = "yes" if income + 0.3 * age + rng.normal(0, 8) > 66 else "no"
        out.append({"sex": sex, "age": age, "income": round(income, 2), "paid": paid})
    return out


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as a CSV file."""

    def write(rows: list[dict[str, Any]], name: str = "table.csv") -> Path:
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


@pytest.fixture
def table(rows: list[dict[str, Any]], write: Callable[..., Path]) -> Path:
    return write(rows)
