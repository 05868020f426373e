"""The audit: sequential, stratified, resumable."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairask.audit import Audit, simulate_audit
from fairask.audit.bounds.boundaries import boundaries
from fairask.audit.bounds.proportions import wilson
from fairask.audit.bounds.stratified import _constrained, collapse, score_limits
from fairask.audit.layout import Counts, Layout
from fairask.audit.plan import AuditPlan, allocate
from fairask.audit.simulation import null_pools, run_audits
from fairask.metrics import group_gap


def pool(n: int = 4000, gap: float = 0.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return y, (rng.random(n) < np.where(y == 1, 0.9 - gap * g, 0.15)).astype(int), g


def run(audit: Audit, y) -> Audit:
    while not audit.done:
        rows = audit.ask().indices
        audit.tell(rows, y[rows])
    return audit


def test_an_audit_certifies_a_fair_model_early_and_refutes_an_unfair_one():
    y, pred, g = pool()
    fair = run(Audit(pred, g, budget=1200), y).certificate()
    assert fair.verdict == "certified"
    assert fair.n_labels < 1200
    y, pred, g = pool(gap=0.35)
    assert run(Audit(pred, g, budget=1200), y).certificate().verdict == "refuted"


def test_labelling_the_whole_pool_finds_its_gap_exactly():
    y, pred, g = pool(300, gap=0.1)
    audit = run(Audit(pred, g, budget=10**6, looks=1), y)
    c = audit.certificate()
    truth = group_gap(y, pred, g)
    assert c.estimate == pytest.approx(truth)
    assert c.upper == c.lower == pytest.approx(truth)
    wider = audit.certificate("population")
    assert wider.lower < c.lower < wider.upper


@pytest.mark.parametrize("metric", ["tprp", "fprp", "eo"])
def test_every_metric_estimates_what_the_pool_has(metric):
    y, pred, g = pool(500, gap=0.2)
    c = run(Audit(pred, g, metric=metric, budget=500, looks=1), y).certificate()
    assert c.estimate == pytest.approx(group_gap(y, pred, g, metric))


def test_a_certificate_of_selection_rates_speaks_of_rows_and_not_of_labels():
    pred, groups = np.repeat([1, 0, 1, 0], [24, 16, 20, 20]), np.repeat(["a", "b"], 40)
    found = Audit(pred, groups, metric="dp", tolerance=0.12).certificate("population")
    assert found.verdict == "undecided"
    text, page = str(found), found.to_html()
    assert "more rows drawn in the same way" in text
    assert "of which these rows are a random sample" in text
    for word in ("positives", "more labels", "labelled rows"):
        assert word not in text
        assert word not in page


def test_demographic_parity_needs_no_labels():
    y, pred, g = pool()
    audit = Audit(pred, g, metric="dp", budget=10)
    assert audit.done
    assert audit.certificate().estimate == pytest.approx(group_gap(y, pred, g, "dp"))
    assert audit.certificate("population").method == "exact"
    assert audit.certificate("population").upper > audit.certificate().upper


def test_an_audit_resumes_from_json_in_the_middle_of_a_batch():
    y, pred, g = pool()
    audit = Audit(pred, g, budget=500, random_state=7)
    rows = audit.ask().indices
    audit.tell(rows, y[rows])
    rows = audit.ask().indices[:9]
    audit.tell(rows, y[rows])
    again = Audit.from_dict(json.loads(json.dumps(audit.to_dict())))
    assert again.ask().indices.tolist() == audit.ask().indices.tolist()
    assert run(again, y).certificate() == run(audit, y).certificate()


def test_a_state_is_refused_in_another_format_and_with_labels_of_other_rows():
    _, pred, g = pool()
    state = Audit(pred, g, budget=100).to_dict()
    with pytest.raises(ValueError, match="format"):
        Audit.from_dict(state | {"format": 99})
    with pytest.raises(ValueError, match="never asked for"):
        Audit.from_dict(state | {"rows": [-5], "labels": [1]})


def test_wrong_tellings_raise_and_change_nothing():
    y, pred, g = pool()
    audit = Audit(pred, g, budget=500)
    rows = audit.ask().indices
    stranger = np.setdiff1d(np.arange(len(y)), rows)[0]
    for indices, labels, message in [
        ([rows[0], stranger], [1, 1], "was not asked for"),
        ([rows[0], rows[0]], [1, 1], "was not asked for|told already"),
        ([rows[0]], [2], "0 and 1"),
        ([rows[0]], [1, 0], "lengths disagree"),
    ]:
        with pytest.raises(ValueError, match=message):
            audit.tell(indices, labels)
        assert audit.n_labels == 0
    audit.tell(rows[:1], [1])
    with pytest.raises(ValueError, match="told already"):
        audit.tell(rows[:1], [1])
    with pytest.raises(ValueError, match="over"):
        run(audit, y).ask()


def test_rows_that_trained_the_model_are_never_asked_for():
    y, pred, g = pool(600)
    audit = Audit(pred, g, budget=600, looks=1, trained_on=np.arange(300))
    assert audit.ask().indices.min() >= 300
    assert any("300 rows that trained" in text for text in run(audit, y).certificate().assumptions)
    with pytest.raises(ValueError, match="trained_on names row 600"):
        Audit(pred, g, trained_on=[600])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 0}, "budget=0 must be"),
        ({"looks": 2.5}, "looks=2.5 must be"),
        ({"target": "pol"}, "did you mean 'pool'"),
        ({"tolerance": 2}, "tolerance=2 must be"),
        ({"groups": [0, 1]}, "lengths disagree"),
        ({"groups": [1] * 8}, "at least two groups"),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Audit(**({"pred": [0, 1] * 4, "groups": [0, 0, 1, 1] * 2} | change))


@pytest.mark.parametrize("target", ["pool", "population"])
def test_repeated_looks_keep_the_promise_at_the_tolerance(target):
    # TPR 0.85 and 0.75 exactly: tolerance = 0.1 must not be certified in more than a share delta of audits.
    size = np.array([[2600.0, 2400.0], [2700.0, 2300.0]])
    ones = np.array([[300.0, 1700.0], [500.0, 1500.0]])
    plan = AuditPlan("tprp", 0.1, 0.05, 800, 5, target).schedule(10000)
    shape, rng = (1500, 2, 2), np.random.default_rng(4)
    rows = np.broadcast_to(size, shape), np.broadcast_to(ones, shape)
    if target == "population":
        hit = rng.binomial(2000, [0.85, 0.75], size=(1500, 2)).astype(float)
        ones_ = np.stack([2000 - hit, hit], axis=-1)
        rows = ones_ + (size - ones), ones_
    verdict, _ = run_audits(*rows, plan, rng)
    assert np.mean(verdict == 1) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.slow
def test_the_simulation_agrees_with_audits_run_one_by_one():
    y, pred, g = pool(2000, seed=5)
    simulated = simulate_audit(y, pred, g, budget=300, n_audits=2000)
    runs = [run(Audit(pred, g, budget=300, random_state=s), y).certificate() for s in range(60)]
    share = np.mean([c.verdict == "certified" for c in runs])
    assert abs(share - simulated.certified) < 4 * np.sqrt(0.25 / 60)
    assert simulated.certified + simulated.refuted + simulated.undecided == pytest.approx(1)
    assert simulated.gap == pytest.approx(group_gap(y, pred, g))
    assert list(simulated.decided_by) == [60, 120, 180, 240, 300]
    assert json.loads(json.dumps(simulated.to_dict()))["n_audits"] == 2000
    assert "simulated audits" in str(simulated)


def test_calibration_replays_the_audit_at_the_tolerance():
    y, pred, g = pool(3000)
    audit = Audit(pred, g, budget=300, looks=3)
    with pytest.raises(ValueError, match="no look is complete"):
        audit.calibration()
    error = run(audit, y).calibration(n_audits=400)
    assert 0.005 < error <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_pools_of_the_calibration_have_a_gap_of_alpha():
    size, labels = np.array([[2600.0, 2400.0], [2700.0, 2300.0]]), np.full((2, 2), 100.0)
    pools = list(null_pools(size, np.array([[12.0, 70.0], [15.0, 65.0]]), labels, 0.1))
    assert len(pools) == 18
    for ones in pools:
        assert np.ptp(ones[:, 1] / ones.sum(axis=1)) == pytest.approx(0.1, abs=2e-3)


def test_a_pilot_that_finds_no_positive_decides_nothing():
    y, g = np.zeros(400, dtype=int), np.repeat([0, 1], 200)
    audit = run(Audit(np.tile([0, 1], 200), g, budget=40, looks=2), y)
    c = audit.certificate()
    assert np.isnan(c.estimate)
    assert (c.lower, c.upper, c.verdict) == (0.0, 1.0, "undecided")


def test_the_report_names_the_pool_and_the_population():
    y, pred, g = pool(1000)
    text = run(Audit(pred, g, budget=200), y).report()
    assert "the pool audited" in text
    assert "the population of which" in text


def test_boundaries_keep_the_error_when_looks_are_normal_steps():
    fractions = (0.2, 0.4, 0.6, 0.8, 1.0)
    z = np.array(boundaries(fractions, 0.05))
    steps = np.random.default_rng(0).normal(size=(200_000, 5)) * np.sqrt(0.2)
    path = np.cumsum(steps, axis=1) / np.sqrt(fractions)
    crossed = (path > z).any(axis=1).mean()
    assert 0.03 < crossed <= 0.05
    assert (np.diff(z) < 0).all()


def limits_of(size, hits, labels, rate, z):
    """Limits of one rate from two strata, as if they were part of larger ones."""
    one = np.ones((1, 1))
    zero, ones = (
        collapse(size[[b]], hits[[b]], labels[[b]], one, np.zeros(1), population=True) for b in (0, 1)
    )
    low, high = score_limits(zero, ones, np.array([rate]), np.array([z]))
    return float(low[0]), float(high[0])


def test_proportional_strata_of_rare_labels_give_wilson_limits_and_more_on_the_long_side():
    size, labels = np.array([6e6, 4e6]), np.array([6000.0, 4000.0])
    found = limits_of(size, np.array([2.0, 8.0]), labels, 0.8, 1.645)
    expected = wilson(8, 10, 1.645)
    assert found[0] == pytest.approx(float(expected[0]), abs=4e-3)
    assert expected[1] < found[1] < expected[1] + 0.02


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_strata_limits_contain_the_rate_and_widen_with_z(data):
    size = np.array([data.draw(st.integers(20, 500)), data.draw(st.integers(20, 500))], dtype=float)
    labels = np.array([data.draw(st.integers(1, int(s))) for s in size], dtype=float)
    hits = np.array([data.draw(st.integers(0, int(n))) for n in labels], dtype=float)
    if not hits.sum():
        return
    mass = size * hits / labels
    rate = np.array(mass[1] / mass.sum())
    low, high = limits_of(size, hits, labels, float(rate), 1.5)
    lower, higher = limits_of(size, hits, labels, float(rate), 2.5)
    assert lower - 1e-6 <= low <= rate + 1e-6
    assert rate - 1e-6 <= high <= higher + 1e-6


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_allocation_spends_the_total_within_its_limits(data):
    size = np.array(data.draw(st.lists(st.integers(0, 60), min_size=4, max_size=4)), dtype=float).reshape(
        1, 2, 2
    )
    have = np.floor(size * data.draw(st.floats(0, 1)))
    weight = np.array(data.draw(st.lists(st.floats(0.01, 5), min_size=4, max_size=4))).reshape(1, 2, 2)
    total = data.draw(st.integers(1, 250))
    counts = allocate(weight, have, size, total)
    assert (counts >= have).all()
    assert (counts <= size).all()
    assert counts.sum() == min(max(total, have.sum()), size.sum())


def test_skipped_rows_stay_in_the_pool_and_others_are_asked_for_in_their_place():
    y, pred, g = pool()
    audit = Audit(pred, g, budget=400, looks=2)
    first = audit.ask().indices
    audit.skip(first[:5])
    assert len(audit.ask().indices) == len(first)
    assert not set(first[:5].tolist()) & set(audit.ask().indices.tolist())
    found = run(audit, y).certificate()
    assert found.n_labels in (200, 400)
    assert "all 4,000 rows" in found.target
    assert any("5 rows could not be labelled" in text for text in found.assumptions)
    assert found.skipped == 5


def test_skips_widen_the_bounds_as_if_their_labels_were_the_worst():
    y, pred, g = pool()
    plain, skipping = (Audit(pred, g, budget=400, looks=1) for _ in range(2))
    run(plain, y)
    rows = skipping.ask().indices
    gone = rows[(y[rows] == 1) & (pred[rows] == 0)][:5]  # positives that the model missed
    skipping.skip(gone)
    found, before = run(skipping, y).certificate(), plain.certificate()
    assert found.upper - found.estimate > before.upper - before.estimate + 0.01
    assert found.lower <= before.lower


def test_rows_with_known_labels_are_part_of_the_pool_and_cost_nothing():
    y, pred, g = pool(3000, gap=0.1)
    hard = np.flatnonzero(y != pred)[:250]  # what active learning takes: the rest looks better than it is
    known = {int(row): int(y[row]) for row in hard}
    audit = Audit(pred, g, budget=2750, looks=1, known=known)
    assert not set(audit.ask().indices.tolist()) & set(hard.tolist())
    c = run(audit, y).certificate()
    assert c.n_labels == 2750
    assert c.estimate == pytest.approx(group_gap(y, pred, g))
    assert any("250 rows had labels before the audit" in text for text in c.assumptions)
    assert Audit.from_dict(json.loads(json.dumps(audit.to_dict()))).certificate() == c


def test_known_rows_that_nobody_can_label_are_taken_at_their_worst():
    y, pred, g = pool(400)
    audit = Audit(pred, g, budget=390, looks=1, known=dict.fromkeys(range(10)))
    c = run(audit, y).certificate()
    assert c.skipped == 10
    truth = group_gap(y, pred, g)
    assert c.lower < truth < c.upper
    assert c.upper - c.lower > 0.02


def test_an_audit_saved_whole_goes_on_without_the_pool_after_skips_and_corrections():
    y, pred, g = pool()
    audit = Audit(pred, g, budget=500, random_state=7)
    rows = audit.ask().indices
    audit.skip(rows[:2])
    audit.tell(rows[2:], y[rows[2:]])
    rows = audit.ask().indices
    audit.tell(rows, y[rows])
    assert audit.ask().look == 2
    audit.revise(rows[0], 1 - y[rows[0]])  # after its look: what was drawn stays drawn
    again = Audit.from_dict(json.loads(json.dumps(audit.to_dict())))
    assert again.ask().indices.tolist() == audit.ask().indices.tolist()
    assert again.certificate() == audit.certificate()
    assert run(again, y).certificate() == run(audit, y).certificate()


def test_a_label_taken_back_is_awaited_again():
    y, pred, g = pool()
    audit = Audit(pred, g, budget=400, looks=1)
    rows = audit.ask().indices
    audit.tell(rows, y[rows])
    assert audit.done
    before = audit.certificate()
    audit.revise(rows[3])
    assert not audit.done
    assert audit.ask().indices.tolist() == [rows[3]]
    assert audit.certificate().n_labels == 0
    audit.tell(rows[3], y[rows[3]])
    assert audit.certificate() == before
    with pytest.raises(ValueError, match="nothing to revise"):
        audit.revise(-1, 1)


def test_propensities_are_those_of_a_draw_by_stratum():
    _, pred, g = pool()
    query = Audit(pred, g, budget=400, looks=2).ask()
    sizes = np.bincount(2 * g + pred)
    assert query.propensities == pytest.approx(0.25 / sizes[(2 * g + pred)[query.indices]])


def test_labels_may_be_named_classes():
    y, pred, g = pool()
    audit = Audit(pred, g, budget=400, classes=("bad", "good"))
    rows = audit.ask().indices
    with pytest.raises(ValueError, match="label 'fine' is not one of the classes"):
        audit.tell(rows[:1], ["fine"])
    audit.tell(rows, np.array(["bad", "good"])[y[rows]])
    assert sum(audit.certificate().positives) == y[rows].sum()


def test_a_group_that_a_model_never_decides_so_has_no_warning_and_says_nothing():
    """Rows of group 1 are all decided 0: the union of its rows decided 1 is empty (0 / 0 before)."""
    size, labels = np.array([40.0, 50.0, 5.0, 0.0]), np.array([10.0, 12.0, 0.0, 0.0])
    member = np.eye(4)[[0, 1, 3]]
    found = collapse(size, labels / 2, labels, member, np.zeros(4))
    assert found.weight.tolist() == [40.0, 50.0, 0.0]
    assert (found.share[2], found.labels[2]) == (0.0, 1.0)


def test_labels_that_are_all_told_are_certain_and_no_part_of_the_proportion():
    """Ten labels of ten rows say nothing about the other thousand, and nothing about them is random."""
    one, none = np.ones((1, 2)), np.zeros(2)
    found = collapse(np.array([1000.0, 10.0]), np.array([5.0, 9.0]), np.array([50.0, 10.0]), one, none)
    alone = collapse(np.array([1000.0]), np.array([5.0]), np.array([50.0]), one[:, :1], none[:1])
    assert (found.base[0], found.weight[0], found.share[0]) == (9.0, 1000.0, 0.1)
    assert found.labels[0] == pytest.approx(alone.labels[0], rel=0.1)


@given(st.data())
def test_constrained_shares_keep_the_constraint_and_are_the_most_likely(data):
    w0, w1 = (data.draw(st.floats(0.01, 1.0)) for _ in range(2))
    c = data.draw(st.floats(0.001, 0.999)) * (w0 + w1) - w0
    hits, misses = (np.array([data.draw(st.integers(1, 50)) for _ in range(2)], float) for _ in range(2))
    arrays = (np.array([v]) for v in (w0, w1, c, hits[0], misses[0], hits[1], misses[1]))
    p0, p1 = (float(v[0]) for v in _constrained(*arrays))
    assert w1 * p1 - w0 * p0 == pytest.approx(c, abs=1e-9)
    below, above = max(0.0, -c) / w0, min(w0, w1 - c) / w0
    grid = np.linspace(below, above, 203)[1:-1]
    other = (c + w0 * grid) / w1

    def likelihood(a, b):
        return hits[0] * np.log(a) + misses[0] * np.log1p(-a) + hits[1] * np.log(b) + misses[1] * np.log1p(-b)

    assert likelihood(p0, p1) >= likelihood(grid, other).max() - 1e-6


def test_a_group_that_is_never_accepted_and_labelled_whole_has_no_warning():
    """An overflow before, and a limit of zero for the population of which five rows were seen."""
    layout, none = Layout.plain(2), np.zeros((1, 4))
    size = np.array([[40.0, 50.0, 5.0, 0.0]])
    ones, zeros = np.array([[10.0, 6.0, 5.0, 0.0]]), np.array([[2.0, 6.0, 0.0, 0.0]])
    pool, people = (
        layout.limits(Counts(size, ones, zeros, none), 0, 1, 1.645, population=population)
        for population in (False, True)
    )
    for found in (pool, people):
        assert found.rate[0, 1] == 0.0
        assert found.low[0, 1] == 0.0
    assert pool.high[0, 1] < 1e-6
    assert people.high[0, 1] > 0.3  # 0.45 by Clopper and Pearson, with a normal quantile
