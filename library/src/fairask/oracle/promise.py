"""The most accurate thresholds whose gap is within the tolerance with a given probability.

1. *Curves*. What the labels say of P(y = 1 | score, group), with its uncertainty. The rates of a rule that
   thresholds a score depend on nothing but these curves and the scores of the pool. So the uncertainty of a
   gap is that of the curves, whatever model made the score. Each group has a curve of its own around the
   common one. How far the groups' curves may differ is not fixed: several prior widths are fitted, and each
   counts by its evidence. Small differences are thought more likely beforehand, so that few labels do not
   speak for large ones by default.
2. *Rates*. Curves drawn from their posterior give draws of every rate of every rule, and so the probability
   that a gap exceeds the tolerance.
3. *The choice*. Where no thresholds are both safe and accurate, the rule is mixed with a constant answer,
   which has no gap: a share ``s`` of the rule shrinks every gap by ``s``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from fairask.metrics import METRICS, Float, Int, Metric, in_condition

#: Scores, in log odds, are kept within this distance of 0.
SCORE_LIMIT = 6.0
#: Prior standard deviations of the common intercept and slope, and of a group's own intercept.
COMMON_INTERCEPT, COMMON_SLOPE, GROUP_INTERCEPT = 3.0, 1.0, 1.5
#: Widths tried for a group's own slope, and for the bends of the common curve. A prior makes each this many
#: times less likely than the one before it. The width of a group's own bends is this share of its slope's.
#: Of 120 hostile development populations 53 % were infeasible with a factor of 1.5, and 43 % with 3; of those
#: that were not, 2 and 3 % were above the tolerance. On Compas the smaller factor is ahead.
GROUP_SLOPES = (0.1, 0.3, 0.8, 2.0)
BENDS = (0.05, 0.4, 1.2)
LESS_LIKELY, OWN_BENDS = 2.0, 0.6
#: Interior points at which a curve may bend, as quantiles of the pool's scores.
KNOTS = (0.25, 0.5, 0.75)
#: Factor of the posterior's standard deviation, which is approximated: in the tails errors are larger.
#: Without it 8 % of the feasible models of 150 hostile populations were above the tolerance.
CAUTION = 1.05
_GRID = np.linspace(-SCORE_LIMIT, SCORE_LIMIT, 121)
#: Safety may cost this share of the accuracy, above a constant answer, that rules have whose expected gap is
#: within the tolerance, unless another is named. What fairness itself costs does not count.
MAX_PRICE = 0.3
#: Factors of the tolerance that are tried in turn where there is no solution.
RELAXED = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
#: Factor of the deviations of a rule's rates in the lower limit of its gap: the same draws chose the rule
#: among many, and show it in too good a light.
SELECTED = 1.15
_BLOCKS, _CUTS = 120, 40
#: Positions of candidates (n, groups), their errors, upper limits of their gaps, and expected gaps.
Candidates: TypeAlias = tuple[Int, Float, Float, Float]


@dataclass(frozen=True)
class CalibrationCurves:
    """Draws from the posterior of the curves.

    Attributes
    ----------
    coefficients : ndarray of shape (draws, groups, terms)
        Terms are those of :meth:`basis`; the score itself has coefficient 1 beside them.
    knots, unit : points of bending, and the spread of the pool's scores
    slope_width : float
        Width of the groups' slopes, averaged by evidence.
    """

    coefficients: Float
    knots: Float
    unit: float
    slope_width: float

    def basis(self, score: Float) -> Float:
        """Terms of a curve at each score (rows, terms)."""
        return _basis(score, self.knots, self.unit)

    def draws(self, score: Float, group: int) -> Float:
        """Probabilities (rows, draws) at scores of one group."""
        terms = self.basis(score) @ self.coefficients[:, group].T
        return np.asarray(expit(score[:, None] + terms))

    def mean(self, score: Float, groups: Int) -> Float:
        """Mean probability of label 1 for rows with these scores and groups, read off a fine grid."""
        out = np.empty(len(score))
        for g in range(self.coefficients.shape[1]):
            rows = groups == g
            out[rows] = np.interp(score[rows], _GRID, self.draws(_GRID, g).mean(axis=1))
        return out


def fit_curves(
    score: Float,
    y: Float,
    groups: Int,
    weight: Float,
    n_groups: int,
    reference: Float,
    *,
    n_draws: int,
    rng: np.random.Generator,
    counts: Float | None = None,
) -> CalibrationCurves:
    """Fit curves to labelled rows, and draw from their posterior (Laplace approximation).

    Parameters
    ----------
    score, y, groups : ndarray
        Held-out log odds of the labelled rows, their labels and group codes.
    weight : ndarray
        Weight of each row in the likelihood. The weights are scaled to add up to the effective number of
        rows, ``sum(w)^2 / sum(w^2)``, so that uneven weights widen the curves.
    reference : ndarray
        Scores of the pool, for the points of bending.
    counts : ndarray, optional
        For how many rows each counts beside that: 1/3 where it is there three times.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=400)
    >>> y = (rng.random(400) < expit(2.0 * score)).astype(float)
    >>> groups = np.arange(400) % 2
    >>> curves = fit_curves(score, y, groups, np.ones(400), 2, score, n_draws=200, rng=rng)
    >>> bool(abs(curves.mean(np.array([1.0]), np.array([0]))[0] - expit(2.0)) < 0.1)
    True
    """
    score = np.clip(score, -SCORE_LIMIT, SCORE_LIMIT)
    # Groups in an order that does not depend on their names, so that the same draws belong to the same group.
    sums = (np.bincount(groups, of, n_groups) for of in (score, weight, np.ones(len(score))))
    place = np.argsort(np.lexsort(tuple(sums)))
    groups = place[groups]
    knots = np.quantile(np.clip(reference, -SCORE_LIMIT, SCORE_LIMIT), KNOTS)
    unit = max(float(np.std(reference)), 0.3)
    terms = _basis(score, knots, unit)
    design = np.hstack([terms, *[terms * (groups == g)[:, None] for g in range(n_groups)]])
    widths = np.array(list(product(GROUP_SLOPES, BENDS)))
    ranks = np.array(list(product(range(len(GROUP_SLOPES)), range(len(BENDS)))))
    ones, slopes = np.ones((len(widths), 1)), widths[:, :1]
    bends, own_bends = (np.repeat(w, len(KNOTS), axis=1) for w in (widths[:, 1:], OWN_BENDS * slopes))
    common = np.hstack([COMMON_INTERCEPT * ones, COMMON_SLOPE * ones, bends])
    own = np.hstack([GROUP_INTERCEPT * ones, slopes, own_bends])
    precision = np.hstack([common, np.tile(own, (1, n_groups))]) ** -2.0
    scaled = weight * (weight.sum() / (weight @ weight)) * (1.0 if counts is None else counts)
    mode, factor, log_evidence = _laplace(design, score, y, scaled, precision)
    log_evidence = log_evidence - np.log(LESS_LIKELY) * ranks.sum(axis=1)
    share = np.exp(log_evidence - log_evidence.max())
    share /= share.sum()
    at = np.searchsorted(np.cumsum(share), (np.arange(n_draws) + 0.5) / n_draws)
    picked = np.minimum(at, len(share) - 1)
    noise = CAUTION * rng.normal(size=(n_draws, design.shape[1]))
    beta = np.empty_like(noise)
    for c in np.unique(picked):
        rows = picked == c
        beta[rows] = mode[c] + np.linalg.solve(factor[c].T, noise[rows].T).T
    blocks = beta.reshape(n_draws, n_groups + 1, terms.shape[1])
    curves = blocks[:, :1] + blocks[:, 1:][:, place]
    return CalibrationCurves(curves, knots, unit, float((share @ widths)[0]))


def _basis(score: Float, knots: Float, unit: float) -> Float:
    hinges = np.maximum(score[:, None] - knots, 0.0) / unit
    return np.hstack([np.ones((len(score), 1)), score[:, None] / unit, hinges])


def _laplace(
    design: Float, offset: Float, y: Float, weight: Float, precision: Float
) -> tuple[Float, Float, Float]:
    """Modes, Cholesky factors of the negative Hessians, and log evidence, one for each row of ``precision``.

    Newton's method with step halving, all priors in one batch.
    """
    beta = np.zeros_like(precision)
    diagonal = np.arange(precision.shape[1])
    sign = 2.0 * y - 1.0

    def negative_log_posterior(b: Float) -> Float:
        loss = np.logaddexp(0.0, -sign * (offset + b @ design.T)) @ weight
        return np.asarray(loss + 0.5 * (precision * b * b).sum(axis=1))

    def hessian(b: Float) -> tuple[Float, Float]:
        p = expit(offset + b @ design.T)
        root = np.sqrt(weight * p * (1.0 - p))[:, :, None] * design
        H = np.matmul(root.transpose(0, 2, 1), root)
        H[:, diagonal, diagonal] += precision
        return H, (weight * (p - y)) @ design + precision * b

    value = negative_log_posterior(beta)
    for _ in range(25):
        H, gradient = hessian(beta)
        step = np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
        size = np.ones(len(beta))
        for _ in range(8):
            new = negative_log_posterior(beta - size[:, None] * step)
            worse = new > value + 1e-9
            if not worse.any():
                break
            size = np.where(worse, 0.5 * size, size)
        beta, value = beta - size[:, None] * step, new
        if float((gradient * step).sum(axis=1).max()) < 1e-4:
            break
    factor = np.linalg.cholesky(hessian(beta)[0]).astype(np.float64)
    log_determinant = 2.0 * np.log(factor[:, diagonal, diagonal]).sum(axis=1)
    evidence = np.asarray(-value + 0.5 * np.log(precision).sum(axis=1) - 0.5 * log_determinant)
    return beta, factor, evidence


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
        Upper limit of the gap at the level.
    reach : float
        Smallest upper limit that any rule of use has, without the constant answer.
    feasible : bool
        Whether the upper limit is within the tolerance at an acceptable price.
    cost_of_safe : float
        What safe thresholds cost at whatever price, against ``error_unsafe``; NaN where none are better than
        a constant answer.
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
    reach: float
    feasible: bool
    cost_of_safe: float

    def lower(self, level: float) -> float:
        """Lower limit of the gap; with ``upper``, that of an interval."""
        miss = 1.0 - level
        n_groups = self.rates.shape[1]
        mean = self.rates.mean(axis=-1, keepdims=True)
        rates = np.clip(mean + SELECTED * (self.rates - mean), 0.0, 1.0)
        gaps = rates[:, :, None] - rates[:, None, :]
        pairs = max(len(rates) * n_groups * (n_groups - 1) // 2, 1)
        return float(max(np.quantile(gaps, 0.5 * miss / pairs, axis=-1).max(), 0.0))


#: By which power of the labels the smallest limit of a gap falls: a little slower than a root, because the
#: pool is a sample too.
_POWER = 0.42
#: Rounds over which the limit is evened out. Older ones say too little: where they were low, rounds end.
_ROUNDS = 3
#: Labels before which nothing is said, how far off a range allows the number to be, and how many times the
#: labels at hand it may be to be named at all.
_LEAST, _FACTOR, _FURTHEST = 150, 2.0, 8.0


def labels_needed(rounds: Sequence[tuple[float, float]], tolerance: float) -> tuple[int, int] | None:
    """Estimate with how many labels a model of use has its limit within the tolerance.

    The limit falls almost as the root of the labels does. The last rounds are evened out. The range is a
    factor of two to both sides, as far as it is above the labels at hand.

    Parameters
    ----------
    rounds : sequence of (labels, reach)
        Of the rounds so far, the last one last; see :class:`SafeChoice`.

    Returns
    -------
    pair of int or None
        The range; None with fewer than 150 labels, or where far more are needed than are at hand.

    Examples
    --------
    >>> labels_needed([(100, 0.2), (150, 0.16), (200, 0.14)], 0.1)
    (240, 950)
    >>> labels_needed([(100, 0.11)], 0.1) is None
    True
    """
    last = np.array(rounds[-_ROUNDS:], dtype=np.float64)
    n = float(last[-1, 0])
    # A constant answer has no gap, and so no width of an interval.
    away = np.log(np.maximum(last[:, 1], 1e-3) / max(tolerance, 1e-3)) - _POWER * np.log(n / last[:, 0])
    middle = n * float(np.exp(max(away.mean(), 0.0) / _POWER))
    if n < _LEAST or middle > _FURTHEST * n:
        return None
    low, high = max(middle / _FACTOR, n + 10.0), middle * _FACTOR
    low, high = (int(np.ceil(value / 10.0)) * 10 for value in (low, high))
    return low, high


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
    copies: float = 1.0,
) -> list[RateTable]:
    """Draw the rates of thresholds on the pool.

    A group's rows are sorted by score into blocks of equal size. Each draw weighs the rows at random (the
    Bayesian bootstrap), because the pool itself is a sample: in a group of 60 rows that is most of the noise.
    Where each row is there several times, as many rows count as one (``copies``).
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
        mass = rng.gamma(sizes[:, None] / copies, size=(len(sizes), n_draws))
        mean = p.mean(axis=1)
        costs = np.append(0.0, np.cumsum(sizes * (1.0 - 2.0 * mean)))
        ends = np.linspace(0, len(sizes), _CUTS + 1).round().astype(np.int64)
        chosen = np.unique(np.append(ends, np.argmin(costs)))
        rates = []
        for condition in METRICS[metric]:
            inside = mass * in_condition(condition, p)
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
    copies: float = 1.0,
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
        mass = rng.standard_gamma(1.0 / copies, size=p.shape)
        for z, condition in enumerate(conditions):
            inside = mass * in_condition(condition, p)
            rates[:, z, g] = decisions[:, rows] @ inside / np.maximum(inside.sum(axis=0), 1e-12)
    return rates


