"""``audit`` and ``simulate`` on tables that are streamed, from this machine and from memory."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
def test_an_audit_streams_from_a_bucket_and_from_disk_alike(
    fairask: Run, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = finish(fairask, bucket, *BEGIN)
    assert remote["verdict"] == "certified"
    assert "files' names, sizes and footers" in str(remote["made_from"])
    pq.write_table(scored(), tmp_path / "scored.parquet")
    (tmp_path / "a").rename(tmp_path / "first")
    local = finish(fairask, "scored.parquet", *BEGIN, "--stream")
    assert _undigested(local) == _undigested(remote)
    # Begun beyond the limit it streams by itself.
    (tmp_path / "a").rename(tmp_path / "second")
    monkeypatch.setattr("fairask.audit.request.MOST_ROWS", N - 1)
    again = finish(fairask, "scored.parquet", *BEGIN)
    assert _undigested(again) == _undigested(remote)


@pytest.mark.slow
def test_a_device_changes_nothing_but_where_rows_are_counted(
    fairask: Run, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {}
    for name, more in (("here", ()), ("there", ("--device", "cpu"))):
        begun = fairask("audit", bucket, *BEGIN, *more, "--out", name, "--json")
        asked[name] = pacsv.read_csv(json.loads(begun.output)["rows_file"])
    assert asked["here"].equals(asked["there"])
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for words in (
        ("audit", bucket, *BEGIN, "--out", "none"),
        ("new", bucket, "--protected", "sex", "--to", "none"),
    ):
        result = fairask(*words, "--device", "cuda")
        assert result.exit_code != 0
        assert "sees 0 GPUs" in result.output
        assert not (tmp_path / "none").exists()


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


def test_a_streamed_audit_refuses_a_table_that_changed(fairask: Run, bucket: str) -> None:
    begun = fairask("audit", bucket, *BEGIN, "--out", "a", "--json")
    file = json.loads(begun.output)["rows_file"]
    fill(Path(file))
    with fsspec.filesystem("memory").open("/bucket/scored/1.parquet", "wb") as out:
        pq.write_table(scored(1).slice(700, 1200), out, row_group_size=300)
    result = fairask("audit", bucket, "--tell", file, "--out", "a")
    assert result.exit_code == 2
    assert "has changed since the audit" in result.output
    wrong = fairask("audit", bucket, "--tell", file, "--out", "a", "--no-stream")
    assert "was begun streaming" in wrong.output


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
def test_what_a_streamed_audit_cannot_use_is_explained(
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
        ("empty", "cannot be read as Parquet"),
        ("mixed", "column 'said' has type int64 in a.parquet and is not there in b.parquet"),
    ]:
        result = fairask("audit", place, "--predictions", "said", "--protected", "sex")
        assert result.exit_code == 2, result.output
        assert message in result.output, (place, result.output)


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


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from fairask.cli import _screen
    from fairask.cli._passes import passes
    from fairask.pools import PassProgress

    with passes() as progress:
        assert progress is None, "standard error is no terminal here"
    screen = Console(force_terminal=True, record=True, width=120, file=io.StringIO())
    monkeypatch.setattr(_screen, "console", lambda **_: screen)
    with passes() as progress:
        progress(PassProgress("counting", 500, 1000, 0.25))
        progress(PassProgress("counting", 1000, 1000, 0.5))
        progress(PassProgress("drawing", 10, 20, 1.0))
    shown = screen.export_text()
    assert "drawing" in shown
    assert "10 of 20 rows" in shown
    assert "10 rows/s" in shown
    with passes(quiet=True) as progress:
        assert progress is None


def test_a_table_of_duckdb_is_drawn_from_by_its_address(
    fairask: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("people.db") as database:
        database.register("given", scored()).execute("CREATE TABLE people AS SELECT * FROM given")
    pq.write_table(scored(), "people.parquet")
    drawn = []
    for place, name in (("duckdb:///people.db?table=people", "a"), ("people.parquet", "b")):
        options = [
            "--protected",
            "sex",
            "--classes",
            "no,yes",
            "--drop",
            "paid,said,word,chance,none",
            "--stream",
        ]
        assert fairask("new", place, *options, "--to", name, "--seed", "0").exit_code == 0
        assert fairask("ask", name, "-o", f"{name}.csv").exit_code == 0
        drawn.append(pacsv.read_csv(f"{name}.csv")["row"].to_pylist())
    assert drawn[0] == drawn[1]
    wrong = fairask("new", "duckdb:///people.db?table=peopel", "--protected", "sex", "--classes", "no,yes")
    assert wrong.exit_code == 2
    assert "people" in wrong.output
