"""Opening tables: files, folders, filesystems, preprocessing, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from fairask.pools import MemoryPool, PassProgress, open_pool
from library.tests.pools.conftest import NAMES, as_table


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table with every kind of column, missing values and a constant."""
    rng = np.random.default_rng(3)
    n = 1000
    age = rng.integers(18, 90, n).astype(float)
    age[::10] = np.nan
    table = pa.table(
        {
            "age": pa.array(age, from_pandas=True),
            "income": rng.lognormal(10, 1, n),
            "since": 1_700_000_000 + rng.integers(0, 1000, n),
            "employed": rng.random(n) < 0.7,
            "job": pa.array([None if i % 50 == 0 else "abc"[i % 3] for i in range(n)]).dictionary_encode(),
            "country": ["x"] * n,
            "sex": np.where(rng.random(n) < 0.3, "f", "m"),
            "old": age > 50,
        }
    )
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=130)
    return tmp_path / "people.parquet"


def test_numbers_are_standardised_and_filled_and_texts_become_levels(
    people: Path, small_blocks: None
) -> None:
    pool = open_pool(people, "sex", drop=["old"])
    assert pool.feature_names == [
        "age", "age is missing", "income", "since", "employed", "job=b", "job=c", "job is missing",
    ]  # fmt: skip
    assert pool.encoder.left_out == {"country": "one value only"}
    assert pool.encoder.fitted_on == "all 1,000 rows"
    X = pool.in_memory().X
    assert X.dtype == np.float32
    raw = pq.read_table(people)
    for j, name in zip((0, 2, 3, 4), ["age", "income", "since", "employed"], strict=True):
        values = np.asarray(raw[name].to_pandas(), dtype=np.float64)
        expected = (values - np.nanmean(values)) / np.nanstd(values)
        np.testing.assert_allclose(X[:, j], np.nan_to_num(expected, nan=0.0), atol=1e-5)
    job = raw["job"].to_pylist()
    assert X[:, 5].tolist() == [float(v == "b") for v in job]
    assert X[:, 6].tolist() == [float(v == "c") for v in job]
    assert X[:, 1].tolist() == [float(i % 10 == 0) for i in range(1000)]
    assert X[:, 7].tolist() == [float(v is None) for v in job]


def test_features_do_not_depend_on_how_the_table_is_cut(
    people: Path, tmp_path: Path, small_blocks: None
) -> None:
    whole = open_pool(people, "sex", drop=["old"])
    (tmp_path / "cut").mkdir()
    table = pq.read_table(people)
    for i, (a, b) in enumerate([(0, 17), (17, 600), (600, 1000)]):
        pq.write_table(table.slice(a, b - a), tmp_path / "cut" / f"{i}.parquet")
    cut = open_pool(tmp_path / "cut", "sex", drop=["old"])
    assert whole.encoder == cut.encoder
    np.testing.assert_array_equal(whole.in_memory().X, cut.in_memory().X)
    assert whole.fingerprint() != cut.fingerprint()


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "bool"])
def test_a_feature_does_not_depend_on_missing_values_in_its_block(
    kind: str, tmp_path: Path, small_blocks: None
) -> None:
    rng = np.random.default_rng(0)
    values = (rng.random(3000) < 0.3) if kind == "bool" else rng.integers(0, 10**6, 3000) / 7
    x = pa.array(values.astype(kind))
    x = pa.array([None if i == 5 else v for i, v in enumerate(x.to_pylist())], x.type)
    table = pa.table({"x": x, "sex": ["f", "m"] * 1500})
    pq.write_table(table, tmp_path / "few.parquet", row_group_size=30)
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=3000)
    pools = [open_pool(tmp_path / f"{name}.parquet", "sex") for name in ("few", "many")]
    assert pools[0].encoder == pools[1].encoder
    several, one = (pool.take(np.arange(150)) for pool in pools)
    np.testing.assert_array_equal(several, one)
    alone = pools[0].encoder(table.slice(6, 144).combine_chunks().to_batches()[0])
    np.testing.assert_array_equal(alone, one[6:])