def choose_thresholds(
    tables: list[RateTable],
    tolerance: float,
    level: float,
    *,
    randomized: bool = True,
    max_price: float = MAX_PRICE,
) -> SafeChoice:
    """Return the thresholds with the least expected error whose gap is within the tolerance at the level.

    With two groups all pairs of thresholds are tried. With more, thresholds that give all groups the same
    rate are the start, and one group's threshold is moved at a time.
    """
    nobody, everybody = (float(sum(t.errors[end] for t in tables)) for end in (0, -1))
    if len(tables) == 1:  # no groups, no gap
        zero = np.zeros(len(tables[0].errors))
        candidates = (np.arange(len(zero))[:, None], tables[0].errors, zero, zero)
    elif len(tables) == 2:
        candidates = _pairs(tables, level)
    else:
        candidates = _descend(tables, tolerance, level, min(nobody, everybody))
    return _choose(
        candidates, partial(_rates_at, tables), nobody, everybody, tolerance, randomized, max_price
    )


def choose_rule(
    rates: Float,
    errors: Float,
    nobody: float,
    everybody: float,
    tolerance: float,
    level: float,
    *,
    randomized: bool = True,
    max_price: float = MAX_PRICE,
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
    candidates = (np.arange(len(rates))[:, None], errors, uppers, expected)
    return _choose(candidates, lambda at: rates[at[0]], nobody, everybody, tolerance, randomized, max_price)


def _choose(
    candidates: Candidates,
    rates_at: Callable[[Int], Float],
    nobody: float,
    everybody: float,
    tolerance: float,
    randomized: bool,
    max_price: float,
) -> SafeChoice:
    """Choose the safe mixture with the least error, or a relaxed one where no safe one is of use."""
    positions, errors, uppers, expected = candidates
    error_constant, constant = min(nobody, everybody), everybody < nobody
    # The smallest expected gap counts as within the tolerance where nothing is mixed: some rule must explore.
    limit = tolerance if randomized else max(tolerance, float(expected.min()))
    _, known = _mixtures(errors, expected, limit, error_constant, randomized)
    unsafe = int(np.argmin(known))
    error_unsafe = min(float(known[unsafe]), error_constant)
    worthwhile = error_constant - (1.0 - max_price) * (error_constant - error_unsafe)
    safe = float(errors[uppers <= tolerance].min(initial=np.inf))
    for factor in (1.0, *RELAXED):
        shares, mixed = _mixtures(errors, uppers, factor * tolerance, error_constant, randomized)
        best = int(np.argmin(mixed + 1e-6 * (1.0 - shares)))
        if mixed[best] <= worthwhile + 1e-9:
            break
    share, upper = float(shares[best]), float(uppers[best])
    return SafeChoice(
        position=positions[best],
        unsafe=positions[unsafe],
        share=share,
        constant=constant,
        error=float(mixed[best]),
        error_unsafe=error_unsafe,
        error_constant=error_constant,
        rates=share * rates_at(positions[best]) + (1.0 - share) * constant,
        upper=share * upper,
        reach=float(uppers[errors <= max(worthwhile, float(errors.min())) + 1e-9].min()),
        feasible=factor == 1.0,
        cost_of_safe=safe - error_unsafe if safe < error_constant else np.nan,
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


def _rates_at(tables: list[RateTable], at: Int) -> Float:
    """Draws of the rates (conditions, groups, draws) at one threshold in each group."""
    return np.stack([t.rates[:, k] for t, k in zip(tables, at, strict=True)], axis=1)


def _measure(tables: list[RateTable], at: Int, level: float) -> tuple[float, float, float]:
    rates = _rates_at(tables, at)
    error = sum(t.errors[k] for t, k in zip(tables, at, strict=True))
    expected = largest_gap(rates.mean(axis=-1, keepdims=True))[0]
    upper = expected if level <= 0.5 else _limit(largest_gap(rates), level)
    return float(error), float(upper), float(expected)
