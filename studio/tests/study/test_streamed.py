"""Studies of pools that stay where they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from fairask.cli._app import app
from fairask_studio import Study, StudyError, choose_pool, export, load_model, refer
from fairask_studio._reference import PoolReference
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.test_files import filled

pytestmark = pytest.mark.usefixtures("few_trees")

ROWS = 600
TABLE = people_table(ROWS)
LABELS = truth(TABLE)


def people() -> pa.Table:
    """Applicants with every kind of column: missing cells, an identifier, a date, a constant, a flag."""
    income = pa.array([None if i % 40 == 3 else v for i, v in enumerate(TABLE["income"])], pa.float32())
    return pa.table(
        {
            **TABLE,
            "income": income,
            "name": [f"person {i}" for i in range(ROWS)],
            "since": pa.array([18_000 + i for i in range(ROWS)], pa.date32()),
            "owner": [i % 3 == 0 for i in range(ROWS)],
            "country": ["x"] * ROWS,
        }
    )


def write(folder: str, table: pa.Table | None = None, store: Any = None) -> None:
    """The table as three files of several row groups."""
    whole = people() if table is None else table
    for i, (a, b) in enumerate([(0, 100), (100, 350), (350, ROWS)]):
        with (store or fsspec.filesystem("file")).open(f"{folder}/part-{i}.parquet", "wb") as file:
            pq.write_table(whole.slice(a, b - a), file, row_group_size=60)


@pytest.fixture
def memory() -> Iterator[Any]:
    """An empty filesystem in memory."""
    store = fsspec.filesystem("memory")
    yield store
    if store.exists("/bucket"):
        store.rm("/bucket", recursive=True)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    write(str(tmp_path / "people"))
    return tmp_path / "people"


@pytest.fixture
def fairask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)

    def call(*words: str, fails: bool = False) -> Result:
        result = CliRunner().invoke(app, words)
        assert (result.exit_code != 0) is fails, result.output + repr(result.exception)
        return result

    return call


SETTINGS: dict[str, Any] = {
    "protected": "sex", "classes": ("bad", "good"), "budget": 80, "batch_size": 20, "random_state": 3,
    "hide": ["country"],
}  # fmt: skip


def label(study: Study, rounds: int) -> None:
    for _ in range(rounds):
        rows = study.ask(who="ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        study.refit()


def test_a_streamed_study_goes_from_beginning_to_end(fairask: Callable[..., Result], memory: Any) -> None:
    write("/bucket/people", store=memory)
    made = fairask(
        "new", "memory://bucket/people", "--protected", "sex", "--classes", "bad,good", "--batch", "20",
        "--budget", "60", "--seed", "1", "--hide", "country",
    )  # fmt: skip
    assert "600 rows, groups by sex: f " in made.output
    assert "The pool stays at memory://bucket/people (3 files, " in made.output
    assert "not learned from: 'name' (more than 100 different values in 600 rows" in made.output
    assert sorted(path.name for path in Path("people").iterdir()) == ["events.count", "study.db"]
    for number in range(1, 3):
        fairask("ask", "people", "-o", "batch.csv")
        with Path("batch.csv").open(newline="") as file:
            asked = list(csv.DictReader(file))
        rows = [int(row["row"]) for row in asked]
        assert [row["name"] for row in asked] == [f"person {row}" for row in rows]
        assert "sex" not in asked[0]
        assert "country" not in asked[0]
        filled(Path("batch.csv"), {row: LABELS[row] for row in rows})
        assert "20 new labels" in fairask("tell", "people", "batch.csv").output
        assert f"on {number * 20} labels" in fairask("status", "people").output
    fairask("study", "correct", "people", str(rows[0]), "good")
    held = json.loads(fairask("ask", "people", "-n", "2", "--json").output)["rows"]
    fairask("study", "skip", "people", str(held[0]))
    status = json.loads(fairask("status", "people", "--json").output)
    assert (status["labels"], status["skipped"], status["open"]) == (40, 1, 1)
    assert {g["group"]: g["pool"] for g in status["groups"]} == {
        sex: TABLE["sex"].count(sex) for sex in ("f", "m")
    }
    fairask("export", "people", "-o", "out")
    with Path("out/labels.csv").open(newline="") as file:
        assert all(line["group"] == TABLE["sex"][int(line["row"])] for line in csv.DictReader(file))


def test_only_drawing_needs_the_pool(local: Path, tmp_path: Path) -> None:
    with Study.create(tmp_path / "s", refer(local), **SETTINGS) as study:
        label(study, 2)
        rows = study.ask(5, who="ada")
    local.rename(tmp_path / "gone")
    with Study.open(tmp_path / "s") as study:
        study.tell(rows[:3], [LABELS[row] for row in rows[:3]], "ada")
        study.skip(rows[3:4], "ada")
        study.correct(rows[0], "good", "ada")
        assert study.refit(force=True) is not None
        assert study.status()["labels"] == 43
        assert study.row(rows[1])["income"] == pytest.approx(people()["income"][rows[1]].as_py())
        assert study.row(rows[0])["since"] == str(people()["since"][rows[0]].as_py())
        assert [path.name for path in export(study, tmp_path / "out")][-1] == "model.skops"
        with pytest.raises(StudyError, match=r"no file or folder .*people.*--pool"):
            study.ask(who="bob")
        assert study.store.events()[-1].kind == "fitted"
    with Study.open(tmp_path / "s", moved_by="ada") as study:
        assert study.store.events()[-1].kind == "fitted", "it is where it was"


def test_a_streamed_study_draws_what_a_learner_on_the_pool_draws(local: Path, tmp_path: Path) -> None:
    from fairask import FairActiveLearner
    from fairask.pools import open_pool

    with Study.create(tmp_path / "s", refer(local), **SETTINGS) as study:
        label(study, 3)
        pool = open_pool(local, "sex", ["income", "debt", "job", "since", "owner"])
        assert pool.encoder.parts == study.rows.pool.encoder.parts  # type: ignore[attr-defined]
        learner = FairActiveLearner(pool, classes=("bad", "good"), blind=True, batch_size=20, random_state=3)
        for _ in range(3):
            query = learner.ask()
            learner.tell(query.indices, np.array(LABELS)[query.indices])
        ours = study.learner()
        assert ours.labelled_indices_.tolist() == learner.labelled_indices_.tolist()
        assert ours.propensities_.tolist() == learner.propensities_.tolist()
        mine, theirs = (one.current_model() for one in (ours, learner))
        assert mine.members_[0].intercept.tolist() == theirs.members_[0].intercept.tolist()
        X = pool.take(np.arange(50))
        np.testing.assert_array_equal(mine.predict_proba(X), theirs.predict_proba(X))
        last = study.state().history[-1]
    # Cells from the log must give the features that the pool gave.
    with Study.open(tmp_path / "s") as again:
        from fairask_studio.estimating import model_digest

        assert model_digest(again.learner(at=last["seen"])) == last["digest"]
        rows = learner.labelled_indices_
        np.testing.assert_array_equal(again.learner().labelled().X, pool.take(rows))


def test_the_exported_model_predicts_rows_as_the_study_does(local: Path, tmp_path: Path) -> None:
    with Study.create(tmp_path / "s", refer(local), **{**SETTINGS, "use_protected": True}) as study:
        label(study, 2)
        export(study, tmp_path / "out", only="model.skops")
        model = load_model(tmp_path / "out" / "model.skops")
        assert model.columns_ == ["income", "debt", "job", "sex", "since", "owner"]
        matrix = np.array([people()[name].to_pylist() for name in model.columns_], dtype=object).T
        encoded = study.rows.encoder.transform(matrix)
        np.testing.assert_allclose(encoded, study.rows.pool.take(np.arange(ROWS)), atol=1e-5)  # type: ignore[attr-defined]
        who = {"sensitive_features": people()["sex"].to_pylist()}
        ours = study.learner().current_model().predict_proba(encoded, **who)[:, 1]
        np.testing.assert_allclose(model.predict_proba(matrix, **who)[:, 1], ours)


def test_a_pool_that_moved_is_found_again_and_the_place_is_remembered(
    fairask: Callable[..., Result], memory: Any
) -> None:
    write("/bucket/old", store=memory)
    fairask("new", "memory://bucket/old", "--protected", "sex", "--hide", "country", "--to", "s")
    memory.mv("/bucket/old", "/bucket/new", recursive=True)
    lost = fairask("ask", "s", fails=True)
    assert "memory://bucket/old" in lost.output
    assert "--pool PLACE" in lost.output
    fairask("ask", "s", "--pool", "memory://bucket/new", "-n", "5")
    assert "5 rows" in fairask("ask", "s", "-n", "5").output
    with Study.open("s") as study:
        moves = [event.data for event in study.store.events() if event.kind == "relocated"]
        assert moves == [{"uri": "memory://bucket/new"}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.slice(0, ROWS - 1), r"file 'part-2.parquet' has 249 rows, not 250"),
        (lambda t: t.set_column(0, "income", pa.array([9.0] * ROWS, pa.float32())), "has .* bytes, not"),
        (lambda t: t.drop_columns(["debt"]), "column 'debt' is gone"),
        (lambda t: t.append_column("more", pa.array([1] * ROWS)), "column 'more' is new"),
        (lambda t: t.set_column(1, "debt", t["debt"].cast("float32")), "'debt' has type float, not double"),
    ],
    ids=["rows", "values", "gone", "new", "type"],
)
def test_a_pool_that_changed_is_refused(
    change: Callable[[Any], Any], message: str, memory: Any, tmp_path: Path
) -> None:
    write("/bucket/people", store=memory)
    with Study.create(tmp_path / "s", refer("memory://bucket/people"), **SETTINGS) as study:
        label(study, 1)
        before = study.store.events()
    write("/bucket/people", change(people()), store=memory)
    with Study.open(tmp_path / "s") as study:
        with pytest.raises(StudyError, match=f"is not the one this study was made with: .*{message}"):
            study.ask(who="bob")
        assert study.store.events() == before
    with pytest.raises(StudyError, match="is not the one"):
        Study.open(tmp_path / "s", pool="memory://bucket/people")


def test_files_that_came_or_went_are_named(memory: Any, tmp_path: Path) -> None:
    write("/bucket/people", store=memory)
    Study.create(tmp_path / "s", refer("memory://bucket/people"), **SETTINGS).close()
    memory.copy("/bucket/people/part-0.parquet", "/bucket/people/part-9.parquet")
    with Study.open(tmp_path / "s") as study, pytest.raises(StudyError, match=r"'part-9\.parquet' is new"):
        study.ask()
    memory.rm("/bucket/people/part-9.parquet")
    memory.rm("/bucket/people/part-1.parquet")
    with Study.open(tmp_path / "s") as study, pytest.raises(StudyError, match=r"'part-1\.parquet' is gone"):
        study.ask()


def test_a_value_that_changed_in_place_is_noticed_by_the_footer(memory: Any, tmp_path: Path) -> None:
    """Same size, same rows: only the footer's least and largest values tell."""
    for largest in (5, 6):
        table = pa.table({"x": pa.array([0, 1] * 50 + [largest] * 100, pa.int64()), "sex": ["f", "m"] * 100})
        with memory.open("/bucket/one.parquet", "wb") as file:
            pq.write_table(table, file, use_dictionary=["sex"], compression="none")
        if largest == 5:
            Study.create(tmp_path / "s", refer("memory://bucket/one.parquet"), protected="sex").close()
    with Study.open(tmp_path / "s") as study, pytest.raises(StudyError, match="the file has other content"):
        study.ask()


