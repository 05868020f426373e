from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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


#: Rows of :func:`scored`.
N = 3000


def scored(seed: int = 0) -> pa.Table:
    """Predictions of a fair model, as numbers, classes and probabilities, with the truth."""
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(0, 2, N), rng.integers(0, 2, N)
    said = np.where(rng.random(N) < 0.9, y, 1 - y)
    return pa.table(
        {
            "age": rng.integers(18, 80, N),
            "income": rng.normal(50 + 20 * y, 10).astype(np.float32),
            "sex": np.array(["f", "m"])[sex],
            "said": said,
            "word": np.array(["no", "yes"])[said],
            "chance": np.where(said == 1, 0.9, 0.1),
            "paid": np.array(["no", "yes"])[y],
            "none": pa.nulls(N, pa.int64()),
        }
    )


@pytest.fixture
def bucket() -> Iterator[str]:
    """The table as three files in memory."""
    store, table = fsspec.filesystem("memory"), scored()
    for i, (a, b) in enumerate([(0, 700), (700, 1900), (1900, N)]):
        with store.open(f"/bucket/scored/{i}.parquet", "wb") as file:
            pq.write_table(table.slice(a, b - a), file, row_group_size=300)
    yield "memory://bucket/scored"
    store.rm("/bucket", recursive=True)


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
