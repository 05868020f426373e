"""The most accurate thresholds whose gap is within the tolerance with a given probability.

Curves drawn from their posterior (:mod:`fairask.oracle.curves`) give draws of every rate of every rule, and
so the probability that a gap exceeds the tolerance. Where no thresholds are both safe and accurate, the
rule is mixed with a constant answer, which has no gap: a share ``s`` of the rule shrinks every gap by ``s``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairask.metrics import METRICS, Float, Int, Metric
from fairask.oracle.curves import SCORE_LIMIT, CalibrationCurves

#: A rule is no solution if it keeps less than this share of the accuracy, above a constant answer, that rules
#: have whose expected gap is within the tolerance. What fairness itself costs does not count.
WORTH_KEEPING = 0.8
#: Factors of the tolerance that are tried in turn where there is no solution.
_RELAXED = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
#: Factor of the deviations of a rule's rates in its interval: the same draws chose the rule among many, and
#: show it in too good a light. On development populations the interval then covered as often as it says.
SELECTED = 1.15
_BLOCKS, _CUTS = 120, 40


@dataclass(frozen=True)
class RateTable:
    """What a threshold does in one group.

    Attributes
    ----------
    cuts : ndarray of shape (K,)
        Scores above which rows are predicted 1, from nobody (infinity) to everybody.
    rates : ndarray of shape (conditions, K, draws)
        The group's rate in each condition of the metric.
    errors : ndarray of shape (K,)
        Expected share of the pool that is in this group and predicted wrongly.
    """

    cuts: Float
    rates: Float
    errors: Float


@dataclass(frozen=True)
class SafeChoice:
    """The rule that was chosen, and what is expected of it.

    Attributes
    ----------
    position : ndarray of int
        Which threshold in each group, or which of the rules.
    unsafe : ndarray of int
        The same for the rule that would be best if expected gaps were certain: where labels are worth most.
    share : float
        Share of decisions by that rule; the others are ``constant``.
    constant : bool
    error : float
        Expected error, mixture included.
    error_unsafe, error_constant : float
        Of the best mixture whose expected gap is within the tolerance, and of the constant answer.
    rates : ndarray of shape (conditions, groups, draws)
        Draws of the rates, mixture included.
    upper : float
        Upper limit of the violation at the level.
    upper_unmixed : float
        The same without the constant answer.
    feasible : bool
        Whether the upper limit is within the tolerance at an acceptable price.
    """

    position: Int
    unsafe: Int
    share: float
    constant: bool
    error: float
    error_unsafe: float
    error_constant: float
    rates: Float
    upper: float
    upper_unmixed: float
    feasible: bool

    def interval(self, level: float) -> tuple[float, float]:
        """Limits of the violation, both together at this level."""
        miss = 1.0 - level
        n_groups = self.rates.shape[1]
        mean = self.rates.mean(axis=-1, keepdims=True)
        rates = np.clip(mean + SELECTED * (self.rates - mean), 0.0, 1.0)
        gaps = rates[:, :, None] - rates[:, None, :]
        pairs = max(len(rates) * n_groups * (n_groups - 1) // 2, 1)
        lower = np.quantile(gaps, 0.5 * miss / pairs, axis=-1).max()
        upper = np.quantile(largest_gap(rates), 1.0 - 0.5 * miss)
        return float(max(lower, 0.0)), float(upper)


def largest_gap(rates: Float) -> Float:
    """Largest difference between groups over all conditions, one per draw, of (conditions, groups, draws)."""
    return np.asarray((rates.max(axis=1) - rates.min(axis=1)).max(axis=0))


def tabulate(
    curves: CalibrationCurves,
    scores: Float,
    groups: Int,
    n_groups: int,
    metric: Metric,
    rng: np.random.Generator,
) -> list[RateTable]:
    """Draw the rates of thresholds on the pool.

    A group's rows are sorted by score into blocks of equal size. Each draw weighs the rows at random (the
    Bayesian bootstrap), because the pool itself is a sample: in a group of 60 rows that is most of the noise.
    """
    scores = np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT)
    n_draws = len(curves.coefficients)
    tables = []
    for g in range(n_groups):
        ranked = np.sort(scores[groups == g])[::-1]
        if not len(ranked):
            tables.append(_no_rows(len(METRICS[metric]), n_draws))
            continue
        edges = _edges(ranked)
        sizes = np.diff(edges)
        centres = np.add.reduceat(ranked, edges[:-1]) / sizes
        p = curves.draws(centres, g)
        mass = rng.gamma(sizes[:, None].astype(np.float64), size=(len(sizes), n_draws))
        mean = p.mean(axis=1)
        costs = np.append(0.0, np.cumsum(sizes * (1.0 - 2.0 * mean)))
        ends = np.linspace(0, len(sizes), _CUTS + 1).round().astype(np.int64)
        chosen = np.unique(np.append(ends, np.argmin(costs)))
        rates = []
        for condition in METRICS[metric]:
            inside = mass * {1: p, 0: 1.0 - p, None: np.ones_like(p)}[condition]
            below = np.vstack([np.zeros(n_draws), np.cumsum(inside, axis=0)])
            rates.append(below[chosen] / np.maximum(below[-1], 1e-12))
        after, before = np.append(ranked, -np.inf)[edges[chosen]], np.append(np.inf, ranked)[edges[chosen]]
        cuts = np.where(
            np.isfinite(after + before), 0.5 * (after + before), np.where(chosen == 0, np.inf, -np.inf)
        )
        tables.append(RateTable(cuts, np.array(rates), (sizes @ mean + costs[chosen]) / len(scores)))
    return tables


def draw_rates(
    curves: CalibrationCurves,
    scores: Float,
    groups: Int,
    decisions: Float,
    metric: Metric,
    rng: np.random.Generator,
) -> Float:
    """Draw the rates of any rules, given their decisions (rules, rows) on the pool.

    Returns
    -------
    ndarray of shape (rules, conditions, groups, draws)
    """
    scores = np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT)
    n_groups = curves.coefficients.shape[1]
    conditions = METRICS[metric]
    rates = np.zeros((len(decisions), len(conditions), n_groups, len(curves.coefficients)))
    for g in range(n_groups):
        rows = np.flatnonzero(groups == g)
        p = curves.draws(scores[rows], g)
        mass = rng.exponential(size=p.shape)
        for z, condition in enumerate(conditions):
            inside = mass * {1: p, 0: 1.0 - p, None: np.ones_like(p)}[condition]
            rates[:, z, g] = decisions[:, rows] @ inside / np.maximum(inside.sum(axis=0), 1e-12)
    return rates


def choose_thresholds(
    tables: list[RateTable], tolerance: float, level: float, *, randomized: bool = True
) -> SafeChoice:
    """Return the thresholds with the least expected error whose gap is within the tolerance at the level.

    With two groups all pairs of thresholds are tried. With more, thresholds that give all groups the same
    rate are the start, and one group's threshold is moved at a time.
    """
    nobody, everybody = (float(sum(t.errors[end] for t in tables)) for end in (0, -1))
    if len(tables) == 1:  # no groups, no gap
        zero = np.zeros(len(tables[0].errors))
        positions, errors = np.arange(len(zero))[:, None], tables[0].errors
        uppers, expected = zero, zero
    elif len(tables) == 2:
        positions, errors, uppers, expected = _pairs(tables, level)
    else:
        positions, errors, uppers, expected = _descend(tables, tolerance, level, min(nobody, everybody))
    pick = _pick(errors, uppers, expected, nobody, everybody, tolerance, randomized)
    chosen = positions[pick.best]
    rates = np.stack([t.rates[:, k] for t, k in zip(tables, chosen, strict=True)], axis=1)
    return pick.choice(chosen, positions[pick.unsafe], rates, everybody < nobody)


def choose_rule(
    rates: Float,
    errors: Float,
    nobody: float,
    everybody: float,
    tolerance: float,
    level: float,
    *,
    randomized: bool = True,
) -> SafeChoice:
    """Return the rule with the least expected error whose gap is within the tolerance at the level.

    Parameters
    ----------
    rates : ndarray of shape (rules, conditions, groups, draws)
        See :func:`draw_rates`.
    errors : ndarray of shape (rules,)
    nobody, everybody : float
        Errors of the two constant answers.
    """
    expected = np.array([largest_gap(r.mean(axis=-1, keepdims=True))[0] for r in rates])
    uppers = expected if level <= 0.5 else np.array([_limit(largest_gap(r), level) for r in rates])
    pick = _pick(errors, uppers, expected, nobody, everybody, tolerance, randomized)
    chosen, unsafe = np.array([pick.best]), np.array([pick.unsafe])
    return pick.choice(chosen, unsafe, rates[pick.best], everybody < nobody)


@dataclass(frozen=True)
class _Pick:
    """Indices of the best candidate and the best unsafe one, the share in the mixture, what is expected."""

    best: int
    unsafe: int
    share: float
    error: float
    error_unsafe: float
    error_constant: float
    upper: float
    feasible: bool

    def choice(self, position: Int, unsafe: Int, rates: Float, constant: bool) -> SafeChoice:
        return SafeChoice(
            position=position,
            unsafe=unsafe,
            share=self.share,
            constant=constant,
            error=self.error,
            error_unsafe=self.error_unsafe,
            error_constant=self.error_constant,
            rates=self.share * rates + (1.0 - self.share) * constant,
            upper=self.share * self.upper,
            upper_unmixed=self.upper,
            feasible=self.feasible,
        )


def _pick(
    errors: Float,
    uppers: Float,
    expected: Float,
    nobody: float,
    everybody: float,
    tolerance: float,
    randomized: bool,
) -> _Pick:
    """Choose the safe mixture with the least error, or a relaxed one where no safe one is of use."""
    error_constant = min(nobody, everybody)
    # The smallest expected gap counts as within the tolerance where nothing is mixed: some rule must explore.
    limit = tolerance if randomized else max(tolerance, float(expected.min()))
    _, known = _mixtures(errors, expected, limit, error_constant, randomized)
    unsafe = int(np.argmin(known))
    error_unsafe = min(float(known[unsafe]), error_constant)
    worthwhile = error_constant - WORTH_KEEPING * (error_constant - error_unsafe)
    for factor in (1.0, *_RELAXED):
        share, mixed = _mixtures(errors, uppers, factor * tolerance, error_constant, randomized)
        best = int(np.argmin(mixed + 1e-6 * (1.0 - share)))
        if mixed[best] <= worthwhile + 1e-9:
            break
    return _Pick(
        best,
        unsafe,
        float(share[best]),
        float(mixed[best]),
        error_unsafe,
        error_constant,
        float(uppers[best]),
        feasible=factor == 1.0,
    )


def _mixtures(
    errors: Float, gaps: Float, limit: float, error_constant: float, randomized: bool
) -> tuple[Float, Float]:
    """Share of each rule with which its gap is within the limit, and the error of that mixture."""
    share = np.minimum(1.0, limit / np.maximum(gaps, 1e-12))
    if not randomized:
        share = np.where(share < 1.0, 0.0, 1.0)
    return share, share * errors + (1.0 - share) * error_constant


def _no_rows(n_conditions: int, n_draws: int) -> RateTable:
    """A group without rows in the pool: any rate is possible, and none costs anything."""
    rates = np.linspace(0.0, 1.0, _CUTS + 1)
    cuts = np.linspace(SCORE_LIMIT, -SCORE_LIMIT, _CUTS + 1)
    return RateTable(cuts, np.tile(rates[None, :, None], (n_conditions, 1, n_draws)), np.zeros(_CUTS + 1))


def _edges(ranked: Float) -> Int:
    """Ends of about equal blocks of sorted scores, never among equal scores: no threshold can be there."""
    n = len(ranked)
    possible = np.concatenate([[0], np.flatnonzero(np.diff(ranked) < -1e-9) + 1, [n]])
    wanted = np.linspace(0, n, min(n, _BLOCKS) + 1)
    after = np.minimum(np.searchsorted(possible, wanted), len(possible) - 1)
    before = np.maximum(after - 1, 0)
    nearer = wanted - possible[before] < possible[after] - wanted
    return np.unique(np.where(nearer, possible[before], possible[after]))


Candidates = tuple[Int, Float, Float, Float]


def _limit(draws: Float, level: float) -> Float:
    """Smallest value that at least ``level`` of the draws along the last axis do not exceed.

    A level of 0.5 asks for no safety: the limit is then the mean.
    """
    if level <= 0.5:
        return np.asarray(draws.mean(axis=-1))
    n = draws.shape[-1]
    at = min(int(np.ceil(level * (n + 1))), n) - 1
    return np.asarray(np.partition(draws, at, axis=-1)[..., at])


def _pairs(tables: list[RateTable], level: float) -> Candidates:
    first, second = tables
    gaps = first.rates[:, :, None] - second.rates[:, None, :]
    expected = np.abs(gaps.mean(axis=-1)).max(axis=0).ravel()
    uppers = expected if level <= 0.5 else _limit(np.abs(gaps).max(axis=0), level).ravel()
    errors = (first.errors[:, None] + second.errors[None, :]).ravel()
    a, b = np.meshgrid(np.arange(len(first.cuts)), np.arange(len(second.cuts)), indexing="ij")
    return np.stack([a.ravel(), b.ravel()], axis=1), errors, uppers, expected


def _descend(tables: list[RateTable], tolerance: float, level: float, error_constant: float) -> Candidates:
    means = [t.rates.mean(axis=-1) for t in tables]
    wanted = {
        tuple(int(np.argmin(np.abs(m[z] - rate))) for m in means)
        for z in range(len(means[0]))
        for rate in np.linspace(0.0, 1.0, 41)
    }
    starts = np.array(sorted(wanted))
    found = [_measure(tables, start, level) for start in starts]
    errors, uppers, _ = (np.array(column) for column in zip(*found, strict=True))
    mixed = _mixtures(errors, uppers, tolerance, error_constant, randomized=True)[1]
    ends = []
    for start in np.argsort(mixed)[:3]:
        at = starts[start].copy()
        for _ in range(4):
            before = at.copy()
            for g in range(len(tables)):
                at[g] = _best_move(tables, at, g, tolerance, level, error_constant)
            if (at == before).all():
                break
        ends.append(at)
    found += [_measure(tables, end, level) for end in ends]
    errors, uppers, expected = (np.array(column) for column in zip(*found, strict=True))
    return np.vstack([starts, ends]), errors, uppers, expected


def _best_move(
    tables: list[RateTable], at: Int, g: int, tolerance: float, level: float, error_constant: float
) -> int:
    """Position of group ``g`` that is best while the other groups stay where they are."""
    rest = [(t, k) for h, (t, k) in enumerate(zip(tables, at, strict=True)) if h != g]
    others = np.stack([t.rates[:, k] for t, k in rest])
    high, low = others.max(axis=0)[:, None], others.min(axis=0)[:, None]
    rates = tables[g].rates
    gaps = (np.maximum(rates, high) - np.minimum(rates, low)).max(axis=0)
    errors = tables[g].errors + sum(t.errors[k] for t, k in rest)
    values = _mixtures(errors, _limit(gaps, level), tolerance, error_constant, randomized=True)[1]
    best = int(np.argmin(values))
    return best if values[best] < values[at[g]] - 1e-7 else int(at[g])


def _measure(tables: list[RateTable], at: Int, level: float) -> tuple[float, float, float]:
    rates = np.stack([t.rates[:, k] for t, k in zip(tables, at, strict=True)], axis=1)
    error = sum(t.errors[k] for t, k in zip(tables, at, strict=True))
    expected = largest_gap(rates.mean(axis=-1, keepdims=True))[0]
    upper = expected if level <= 0.5 else _limit(largest_gap(rates), level)
    return float(error), float(upper), float(expected)
