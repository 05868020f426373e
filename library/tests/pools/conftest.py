from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fairask.pools import MemoryPool, keyed, open_pool

N, D = 3000, 5
NAMES = [f"x{j}" for j in range(D)]


def make_rows(n: int = N, d: int = D, seed: int = 0) -> tuple[Any, Any, Any]:
    """Features, three groups of unequal size, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32)
    X[n // 2 :: 7] = X[0]  # repeated rows: ties must be broken the same way everywhere
    groups = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    y = (X[:, 0] + 0.5 * groups + 0.5 * rng.standard_normal(n) > 0.3).astype(int)
    return X, groups, y


def as_table(X: Any, groups: Any, y: Any) -> pa.Table:
    columns: dict[str, Any] = {name: X[:, j] for j, name in enumerate(NAMES)}
    return pa.table({**columns, "group": groups, "y": y})


@pytest.fixture(scope="session")
def rows() -> tuple[Any, Any, Any]:
    return make_rows()


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> Path:
    """The rows as two .npy files, one Parquet file, and a folder of uneven files and row groups."""
    folder = tmp_path_factory.mktemp("stored")
    X, groups, y = rows
    np.save(folder / "X.npy", X)
    np.save(folder / "groups.npy", groups)
    table = as_table(X, groups, y)
    pq.write_table(table, folder / "one.parquet", row_group_size=700)
    (folder / "many").mkdir()
    for i, (a, b) in enumerate([(0, 100), (100, 1700), (1700, N)]):
        pq.write_table(table.slice(a, b - a), folder / "many" / f"part-{i}.parquet", row_group_size=500)
    return folder


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a test's pool has many, of other sizes in every kind of pool."""
    monkeypatch.setattr("fairask.pools.sources.array._BLOCK", 640)
    monkeypatch.setattr("fairask.pools.sources.parquet._BLOCK", 900)
    monkeypatch.setattr("fairask.pools.sources.parquet._BATCH", 210)
    monkeypatch.setattr("fairask.pools.sources.dask._BATCH", 330)
    monkeypatch.setattr("fairask.pools.sources.engine._BLOCK", 800)
    monkeypatch.setattr("fairask.pools.sources.tensor._CPU_BLOCK", 450)
    monkeypatch.setattr("fairask.pools.codes._SLICE", 128)


class PoolsByKind(Mapping[str, Any]):
    """Pools by their kind, each made when a test first asks for it."""

    def __init__(self, makers: dict[str, Callable[[], Any]]) -> None:
        self.makers, self.made = makers, dict[str, Any]()

    def __getitem__(self, kind: str) -> Any:
        if kind not in self.made:
            self.made[kind] = self.makers[kind]()
        return self.made[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


@pytest.fixture
def pools(small_blocks: None, stored: Path, rows: Any) -> Iterator[Mapping[str, Any]]:
    """The same rows as every kind of pool."""
    import dask
    import dask.dataframe as dd
    import duckdb
    import polars as pl
    import torch

    X, groups, y = rows
    settings: dict[str, Any] = {"columns": NAMES, "preprocess": "none"}
    table = as_table(X, groups, y)
    shuffled = table.append_column("id", pa.array(np.arange(len(X)) + 40)).take(
        np.random.default_rng(1).permutation(len(X))
    )
    gaps = shuffled.set_column(shuffled.num_columns - 1, "id", pc.multiply(shuffled["id"], shuffled["id"]))

    def from_table(place: Any) -> Any:
        return open_pool(place, "group", **settings)

    def in_duckdb(content: pa.Table) -> Any:
        database = duckdb.connect()
        database.register("given", content).execute("CREATE TABLE people AS SELECT * FROM given")
        return database.table("people")

    with dask.config.set(scheduler="threads"):
        yield PoolsByKind(
            {
                "arrays": lambda: MemoryPool(X, groups, 3),
                "memory map": lambda: open_pool(stored / "X.npy", stored / "groups.npy"),
                "parquet file": lambda: from_table(stored / "one.parquet"),
                "parquet folder": lambda: from_table(str(stored / "many")),
                "dask frame": lambda: from_table(dd.from_pandas(table.to_pandas(), npartitions=4)),
                "polars file": lambda: from_table(pl.scan_parquet(stored / "one.parquet")),
                "polars key": lambda: from_table(keyed(pl.from_arrow(shuffled).lazy(), "id")),
                "duckdb table": lambda: from_table(in_duckdb(table)),
                "duckdb gaps": lambda: from_table(keyed(in_duckdb(gaps), "id")),
                "parquet on a device": lambda: from_table(stored / "one.parquet").on_device("cpu"),
                "arrays on a device": lambda: MemoryPool(X, groups, 3).on_device("cpu"),
                "tensor": lambda: open_pool(torch.from_numpy(X), torch.from_numpy(groups)),
            }
        )
