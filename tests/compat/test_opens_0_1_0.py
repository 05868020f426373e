"""What version 0.1.0 wrote still opens: saved learners, studies and exported models."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairask import FairActiveLearner
from fairask.datasets import load
from fairask.study import Study, export, load_model
from tests.study.conftest import people_table

OLD = Path(__file__).with_name("v0_1_0")
EXPECTED = json.loads((OLD / "expected.json").read_text())
STUDIES = [name for name in EXPECTED if name.startswith("study-")]


@pytest.mark.parametrize("name", ["learner-calibrated", "learner-paper"])
def test_a_learner_saved_by_0_1_0_goes_on(name: str) -> None:
    old, data = EXPECTED[name], load("german")
    learner = FairActiveLearner.load(OLD / f"{name}.fairask")
    assert learner.labelled_indices_.tolist() == old["labels"]
    assert learner.pending_indices_.tolist() == old["pending"]
    assert "violation, estimated" in learner._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chance = learner.model_.predict_proba(data.X[:50], sensitive_features=data.groups[:50])[:, 1]
    if name == "learner-paper":
        assert np.allclose(chance, old["decisions"], atol=1e-5)
    else:
        # The base learner is the old one, but thresholds are now safe at the level: some decisions changed.
        assert learner.template.estimator == "linear"
        assert np.mean(np.round(chance) == np.round(old["decisions"])) > 0.8


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_made_by_0_1_0_opens_and_goes_on(name: str, tmp_path: Path) -> None:
    old = EXPECTED[name]
    shutil.copytree(OLD / name, tmp_path / "study")
    with Study.open(tmp_path / "study") as study:
        assert study.learner().labelled_indices_.tolist() == old["labelled"]
        assert sorted(study.store.pending("bob")) == sorted(old["pending"])
        assert study.status()["labels"] == old["status"]["labels"]
        assert study.status()["safety"] is None  # its history does not say
        files = {path.name for path in export(study, tmp_path / "out")}
        assert {"report.html", "model-card.md"} <= files
        study.tell(old["pending"], ["good"] * len(old["pending"]), who="bob")
        assert study.status()["labels"] == old["status"]["labels"] + len(old["pending"])


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_model_exported_by_0_1_0_still_predicts(name: str) -> None:
    model, table = load_model(OLD / f"{name}-export" / "model.skops"), people_table(120)
    rows = model.named_steps["encode"].transform(pd.DataFrame(table)[model.columns_].iloc[:20])
    chance = model.named_steps["model"].predict_proba(rows, sensitive_features=table["sex"][:20])[:, 1]
    assert np.allclose(chance, EXPECTED[name]["export"], atol=1e-5)
