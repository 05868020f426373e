"""Checks of arguments: each returns the checked value or raises an error that names argument and value."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real

from fairask.errors import suggest

__all__ = ["check_choice", "check_count", "check_number", "check_share"]


def check_count(value: object, name: str, *, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least``.

    Examples
    --------
    >>> check_count(3, "n")
    3
    >>> check_count(True, "n")
    Traceback (most recent call last):
        ...
    ValueError: n=True must be a whole number, 1 or more
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
    return int(value)


def check_number(value: object, name: str, low: float, high: float) -> float:
    """Return ``value`` as a float if it lies in [low, high].

    Examples
    --------
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

    Examples
    --------
    >>> check_share(0.05, "delta")
    0.05
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, both excluded")
    return float(value)


def check_choice(value: object, name: str, known: Collection[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names.

    Examples
    --------
    >>> check_choice("tpr", "metric", ["tprp", "eo"])
    Traceback (most recent call last):
        ...
    ValueError: metric='tpr' is unknown; did you mean 'tprp'?
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r} is unknown; {suggest(value, known)}")
    return value
