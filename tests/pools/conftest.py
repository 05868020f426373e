from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture
def pools(small_blocks: None, stored: Path, rows: Any) -> Iterator[dict[str, Any]]:
    """The same rows as every kind of pool."""
    import dask
    import dask.dataframe as dd
    import duckdb
    import polars as pl
    import torch

    X, groups, y = rows
    frame = dd.from_pandas(as_table(X, groups, y).to_pandas(), npartitions=4)
    table = as_table(X, groups, y)
    shuffled = table.append_column("id", pa.array(np.arange(len(X)) + 40)).take(
        np.random.default_rng(1).permutation(len(X))
    )
    database = duckdb.connect()
    database.register("given", table).execute("CREATE TABLE people AS SELECT * FROM given")
    gaps = shuffled.set_column(shuffled.num_columns - 1, "id", pc.multiply(shuffled["id"], shuffled["id"]))
    database.register("apart", gaps).execute("CREATE TABLE gaps AS SELECT * FROM apart")
    settings: dict[str, Any] = {"columns": NAMES, "preprocess": "none"}
    with dask.config.set(scheduler="threads"):
        yield {
            "arrays": MemoryPool(X, groups, 3),
            "memory map": open_pool(stored / "X.npy", stored / "groups.npy"),
            "parquet file": open_pool(stored / "one.parquet", "group", **settings),
            "parquet folder": open_pool(str(stored / "many"), "group", **settings),
            "dask frame": open_pool(frame, "group", **settings),
            "polars file": open_pool(pl.scan_parquet(stored / "one.parquet"), "group", **settings),
            "polars key": open_pool(keyed(pl.from_arrow(shuffled).lazy(), "id"), "group", **settings),
            "duckdb table": open_pool(database.table("people"), "group", **settings),
            "duckdb gaps": open_pool(keyed(database.table("gaps"), "id"), "group", **settings),
            "parquet on a device": open_pool(stored / "one.parquet", "group", **settings).on_device("cpu"),
            "arrays on a device": MemoryPool(X, groups, 3).on_device("cpu"),
            "tensor": open_pool(torch.from_numpy(X), torch.from_numpy(groups)),
        }
