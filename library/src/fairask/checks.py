"""Checks of arguments: each returns the checked value or raises an error that names argument and value."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real

import numpy as np

from fairask.errors import suggest


def plain(value: object) -> object:
    """Return a label or a group as its user wrote it: numpy's numbers and texts as Python's.

    >>> plain(np.int64(1)), plain((np.str_("f"), np.int64(3)))
    (1, ('f', 3))
    """
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def check_count(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least``, and at most ``most``.

    >>> check_count(3, "n")
    3
    >>> check_count(True, "n")
    Traceback (most recent call last):
        ...
    ValueError: n=True must be a whole number, 1 or more
    >>> check_count(10**9, "looks", most=1000)
    Traceback (most recent call last):
        ...
    ValueError: looks=1000000000 must be a whole number from 1 to 1,000
    """
    high = math.inf if most is None else most
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= high:
        allowed = f", {least} or more" if most is None else f" from {least} to {most:,}"
        raise ValueError(f"{name}={value!r} must be a whole number{allowed}")
    return int(value)


def check_lengths(**lengths: int) -> int:
    """Return the common length of several arguments, given by their names.

    >>> check_lengths(y=2, pred=2)
    2
    >>> check_lengths(y=2, pred=3)
    Traceback (most recent call last):
    ValueError: lengths disagree: y has 2, pred has 3
    """
    if len(set(lengths.values())) != 1:
        raise ValueError("lengths disagree: " + ", ".join(f"{name} has {n}" for name, n in lengths.items()))
    return next(iter(lengths.values()))


def check_number(value: object, name: str, low: float, high: float) -> float:
    """Return ``value`` as a float if it lies in [low, high].

    >>> check_number(2, "tolerance", 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: tolerance=2 must be a number in [0, 1]
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise ValueError(f"{name}={value!r} must be a number in [{low}, {high}]")
    return float(value)


def check_share(value: object, name: str) -> float:
    """Return ``value`` as a float if it lies strictly between 0 and 1.

    >>> check_share(0.05, "delta")
    0.05
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, both excluded")
    return float(value)


def check_tolerance(value: object) -> float:
    """Return the largest allowed gap of a model, a number in [0, 1]: 0 is exact parity, 1 no constraint.

    >>> check_tolerance(2)
    Traceback (most recent call last):
        ...
    ValueError: tolerance=2 must be a number in [0, 1]
    """
    return check_number(value, "tolerance", 0, 1)


def check_level(value: object) -> float:
    """Return the probability with which a gap is within the tolerance, in [0.5, 1); 0.5 is no safety.

    >>> check_level(0.95)
    0.95
    """
    if check_number(value, "level", 0.5, 1) == 1:
        raise ValueError(f"level={value!r} must be in [0.5, 1): no number of labels gives certainty")
    return check_number(value, "level", 0.5, 1)


#: Generators take larger seeds; the numbers that order a table's rows do not.
_LARGEST_SEED = 2**63 - 1


def check_seed(value: object, name: str = "random_state") -> int:
    """Return a seed, a whole number of at least 0.

    >>> check_seed(3)
    3
    """
    return check_count(value, name, least=0, most=_LARGEST_SEED)


def check_choice(value: object, name: str, known: Collection[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names.

    >>> check_choice("tpr", "metric", ["tprp", "eo"])
    Traceback (most recent call last):
        ...
    ValueError: metric='tpr' is unknown; did you mean 'tprp'?
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r} is unknown; {suggest(value, known)}")
    return value