def test_a_sample_for_the_preprocessing_is_owned_up_to(people: Path, small_blocks: None) -> None:
    pool = open_pool(people, "sex", drop=["old"], fit_rows=300)
    assert pool.encoder.fitted_on.startswith("a sample of ")
    assert "fitted on a sample of" in repr(pool)
    assert pool.by_group().counts.sum() == 1000
    same = open_pool(people, "sex", encoder=pool.encoder)
    np.testing.assert_array_equal(same.take([5, 3]), pool.take([5, 3]))


def test_known_groups_and_an_encoder_make_the_first_pass_unnecessary(people: Path) -> None:
    fitted = open_pool(people, "sex", drop=["old"])
    seen: list[PassProgress] = []
    pool = open_pool(people, "sex", encoder=fitted.encoder, group_values=["m", "f"], progress=seen.append)
    assert not seen
    assert pool.group_values == ["f", "m"]
    with pytest.raises(ValueError, match=r"group 'f'.*not one of"):
        open_pool(people, "sex", encoder=fitted.encoder, group_values=["m", "d"]).by_group()


def test_several_protected_columns_are_combined(people: Path) -> None:
    pool = open_pool(people, ["sex", "old"], ["income"])
    raw = pq.read_table(people)
    assert pool.group_values == [("f", False), ("f", True), ("m", False), ("m", True)]
    pairs = list(zip(raw["sex"].to_pylist(), raw["old"].to_pylist(), strict=True))
    assert pool.by_group().counts.tolist() == [pairs.count(g) for g in pool.group_values]


def test_folders_named_after_a_column_hold_that_column(people: Path, tmp_path: Path) -> None:
    ds.write_dataset(
        pq.read_table(people),
        tmp_path / "hive",
        format="parquet",
        partitioning=["sex"],
        partitioning_flavor="hive",
    )
    pool = open_pool(tmp_path / "hive", "sex", ["income"])
    assert pool.by_group().counts.tolist() == open_pool(people, "sex", ["income"]).by_group().counts.tolist()
    assert set(pool.table([0, 1], ["sex"])["sex"].to_pylist()) == {"f"}


