"""Commands on tables that are elsewhere: in a bucket, in a database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

pytestmark = pytest.mark.usefixtures("few_trees")
Run = Callable[..., Result]
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


SIMULATE = ("--label", "paid", "--protected", "sex", "--drop", "said,word,chance,none", "--positive", "yes",
            "--budget", "80", "--batch", "40", "--trials", "1", "--seed", "2", "--jobs", "1")  # fmt: skip


def test_a_simulation_reads_a_bucket_and_learns(fairask: Run, bucket: str, tmp_path: Path) -> None:
    pq.write_table(scored(), tmp_path / "scored.parquet")
    found = {}
    for place in (bucket, "scored.parquet"):
        result = fairask("simulate", place, *SIMULATE, "--audit-share", "0.5", "--json")
        assert result.exit_code == 0, result.output
        found[place] = json.loads(result.output)
        methods = {method["method"]: method for method in found[place]["methods"]}
        assert methods["fare"]["labels"] == [40]
        assert found[place]["baseline_budget"] == 120
        assert methods["fare"]["accuracy_by_round"][-1] > 0.65  # 40 labels: safety has its price
        assert found[place]["audit"]["certificate"]["n_labels"] == 40
    # The same rows in the same order: where they are changes nothing.
    for name in ("methods", "audit", "notes"):
        assert found[bucket][name] == found["scored.parquet"][name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--label", "payd"), "Did you mean 'paid'"),
        (("--label", "sex"), "are both 'sex'"),
        (("--label", "none", "--drop", "x"), "--drop: no column 'x'"),
        (("--label", "none"), "label column 'none' has no values"),
        (("--label", "paid", "--positive", "perhaps"), "is not a value of 'paid'"),
        (("--label", "age"), "62 values"),
    ],
)
def test_what_a_simulation_cannot_use_is_explained(
    words: tuple[str, ...], message: str, fairask: Run, bucket: str, tmp_path: Path
) -> None:
    result = fairask("simulate", bucket, *words, "--protected", "sex")
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert not list(tmp_path.iterdir())


# Ibis calls what DuckDB is about to drop.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_study_samples_a_table_of_duckdb_by_its_address(
    fairask: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ibis")
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("people.db") as database:
        database.register("given", scored()).execute("CREATE TABLE people AS SELECT * FROM given")
    options = ["--protected", "sex", "--classes", "no,yes", "--drop", "paid,said,word,chance,none"]
    made = fairask("new", "duckdb://people.db#people", *options, "--to", "a", "--sample", "500")
    assert made.exit_code == 0, made.output
    assert "500 of 3,000 rows" in made.output
    assert fairask("ask", "a", "-o", "a.csv").exit_code == 0
    assert len(pacsv.read_csv("a.csv")) == 25
    wrong = fairask("new", "duckdb://people.db#peopel", *options, "--to", "b")
    assert wrong.exit_code == 2
    assert "people" in wrong.output
