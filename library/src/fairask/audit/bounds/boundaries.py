"""Boundaries for looking several times: error is spent over a schedule fixed before the first label."""

from __future__ import annotations

import functools

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

#: Labels of later looks are placed better than those of the pilot, so information grows faster than the
#: count of labels. Assuming looks less correlated than the counts say errs on the safe side.
_CAUTION = 0.9
#: Error is spent as the labels to this power: most of it late, where bounds hold best.
_POWER = 1.5
_NODES = 257
#: Random walks on which boundaries of windows are found, and those that must pass one for it to be told.
_WALKS, _PASSING = 1 << 16, 8


def spent(fraction: float, delta: float) -> float:
    """Error spent once a ``fraction`` of the budget is used.

    Examples
    --------
    >>> spent(0.25, 0.05)
    0.00625
    """
    return float(delta * min(fraction, 1.0) ** _POWER)


@functools.lru_cache(maxsize=256)
def boundaries(fractions: tuple[float, ...], delta: float, share: float = 0.0) -> tuple[float, ...]:
    """Standard errors that a bound must keep at each look, so that all looks together err at most ``delta``.

    Parameters
    ----------
    fractions : tuple of float
        Share of the budget used at each look, increasing to 1.
    delta : float
        Error over all looks.
    share : float
        Share of the pool that the budget buys: what labels tell of the rest grows faster than their number.

    Examples
    --------
    >>> [round(z, 2) for z in boundaries((0.2, 0.4, 0.6, 0.8, 1.0), 0.05)]
    [2.61, 2.34, 2.17, 2.03, 1.91]
    >>> [round(z, 3) for z in boundaries((1.0,), 0.05)]
    [1.645]
    """
    told = [fraction / (1 - min(share, 0.99) * fraction) for fraction in fractions]
    zs: list[float] = []
    density = nodes = weights = np.empty(0)
    before = 0.0
    for k, fraction in enumerate(fractions):
        allowance = spent(fraction, delta) - before
        before += allowance
        if k == 0:
            z = -float(ndtri(allowance))
            nodes, weights = _quadrature(z)
            density = np.exp(-nodes * nodes / 2) / np.sqrt(2 * np.pi)
        else:
            r = np.sqrt(_CAUTION * told[k - 1] / told[k])
            s = np.sqrt(1 - r * r)
            mass = density * weights
            drift = r * nodes

            def crossing(
                c: float,
                mass: np.ndarray = mass,
                drift: np.ndarray = drift,
                s: float = s,
                a: float = allowance,
            ) -> float:
                return float(mass @ ndtr(-(c - drift) / s)) - a

            z = float(brentq(crossing, 0.0, 10.0, xtol=1e-6))
            new, new_weights = _quadrature(z)
            kernel = np.exp(-(((new[:, None] - drift) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi))
            density, nodes, weights = kernel @ mass, new, new_weights
        zs.append(z)
    return tuple(zs)


def _quadrature(top: float) -> tuple[np.ndarray, np.ndarray]:
    """Simpson's nodes and weights from far below up to the boundary."""
    nodes = np.linspace(-8.0, top, _NODES)
    weights = np.full(_NODES, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return nodes, weights * (nodes[1] - nodes[0]) / 3


@functools.lru_cache(maxsize=256)
def window_boundaries(windows: tuple[tuple[int, ...], ...], spend: float) -> tuple[float, ...]:
    """Standard errors that bounds over windows of months must keep, at one look after each month.

    Where a statement is true, each look contradicts it with probability ``spend`` at most, if none before
    did, in any of its windows. Months are taken to tell as much as each other; so the boundaries are those of
    random walks, which are drawn with a fixed seed. No boundary depends on looks after it.

    Parameters
    ----------
    windows : tuple of tuple of int
        For each look, the first months (from 0) of the windows that end with it.
    spend : float
        Error of each look.

    Examples
    --------
    >>> year = tuple((max(0, last - 11),) for last in range(36))
    >>> [round(z, 1) for z in window_boundaries(year, 0.05 / 36)][::11]
    [3.0, 2.6, 2.7, 2.7]
    """
    steps = np.random.default_rng(0).standard_normal((len(windows), _WALKS), dtype=np.float32)
    place = np.concatenate([np.zeros((1, _WALKS), dtype=np.float32), steps.cumsum(axis=0)])
    passing, zs = int(spend * _WALKS), []
    for last, firsts in enumerate(windows):
        if passing < _PASSING:
            zs.append(-float(ndtri(spend / len(firsts))))
            continue
        found = np.max([(place[last + 1] - place[a]) / np.sqrt(last + 1 - a) for a in firsts], axis=0)
        z = np.partition(found, -passing)[-passing]
        zs.append(float(z))
        place = place[:, found < z]
    return tuple(zs)