def test_a_table_in_memory_s_filesystem_is_read_by_url(people: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.pipe("/bucket/people.parquet", people.read_bytes())
    by_url = open_pool("memory://bucket/people.parquet", "sex", ["income", "job"])
    by_object = open_pool("/bucket/people.parquet", "sex", ["income", "job"], filesystem=store)
    local = open_pool(people.as_uri(), "sex", ["income", "job"])
    np.testing.assert_array_equal(by_url.take([7, 1]), local.take([7, 1]))
    np.testing.assert_array_equal(by_object.take([7, 1]), local.take([7, 1]))


@pytest.mark.parametrize("keep", [True, False])
def test_only_needed_columns_and_chosen_blocks_are_read(
    keep: bool, stored: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairask.pools.sources.parquet import ParquetBlock

    monkeypatch.setattr("fairask.pools.base.MOST_KEPT", 10**6 if keep else 0)

    read: list[tuple[list[int], list[str]]] = []
    batches = ParquetBlock.batches
    monkeypatch.setattr(
        ParquetBlock, "batches", lambda b, c: (read.append((b.row_groups, list(c))), batches(b, c))[1]
    )
    pool = open_pool(stored / "one.parquet", "group", ["x0", "x1"], preprocess="none")
    assert {tuple(columns) for _, columns in read} == {("group",)}
    read.clear()
    cells = pool.by_group()
    assert {tuple(columns) for _, columns in read} == {("group",)}
    read.clear()
    rows = cells.locate(np.array([0, 0]), np.array([0, 1]))
    pool.take(rows)
    pool.take(rows)
    assert read == [([0], ["group", "x0", "x1"])], "one read of one block, for the draw or for its features"


@pytest.mark.parametrize("most", [10**6, 0], ids=["kept", "read again"])
def test_drawn_rows_bring_their_features_along(
    most: int, stored: Path, rows: Any, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairask.rules import LinearRule

    monkeypatch.setattr("fairask.pools.base.MOST_KEPT", most)
    pool = open_pool(stored / "many", "group", NAMES, preprocess="none")
    rules = [LinearRule(np.array([1.0, b, 0.2, 0.0, 0.0, 0.1])) for b in (-0.5, 0.5, 1.0)]
    cells = pool.by_prediction(rules)
    seen: list[PassProgress] = []
    pool.progress = seen.append
    every = np.arange(len(cells.counts))
    drawn = cells.locate(every, cells.counts - 1)
    X, groups = pool.take(drawn), pool.groups_of(drawn)
    np.testing.assert_array_equal(X, rows[0][drawn])
    assert groups.tolist() == rows[1][drawn].tolist()
    assert {p.stage for p in seen} == (set() if most else {"drawing"}), "nothing is read twice"


def test_rows_come_back_as_they_are_stored(stored: Path, rows: Any, small_blocks: None) -> None:
    pool = open_pool(stored / "many", "group", ["x0"])
    table = pool.table([2500, 3, 2500], ["y", "x1"])
    assert table.column_names == ["y", "x1"]
    assert table["y"].to_pylist() == rows[2][[2500, 3, 2500]].tolist()
    with pytest.raises(ValueError, match="'z', which is not one of"):
        pool.table([1], ["z"])


def test_progress_counts_all_rows_of_a_pass(stored: Path, small_blocks: None) -> None:
    seen: list[PassProgress] = []
    pool = open_pool(stored / "many", "group", ["x0"], progress=seen.append)
    assert seen[-1].stage == "first pass"
    assert seen[-1].rows == seen[-1].total == 3000
    assert [p.rows for p in seen] == sorted(p.rows for p in seen)
    seen.clear()
    pool.by_group()
    assert {p.stage for p in seen} == {"counting"}
    assert seen[-1].rate > 0


def test_stopping_in_the_middle_leaves_pool_and_learner_as_they_were(
    stored: Path, rows: Any, small_blocks: None
) -> None:
    from fairask import FairActiveLearner

    pool = open_pool(stored / "many", "group", NAMES, preprocess="none")
    learner = FairActiveLearner(pool, strategy="group_balanced", batch_size=20, random_state=0)
    twin = FairActiveLearner(pool, strategy="group_balanced", batch_size=20, random_state=0)
    for each in (learner, twin):
        query = each.ask()
        each.tell(query.indices, rows[2][query.indices])

    def stop(progress: PassProgress) -> None:
        signal.raise_signal(signal.SIGINT)

    pool.progress = stop
    with pytest.raises(KeyboardInterrupt):
        learner.ask()
    pool.progress = None
    assert not learner.pending_indices_.size
    assert learner.ask().indices.tolist() == twin.ask().indices.tolist()


def test_a_streamed_pool_says_that_it_has_no_arrays(stored: Path, rows: Any) -> None:
    pool = open_pool(stored / "one.parquet", "group", NAMES, preprocess="none")
    with pytest.raises(TypeError, match="in_memory"):
        pool.X  # noqa: B018
    with pytest.raises(TypeError, match="in_memory"):
        pool.groups  # noqa: B018
    whole = pool.excluding([4]).in_memory()
    assert isinstance(whole, MemoryPool)
    np.testing.assert_array_equal(whole.X, rows[0])
    assert whole.groups.tolist() == rows[1].tolist()
    assert len(whole) == len(rows[0]) - 1


def test_a_memory_map_is_not_copied(stored: Path) -> None:
    pool = open_pool(stored / "X.npy", stored / "groups.npy")
    assert isinstance(pool.X, np.memmap)
    assert pool.take(np.array([1])).shape == (1, 5)


def test_no_row_is_taken_from_outside(stored: Path) -> None:
    pool = open_pool(stored / "one.parquet", "group", NAMES, preprocess="none")
    with pytest.raises(ValueError, match="no row 3000"):
        pool.take([3000])
    assert pool.take([]).shape == (0, 5)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"protected": "sexx"}, ValueError, "protected: no column 'sexx'.*Did you mean 'sex'"),
        ({"columns": ["incom"]}, ValueError, "columns names the column 'incom'.*did you mean 'income'"),
        ({"columns": "income"}, TypeError, "columns='income' must be a list"),
        ({"drop": ["no"]}, ValueError, "drop names the column 'no'"),
        ({"columns": ["income"], "drop": ["income"]}, ValueError, "no column is left"),
        ({"preprocess": "standardise"}, ValueError, "did you mean 'standardize'"),
        ({"preprocess": "none", "columns": ["job"]}, ValueError, "column 'job' has type"),
        ({"fit_rows": 0}, ValueError, "fit_rows=0"),
        ({"protected": "country"}, ValueError, "one group only: 'x'"),
        ({"protected": "job", "columns": ["income"]}, ValueError, "'job' has missing values"),
    ],
)
def test_what_cannot_be_opened_is_explained(people: Path, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        open_pool(people, **{"protected": "sex", **settings})


def test_missing_numbers_need_preprocessing(people: Path) -> None:
    pool = open_pool(people, "sex", ["age"], preprocess="none")
    with pytest.raises(ValueError, match="column 'age' has missing values"):
        pool.take([0, 1])


def test_columns_of_other_types_identifiers_and_infinities_are_refused(tmp_path: Path) -> None:
    n = 1500
    table = pa.table(
        {
            "tags": [[i] for i in range(n)],
            "id": [f"row {i}" for i in range(n)],
            "odd": [np.inf] + [0.0] * (n - 1),
            "sex": ["f", "m"] * (n // 2),
        }
    )
    pq.write_table(table, tmp_path / "odd.parquet")
    for column, message in (
        ("tags", "nested"),
        ("id", "more than 100 different values"),
        ("odd", "infinite"),
    ):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=f"{column!r}.*{message}"):
            open_pool(tmp_path / "odd.parquet", "sex", [column])


def test_sources_that_are_not_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        open_pool(tmp_path / "none.parquet", "sex")
    (tmp_path / "bad.parquet").write_text("not a table")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        open_pool(tmp_path / "bad.parquet", "sex")
    os.mkdir(tmp_path / "empty")  # noqa: PTH102
    with pytest.raises(ValueError, match="no Parquet files"):
        open_pool(tmp_path / "empty", "sex")
    with pytest.raises(TypeError, match="got ndarray"):
        open_pool(np.zeros((2, 2)), "sex")
    with pytest.raises(ValueError, match="cannot be opened"):
        open_pool("nosuchscheme://x/y.parquet", "sex")
    np.save(tmp_path / "X.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"X\.npy has shape"):
        open_pool(tmp_path / "X.npy", [0, 1])


def test_the_columns_of_a_dask_frame_that_are_not_needed_are_not_computed(rows: Any, stored: Path) -> None:
    import dask.dataframe as dd

    frame = dd.from_pandas(as_table(*rows).to_pandas(), npartitions=3)
    table = open_pool(frame, "group", ["x0"], preprocess="none")._encoded.table
    assert set(table._selected) == {("group",)}


@pytest.mark.slow
def test_arrays_need_no_extra_and_files_name_theirs(stored: Path) -> None:
    code = """
import sys
for name in ("pyarrow", "dask", "distributed", "fsspec", "pandas"):
    sys.modules[name] = None
import numpy as np
from fairask.learner import FairActiveLearner
from fairask.pools import MemoryPool, open_pool
FairActiveLearner(MemoryPool(np.eye(4), np.array([0, 1, 0, 1]), 2), random_state=0).ask(2)
try:
    open_pool(sys.argv[1], "group")
except ImportError as error:
    assert "fairask[parquet]" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code, str(stored / "one.parquet")], check=True)
