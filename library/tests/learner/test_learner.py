import json
import warnings
import zipfile

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from fairask import FairActiveLearner, simulate
from fairask.audit import Audit
from fairask.errors import FairaskWarning, NoDisagreementWarning, UserError
from fairask.strategies import Fare, Passive


def pool(n=400, seed=0, n_groups=2):
    rng = np.random.default_rng(seed)
    groups = np.array(["a", "b", "c"])[rng.integers(n_groups, size=n)]
    X = rng.normal(size=(n, 3)) + (groups == "b")[:, None]
    y = (X[:, 0] + 0.8 * rng.normal(size=n) > 0.3).astype(int)
    return X, groups, y


def made(**settings):
    X, groups, y = pool()
    return FairActiveLearner(X, groups, **{"batch_size": 20, "random_state": 0, **settings}), y


def snapshot(learner):
    return json.dumps(
        [learner.state.log.to_list(), learner.state.batches, learner.state.history], default=str
    )


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
@pytest.mark.filterwarnings("ignore::fairask.errors.DisagreementWarning")
def test_the_history_says_how_safe_each_model_is_where_the_oracle_knows():
    learner, y = made(batch_size=40)
    history, model = simulate(learner, y, 80), learner.model_
    assert (history["gap_low"][-1], history["gap_high"][-1]) == model.gap_interval_
    assert history["safety_cost"][-1] == model.safety_cost_
    assert history["reach"][-1] == model.reach_
    assert history["level"].tolist() == [0.95, 0.95]
    assert (history["tolerance"] >= 0).all()
    paper, _ = made(profile="paper", batch_size=40)
    assert "safety_cost" not in simulate(paper, y, 80)


@pytest.mark.parametrize("strategy", ["passive", "group_balanced", "uncertainty", "fare"])
@pytest.mark.parametrize("metric", ["tprp", "eo"])
@pytest.mark.parametrize("profile", ["calibrated", "paper"])
@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
@pytest.mark.filterwarnings("ignore::fairask.errors.DisagreementWarning")
def test_ask_and_tell_end_in_a_fair_model(strategy, metric, profile):
    learner, y = made(strategy=strategy, metric=metric, profile=profile, batch_size=40)
    history = simulate(
        learner, y, 120, test=(learner.pool.X, y, np.array(learner.groups_)[learner.pool.groups])
    )
    assert history["labels"].tolist() == [40, 80, 120]
    assert history["test_accuracy"][-1] > 0.65
    if profile == "paper":
        assert history["gap"][-1] <= history["tolerance"][-1] + 1e-7
        assert history["tolerance"][-1] == pytest.approx(0.1 - 120**-0.5)
    else:
        assert history["gap"][-1] <= 0.1 or not history["feasible"][-1]
        assert history["tolerance"][-1] == pytest.approx(max(0.1 - learner.model_.margin_, 0.0))
    assert len(set(learner.labelled_indices_.tolist())) == 120
    np.testing.assert_array_equal(learner.labels_, y[learner.labelled_indices_])


def test_the_first_batch_is_uniform_and_fare_then_mixes_its_components():
    learner, y = made()
    first = learner.ask()
    assert set(first.components) == {"uniform"}
    np.testing.assert_allclose(first.propensities, 1 / np.arange(400, 380, -1))
    learner.tell(first.indices, y[first.indices])
    second = learner.ask(60)
    assert {"diff", "fair"} <= set(second.components)


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
def test_three_groups_and_other_classes_work():
    X, groups, y = pool(n_groups=3)
    learner = FairActiveLearner(X, groups, classes=("no", "yes"), batch_size=60, random_state=1)
    simulate(learner, np.where(y == 1, "yes", "no"), 180)
    assert set(learner.model_.predict(X, sensitive_features=groups)) <= {"no", "yes"}
    assert list(learner.model_.classes_) == ["no", "yes"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_on_any_number_of_workers():
    def run(seed):
        learner, y = made(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairaskWarning)
            simulate(learner, y, 80)
        return (
            learner.labelled_indices_.tolist(),
            learner.propensities_.tolist(),
            learner.state.history[-1]["error"],
        )

    one = Parallel(n_jobs=1)(delayed(run)(s) for s in range(2))
    two = Parallel(n_jobs=2)(delayed(run)(s) for s in range(2))
    assert one == two
    assert one[0] != one[1]


def test_saving_in_the_middle_of_a_round_loses_nothing(tmp_path):
    whole, y = made()
    simulate(whole, y, 100)
    part, _ = made()
    simulate(part, y, 40)
    query = part.ask()
    part.tell(query.indices[:7], y[query.indices[:7]])
    part.save(tmp_path / "learner")
    again = FairActiveLearner.load(tmp_path / "learner")
    assert again.pending_indices_.tolist() == query.indices[7:].tolist()
    again.tell(query.indices[7:], y[query.indices[7:]])
    simulate(again, y, 100)
    assert again.labelled_indices_.tolist() == whole.labelled_indices_.tolist()
    assert again.history_["error"].tolist() == whole.history_["error"].tolist()
    np.testing.assert_allclose(again.risk_weights_, whole.risk_weights_)
    assert list(tmp_path.iterdir()) == [tmp_path / "learner"]


@pytest.mark.filterwarnings("ignore::fairask.errors.InfeasibleWarning")
def test_what_a_file_cannot_hold_is_asked_for_again(tmp_path):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    learner, y = made(estimator=tree, strategy=Passive())
    simulate(learner, y, 40)
    learner.save(tmp_path / "learner")
    with pytest.raises(ValueError, match="made with estimator=DecisionTreeClassifier"):
        FairActiveLearner.load(tmp_path / "learner", X=learner.pool.X)
    with pytest.raises(ValueError, match="X is not the table"):
        FairActiveLearner.load(tmp_path / "learner", X=learner.pool.X + 1, estimator=tree)
    again = FairActiveLearner.load(tmp_path / "learner", X=learner.pool.X, estimator=tree)
    np.testing.assert_array_equal(
        again.model_.calibration_.out_of_fold, learner.model_.calibration_.out_of_fold
    )


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "learner").write_bytes(content)
    with pytest.raises(ValueError, match="learner is damaged, truncated"):
        FairActiveLearner.load(tmp_path / "learner")


