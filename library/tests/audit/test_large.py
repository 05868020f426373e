"""Audits of tables that do not fit: read in batches, or counted by an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask.audit import Audit
from fairask.audit import strata as strata_module
from fairask.audit.folder import AuditFolder
from fairask.audit.plan import AuditPlan
from fairask.audit.predictions import open_audit_table
from fairask.audit.rows import PoolRows
from fairask.audit.strata import Strata, draw_order
from fairask.pools import files
from fairask.pools.engine import Engine
from library.tests.cli.conftest import run as fairask
from library.tests.pools.engines import people_in

# Ibis fetches results of DuckDB in a way that DuckDB warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS = 3000
COLUMNS = {"predictions": "said", "protected": "sex"}


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    y, sex = rng.integers(0, 2, rows), rng.choice(3, rows, p=[0.3, 0.65, 0.05])
    said = np.where(rng.random(rows) < 0.9, y, 1 - y)
    return pa.table(
        {
            "id": np.arange(rows) * 7 - 1000,
            "age": rng.integers(18, 80, rows),
            "sex": np.array(["f", "m", "M"])[sex],
            "said": np.array(["no", "yes"])[said],
            "chance": np.where(rng.random(rows) < 0.5, said, rng.random(rows)),
            "score": np.clip(0.3 + 0.4 * y + rng.normal(0, 0.2, rows), 0, 1).astype(np.float32),
            "cost": rng.choice([1.0, 2.0], rows),
            "seen": pa.array(np.array(["no", "yes"])[y], mask=rng.random(rows) > 0.1),
            "paid": np.array(["no", "yes"])[y],
        }
    )


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches and chunks of a few rows, so that small tables are cut as large ones are."""
    monkeypatch.setattr(files, "_BATCH", 257)
    monkeypatch.setattr(strata_module, "_CHUNK", 100)


def written(folder: Path) -> str:
    file = folder / "people.parquet"
    pq.write_table(people(), file, row_group_size=700)
    return str(file)


