"""Polars, DuckDB and Ibis: cells by queries, encoders as expressions, keys, and what is refused."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask.errors import UserError
from fairask.pools import StreamedPool, keyed, open_pool
from fairask.rules import ConstantRule, LinearRule
from fairask.tables import TableError

from .test_tensor import rows_on_cuts, same_cells

# Ibis calls functions of DuckDB that DuckDB will remove.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")]

ENGINES = ["polars", "duckdb", "ibis"]


def frame_of(engine: str, table: pa.Table) -> Any:
    if engine == "polars":
        return pl.from_arrow(table).lazy()
    if engine == "duckdb":
        connection = duckdb.connect()
        connection.register("given", table).execute("CREATE TABLE people AS SELECT * FROM given")
        return connection.table("people")
    with_key = table.append_column("key", pa.array(np.arange(table.num_rows)))
    return keyed(ibis_table(with_key), "key")


def ibis_table(table: pa.Table) -> Any:
    backend = pytest.importorskip("ibis").duckdb.connect()
    backend.con.register("given", table).execute("CREATE TABLE people AS SELECT * FROM given")
    return backend.table("people")


def mixed_table(n: int = 1500) -> pa.Table:
    """Every kind of column, with missing values, blanks and values that are large."""
    rng = np.random.default_rng(5)
    holes = rng.random(n) < 0.1
    text = np.array(["b", " b ", "a", "c  c", "", None], dtype=object)[rng.integers(0, 6, n)]
    return pa.table(
        {
            "single": pa.array(rng.standard_normal(n).astype(np.float32), mask=holes),
            "double": pa.array(np.where(holes, np.nan, 1e7 + rng.standard_normal(n))),
            "whole": pa.array(rng.integers(-(2**40), 2**40, n)),
            "small": pa.array(rng.integers(0, 9, n).astype(np.int8), mask=rng.random(n) < 0.2),
            "yes": pa.array(rng.random(n) < 0.4, mask=holes),
            "text": pa.array(text.tolist()),
            "sex": pa.array(np.array(["f", "m", " m"])[rng.integers(0, 3, n)].tolist()),
            "old": pa.array(rng.random(n) < 0.5),
        }
    )


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Blocks that were read: none, where a query has answered."""
    read: list[Any] = []
    from fairask.pools.sources.engine import EngineTable

    before = EngineTable.read

    def spy(self: EngineTable, block: Any, columns: Any) -> Any:
        read.append(block)
        return before(self, block, columns)

    monkeypatch.setattr(EngineTable, "read", spy)
    return read


@pytest.mark.parametrize("engine", ENGINES)
def test_an_encoder_becomes_expressions(
    engine: str, tmp_path: Any, counted: list[Any], small_blocks: None
) -> None:
    table = mixed_table()
    pq.write_table(table, tmp_path / "t.parquet")
    files = open_pool(tmp_path / "t.parquet", ["sex", "old"])
    pool = open_pool(frame_of(engine, table), ["sex", "old"])
    assert isinstance(pool, StreamedPool)
    assert pool.encoder.parts == files.encoder.parts  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    rules = [LinearRule(rng.standard_normal(len(pool.feature_names) + 1)) for _ in range(6)]
    counted.clear()
    out = np.arange(0, 1500, 11)
    same_cells(pool.excluding(out).by_prediction(rules), files.excluding(out).by_prediction(rules))
    same_cells(pool.by_group(), files.by_group())
    same_cells(pool.by_decision(rules[0]), files.by_decision(rules[0]))
    np.testing.assert_array_equal(pool.take([7, 3, 1400]), files.take([7, 3, 1400]))
    assert pool.table([9, 2]).to_pylist() == table.take([9, 2]).to_pylist()
    assert counted == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rules", [slice(0, 4), slice(0, 5)], ids=["one cut", "cuts by group"])
def test_rows_on_a_cut_are_decided_as_everywhere(engine: str, rules: slice, small_blocks: None) -> None:
    from fairask.pools import MemoryPool

    X, groups, found = rows_on_cuts(2000, 7, seed=3)
    names = [f"x{j}" for j in range(7)]
    table = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, "group": groups})
    pool = open_pool(frame_of(engine, table), "group", names, preprocess="none")
    same_cells(pool.by_prediction(found[rules]), MemoryPool(X, groups, 2).by_prediction(found[rules]))


