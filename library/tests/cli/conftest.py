from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from fairask.audit import Audit
from fairask.cli._app import app
from library.tests.cli.auditing import applications


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Let commands write into the folder, and see neither the user's data nor a terminal's width."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("FAIRASK_DATA", raising=False)
        patch.delenv("FAIRASK_DATA_URL", raising=False)
        patch.setenv("FAIRASK_CACHE", str(folder / "cache"))
        patch.setenv("COLUMNS", "120")
        yield


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path) -> Iterator[None]:
    with working_in(tmp_path):
        yield


def run(*words: Any) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def fairask() -> Callable[..., Result]:
    return run


@pytest.fixture
def no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay of an audit at its end is tested elsewhere and takes seconds."""
    monkeypatch.setattr(Audit, "calibration", lambda *_, **__: 0.05)


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return payments()


def payments() -> list[dict[str, Any]]:
    """A labelled table that can be learned: income and age decide, groups differ in income."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(240):
        sex = "m" if i % 3 else "f"
        income, age = rng.normal(50 + 5 * (sex == "m"), 15), int(rng.integers(18, 80))
        paid = "yes" if income + 0.3 * age + rng.normal(0, 8) > 66 else "no"
        out.append({"sex": sex, "age": age, "income": round(income, 2), "paid": paid})
    return out


def write_csv(rows: list[dict[str, Any]], path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as a CSV file."""

    def write(rows: list[dict[str, Any]], name: str = "table.csv") -> Path:
        return write_csv(rows, tmp_path / name)

    return write


@pytest.fixture
def table(rows: list[dict[str, Any]], write: Callable[..., Path]) -> Path:
    return write(rows)


@pytest.fixture
def pool(write: Callable[..., Path]) -> Path:
    """A table with decisions, for audits."""
    return write(applications(), "pool.csv")