def queues(audit: Audit) -> list[list[int]]:
    return [queue.tolist() for queue in audit._strata.queues]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"score": "score"},
        {"score": "score", "cost": "cost", "known": "seen"},
        {"predictions": "chance"},
    ],
    ids=["plain", "score", "all", "probabilities"],
)
@pytest.mark.parametrize("budget", [40, 2000])
def test_a_file_read_in_parts_is_audited_as_arrays_are(
    given: dict[str, str], budget: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan, table = AuditPlan(budget=budget, random_state=3), people().to_pandas()
    words = table["said"] == "yes"
    seen = {i: int(v == "yes") for i, v in enumerate(table["seen"]) if isinstance(v, str)}
    arrays = Audit(
        table["chance"] if "predictions" in given else words.astype(int), table["sex"].str.lower(), plan,
        score=table["score"] if "score" in given else None, cost=table["cost"] if "cost" in given else None,
        known=seen if "known" in given else None,
    )  # fmt: skip
    request.getfixturevalue("small_parts")
    file = open_audit_table(written(tmp_path), **{**COLUMNS, **given}, seed=3).audit(plan)
    assert file.pool_size == arrays.pool_size == ROWS
    assert file._strata.sizes.tolist() == arrays._strata.sizes.tolist()
    assert queues(file) == queues(arrays)
    assert file._strata.layout.cost == pytest.approx(arrays._strata.layout.cost)
    assert file._strata.known.tolist() == arrays._strata.known.tolist()
    assert file.ask().indices.tolist() == arrays.ask().indices.tolist()


def test_each_stratum_queues_its_rows_with_the_least_numbers(small_parts: None) -> None:
    rng = np.random.default_rng(1)
    pred, groups = rng.integers(0, 2, 2000), rng.integers(0, 3, 2000)
    found = Strata.of_rows(PoolRows.of_arrays(pred, groups), seed=5, most=20)
    order = draw_order(np.arange(2000), 5)
    for stratum, queue in enumerate(found.queues):
        mine = np.flatnonzero(2 * groups + pred == stratum)
        assert queue.tolist() == mine[np.argsort(order[mine])][:20].tolist()


def test_every_row_of_a_stratum_is_asked_for_equally_often() -> None:
    pred, groups = np.arange(40) % 2, np.arange(40) // 20
    rows = PoolRows.of_arrays(pred, groups)
    seen = np.zeros(40)
    for seed in range(2000):
        for queue in Strata.of_rows(rows, seed=seed, most=3).queues:
            seen[queue] += 1
    # Three of ten rows, give or take five standard errors.
    assert np.abs(seen / 2000 - 0.3).max() < 5 * np.sqrt(0.21 / 2000)


def test_rows_that_a_sample_draws_first_are_not_asked_for_first() -> None:
    from fairask.matrix import tie_breakers

    rows = np.arange(10_000)
    sampled = set(np.argsort(tie_breakers(rows, 0))[:1000].tolist())
    asked = np.argsort(draw_order(rows, 0))[:1000].tolist()
    assert abs(len(sampled & set(asked)) - 100) < 50


def test_a_rehearsal_and_a_plan_of_parts_are_those_of_the_whole(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = AuditPlan(budget=200, looks=2)
    file = written(tmp_path)
    whole = [open_audit_table(file, **COLUMNS, truth="paid", score=score) for score in (None, "score")]
    told = [table.simulate(plan, 20) for table in whole]
    planned = [table.plan(plan, 5) for table in whole]
    request.getfixturevalue("small_parts")
    parts = [open_audit_table(file, **COLUMNS, truth="paid", score=score) for score in (None, "score")]
    assert [table.simulate(plan, 20) for table in parts] == told
    assert [table.plan(plan, 5) for table in parts] == planned


# -- engines ------------------------------------------------------------------------------------


@pytest.fixture(params=["duckdb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The table in an engine; PostgreSQL is a real server."""
    types = (
        "id bigint, age bigint, sex text, said text, chance float8, score float4, cost float8, seen text, "
        "paid text"
    )
    with people_in(request.param, people(), types, tmp_path) as found:
        yield found


def test_an_engine_is_audited_as_a_file_is(address: str, tmp_path: Path) -> None:
    plan, ids = AuditPlan(budget=60, random_state=4), people().column("id").to_numpy()
    for given in ({}, {"known": "seen"}, {"protected": ["sex", "age:30,50"]}, {"score": "score"}):
        wanted = {**COLUMNS, **given}
        here = open_audit_table(address, **wanted, seed=4)
        there = open_audit_table(written(tmp_path), **wanted, seed=4)
        assert isinstance(here.source, Engine)
        assert (here.pool.cell is None) == ("score" not in given)
        assert here.group_rows == there.group_rows
        one, two = here.audit(plan), there.audit(plan)
        assert one._strata.sizes.tolist() == two._strata.sizes.tolist()
        assert one._strata.known.tolist() == two._strata.known.tolist()
        rows = np.searchsorted(ids, one.ask().indices)
        assert (ids[rows] == one.ask().indices).all()
        # Rows are asked for by stratum, as many of each as in the file.
        assert (
            np.bincount(two._strata.of(two.ask().indices)).tolist()
            == np.bincount(one._strata.of(one.ask().indices)).tolist()
        )
        assert len({key for queue in queues(one) for key in queue}) == sum(map(len, queues(one)))
        here.source.close()
        found = []
        for seed in (4, 5):
            table = open_audit_table(address, **wanted, seed=seed)
            found.append(queues(table.audit(AuditPlan(budget=60, random_state=seed))))
            table.source.close()
        assert found[0] == queues(one) != found[1]
        free = np.where(one._strata.layout.known, 0, one._strata.sizes)
        assert [len(queue) for queue in queues(one)] == np.minimum(240, free).tolist()


def test_probabilities_are_drawn_by_the_engine(address: str) -> None:
    found = open_audit_table(address, predictions="chance", protected="sex", seed=1)
    found.source.close()
    chance = people().column("chance").to_numpy()
    rate = float(found.pool.counts @ found.pool.decision[0]) / ROWS
    assert found.pool.drawn
    spread = np.sqrt((chance * (1 - chance)).sum()) / ROWS
    assert abs(rate - chance.mean()) < 5 * spread


def test_an_audit_of_an_engine_goes_on_from_its_folder_without_counting_again(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = {row["id"]: row for row in people().to_pylist()}
    words = ["--predictions", "said", "--protected", "sex", "--budget", 200, "--looks", 2, "--out", "a"]
    begun = fairask("audit", address, *words, "--json")
    assert begun.exit_code == 3, begun.output

    def never(*args: Any) -> None:
        raise AssertionError("counted again")

    monkeypatch.setattr("fairask.audit.predictions._CellQuery.of", never)
    found = json.loads(begun.output)
    while found["status"] != "done":
        sheet = Path(found["rows_file"])
        lines = sheet.read_text().splitlines()
        assert lines[0] == "row,id,age,chance,score,cost,seen,paid,label,check"
        head = lines[0].split(",")
        filled = [lines[0]]
        for line in lines[1:]:
            cells = dict(zip(head, line.split(","), strict=True))
            assert cells["id"] == cells["row"]
            cells["label"] = table[int(cells["row"].lstrip("'"))]["paid"]
            filled.append(",".join(cells.values()))
        sheet.write_text("\n".join(filled) + "\n")
        told = fairask("audit", address, "--tell", sheet, "--out", "a", "--json")
        assert told.exit_code in (0, 1, 3), told.output
        found = json.loads(told.output)
    assert found["verdict"] == "certified"
    assert found["made_from"]["table"] == "people, 3,000 rows"
    assert "sha256 of the columns, number of rows and keys" in found["made_from"]
    assert "postgres" not in Path("a/audit.json").read_text()
    work = AuditFolder.open(address, {}, {}, folder=Path("a"), begin=False)
    work.source.close()
    assert work.audit.done
