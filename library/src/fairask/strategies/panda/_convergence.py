"""When a meta-trained policy counts as converged: it is better than no training and keeps the constraint.

The policy's picks are compared with uniform picks and with picks of the policy before training, on new
reshuffles of the pretraining labels, with the same splits and the same noise. It is not enough that the
policy does no harm: an untrained policy may do no harm either.
"""

from __future__ import annotations

import warnings

import numpy as np

from fairask.metrics import Float

#: New reshuffles on which a trained policy is judged.
EPISODES = 200
#: Standard errors by which the validation loss must be lower.
_CLEAR = 3.0


def pooled_gap(rates: Float) -> float:
    """Largest difference between groups of their mean rates over episodes.

    A validation part has few positives per group, so the gap of one episode is mostly noise, and a mean of
    absolute gaps keeps that noise. So rates are averaged first.

    Parameters
    ----------
    rates : ndarray of shape (episodes, conditions, groups)
        NaN where an episode has no row of that kind.

    Examples
    --------
    >>> pooled_gap(np.array([[[0.4, 0.6]], [[0.6, 0.4]], [[np.nan, 0.5]]]))
    0.0
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a kind of row that no episode has
        mean = np.nanmean(rates, axis=0)
        gaps = np.nanmax(mean, axis=-1) - np.nanmin(mean, axis=-1)
    return float(np.nan_to_num(gaps).max())


def failure_of(loss: Float, rates: Float, rho: float) -> str | None:
    """Return why a policy counts as not converged, or None.

    Parameters
    ----------
    loss : ndarray of shape (episodes, 3)
        Validation loss after the policy's picks, uniform picks and the untrained policy's.
    rates : ndarray of shape (episodes, conditions, groups)
        Soft rates after the policy's picks.
    rho : float
        Largest disparity that was allowed.

    Examples
    --------
    >>> loss = np.array([[0.5, 0.6, 0.6], [0.4, 0.5, 0.51]])
    >>> failure_of(loss, np.full((2, 1, 2), 0.7), rho=0.04) is None
    True
    >>> failure_of(loss, np.array([[[0.7, 0.6]]]), rho=0.04)
    'its disparity on new reshuffles is 0.100, above rho = 0.04'
    >>> failure_of(loss[:, [1, 1, 1]], np.full((2, 1, 2), 0.7), rho=0.04)
    'its validation loss is 0.0000 ± 0.0000 below that of uniform picks, which is not clear'
    """
    for column, whom in ((1, "uniform picks"), (2, "the untrained policy's picks")):
        gain = loss[:, column] - loss[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        # A difference below 1e-6 may be rounding.
        if not gain.mean() > max(_CLEAR * error, 1e-6):
            return (
                f"its validation loss is {gain.mean():.4f} ± {error:.4f} below that of {whom}, "
                "which is not clear"
            )
    gap = pooled_gap(rates)
    return None if gap <= rho else f"its disparity on new reshuffles is {gap:.3f}, above rho = {rho:g}"
