"""Strategies by name: in a learner, in a file, on a data frame."""

import importlib.util
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairask import EmpiricalFairOracle, FairActiveLearner, simulate
from fairask.datasets import load
from fairask.errors import FairaskWarning
from fairask.strategies import STRATEGIES

FAST = {
    "panda": {"iterations": 10, "rho": 0.3, "width": 8, "heads": 2, "feedforward": 8, "unconverged": "use"}
}
NAMES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name == "panda" and importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
        ),
    )
    for name in STRATEGIES
]


def _learner(X, groups, name, **given):
    return FairActiveLearner(
        X, groups, strategy=name, strategy_params=FAST.get(name), batch_size=30, random_state=0, **given
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_run_goes_on_as_if_it_had_not_stopped(name, tmp_path):
    data = load("german")
    learner = _learner(data.X, data.groups, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairaskWarning)
        simulate(learner, data.y, 60)
        learner.save(tmp_path / "learner.fairask")
        again = FairActiveLearner.load(tmp_path / "learner.fairask")
        assert again.strategy == learner.strategy
        assert np.array_equal(again.ask().indices, learner.ask().indices)


@pytest.mark.parametrize("name", ["fal", "falcur", "falcon"])
def test_a_data_frame_gives_the_rows_that_its_array_gives(name):
    pandas = pytest.importorskip("pandas")
    data = load("german")
    frame = pandas.DataFrame(data.X, index=np.arange(1000)[::-1])
    asked = []
    for X in (data.X, frame):
        learner = _learner(
            X, data.groups, name, estimator=DecisionTreeClassifier(max_depth=2, random_state=0)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairaskWarning)
            simulate(learner, data.y, 60)
        asked.append(learner.labelled_indices_)
    assert np.array_equal(asked[0], asked[1])


def test_a_rival_ends_with_the_plain_regression_of_its_labels():
    data = load("german")
    oracle = EmpiricalFairOracle(LogisticRegression(C=1.0), shift_threshold=False)
    plain = {"tolerance": 1.0, "margin": None, "risk_weights": "none", "fairness_weights": "none"}
    learner = FairActiveLearner(
        data.X, data.groups, strategy="fal", oracle=oracle, batch_size=20, random_state=0, **plain
    )
    simulate(learner, data.y, 80)
    rows = learner.labelled_indices_
    expected = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(data.X[rows], data.y[rows])
    agree = learner.current_model().predict(data.X) == expected.predict(data.X)
    assert agree.mean() > 0.995
