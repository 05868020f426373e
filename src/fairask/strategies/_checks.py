"""Checks of strategies' settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairask.errors import suggest

__all__ = ["check_choice", "check_share", "check_whole"]


def check_whole(value: Any, name: str, least: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``least``.

    Examples
    --------
    >>> check_whole(0, "pretrain", 1)
    Traceback (most recent call last):
        ...
    ValueError: pretrain=0 must be a whole number, 1 or more
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")


def check_share(value: Any, name: str) -> None:
    """Raise unless ``value`` is a number in [0, 1].

    Examples
    --------
    >>> check_share(2, "beta")
    Traceback (most recent call last):
        ...
    ValueError: beta=2 must be a number in [0, 1]
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"{name}={value!r} must be a number in [0, 1]")


def check_choice(value: Any, name: str, known: Iterable[str]) -> None:
    """Raise unless ``value`` is one of the known names.

    Examples
    --------
    >>> check_choice("nest", "variant", ["nested", "alpha_aggregate"])
    Traceback (most recent call last):
        ...
    ValueError: variant='nest' is unknown; did you mean 'nested'?
    """
    names = list(known)
    if value not in names:
        raise ValueError(f"{name}={value!r} is unknown; {suggest(value, names)}")
