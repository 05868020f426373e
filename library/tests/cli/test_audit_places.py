"""``fairask audit`` of tables that are elsewhere, or in several files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from library.tests.cli.conftest import scored

Run = Callable[..., Result]


def fill(file: Path) -> None:
    """Label the rows that were asked for, from what the file itself shows."""
    table = pacsv.read_csv(file)
    truth = scored()["paid"].to_pylist()
    labels = [truth[row] for row in table["row"].to_pylist()]
    at = table.column_names.index("label")
    pacsv.write_csv(table.set_column(at, "label", pa.array(labels)), file)


def finish(fairask: Run, pool: str, *begin: str) -> dict[str, Any]:
    """Begin an audit and label until it is over; the last result."""
    result = fairask("audit", pool, *begin, "--out", "a", "--json")
    while True:
        assert result.exit_code in (0, 3), result.output  # 3 while labels are awaited
        found: dict[str, Any] = json.loads(result.output)
        if found["status"] == "done":
            return found
        fill(Path(found["rows_file"]))
        result = fairask("audit", pool, "--tell", found["rows_file"], "--out", "a", "--json")


def _undigested(found: dict[str, Any]) -> dict[str, Any]:
    """Certificates without the digests, which tell one place from another."""
    return {
        target: {name: value for name, value in certificate.items() if not name.startswith("digest")}
        for target, certificate in found["certificates"].items()
    }


BEGIN = ("--predictions", "word", "--positive", "yes", "--protected", "sex", "--budget", "600")


@pytest.mark.usefixtures("no_replay")
@pytest.mark.slow
def test_a_bucket_and_a_file_are_audited_alike(fairask: Run, bucket: str, tmp_path: Path) -> None:
    remote = finish(fairask, bucket, *BEGIN)
    assert remote["verdict"] == "certified"
    assert "files' names, sizes and footers" in str(remote["made_from"])
    pq.write_table(scored(), tmp_path / "scored.parquet")
    (tmp_path / "a").rename(tmp_path / "first")
    assert _undigested(finish(fairask, "scored.parquet", *BEGIN)) == _undigested(remote)


def test_numbers_classes_and_certain_probabilities_are_one_model(fairask: Run, bucket: str) -> None:
    asked = {}
    for name, more in (("said", ()), ("word", ("--positive", "yes"))):
        begun = fairask(
            "audit", bucket, "--predictions", name, *more, "--protected", "sex", "--out", name, "--json"
        )
        table = pacsv.read_csv(json.loads(begun.output)["rows_file"])
        asked[name] = table["row"].to_pylist()
        assert table["age"].to_pylist() == [scored()["age"][row].as_py() for row in asked[name]]
        assert name not in table.column_names, "predictions are not shown to who labels"
    assert asked["said"] == asked["word"]


def test_probabilities_are_drawn_once_and_that_is_said(fairask: Run, bucket: str) -> None:
    done = finish(
        fairask, bucket, "--predictions", "chance", "--protected", "sex", "--metric", "dp", "--budget", "9"
    )
    rate = done["certificates"]["pool"]["rates"]["selection_rate"]
    # Half are predicted 1 with probability 0.9, half with 0.1: half in all, give or take a twentieth.
    assert all(abs(value - 0.5) < 0.05 for value in rate)
    begun = fairask("audit", bucket, "--predictions", "chance", "--protected", "sex", "--out", "b")
    assert begun.exit_code == 3, begun.output  # labels are awaited


def test_a_table_elsewhere_is_refused_if_it_changed(fairask: Run, bucket: str) -> None:
    begun = fairask("audit", bucket, *BEGIN, "--out", "a", "--json")
    file = json.loads(begun.output)["rows_file"]
    fill(Path(file))
    with fsspec.filesystem("memory").open("/bucket/scored/1.parquet", "wb") as out:
        pq.write_table(scored(1).slice(700, 1200), out, row_group_size=300)
    result = fairask("audit", bucket, "--tell", file, "--out", "a")
    assert result.exit_code == 2
    assert "has changed since the audit" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--predictions", "wrd"), "Did you mean 'word'"),
        (("--predictions", "sex", "--protected", "word"), "Say which count as 1"),
        (("--predictions", "word", "--positive", "maybe"), "is not a value of 'word'"),
        (("--predictions", "none"), "3,000 rows have no prediction"),
        (("--predictions", "age"), "go from 18 to 79"),
        (("--predictions", "said", "--protected", "age"), "62 values"),
        (("--predictions", "said", "--protected", "none"), "has missing values"),
    ],
)
def test_what_an_audit_of_a_bucket_cannot_use_is_explained(
    words: tuple[str, ...], message: str, fairask: Run, bucket: str, tmp_path: Path
) -> None:
    given = words if "--protected" in words else (*words, "--protected", "sex")
    result = fairask("audit", bucket, *given)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_read_are_explained(fairask: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    pq.write_table(scored(), tmp_path / "mixed" / "a.parquet")
    pq.write_table(scored().drop_columns(["said"]), tmp_path / "mixed" / "b.parquet")
    for place, message in [
        ("memory://bucket/nobody", "no file or folder memory://bucket/nobody"),
        ("s4://bucket/x", "cannot be opened"),
        ("empty", "has no files"),
        ("mixed", "column 'said' has type int64 in a.parquet and is not there in b.parquet"),
    ]:
        result = fairask("audit", place, "--predictions", "said", "--protected", "sex")
        assert result.exit_code == 2, result.output
        assert message in result.output, (place, result.output)
