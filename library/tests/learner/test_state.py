"""A learner is its settings, its pool and its state; the state can be copied, replaced and gone on from."""

import dataclasses
import inspect

import pytest

from fairask import FairActiveLearner
from fairask.learner import LearnerConfig
from library.tests.learner.test_profiles import rows

pytestmark = pytest.mark.usefixtures("few_trees")


def play(learner, y, rounds=2):
    for _ in range(rounds):
        query = learner.ask()
        learner.tell(query.indices, y[query.indices])
    return learner


def test_a_learner_with_the_state_of_another_goes_on_like_it():
    X, groups, y = rows()
    one = play(FairActiveLearner(X, groups, random_state=3), y)
    two = FairActiveLearner(X, groups, random_state=3).with_state(one.state)
    assert two.labelled_indices_.tolist() == one.labelled_indices_.tolist()
    assert two.ask().indices.tolist() == one.ask().indices.tolist()


def test_neither_learner_changes_the_other():
    X, groups, y = rows()
    one = play(FairActiveLearner(X, groups, random_state=3), y)
    kept = one.state.copy()
    two = play(one.with_state(one.state), y)
    assert len(two.labelled_indices_) == 100
    assert one.state == kept
    two.correct(int(two.labelled_indices_[0]), 1 - y[two.labelled_indices_[0]])
    assert one.state == kept


def test_settings_in_one_object_and_by_keyword_are_the_same():
    X, groups, y = rows()
    config = LearnerConfig(tolerance=0.05, batch_size=30, random_state=1)
    by_object = play(FairActiveLearner(X, groups, **vars(config)), y)
    by_keyword = play(FairActiveLearner(X, groups, tolerance=0.05, batch_size=30, random_state=1), y)
    assert by_object.labelled_indices_.tolist() == by_keyword.labelled_indices_.tolist()
    assert by_object.config == by_keyword.config == config


def test_the_settings_are_written_out_with_their_defaults():
    parameters = inspect.signature(FairActiveLearner).parameters
    for one in dataclasses.fields(LearnerConfig):
        assert parameters[one.name].default == one.default


def test_saving_follows_no_link_that_waits_beside_the_file(tmp_path):
    X, groups, _ = rows()
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (tmp_path / "saved.fairask.part").symlink_to(victim)
    FairActiveLearner(X, groups, random_state=3).save(tmp_path / "saved.fairask")
    assert victim.read_text() == "mine"
    assert len(FairActiveLearner.load(tmp_path / "saved.fairask").groups_) == 2
