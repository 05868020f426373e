"""PySpark: the same cells and rows as in memory, by the same expressions. Needs pyspark and Java."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask import FairActiveLearner
from fairask.pools import MemoryPool, keyed, open_pool

from .test_tensor import rows_on_cuts, same_cells

# PySpark is 480 MB and starts a virtual machine: it is not in the development environment.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="PySpark needs Java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pip install 'fairask[spark]'")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_spark_counts_and_draws_as_memory_does(spark: Any, tmp_path: Path, small_blocks: None) -> None:
    X, groups, rules = rows_on_cuts(2000, 7, seed=3)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(
        pa.table({**columns, "sex": groups, "id": np.arange(10, 2010)}), tmp_path / "people.parquet"
    )
    table = keyed(spark.read.parquet(str(tmp_path / "people.parquet")), "id")
    pool = open_pool(table, "sex", preprocess="none", group_values=[0, 1])
    held = MemoryPool(X, groups, 2)
    same_cells(pool.by_prediction(rules[:4]), held.by_prediction(rules[:4]))
    drawn = []
    for rows in (pool, held):
        learner = FairActiveLearner(rows, profile="paper", batch_size=20, random_state=0)
        first = learner.ask(40)
        learner.tell(first.indices, (X[first.indices, 0] > 0).astype(int))
        drawn.append(np.concatenate([first.indices, learner.ask().indices]).tolist())
    assert drawn[0] == drawn[1]
