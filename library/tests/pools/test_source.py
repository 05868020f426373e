"""Tables of any size: one pass, a uniform sample with keys, exact counts; in every format and engine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from fairask import FairActiveLearner
from fairask.errors import SampleWarning, UserError
from fairask.pools import open_pool, open_source
from fairask.pools.engine import Engine
from fairask.pools.files import Files, local_path
from library.tests.pools.engines import people_in

# Ibis fetches results of DuckDB in a way that DuckDB warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS = 5000


def people(n: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "id": 7 * np.arange(n) - 1000,
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["clerk", "cook", "coder"], n),
            "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
        }
    )


def sources(table: pa.Table, folder: Path) -> dict[str, Any]:
    pq.write_table(table, folder / "one.parquet", row_group_size=900)
    pa.csv.write_csv(table, folder / "one.csv")
    pa.csv.write_csv(table, folder / "one.tsv", pa.csv.WriteOptions(delimiter="\t"))
    pa.feather.write_feather(table, str(folder / "one.arrow"), compression="uncompressed")
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 2000, 2000), folder / "parts" / f"part-{i}.parquet")
    return {
        "parquet": folder / "one.parquet",
        "csv": folder / "one.csv",
        "tsv": str(folder / "one.tsv"),
        "arrow": folder / "one.arrow",
        "folder": (folder / "parts").as_uri(),
        "table": table,
        "dataset": ds.dataset(folder / "parts"),
    }


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr("fairask.pools.files._BATCH", 700)
    return sources(people(), tmp_path)


def test_every_format_gives_the_same_sample_in_one_pass(files: dict[str, Any]) -> None:
    pools = {name: open_pool(source, "sex", drop=["id"], sample=1000) for name, source in files.items()}
    whole = people()
    for name, pool in pools.items():
        assert (pool.n_rows, pool.of) == (1000, ROWS), name
        assert pool.fingerprint() == pools["table"].fingerprint(), name
        np.testing.assert_array_equal(pool.keys, pools["table"].keys, name)
        sex = open_source(files[name]).take(pool.keys, ["sex"]).column("sex").to_pylist()
        assert sex == whole.column("sex").take(pool.keys).to_pylist(), name
        assert [pool.group_values[code] for code in pool.groups] == sex, name


def test_a_table_that_fits_is_the_pool(files: dict[str, Any]) -> None:
    for source in files.values():
        pool = open_pool(source, "sex", drop=["id"])
        assert (pool.n_rows, pool.of, pool.keys.tolist()) == (ROWS, ROWS, list(range(ROWS)))
    first = open_pool(files["csv"], "sex", drop=["id"])
    learner = FairActiveLearner(first, random_state=0, batch_size=30)
    again = FairActiveLearner(np.asarray(first.X), first.groups, random_state=0, batch_size=30)
    assert learner.ask().indices.tolist() == again.ask().indices.tolist()


def test_every_row_is_drawn_with_the_same_probability() -> None:
    files, drawn = open_source(pa.table({"a": range(200)})), np.zeros(200)
    for seed in range(600):
        drawn[files.sample(50, seed).keys] += 1
    # 150 give or take five standard deviations.
    assert np.abs(drawn - 150).max() < 5 * np.sqrt(600 * 0.25 * 0.75)


def test_rows_are_fetched_in_the_order_asked_for(files: dict[str, Any]) -> None:
    for name, source in files.items():
        found = open_source(source).take([4999, 0, 2000, 0], ["id"]).column("id").to_pylist()
        assert found == [7 * 4999 - 1000, -1000, 13000, -1000], name
        with pytest.raises(ValueError, match="no row 5000: the table has rows 0 to 4999"):
            open_source(source).take([5000])


def test_only_row_groups_that_hold_a_row_are_read(files: dict[str, Any]) -> None:
    source, read = open_source(files["parquet"]), []

    class Part:
        def __init__(self, part: Any, at: int) -> None:
            self.row_groups, self.part, self.at = part.row_groups, part, at

        def to_table(self, **given: Any) -> Any:
            read.append(self.at)
            return self.part.to_table(**given)

    source._parts = [Part(part, at) for at, part in enumerate(source._parts)]
    assert source.take([1000, 4999], ["id"]).column("id").to_pylist() == [6000, 33993]
    assert read == [1, 5]


def test_the_digest_changes_with_the_table(files: dict[str, Any], tmp_path: Path) -> None:
    before = {name: open_source(source).digest for name, source in files.items()}
    assert before == {name: open_source(source).digest for name, source in files.items()}
    other = people().set_column(1, "age", pa.array(np.arange(ROWS)))
    (tmp_path / "other").mkdir()
    after = {name: open_source(s).digest for name, s in sources(other, tmp_path / "other").items()}
    assert all(before[name] != after[name] for name in before)


def test_a_bucket_is_read_by_fsspec(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    pq.write_table(people(), tmp_path / "one.parquet")
    memory.pipe("/bucket/one.parquet", (tmp_path / "one.parquet").read_bytes())
    assert open_source("memory://bucket/one.parquet").n_rows == ROWS
    assert local_path("memory://bucket/one.parquet") is None


def test_rare_groups_are_named_with_their_rows() -> None:
    table = people(30_000)
    sex = ["x"] * 9 + table.column("sex").to_pylist()[9:]
    table = table.set_column(3, "sex", pa.array(sex))
    with pytest.warns(SampleWarning, match=r"holds few of the rarest groups: x \(\d+ of 9 rows\)"):
        pool = open_pool(table, "sex", drop=["id"], sample=5000)
    assert pool.group_values == ["f", "m", "x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SampleWarning)
        open_pool(table, "sex", drop=["id"], sample=30_000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": ["salary"]}, "columns names the column 'salary', which is not there"),
        ({"drop": "id"}, "drop='id' must be a list"),
        ({"drop": ["id", "age", "job"]}, "no column is left"),
        ({"sample": 0}, "sample"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        open_pool(people(), "sex", **given)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        open_source(tmp_path / "no.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="cannot be read"):
        open_source(tmp_path / "a.parquet")
    (tmp_path / "text.pdf").write_bytes(b"")
    with pytest.raises(UserError, match="not a table in files"):
        open_source(tmp_path / "text.pdf")
    with pytest.raises(TypeError, match="got ndarray"):
        open_source(np.zeros(3))
    (tmp_path / "mixed").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "mixed" / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "mixed" / "2.parquet")
    with pytest.raises(UserError, match=r"its files differ: column 'a' has type int64 in 1\.parquet"):
        open_source(tmp_path / "mixed")


def test_a_csv_file_whose_types_change_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late.csv").write_text("a,sex\n" + "1,f\n2,m\n" * 3_000_000 + "x,f\n")
    with pytest.raises(UserError, match=r"cannot be read.*Store it as Parquet"):
        open_source(tmp_path / "late.csv").sample(10)


# -- engines ------------------------------------------------------------------------------------


@pytest.fixture(params=["duckdb", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """The table in an engine, with its key; PostgreSQL is a real server."""
    types = "id bigint, age bigint, job text, sex text"
    with people_in(request.param, people(), types, tmp_path) as address:
        found = open_source(address)
        yield found
        found.table.get_backend().disconnect()


def test_an_engine_counts_samples_and_fetches(engine: Engine) -> None:
    table = people()
    assert (engine.n_rows, engine.schema.names) == (ROWS, table.schema.names)
    counted = engine.counts(["sex"]).sort_by("sex").to_pydict()
    assert counted["fairask_rows"] == [table.column("sex").to_pylist().count(sex) for sex in "fm"]
    pool = open_pool(engine, "sex", sample=1000)
    assert (pool.n_rows, pool.of, pool.group_values) == (1000, ROWS, ["f", "m"])
    assert pool.columns.encoder.columns == ["age", "job"]  # the key is no feature
    rows = (pool.keys + 1000) // 7
    expected = table.take(rows)
    assert engine.take(pool.keys).to_pydict() == expected.to_pydict()
    assert [pool.group_values[code] for code in pool.groups] == expected.column("sex").to_pylist()
    assert open_pool(engine, "sex").keys.tolist() == table.column("id").to_pylist()
    backwards = engine.take(pool.keys[::-1], ["age"])
    assert backwards.column("age").to_pylist() == expected.column("age").to_pylist()[::-1]
    with pytest.raises(ValueError, match="no row has the key 3"):
        engine.take([3])


def test_engines_draw_the_same_sample_by_the_same_seed(engine: Engine) -> None:
    here = engine.sample(500, seed=4).keys
    assert (
        here.tolist() == engine.sample(500, seed=4).keys.tolist() != engine.sample(500, seed=5).keys.tolist()
    )
    # Every engine must agree on them.
    assert (len(here), int(here.sum())) == (500, 8409187)


def test_a_learner_asks_and_is_told_by_an_engine_s_keys(engine: Engine) -> None:
    bands = open_pool(engine, ["sex", "age:40"], sample=2000).group_values
    assert bands == [("f", "40 or more"), ("f", "under 40"), ("m", "40 or more"), ("m", "under 40")]
    pool = open_pool(engine, "sex", sample=2000)
    learner = FairActiveLearner(pool, strategy="passive", estimator="linear", batch_size=60, random_state=0)
    for _ in range(2):
        asked = learner.ask().indices
        ages = np.array(engine.take(pool.keys[asked], ["age"]).column("age").to_pylist())
        learner.tell(asked, (ages > 45).astype(int))
    raw = engine.take(pool.keys[:5]).select(["age", "job", "sex"])
    assert learner.current_model().predict(raw).shape == (5,)


def test_every_key_is_drawn_with_the_same_probability(engine: Engine) -> None:
    drawn = np.zeros(ROWS)
    for seed in range(120):
        drawn[(engine.sample(1000, seed).keys + 1000) // 7] += 1
    # The mean of squares tells a sample that favours some keys; 24 and its binomial variance otherwise.
    assert drawn.sum() == 120 * 1000
    assert np.var(drawn) == pytest.approx(120 * 0.2 * 0.8, rel=0.12)


def test_what_cannot_be_a_key_is_refused(tmp_path: Path) -> None:
    duckdb, ibis = pytest.importorskip("duckdb"), pytest.importorskip("ibis")
    with duckdb.connect(str(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b FROM range(10)")
        database.execute("CREATE VIEW v AS SELECT * FROM t")
    base = f"duckdb:///{tmp_path}/a.db"
    with pytest.raises(UserError, match="no table 'people'"):
        open_source(f"{base}#people")
    with pytest.raises(UserError, match="no column 'c' to be the key"):
        open_source(f"{base}#t:c")
    with pytest.raises(UserError, match="does not hold whole numbers"):
        open_source(f"{base}#t:b")
    with pytest.raises(UserError, match="have no numbers of their own"):
        open_source(f"{base}#v")
    with pytest.raises(UserError, match="not different in every row"):
        open_source(f"{base}#t:a").sample(5)
    with pytest.raises(UserError, match="cannot be opened"):
        open_source(f"duckdb:///{tmp_path}/no.db#t")
    assert isinstance(open_source(ibis.duckdb.connect(tmp_path / "a.db", read_only=True).table("t")), Engine)
    assert not isinstance(open_source(people()), Engine)
    assert isinstance(open_source(people()), Files)


# -- matrices in memory -------------------------------------------------------------------------


def test_a_learner_samples_a_large_matrix_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairask.learner.SAMPLE", 400)
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(3000, 3)), rng.choice(["a", "b"], 3000)
    y = (X[:, 0] > 0).astype(int)

    def make() -> FairActiveLearner:
        return FairActiveLearner(X, groups, estimator="linear", batch_size=50, random_state=1)

    with pytest.warns(SampleWarning, match="a uniform sample of 400 of the 3,000") as caught:
        learner = make()
    assert len(caught) == 1
    with pytest.warns(SampleWarning):
        inside = set(make()._drawn_from.keys.tolist())
    for _ in range(3):
        asked = learner.ask().indices
        learner.tell(asked, y[asked])
    assert len(set(learner.labelled_indices_.tolist())) == 150
    assert set(learner.labelled_indices_.tolist()) <= inside
    assert max(learner.labelled_indices_) > 400  # rows of the user's own matrix
    assert learner.propensities_[:50] == pytest.approx(1.0 / np.arange(400, 350, -1))
    learner.tell(asked := learner.ask().indices, y[asked])
    np.testing.assert_array_equal(learner.labelled().X, X[learner.labelled_indices_])
    # The audit is of all rows.
    assert learner.audit(50)._strata.sizes.sum() == 3000


def test_a_pool_that_was_given_is_not_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairask.learner.SAMPLE", 400)
    pool = open_pool(people(), "sex", drop=["id"], sample=1000)
    learner = FairActiveLearner(pool, random_state=0)
    assert max(learner.ask(900).indices) >= 400