@pytest.mark.parametrize("engine", ENGINES)
def test_many_rules_and_rules_of_another_kind(engine: str, small_blocks: None) -> None:
    from fairask.pools import MemoryPool

    rng = np.random.default_rng(2)
    X, groups = rng.standard_normal((900, 2)).astype(np.float32), rng.integers(0, 2, 900)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "group": groups})
    pool = open_pool(frame_of(engine, table), "group", ["a", "b"], preprocess="none")
    same = MemoryPool(X, groups, 2)
    many = [LinearRule(rng.standard_normal(3)) for _ in range(64)]
    same_cells(pool.by_prediction(many), same.by_prediction(many))
    same_cells(
        pool.by_prediction([many[0], ConstantRule(True)]), same.by_prediction([many[0], ConstantRule(True)])
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_without_an_expression_are_read(engine: str, tmp_path: Any, counted: list[Any]) -> None:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(60)]
    table = pa.table({"day": days, "sex": ["f", "m", "m"] * 20})
    pq.write_table(table, tmp_path / "t.parquet")
    pool, files = open_pool(frame_of(engine, table), "sex"), open_pool(tmp_path / "t.parquet", "sex")
    rules = [LinearRule(np.array([1.0, 0.1])), LinearRule(np.array([1.0, -0.1]))]
    counted.clear()
    same_cells(pool.by_prediction(rules), files.by_prediction(rules))
    assert counted


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("value", "message"), [(None, "missing"), (float("nan"), "missing"), (np.inf, "infinite")]
)
def test_numbers_that_cannot_be_scored_are_refused(engine: str, value: Any, message: str) -> None:
    table = pa.table({"a": pa.array([1.0, value, 2.0]), "sex": ["f", "m", "f"]})
    pool = open_pool(frame_of(engine, table), "sex", preprocess="none")
    with pytest.raises(TableError, match=message):
        pool.by_prediction([LinearRule(np.array([1.0, 0.0])), LinearRule(np.array([1.0, 0.5]))])


def test_polars_holds_no_scan_that_queries_share(small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan that is shared is held whole: the peak was as large as the pool (3.4 GB at 30 million rows)."""
    X, groups, rules = rows_on_cuts(2000, 7, seed=3)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "sex": groups})
    plans: list[str] = []
    collect = pl.LazyFrame.collect

    def seen(frame: pl.LazyFrame, **how: Any) -> Any:
        if "optimizations" in how:
            plans.append(frame.explain(optimizations=how["optimizations"]))
        return collect(frame, **how)

    monkeypatch.setattr(pl.LazyFrame, "collect", seen)
    monkeypatch.setattr(pl, "collect_all", lambda *_, **__: pytest.fail("two queries share a scan"))
    pool = open_pool(pl.from_arrow(table).lazy(), "sex", preprocess="none", group_values=[0, 1])
    cells = pool.by_prediction(rules[:4])
    cells.locate(np.array([0, 1]), np.array([0, 0]))
    pool.take([3, 1000])
    assert len(plans) >= 3
    assert not any("CACHE" in plan for plan in plans)


def test_a_table_without_numbers_of_its_own_needs_a_key() -> None:
    table = ibis_table(pa.table({"a": [1.0, 2.0], "sex": ["f", "m"]}))
    with pytest.raises(UserError, match="keyed"):
        open_pool(table, "sex")
    with pytest.raises(UserError, match="keyed"):
        open_pool(duckdb.sql("SELECT * FROM range(3)").aggregate("count(*) AS sex"), "sex")


@pytest.mark.parametrize(
    ("key", "values", "message"),
    [
        ("id", [1, 1, 2], "not different"),
        ("id", [1, 1, 3], "not different"),
        ("id", [0.5, 1.0, 2.0], "whole numbers"),
        ("ids", [1, 2, 3], "no column"),
    ],
)
def test_a_key_that_is_none_is_refused(key: str, values: list[float], message: str) -> None:
    frame = pl.LazyFrame({"id": values, "a": [1.0, 2.0, 3.0], "sex": list("fmf")})
    with pytest.raises(UserError, match=message):
        open_pool(keyed(frame, key), "sex")


def test_the_digest_of_a_table_changes_with_its_extremes() -> None:
    one, other = (keyed(pl.LazyFrame({"a": [1.0, 2.0, high]})).digest for high in (3.0, 4.0))
    assert one != other
    assert one == keyed(pl.LazyFrame({"a": [1.0, 2.0, 3.0]})).digest


def test_rows_deleted_from_a_table_of_duckdb_leave_gaps_that_are_not_rows() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS a, range % 2 AS sex FROM range(5000)")
    connection.execute("DELETE FROM t WHERE a % 5 = 3")
    pool = open_pool(connection.table("t"), "sex", preprocess="none")
    assert pool.n_rows == 4000
    assert pool.take([3, 3999]).ravel().tolist() == [4.0, 4999.0]
    assert pool.by_group().counts.tolist() == [2000, 2000]
