"""A watch: false alarms, changes found, windows, rows without a label, bad input."""

import json

import numpy as np
import pytest

from fairask.audit.watch import Bets, Watch
from fairask.errors import UserError

MONTHS = [f"{2025 + i // 12}-{i % 12 + 1:02d}" for i in range(36)]


def month(rng, rates, n=400):
    groups = np.repeat(["f", "m"], n // 2)
    y = rng.random(n) < 0.5
    said = y & (rng.random(n) < np.where(groups == "f", *rates))
    return said.astype(int), groups, y.astype(int)


def follow(seed, before, after=None, change=0, months=12, **settings):
    rng = np.random.default_rng(seed)
    watch = Watch(["f", "m"], certified="2024-12", labels=400, **settings)
    for i, name in enumerate(MONTHS[:months]):
        said, groups, y = month(rng, after if after and i >= change else before)
        rows = watch.add(name, said, groups)
        watch.tell(rows, y[rows])
        if watch.standing().verdict == "refuted":
            break
    return watch


def test_a_bet_gains_nothing_on_average_where_the_statement_is_true():
    # All outcomes of few rows, weighted by their probability: exact, not simulated.
    n, bets = (6, 9), Bets.on(0.1, above=True)
    for b in (0.0, 0.3, 0.55, 0.9):
        a = min(b + 0.1, 1.0)
        total = 0.0
        for i in range(n[0] + 1):
            for j in range(n[1] + 1):
                chance = _binomial(n[0], i, a) * _binomial(n[1], j, b)
                total += chance * np.exp(bets.gain((i, j), n))
        assert total <= 1 + 1e-9


def _binomial(n, k, p):
    from math import comb

    return comb(n, k) * p**k * (1 - p) ** (n - k)


def test_a_bet_for_the_model_gains_nothing_at_the_edge():
    n, bets = (7, 8), Bets.on(0.1, above=False)
    for b in (0.05, 0.4, 0.85):
        total = sum(
            _binomial(n[0], i, b + 0.1) * _binomial(n[1], j, b) * np.exp(bets.gain((i, j), n))
            for i in range(n[0] + 1)
            for j in range(n[1] + 1)
        )
        assert total <= 1 + 1e-9


def test_a_model_at_the_tolerance_is_not_refuted():
    said = [follow(seed, (0.75, 0.85)).standing().verdict for seed in range(20)]
    assert said.count("refuted") <= 3  # the bound allows for one


def test_a_change_is_found_and_dated():
    found = [follow(seed, (0.85, 0.85), (0.5, 0.85), change=6).standing() for seed in range(5)]
    assert [f.verdict for f in found] == ["refuted"] * 5
    assert all("2025-05" <= f.since <= "2025-08" for f in found)


def test_a_certificate_is_renewed_by_the_window_and_ends_without_labels():
    watch = follow(0, (0.85, 0.85), months=14)
    assert watch.standing().verdict == "certified"
    assert watch.certified > "2024-12"
    silent = Watch(["f", "m"], certified="2024-12", valid_for=2)
    for name in MONTHS[:2]:
        said, groups, _ = month(np.random.default_rng(0), (0.8, 0.8))
        rows = silent.add(name, said, groups)
        silent.tell(rows, [None] * len(rows))
    assert silent.standing().verdict == "undecided"


def test_rows_that_nobody_can_label_count_at_their_worst():
    rng = np.random.default_rng(1)
    honest, hidden = Watch(["f", "m"], labels=400), Watch(["f", "m"], labels=400)
    for name in MONTHS[:12]:
        said, groups, y = month(rng, (0.7, 0.85))
        told = y.astype(object)
        told[(groups == "f") & (y == 1) & (said == 0)] = None  # the missed ones of one group
        for watch, labels in ((honest, y), (hidden, told)):
            rows = watch.add(name, said, groups)
            watch.tell(rows, labels[rows])
    assert hidden.standing().verdict == "undecided"
    assert hidden.standing().evidence_for < 20


def test_parity_of_decisions_needs_no_labels():
    rng, watch = np.random.default_rng(0), Watch(["f", "m"], metric="dp")
    for name in MONTHS[:3]:
        groups = rng.choice(["f", "m"], 3000)
        assert not len(
            watch.add(name, (rng.random(3000) < np.where(groups == "f", 0.3, 0.6)).astype(int), groups)
        )
    assert watch.standing().verdict == "refuted"


def test_shifts_are_seen_without_labels():
    rng, watch = np.random.default_rng(0), Watch(["f", "m"], metric="dp")
    for i, name in enumerate(MONTHS[:2]):
        groups = rng.choice(["f", "m"], 2000, p=[0.3 + 0.2 * i, 0.7 - 0.2 * i])
        watch.add(name, np.zeros(2000, dtype=int), groups, rng.normal(loc=i, size=2000))
    shift = watch.shift()
    assert shift["psi"] > 0.25
    assert shift["groups"]["f"]["share"] == pytest.approx([0.3, 0.5], abs=0.05)


def test_a_watch_is_the_same_after_it_was_written():
    watch = follow(3, (0.8, 0.85), months=4)
    again = Watch.from_dict(json.loads(json.dumps(watch.to_dict())))
    assert again.standing() == watch.standing()


def test_what_cannot_be_is_refused():
    watch = Watch(["f", "m"])
    said, groups, y = month(np.random.default_rng(0), (0.8, 0.8))
    with pytest.raises(UserError, match="the group 'x'"):
        watch.add("2025-01", said, np.where(groups == "f", "x", "m"))
    rows = watch.add("2025-01", said, groups)
    with pytest.raises(UserError, match="rows of 2025-01 wait for a label"):
        watch.add("2025-02", said, groups)
    with pytest.raises(UserError, match="never asked for"):
        watch.tell([int(np.setdiff1d(np.arange(400), rows)[0])], [1])
    with pytest.raises(ValueError, match="expected 0, 1 or None"):
        watch.tell(rows[:1], [2])
    watch.tell(rows, y[rows])
    with pytest.raises(UserError, match="2024-12 is not after 2025-01"):
        watch.add("2024-12", said, groups)