def test_a_file_whose_settings_are_damaged_is_refused_by_its_name(tmp_path):
    whole, hurt = tmp_path / "whole", tmp_path / "hurt"
    made()[0].save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(hurt, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"horizon"', b'"horiZon"'))
    with pytest.raises(UserError, match=r"hurt is damaged.*'horiZon' is not a setting of strategy 'fare'"):
        FairActiveLearner.load(hurt)


def test_a_file_whose_table_is_damaged_is_refused_by_its_name(tmp_path):
    whole, hurt = tmp_path / "whole", tmp_path / "hurt"
    made()[0].save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(hurt, "w") as new:
        for name in old.namelist():
            kept = old.read(name)
            new.writestr(name, kept[:-8] + np.float64(np.inf).tobytes() if name == "X.npy" else kept)
    with pytest.raises(UserError, match=r"hurt is damaged.*Input X contains infinity"):
        FairActiveLearner.load(hurt)
    with pytest.raises(ValueError, match="Input X contains infinity") as refused:
        FairActiveLearner.load(whole, X=np.full((400, 3), np.inf))
    assert not isinstance(refused.value, UserError)


def test_corrections_and_skips():
    learner, y = made(strategy="passive", batch_size=100)
    query = learner.ask()
    learner.skip(query.indices[:3])
    learner.tell(query.indices[3:], y[query.indices[3:]])
    assert learner.history_["labels"].tolist() == [97]
    row = int(query.indices[5])
    before = learner.model_.error_
    for other in query.indices[3:9].tolist():
        learner.correct(other, 1 - y[other])
    assert learner.labels_[2] == 1 - y[row]
    assert learner.model_.error_ != before
    asked = learner.ask(learner.pool.X.shape[0] - 100).indices
    assert not set(asked) & set(query.indices.tolist())
    np.testing.assert_allclose(learner.risk_weights_, 1.0)


def test_labels_of_one_class_do_not_stop_the_learner():
    learner, _ = made(batch_size=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairaskWarning)
        for _ in range(3):
            query = learner.ask()
            learner.tell(query.indices, np.zeros(5, int))
        groups = np.array(learner.groups_)[learner.pool.groups]
        assert not learner.model_.predict(learner.pool.X, sensitive_features=groups).any()


def test_no_disagreement_falls_back_to_lambda_fair_and_says_so():
    # No flips and no constraint: all k models are the same one.
    learner, y = made(strategy=Fare(k=3, sigma=0.0), tolerance=1.0, margin=None)
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])
    with pytest.warns(NoDisagreementWarning, match="agree on all 380 rows"):
        assert set(learner.ask().components) == {"fair"}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda a, q: a.tell([q[0]], [2]), r"label 2 of row \d+ is not one of the classes \(0, 1\)"),
        (lambda a, q: a.tell([q[0], q[0]], [1, 1]), "more than once"),
        (lambda a, q: a.tell([q[0], 399 if 399 not in q else 398], [1, 1]), "was never asked for"),
        (lambda a, q: a.tell([4000], [1]), "no row 4000"),
        (lambda a, q: a.tell(q[:2], [1]), "lengths disagree: indices has 2, labels has 1"),
        (lambda a, q: a.tell([0.5], [1]), "indices must be whole numbers"),
        (lambda a, q: a.tell([q[-1]], [1]), "is labelled, not asked; use correct"),
        (lambda a, q: a.correct(q[0], 1), "is asked, not labelled"),
        (lambda a, q: a.skip([q[-1]]), "is labelled, not asked"),
        (lambda a, q: a.ask(0), "n=0 must be a whole number, 1 or more"),
        (lambda a, q: a.ask(381), "n=381 rows were asked for, but the pool has 380 left"),
    ],
)
def test_a_refused_call_changes_nothing(act, message):
    learner, _ = made()
    query = learner.ask().indices.tolist()
    learner.tell([query[-1]], [1])
    before = snapshot(learner)
    with pytest.raises(ValueError, match=message):
        act(learner, query)
    assert snapshot(learner) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "fair"}, "strategy='fair' is unknown; did you mean 'fare'"),
        (
            {"strategy_params": {"sgima": 0.2}},
            "'sgima' is not a setting of strategy 'fare'; did you mean 'sigma'",
        ),
        ({"strategy_params": {"k": 1}}, "k=1 must be a whole number from 2 to 64"),
        ({"strategy_params": {"sigma": 2}}, r"sigma=2 must be in \[0, 1\]"),
        ({"metric": "tpr"}, "metric='tpr' is unknown; did you mean 'tprp'"),
        ({"tolerance": -0.1}, r"tolerance=-0.1 must be a number in \[0, 1\]"),
        ({"margin": "sqrt"}, "margin='sqrt' is unknown; did you mean 'sqrt_n'"),
        ({"margin": 3}, "margin=3 must be"),
        ({"risk_weights": "ip"}, "risk_weights='ip' is unknown; did you mean 'ips'"),
        ({"batch_size": 0}, "batch_size=0 must be a whole number"),
        ({"classes": (1, 1)}, "must be two different labels"),
        ({"random_state": -1}, "random_state=-1 must be"),
        ({"sensitive_features": ["a"] * 400}, "one group only"),
        ({"sensitive_features": ["a", "b"]}, "lengths disagree: X has 400, sensitive_features has 2"),
        ({"sensitive_features": [None, "b"] * 200}, "sensitive_features has missing values"),
        ({"X": np.full((400, 2), np.nan)}, "X contains NaN"),
        ({"X": np.full((400, 2), np.inf)}, "X contains infinity"),
    ],
)
def test_bad_settings_are_named(settings, message):
    X, groups, _ = pool()
    given = {"X": X, "sensitive_features": groups, **settings}
    with pytest.raises(ValueError, match=message):
        FairActiveLearner(given.pop("X"), given.pop("sensitive_features"), **given)