def test_a_pool_that_is_written_to_while_the_study_is_open_is_noticed(local: Path, tmp_path: Path) -> None:
    with Study.create(tmp_path / "study", refer(local), protected="sex", random_state=0) as study:
        assert study.draw(5) is not None
        file = next(file for file in [local, *local.rglob("*")] if file.is_file())
        with file.open("r+b") as handle:  # one byte of the data; size and footer stay as they were
            handle.seek(40)
            byte = handle.read(1)
            handle.seek(40)
            handle.write(bytes([byte[0] ^ 1]))
        with pytest.raises(StudyError, match="was changed while the study was using it"):
            study.draw(5)
        assert study.state().batches == 1


def test_a_file_by_itself_may_get_another_name(local: Path, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "one.parquet")
    Study.create(tmp_path / "s", refer(tmp_path / "one.parquet"), **SETTINGS).close()
    (tmp_path / "one.parquet").rename(tmp_path / "other.parquet")
    with Study.open(tmp_path / "s", pool=(tmp_path / "other.parquet").as_uri()) as study:
        assert len(study.ask(4)) == 4


def test_small_local_pools_are_copied_and_others_are_not(
    local: Path, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("/bucket/people", store=memory)
    assert isinstance(choose_pool(local), pa.Table)
    assert isinstance(choose_pool(local / "part-0.parquet"), pa.Table)
    assert isinstance(choose_pool(local, True), PoolReference)
    assert isinstance(choose_pool("memory://bucket/people"), PoolReference)
    copied = choose_pool("memory://bucket/people", False)
    assert copied.sort_by("name").equals(people().sort_by("name").combine_chunks())
    monkeypatch.setattr("fairask_studio._source.MOST_ROWS", 99)
    assert isinstance(choose_pool(local), PoolReference)
    assert isinstance(choose_pool(local / "part-0.parquet"), PoolReference)
    assert isinstance(choose_pool(local, False), pa.Table)
    monkeypatch.setattr("fairask_studio._source.MOST_ROWS", 10**6)
    monkeypatch.setattr("fairask_studio._source.MOST_BYTES", 99)
    assert isinstance(choose_pool(local / "part-0.parquet"), PoolReference)


def test_a_copied_study_says_so_and_takes_no_place(fairask: Callable[..., Result], local: Path) -> None:
    made = fairask("new", str(local), "--protected", "sex", "--to", "s")
    assert "The pool was copied into the study" in made.output
    assert (Path("s") / "pool.parquet").is_file()
    wrong = fairask("ask", "s", "--pool", str(local), fails=True)
    assert "holds a copy of its pool" in wrong.output


def test_what_cannot_be_a_pool_is_explained_and_nothing_is_made(
    fairask: Callable[..., Result], local: Path, memory: Any, tmp_path: Path
) -> None:
    write("/bucket/people", store=memory)
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    pq.write_table(people(), tmp_path / "mixed" / "a.parquet")
    pq.write_table(people().drop_columns(["debt"]), tmp_path / "mixed" / "b.parquet")
    (tmp_path / "loans.csv").write_text("age,sex\n1,f\n2,m\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    for words, message in [
        (("memory://bucket/nobody",), "no file or folder 'memory://bucket/nobody'"),
        (("nowhere.parquet",), "nowhere.parquet'"),
        (("nowhere", "--stream"), "nowhere"),
        (("s4://bucket/people",), "cannot be opened"),
        (("s3://me:secret@bucket/people",), "holds a password or key"),
        (("empty",), "no Parquet files"),
        (("mixed",), "column 'debt' has type double in a.parquet and is not there in b.parquet"),
        (("loans.csv", "--stream"), "cannot be streamed"),
        (("memory://bucket/people", "--protected", "sx"), "Did you mean 'sex'"),
        (("memory://bucket/people", "--hide", "countri"), "did you mean 'country'"),
        (("memory://bucket/people", "--protected", "country"), "one group only"),
        (("memory://bucket/people", "--protected", "name"), "600 values"),
        (("memory://bucket/people", "--protected", "since"), "has type date32"),
        (("memory://bucket/people", "--protected", "income"), "missing values"),
        (("memory://bucket/people", "--budget", "9999"), "more than the pool's 600 rows"),
    ]:
        given = (*words, "--protected", "sex") if "--protected" not in words else words
        result = fairask("new", *given, "--to", "s", fails=True)
        assert message in result.output, (words, result.output)
        assert "This should not happen" not in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_streamed_study_lives_in_a_database_too(local: Path, target: str) -> None:
    with Study.create(target, refer(local), **SETTINGS) as study:
        label(study, 2)
    with Study.open(target) as study:
        assert study.status()["labels"] == 40
        assert study.learner().history_["labels"].tolist() == [20, 40]


def test_a_streamed_study_can_be_audited(local: Path, tmp_path: Path) -> None:
    with Study.create(tmp_path / "s", refer(local), **SETTINGS) as study:
        label(study, 2)
        trained = study.learner().labelled_indices_.tolist()
        study.start_audit(30)
        rows = study.ask(30, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        audit = study.state().audit
        assert audit is not None
        assert audit.audit is not None
        assert sorted(audit.audit.answered) == sorted(rows)
        found = study.certify()
        assert found["groups"] == ["f", "m"]
        for group, ones in zip(found["groups"], found["positives"], strict=True):
            known = [row for row in [*trained, *rows] if TABLE["sex"][row] == group]
            assert ones == sum(LABELS[row] == "good" for row in known)


def test_rows_that_an_oracle_looks_at_are_kept_too(
    local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairask import FairActiveLearner
    from fairask.oracle import CalibratedFairOracle
    from fairask.pools import open_pool

    seen: list[Any] = []
    fit = CalibratedFairOracle.fit_labelled

    def watching(self: Any, rows: Any, background: Any = None) -> Any:
        seen.append(background)
        return fit(self, rows, background)

    monkeypatch.setattr(CalibratedFairOracle, "fit_labelled", watching)
    with Study.create(tmp_path / "s", refer(local), **SETTINGS) as study:
        rows = study.ask(who="ada")
    pool = open_pool(local, "sex", ["income", "debt", "job", "since", "owner"])
    expected = FairActiveLearner(pool, blind=True, random_state=3).background()
    assert expected is not None
    local.rename(tmp_path / "gone")
    with Study.open(tmp_path / "s") as study:
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        assert study.refit() is not None
    for kept, drawn in zip(seen[-1], expected, strict=True):
        np.testing.assert_array_equal(kept, drawn)
