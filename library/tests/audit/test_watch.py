"""A watch: false alarms, changes found, new certificates, windows, rows without a label, bad input."""

import json

import numpy as np
import pytest

from fairask.audit.bounds.boundaries import window_boundaries
from fairask.audit.layout import Counts
from fairask.audit.watch import Watch, together
from fairask.errors import UserError
from fairask.report.figures import draw_months

MONTHS = [f"{2025 + i // 12}-{i % 12 + 1:02d}" for i in range(36)]


def month(rng, rates, n=1000):
    """Decisions, groups and labels: women and men whose label is 1 are accepted at these rates."""
    groups = np.repeat(["f", "m"], n // 2)
    y = rng.random(n) < 0.4
    said = np.where(y, rng.random(n) < np.where(groups == "f", *rates), rng.random(n) < 0.1)
    return said.astype(int), groups, y.astype(int)


def follow(seed, before, after=None, change=0, months=12, **settings):
    rng = np.random.default_rng(seed)
    watch = Watch(["f", "m"], **{"labels": 300, "certified": "2024-12", **settings})
    for i, name in enumerate(MONTHS[:months]):
        said, groups, y = month(rng, after if after and i >= change else before)
        rows = watch.add(name, said, groups)
        watch.tell(rows, y[rows])
    return watch


def test_looks_together_err_as_often_as_they_may():
    # A boundary is passed by walks that it was not made of as often as it says.
    windows = tuple(tuple(sorted({0, max(0, n - 5), max(0, n - 11)})) for n in range(36))
    z = window_boundaries(windows, 0.05 / 36)
    walks = np.random.default_rng(1).standard_normal((37, 20_000)).cumsum(axis=0)
    walks -= walks[0]
    passed = np.zeros(20_000, dtype=bool)
    for last, firsts in enumerate(windows):
        for a in firsts:
            passed |= (walks[last + 1] - walks[a]) / np.sqrt(last + 1 - a) >= z[last]
    assert abs(passed.mean() - 0.05) < 0.006  # four standard errors
    assert window_boundaries(windows[:7], 0.05 / 36) == z[:7]  # no boundary depends on what comes after


def test_boundaries_of_tiny_errors_are_cautious():
    assert window_boundaries(((0,), (0, 1)), 1e-7)[1] > window_boundaries(((0,), (0, 1)), 1e-3)[1]


def test_months_that_were_sampled_unequally_are_weighted_by_their_rows():
    size, labels = np.array([[100.0], [900.0]]), np.array([[50.0], [50.0]])
    ones = np.array([[50.0], [0.0]])
    found = together(Counts(size, ones, labels - ones, 0 * ones), [0])
    assert found.ones / found.labels == pytest.approx(0.1)  # 100 of 1,000 rows, not half
    assert found.labels[0, 0] == pytest.approx(1000**2 / (2 * 100 + 18 * 900))


@pytest.mark.parametrize("rates", [(0.75, 0.85), (0.5, 0.4)])
def test_a_model_at_the_tolerance_is_neither_refuted_nor_certified(rates):
    found = [follow(seed, rates).standing() for seed in range(20)]
    assert sum(f.verdict == "refuted" for f in found) <= 3  # the bound allows for one
    assert sum(f.since > "2024-12" for f in found) <= 3


def test_a_change_is_found_and_dated():
    found = [follow(seed, (0.85, 0.85), (0.5, 0.85), change=6).standing() for seed in range(5)]
    assert [f.verdict for f in found] == ["refuted"] * 5
    assert all("2025-05" <= f.since <= "2025-09" for f in found)


def test_doubt_that_ends_a_certificate_is_named():
    watch = follow(0, (0.72, 0.85), months=3)
    standing = watch.standing()
    assert (standing.verdict, standing.since, standing.doubt) == ("undecided", "2024-12", True)
    assert "labels since raise doubt about the certificate of 2024-12" in standing.headline()


def test_names_of_months_do_not_overlap():
    look = follow(0, (0.85, 0.85), months=1).looks[0]
    for months in (9, 14, 36):
        figure = draw_months({f"{n}": look for n in range(months)}, 0.1)
        assert len(figure.axes[0].get_xticks()) <= 9


def test_a_refutation_stays_and_keeps_its_date():
    watch = follow(0, (0.45, 0.85), months=3)
    first = watch.standing()
    assert first.verdict == "refuted"
    rng = np.random.default_rng(1)
    for name in MONTHS[3:8]:
        said, groups, y = month(rng, (0.85, 0.85))
        rows = watch.add(name, said, groups)
        watch.tell(rows, y[rows])
    assert (watch.standing().verdict, watch.standing().since) == ("refuted", first.since)


def test_a_certificate_is_renewed_and_ends_without_labels():
    watch = follow(0, (0.85, 0.85), months=14)
    assert watch.standing().verdict == "certified"
    assert watch.standing().since > "2025-02"
    silent = Watch(["f", "m"], certified="2024-12", valid_for=2)
    for name in MONTHS[:2]:
        said, groups, _ = month(np.random.default_rng(0), (0.8, 0.8))
        rows = silent.add(name, said, groups)
        silent.tell(rows, [None] * len(rows))
    assert silent.standing().verdict == "undecided"


def test_labels_that_are_needed_are_enough():
    watch = follow(1, (0.85, 0.85), months=2, certified=None)
    needed = watch.standing().labels_needed
    assert needed
    rng = np.random.default_rng(1)
    said, groups, y = month(rng, (0.85, 0.85), 8000)
    rows = watch.add(MONTHS[2], said, groups, labels=2 * needed)
    watch.tell(rows, y[rows])
    assert watch.standing().verdict == "certified"


def test_rows_that_nobody_can_label_count_at_their_worst():
    rng = np.random.default_rng(1)
    honest, hidden = Watch(["f", "m"], labels=400), Watch(["f", "m"], labels=400)
    for name in MONTHS[:12]:
        said, groups, y = month(rng, (0.82, 0.85))
        told = y.astype(object)
        told[(groups == "f") & (y == 1) & (said == 0)] = None  # the missed ones of one group
        for watch, labels in ((honest, y), (hidden, told)):
            rows = watch.add(name, said, groups)
            watch.tell(rows, labels[rows])
    assert honest.standing().verdict == "certified"
    assert hidden.standing().verdict == "undecided"


def test_outcomes_that_exist_are_counted_and_not_asked_for():
    rng = np.random.default_rng(0)
    bought, half = Watch(["f", "m"], labels=100), Watch(["f", "m"], labels=100)
    said, groups, y = month(rng, (0.8, 0.8))
    rows = bought.add(MONTHS[0], said, groups)
    bought.tell(rows, y[rows])
    known = {int(row): int(y[row]) for row in np.flatnonzero(said)}  # loans that were granted
    rows = half.add(MONTHS[0], said, groups, known=known)
    assert len(rows) == 100
    assert not said[rows].any()
    half.tell(rows, y[rows])
    assert half.looks[0].upper < bought.looks[0].upper
    whole = Watch(["f", "m"])
    assert not len(whole.add(MONTHS[0], said, groups, known=dict(enumerate(y.tolist()))))
    assert whole.looks[0].month[0] == pytest.approx(
        abs(np.subtract(*(said[(groups == g) & (y == 1)].mean() for g in ("f", "m"))))
    )


def test_labels_go_where_they_tell_most():
    watch, rng = follow(0, (0.8, 0.8), months=2), np.random.default_rng(5)
    said, groups, _ = month(rng, (0.8, 0.8))
    rows = watch.add(MONTHS[2], said, groups)
    assert said[rows].mean() < 0.7 * 0.5  # equally at first, then mostly those who were rejected
    assert said[rows].any()


@pytest.mark.parametrize(("metric", "tolerance"), [("dp", 0.1), ("selection-ratio", 0.2)])
def test_parity_of_decisions_needs_no_labels(metric, tolerance):
    rng, watch = np.random.default_rng(0), Watch(["f", "m"], metric=metric, tolerance=tolerance)
    for name in MONTHS[:3]:
        groups = rng.choice(["f", "m"], 3000)
        said = rng.random(3000) < np.where(groups == "f", 0.3, 0.6)
        assert not len(watch.add(name, said.astype(int), groups))
    assert watch.standing().verdict == "refuted"
    assert watch.looks[-1].gap == pytest.approx(0.3 if metric == "dp" else 0.5, abs=0.05)


def test_equalized_odds_of_three_groups_and_a_score():
    rng, watch = np.random.default_rng(0), Watch("abc", metric="eo", labels=300)
    for name in MONTHS[:3]:
        groups, score = rng.choice([*"abc"], 3000), rng.random(3000)
        y = rng.random(3000) < score
        said = ((score > 0.5) ^ (groups == "c")).astype(int)  # one group is treated the other way round
        rows = watch.add(name, said, groups, score)
        watch.tell(rows, y[rows].astype(int))
    assert watch.standing().verdict == "refuted"
    assert watch.bins is not None
    assert watch.bins.bins == 4


def test_shifts_are_seen_without_labels():
    rng, watch = np.random.default_rng(0), Watch(["f", "m"], metric="dp")
    for i, name in enumerate(MONTHS[:2]):
        groups = rng.choice(["f", "m"], 2000, p=[0.3 + 0.2 * i, 0.7 - 0.2 * i])
        watch.add(name, np.zeros(2000, dtype=int), groups, rng.normal(loc=i, size=2000))
    shift = watch.shift()
    assert shift["psi"] > 0.25
    assert shift["groups"]["f"]["share"] == pytest.approx([0.3, 0.5], abs=0.05)


def test_a_watch_is_the_same_after_it_was_written():
    rng, watch = np.random.default_rng(3), Watch(["f", "m"], noise={"f": (0.0, 0.02), "m": 0.01})
    for name in MONTHS[:3]:
        said, groups, y = month(rng, (0.8, 0.85))
        rows = watch.add(name, said, groups, 0.5 * said + 0.5 * rng.random(len(y)))
        watch.tell(rows, y[rows])
    again = Watch.from_dict(json.loads(json.dumps(watch.to_dict())))
    assert again.standing() == watch.standing()
    assert again.add(MONTHS[3], said, groups, 0.5 * said).tolist() == watch.add(
        MONTHS[3], said, groups, 0.5 * said
    ).tolist()  # fmt: skip


def test_what_cannot_be_is_refused():
    watch = Watch(["f", "m"], certified="2024-12")
    said, groups, y = month(np.random.default_rng(0), (0.8, 0.8))
    with pytest.raises(UserError, match="the group 'x'"):
        watch.add("2025-01", said, np.where(groups == "f", "x", "m"))
    with pytest.raises(UserError, match="before the certificate of 2024-12"):
        watch.add("2024-11", said, groups)
    rows = watch.add("2025-01", said, groups)
    with pytest.raises(UserError, match="rows of 2025-01 wait for a label"):
        watch.add("2025-02", said, groups)
    with pytest.raises(UserError, match="never asked for"):
        watch.tell([int(np.setdiff1d(np.arange(400), rows)[0])], [1])
    with pytest.raises(ValueError, match="expected 0, 1 or None"):
        watch.tell(rows[:1], [2])
    watch.tell(rows, y[rows])
    with pytest.raises(UserError, match="2025-01 was added before"):
        watch.add("2025-01", said, groups)
    with pytest.raises(UserError, match="2024-12 is in the past"):
        watch.add("2024-12", said, groups)
    with pytest.raises(UserError, match="2025-02 has a score, and the months before had no score"):
        watch.add("2025-02", said, groups, np.zeros(len(y)))
    assert [m.name for m in watch.months] == ["2025-01"]


def test_a_watch_ends_with_its_horizon():
    with pytest.raises(UserError, match="planned for 3 months"):
        follow(0, (0.8, 0.8), months=4, horizon=3)
