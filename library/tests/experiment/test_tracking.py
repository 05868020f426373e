"""Rounds and certificates as an MLflow run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fairask import FairActiveLearner
from fairask.experiment import MLflowCallback, simulate

pytestmark = pytest.mark.filterwarnings("ignore")


def learner() -> tuple[FairActiveLearner, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    groups = np.array(["f", "m"])[np.arange(300) % 2]
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    return FairActiveLearner(X, groups, estimator="linear", batch_size=50, random_state=0), y


@pytest.mark.slow
def test_rounds_settings_and_the_certificate_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)  # artifacts of a database go to a folder here

    place = f"sqlite:///{tmp_path}/runs.db"
    made, y = learner()
    callback = MLflowCallback(place, "loans")
    simulate(made, y, 100, callback=callback)
    client = mlflow.MlflowClient(place)
    run = client.get_run(callback.run_id)
    assert run.data.params["tolerance"] == "0.1"
    assert run.data.params["groups"] == "f, m"
    points = client.get_metric_history(callback.run_id, "violation")
    assert [point.step for point in points] == [50, 100]
    assert [point.value for point in points] == pytest.approx(made.history_["violation"].tolist())
    assert run.data.metrics["labels.f"] + run.data.metrics["labels.m"] == 100
    callback(made)  # nothing is new
    assert len(client.get_metric_history(callback.run_id, "violation")) == 2
    audit = made.audit(40, looks=1)
    rows = audit.ask().indices
    audit.tell(rows, y[rows])
    callback(made)
    again = client.get_run(callback.run_id)
    assert again.data.tags["fairask.verdict"] == made.certify().verdict
    assert again.data.metrics["certificate.upper"] == pytest.approx(made.certify().upper)
    assert [file.path for file in client.list_artifacts(callback.run_id)] == ["certificate.json"]


def test_a_missing_mlflow_is_announced_before_a_label_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"pip install 'fairask\[mlflow\]'"):
        MLflowCallback()
