"""Commands on tables that are elsewhere: in a bucket, in a database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from library.tests.cli.conftest import scored

pytestmark = pytest.mark.usefixtures("few_trees")
Run = Callable[..., Result]

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
