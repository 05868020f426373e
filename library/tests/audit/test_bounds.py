"""Laws of the two-proportion bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from fairask.audit.bounds.exact import exact_p_value, exact_upper
from fairask.audit.bounds.methods import METHODS, pairs
from fairask.audit.bounds.proportions import clopper_pearson, clopper_pearson_upper, newcombe_upper, wilson

BOUNDS = [newcombe_upper, clopper_pearson_upper, exact_upper]


@st.composite
def tables(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int, int]:
    na, nb = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(st.integers(0, na)), na, draw(st.integers(0, nb)), nb


@pytest.mark.parametrize("upper", BOUNDS)
@settings(max_examples=40, deadline=None)
@given(table=tables(), level=st.sampled_from([0.01, 0.05, 0.2]))
def test_a_bound_lies_between_the_estimate_and_one(upper, table, level):
    ta, na, tb, nb = table
    value = float(upper(ta, na, tb, nb, level))
    assert ta / na - tb / nb - 1e-6 <= value <= 1 + 1e-9


# Not a law of the exact bound: its order of the tables is Newcombe's at the level asked for, so two levels
# may order the tables of a handful of rows differently. Each bound is valid at its own level.
@pytest.mark.parametrize("upper", [newcombe_upper, clopper_pearson_upper])
@settings(max_examples=25, deadline=None)
@given(table=tables())
def test_a_smaller_error_never_gives_a_smaller_bound(upper, table):
    strict, loose = float(upper(*table, 0.01)), float(upper(*table, 0.1))
    assert strict >= loose - 1e-4


@settings(max_examples=25, deadline=None)
@given(table=tables(25), d=st.integers(-50, 90), p=st.integers(0, 1000))
def test_the_exact_p_value_is_at_least_the_probability_at_any_nuisance(table, d, p):
    ta, na, tb, nb = table
    d, p = d / 100, p / 1000
    pb = max(0.0, -d) + p * (min(1.0, 1 - d) - max(0.0, -d))
    x, y = np.meshgrid(np.arange(na + 1), np.arange(nb + 1), indexing="ij")
    ranked = newcombe_upper(x, na, y, nb, 0.05) <= newcombe_upper(ta, na, tb, nb, 0.05) + 1e-12
    mass = (
        ranked * np.outer(binom.pmf(np.arange(na + 1), na, pb + d), binom.pmf(np.arange(nb + 1), nb, pb))
    ).sum()
    assert exact_p_value(ta, na, tb, nb, d) >= mass * (1 - 2e-3) - 1e-9


@pytest.mark.parametrize(("na", "nb"), [(9, 7), (15, 4)])
def test_the_exact_bound_covers_in_every_small_population(na, nb):
    level = 0.1
    upper = np.array([[exact_upper(x, na, y, nb, level) for y in range(nb + 1)] for x in range(na + 1)])
    for pa in np.linspace(0, 1, 21):
        for pb in np.linspace(0, 1, 21):
            mass = np.outer(binom.pmf(np.arange(na + 1), na, pa), binom.pmf(np.arange(nb + 1), nb, pb))
            assert mass[upper < pa - pb - 1e-9].sum() <= level * 1.002


def test_the_exact_bound_is_as_tight_as_newcombe_at_a_hundred_positives_a_group():
    assert abs(exact_upper(80, 100, 80, 100, 0.05) - float(newcombe_upper(80, 100, 80, 100, 0.05))) < 0.01


def test_newcombe_agrees_with_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for table in [(56, 70, 48, 80), (9, 10, 3, 10), (0, 12, 5, 40)]:
        _, theirs = proportion.confint_proportions_2indep(*table, method="newcomb", compare="diff", alpha=0.1)
        assert float(newcombe_upper(*table, 0.05)) == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 200), share=st.floats(0, 1))
def test_clopper_pearson_limits_invert_the_binomial_tails(n, share):
    hits = round(share * n)
    low, high = clopper_pearson(hits, n, 0.05)
    if hits > 0:
        assert binom.sf(hits - 1, n, low) == pytest.approx(0.05, abs=1e-6)
    if hits < n:
        assert binom.cdf(hits, n, high) == pytest.approx(0.05, abs=1e-6)


@given(n=st.integers(1, 200), share=st.floats(0, 1), z=st.floats(0.1, 4))
def test_wilson_limits_solve_the_score_equation(n, share, z):
    hits = round(share * n)
    for limit in wilson(hits, n, z):
        if 0 < limit < 1:
            assert abs(hits / n - limit) == pytest.approx(z * np.sqrt(limit * (1 - limit) / n), abs=1e-6)


def test_the_bound_of_a_family_is_the_largest_of_its_members():
    rng = np.random.default_rng(4)
    for shift in (0.0, 0.35):  # all groups alike, and one far below the others
        groups, y = rng.integers(0, 3, 600), rng.integers(0, 2, 600)
        pred = np.where(rng.random(600) < 0.9 - shift * (groups == 2), y, 1 - y)
        counts = {
            v: (np.bincount(groups[y == v], pred[y == v]).astype(int), np.bincount(groups[y == v]))
            for v in (1, 0)
        }
        tables = [(hits[a], size[a], hits[b], size[b]) for hits, size in counts.values() for a, b in pairs(3)]
        low, high = METHODS["exact"].differences(counts, 0.05)
        assert high == pytest.approx(max(exact_upper(*t, 0.05) for t in tables), abs=2e-3)
        assert low == pytest.approx(max(0.0, *(-exact_upper(*t, 0.05 / 12) for t in tables)), abs=2e-3)
        assert (low > 0.1) == (shift > 0)