def test_no_model_before_the_first_label():
    learner, y = made()
    with pytest.raises(NotFittedError, match="no labels yet"):
        _ = learner.model_
    with pytest.raises(ValueError, match=r"labels has shape \(3,\)"):
        simulate(learner, [0, 1, 1], 2)
    with pytest.raises(ValueError, match="budget=900 must be from 1 to the pool's 400 rows"):
        simulate(learner, y, 900)


def test_a_fit_that_fails_after_tell_says_that_labels_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = FairActiveLearner(np.eye(8), [0, 1] * 4, batch_size=4, random_state=0)
    rows = learner.ask().indices

    def fails(*_: object) -> None:
        raise ArithmeticError("no convergence")

    monkeypatch.setattr(learner, "record_round", fails)
    with pytest.raises(RuntimeError, match="labels are saved; the fit failed: no convergence"):
        learner.tell(rows, [0, 1, 0, 1])
    assert len(learner.labelled_indices_) == 4


def test_labels_of_numpy_are_named_as_they_were_written():
    X, groups = np.random.default_rng(0).normal(size=(40, 2)), ["a", "b"] * 20
    learner = FairActiveLearner(X, groups, classes=np.array(["no", "yes"]), random_state=0)
    rows = learner.ask(2).indices
    with pytest.raises(UserError, match=r"label 'si' of row \d+ is not one of the classes \('no', 'yes'\)"):
        learner.tell(rows, np.array(["no", "si"], dtype=object))
    with pytest.raises(ValueError, match=r"classes=\(1, 1\) must be"):
        FairActiveLearner(X, groups, classes=np.array([1, 1]))
    audit = Audit([0, 1] * 50, ["a"] * 50 + ["b"] * 50, classes=np.array([1, 2]), budget=40)
    rows = audit.ask().indices
    with pytest.raises(ValueError, match=r"label 3 is not one of the classes \(1, 2\)"):
        audit.tell(rows, np.full(len(rows), 3))
