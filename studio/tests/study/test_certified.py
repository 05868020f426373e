"""The model that was certified is the one that is kept and handed out, and the certificate names it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairask.audit.signature import OwnerKey, new_key
from fairask.cli._app import app
from fairask.learner import FairActiveLearner
from fairask_studio import Study, StudyError, load_model
from fairask_studio.estimates import model_digest
from fairask_studio.integrity import verify_certificate
from fairask_studio.state import State
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]
TABLE = people_table(400)
LABELS = truth(TABLE)


def answer(study: Study, rows: list[int], who: str = "owner") -> None:
    study.tell(rows, [LABELS[row] for row in rows], who)


def fitted(make: Make, target: str | None = None, **settings: object) -> Study:
    study = make(target, table=TABLE, budget=300, tolerance=0.99, batch_size=20, **settings)
    answer(study, study.ask(40))
    study.refit()
    return study


def certified(make: Make, **settings: object) -> Study:
    study = fitted(make, **settings)
    study.start_audit(60)
    while rows := study.ask(60):
        answer(study, rows)
    study.certify()
    return study


@pytest.mark.slow
def test_the_certified_model_stays_until_another_fit_is_asked_for(make: Make, tmp_path: Path) -> None:
    study = certified(make)
    before = study.state().history[-1]
    assert study.state().certificates[-1]["verdict"] == "certified"
    about = study.state().certificates[-1]["model"]
    assert (about["round"], about["digest"]) == (before["round"], before["digest"])
    assert not study.state().fit_is_due()
    assert study.refit() is None
    assert study.refit(force=True) is None
    answer(study, study.ask(40))
    assert study.refit(force=True) is None
    study.export(tmp_path / "out")
    model = load_model(tmp_path / "out" / "model.skops")
    assert model.fairask_ == study.status()["model"]
    assert (model.fairask_["digest"], model.fairask_["certified"]) == (about["digest"], True)
    assert model_digest(study.learner(at=study.state().trained_to)) == about["digest"]
    again = study.refit(asked_by="ada")
    assert again is not None
    assert study.status()["model"]["digest"] == again["digest"] != about["digest"]
    assert [event.who for event in study.store.events() if event.kind == "fit asked"] == ["ada"]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="blind"),
        pytest.param(
            {"protected": ["sex", "income:0"], "use_protected": True},
            id="two columns",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_verify_tells_the_certified_model_from_another(
    make: Make, tmp_path: Path, settings: dict[str, object]
) -> None:
    study = certified(make, **settings)
    study.export(tmp_path / "a")
    study.refit(asked_by="owner")
    study.export(tmp_path / "b")
    certificate, pool = tmp_path / "a" / "certificate.json", tmp_path / "study" / "pool.parquet"
    assert verify_certificate(certificate, tmp_path / "a" / "model.skops", pool).sound
    other = verify_certificate(certificate, tmp_path / "b" / "model.skops", pool)
    assert not other.sound
    assert "digest" in other.problems[0]
    (tmp_path / "cut.skops").write_bytes((tmp_path / "a" / "model.skops").read_bytes()[:500])
    with pytest.raises(StudyError, match=r"cut\.skops is damaged, truncated"):
        verify_certificate(certificate, tmp_path / "cut.skops", pool)
    assert json.loads(certificate.read_text())["model"]["round"] == 0


def parallel(times: int, act: Callable[[int], object]) -> list[object]:
    results: list[object] = []

    def run(i: int) -> None:
        try:
            results.append(act(i) or True)
        except StudyError as error:
            results.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_parallel_requests_make_one_audit_and_one_certificate(make: Make, target: str) -> None:
    study = fitted(make, target)
    with Study.open(target) as second, Study.open(target) as third:
        check_parallel(study, [study, second, third])


def check_parallel(study: Study, others: list[Study]) -> None:
    done = parallel(6, lambda i: others[i % 3].start_audit(60))
    assert sum(not isinstance(result, StudyError) for result in done) == 1
    assert [event.kind for event in study.store.events()].count("audit") == 1
    while rows := study.ask(60):
        answer(study, rows)
    done = parallel(6, lambda i: others[i % 3].certify())
    assert sum(not isinstance(result, StudyError) for result in done) == 1
    assert [event.kind for event in study.store.events()].count("certified") == 1


def test_verify_is_a_command_with_an_exit_code(make: Make, tmp_path: Path) -> None:
    study = certified(make)
    study.export(tmp_path / "a")
    files = [str(tmp_path / "a" / name) for name in ("certificate.json", "model.skops")]
    pool = str(tmp_path / "study" / "pool.parquet")
    done = CliRunner().invoke(app, ["verify", *files, pool])
    assert (done.exit_code, "is about this model: round 0" in done.output) == (0, True), done.output
    issued = Path(files[0]).read_text("utf-8")
    for before, after in (('"delta": 0.05', '"delta": 0.01'), ('"n_labels": ', '"n_labels": 9')):
        assert before in issued
        Path(files[0]).write_text(issued.replace(before, after), "utf-8")
        done = CliRunner().invoke(app, ["verify", *files, pool])
        assert (done.exit_code, "changed after it was issued" in done.output) == (1, True), done.output
    Path(files[0]).write_text(issued, "utf-8")
    study.refit(asked_by="owner")
    study.export(tmp_path / "b")
    done = CliRunner().invoke(app, ["verify", files[0], str(tmp_path / "b" / "model.skops"), pool])
    assert (done.exit_code, "NOT about this model" in done.output) == (1, True), done.output


def test_verify_takes_the_folder_of_an_audit_by_several_columns(make: Make, tmp_path: Path) -> None:
    study = fitted(make, use_protected=True)
    study.export(tmp_path / "out")
    model, table = str(tmp_path / "out" / "model.skops"), pd.DataFrame(TABLE)
    pool, folder = tmp_path / "pool.parquet", tmp_path / "pool.audit"
    table["said"] = load_model(model).predict_proba(table)[:, 1]
    table.to_parquet(pool)
    names = ["--predictions", "said", "--protected", "sex", "--protected", "income:0"]
    CliRunner().invoke(app, ["audit", str(pool), *names, "--metric", "dp"])

    def verify(*words: object) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["verify", *map(str, words)])
        return done.exit_code, done.output

    assert verify(folder, model, pool)[0] == 0
    code, said = verify(folder)
    assert (code, "as it was issued: table pool.parquet" in said) == (0, True), said
    assert verify(folder, pool)[0] == 0
    file = folder / "certificate.json"
    issued = file.read_text("utf-8")
    other = "refuted" if json.loads(issued)["verdict"] == "certified" else "certified"
    for pattern, words in (('"verdict": "[a-z]+"', f'"verdict": "{other}"'), ('"seed": "0"', '"seed": "1"')):
        file.write_text(re.sub(pattern, words, issued, count=1), "utf-8")
        assert verify(folder)[0] == 1, words
    file.write_text(issued, "utf-8")
    table["said"] = 1 - table["said"]
    table.to_parquet(pool)
    code, said = verify(folder, model, pool)
    assert (code, "sha256 differs" in said, "decides otherwise than 'said'" in said) == (1, True, True), said
    assert "sha256 differs" in verify(folder, pool)[1]
    file.write_text(re.sub(r'"upper": [\d.]+', '"upper": 0.001', file.read_text(), count=1))
    assert verify(folder) == (
        1,
        "The certificate is NOT as it was issued:\npool: it was changed after it was issued\n",
    )
    file.unlink()
    code, said = verify(folder)
    assert (code, "is not over" in said) == (2, True), said


def test_an_audit_that_begins_meanwhile_is_not_begun_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = fitted(make)
    answer(study, study.ask(20))
    made = study.learner
    with Study.open(study.target) as other:

        def later(at: int | None = None) -> FairActiveLearner:
            if other.state().audit is None:
                other.start_audit(60)
            return made(at)

        monkeypatch.setattr(study, "learner", later)
        with pytest.raises(StudyError, match="under way already"):
            study.start_audit(60)
        other.end_audit()
        assert study.refit() is None
    assert [event.kind for event in study.store.events()].count("fitted") == 1


def test_a_signed_export_is_of_these_files_and_of_this_log(make: Make, tmp_path: Path) -> None:
    study, out = certified(make), tmp_path / "out"
    public = str(new_key(tmp_path / "owner"))
    names = {path.name for path in study.export(out, key=OwnerKey.read(tmp_path / "owner"))}
    assert {"signed.json", "certificate.json", "model.skops", "events.jsonl", "labels.csv"} <= names

    def verify(*words: object) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["verify", *map(str, words)])
        return done.exit_code, done.output

    code, said = verify(out, "--key", public)
    assert (code, "As it was signed" in said) == (0, True), said
    signed = json.loads((out / "signed.json").read_text())
    assert signed["hash"] == study.store.check_chain()[1]
    assert signed["model"] == study.state().model["digest"]
    pool = tmp_path / "pool.parquet"
    pd.DataFrame(TABLE).to_parquet(pool)
    assert verify(out / "certificate.json", out / "model.skops", pool, "--key", public)[0] == 0
    # Each file, its name, and the list itself.
    for name in ("labels.csv", "events.jsonl", "certificate.json", "model.skops", "signed.json"):
        kept = (out / name).read_bytes()
        (out / name).write_bytes(kept.replace(b"1", b"2", 1))
        assert verify(out, "--key", public)[0] == 1, name
        (out / name).write_bytes(kept)
    # Whoever changes a file can take the signature out of the list as well.
    kept = (out / "signed.json").read_bytes()
    for change, wrong in (
        ({}, "it has no signature"),
        ({"files": 5}, "damaged"),
        ({"events": "x"}, "damaged"),
    ):
        unsigned = {name: said for name, said in signed.items() if name != "signature"} | change
        (out / "signed.json").write_text(json.dumps(unsigned))
        code, said = verify(out)
        assert (code > 0, wrong in said) == (True, True), said
        assert "should not happen" not in said
    (out / "signed.json").write_bytes(kept)
    (out / "more.csv").write_text("x")
    assert "more.csv was not signed" in verify(out, "--key", public)[1]
    (out / "more.csv").unlink()
    (out / "report.html").unlink()
    assert "report.html is missing" in verify(out, "--key", public)[1]
    new_key(tmp_path / "other")
    other = OwnerKey.read(tmp_path / "other")
    study.export(out, key=other)
    assert "signed with another key" in verify(out, "--key", public)[1]
    code, said = verify(out / "certificate.json", out / "model.skops", pool, "--key", public)
    assert (code, "signed with another key" in said) == (1, True)


def test_audits_of_a_model_are_counted_by_the_log_of_the_study(make: Make) -> None:
    study = fitted(make)
    study.start_audit(60)
    study.end_audit()
    study.start_audit(60)
    while rows := study.ask(60):
        answer(study, rows)
    document = study.certify()
    assert document["audits_of_model"] == 2
    assert document["assumptions"][-1].startswith(
        "This is audit 2 of this model in this study; at least one of 2"
    )
    # The count is in the events alone.
    assert State.replay(study.store.events()).audits == study.state().audits
