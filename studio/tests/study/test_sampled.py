"""A table that is larger than a sample is sampled once; each row says where it is in the table."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask.errors import TableError
from fairask_studio import Study
from fairask_studio.pool import KEY, read_pool
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
TABLE = pa.table(people_table(400))
LABELS = truth(people_table(400))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    for i in range(4):
        pq.write_table(TABLE.slice(100 * i, 100), tmp_path / "people" / f"{i}.parquet")
    return tmp_path / "people"


def test_a_large_table_is_sampled_and_its_rows_are_found_again(folder: Path, tmp_path: Path) -> None:
    pool = read_pool(str(folder), sample=150, random_state=3)
    assert (pool.table.num_rows, pool.sampled_from, pool.key) == (150, 400, KEY)
    keys = pool.table.column(KEY)
    assert pool.table.drop([KEY]).to_pylist() == TABLE.take(keys).to_pylist()
    with Study.create(
        tmp_path / "s", pool, protected="sex", classes=("bad", "good"), budget=30, batch_size=10
    ) as study:
        rows = study.ask(10)
        study.tell(rows, [LABELS[keys[row].as_py()] for row in rows])
        assert study.refit() is not None
        roles = {column.name: column.role for column in study.config.columns}
        assert roles[KEY] == "hidden"
        assert KEY not in study.encoder.columns
        assert (study.status()["rows"], study.status()["sampled_from"]) == (150, 400)
        study.export(tmp_path / "out")
    with (tmp_path / "out" / "labels.csv").open(encoding="utf-8-sig") as lines:
        for line in csv.DictReader(lines):
            assert line["label"] == LABELS[int(line[KEY])]
    with Study.open(tmp_path / "s") as study:  # the table is not needed any more
        assert study.config.sampled_from == 400
        assert len(study.ask(5)) == 5


def test_a_table_in_memory_is_sampled_too_and_the_same_seed_gives_the_same_rows(folder: Path) -> None:
    drawn = [
        read_pool(place, sample=50, random_state=seed) for place in (folder, TABLE) for seed in (1, 1, 2)
    ]
    keys = [pool.table.column(KEY).to_pylist() for pool in drawn]
    assert keys[0] == keys[1] == keys[3] == keys[4]
    assert keys[0] != keys[2]


def test_a_table_that_fits_is_whole(folder: Path) -> None:
    pool = read_pool(folder)
    assert (pool.sampled_from, pool.key) == (None, None)
    assert pool.table.to_pylist() == TABLE.to_pylist()


def test_a_table_with_a_column_of_that_name_keeps_it() -> None:
    pool = read_pool(TABLE.append_column(KEY, pa.array(["mine"] * 400)), sample=50)
    assert pool.key is not None
    assert pool.key != KEY
    assert set(pool.table.column(KEY).to_pylist()) == {"mine"}


def test_a_place_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no file"):
        read_pool(tmp_path / "gone.parquet")
