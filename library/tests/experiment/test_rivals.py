from __future__ import annotations

import numpy as np
import pytest

from fairask import FairActiveLearner
from fairask.experiment import LabelledTable, Task
from fairask.experiment.loop import run_trial
from fairask.experiment.method import METHODS
from fairask.experiment.rivals import CONSTRAINTS, decider
from fairask.metrics import group_gap


@pytest.fixture(scope="module")
def unfair() -> LabelledTable:
    """Group b's labels follow another feature, so that a plain model misses its positives."""
    rng = np.random.default_rng(0)
    X, b = rng.normal(size=(2000, 4)), rng.random(2000) < 0.3
    y = (np.where(b, X[:, 1] - 0.7, X[:, 0] + 0.7) + 0.3 * rng.normal(size=2000) > 0).astype(np.int64)
    return LabelledTable(np.column_stack([X, b]), y, np.where(b, "b", "a"))


def labelled(table: LabelledTable, n: int) -> FairActiveLearner:
    learner = FairActiveLearner(table.X, table.groups, strategy="passive", batch_size=n, random_state=0)
    rows = learner.ask().indices
    learner.tell(rows, table.y[rows])
    return learner


@pytest.mark.parametrize(
    "name",
    [
        "threshold_optimizer",
        "relaxed_thresholds",
        "linear_post",
        "oxonfair",
        pytest.param("exponentiated_gradient", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_rival_narrows_the_gap_of_its_own_plain_classifier(unfair: LabelledTable, name: str) -> None:
    if name == "relaxed_thresholds":
        pytest.importorskip("error_parity")
    if name == "oxonfair":
        pytest.importorskip("oxonfair")
    learner = labelled(unfair, 200)
    gaps = {}
    for constraint in ("none", name):
        positive = decider(constraint, learner, 0.05)(unfair.X, unfair.groups)
        assert positive.shape == (2000,)
        assert ((positive >= 0) & (positive <= 1)).all()
        gaps[constraint] = group_gap(unfair.y, positive, unfair.groups, "tprp")
    assert gaps["none"] > 0.1
    # A classifier that fits its training labels has no gap on them, and the reduction looks at no others.
    assert gaps[name] < gaps["none"] or name == "exponentiated_gradient"


def test_a_group_of_one_class_leaves_the_plain_classifier(unfair: LabelledTable) -> None:
    learner = labelled(unfair, 4)
    plain = decider("none", learner, 0.1)(unfair.X, unfair.groups)
    for name in CONSTRAINTS:
        assert decider(name, learner, 0.1)(unfair.X, unfair.groups).tolist() == plain.tolist()


def test_an_unknown_rival_names_the_nearest(unfair: LabelledTable) -> None:
    with pytest.raises(ValueError, match="did you mean 'threshold_optimizer'"):
        decider("threshold_optimiser", labelled(unfair, 4), 0.1)


def test_rivals_ask_for_the_rows_of_passive_sampling(unfair: LabelledTable) -> None:
    task = Task(budget=60, batch=30)
    runs = [
        run_trial(METHODS[name], unfair.split(0, 0), task)
        for name in ("passive", "plain", "threshold_optimizer")
    ]
    assert {str(run.group_labels) for run in runs} == {str(runs[0].group_labels)}
    assert len({run.accuracy[-1] for run in runs}) > 1


def test_only_the_baseline_has_references_and_its_plain_model_is_the_plain_method(
    unfair: LabelledTable,
) -> None:
    task = Task(budget=60, batch=60)
    passive, plain = (run_trial(METHODS[m], unfair.split(0, 0), task) for m in ("passive", "plain"))
    assert plain.references is None
    assert passive.references is not None
    assert passive.references.plain_accuracy == plain.accuracy[-1]
    y = unfair.split(0, 0).test[1]
    assert passive.references.constant_accuracy == pytest.approx(max(y.mean(), 1 - y.mean()))
