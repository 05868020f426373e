import numpy as np
import pytest

from fairask import FairActiveLearner, simulate
from fairask.stopping import AnyOf, Budget, Certified, Plateau

pytestmark = pytest.mark.usefixtures("few_trees")


def made(n=3000, seed=0, **settings):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b"], size=n)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return FairActiveLearner(X, groups, classes=("no", "yes"), batch_size=50, random_state=0, **settings), y


def test_a_share_of_the_budget_is_kept_for_a_certificate():
    learner, y = made(budget=1000, audit_share=0.8, tolerance=0.15)
    simulate(learner, y, 1000)
    assert len(learner.labelled_indices_) == 200
    certificate = learner.certify()
    assert certificate.verdict == "certified"
    assert certificate.upper <= 0.15
    audited = learner._audit[1]
    assert audited.n_labels <= 800
    assert not set(audited.answered) & set(learner.labelled_indices_.tolist())
    assert audited.pool_size == len(y)
    assert any("200 rows had labels before the audit" in text for text in certificate.assumptions)


def test_training_labels_never_certify():
    learner, y = made()
    simulate(learner, y, 100)
    with pytest.raises(ValueError, match="the labels that trained it cannot certify it"):
        learner.certify()
    with pytest.raises(ValueError, match="budget is missing"):
        learner.audit()


def test_a_new_label_voids_the_certificate():
    learner, y = made()
    simulate(learner, y, 100)
    audit = learner.audit(500)
    query = audit.ask()
    audit.tell(query.indices, y[query.indices])
    assert learner.certificate_ is not None
    more = learner.ask(5)
    learner.tell(more.indices, y[more.indices])
    assert learner.certificate_ is None
    with pytest.raises(ValueError, match="has not been audited"):
        learner.certify()


def test_audit_labels_are_the_learners_classes():
    learner, y = made()
    simulate(learner, y, 100)
    audit = learner.audit(500)
    query = audit.ask()
    with pytest.raises(ValueError, match="label 'maybe' is not one of the classes"):
        audit.tell(query.indices[:1], ["maybe"])


def test_rules_stop_the_learner_with_a_reason():
    learner, y = made(stopping=Plateau(rounds=2, by=0.5))
    simulate(learner, y, 1000)
    assert learner.stop_reason_ == "error has moved by at most 0.5 in 2 rounds"
    assert len(learner.labelled_indices_) == 150
    budgeted, y = made(budget=120, stopping=AnyOf((Certified(), Budget(500))))
    simulate(budgeted, y, 500)
    assert budgeted.stop_reason_ == "the budget of 120 labels is spent"
    with pytest.raises(ValueError, match="column='eror' is not in the history"):
        Plateau(column="eror").reason(learner)


def test_certified_stops():
    learner, y = made(budget=2000, audit_share=0.9)
    simulate(learner, y, 2000)
    assert Certified().reason(learner).startswith("the model is certified")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"audit_share": 1.0}, r"audit_share=1.0 must be in \[0, 1\)"), ({"budget": 0}, "budget=0 must be")],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)
