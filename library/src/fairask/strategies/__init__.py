"""Which rows to label next: one file a method, a registry by name."""

from __future__ import annotations

import inspect

from fairask.errors import suggest
from fairask.strategies.fal import Fal
from fairask.strategies.falcon import Falcon
from fairask.strategies.falcur import FalCur
from fairask.strategies.fare import Fare
from fairask.strategies.group_balanced import GroupBalanced
from fairask.strategies.panda import Panda
from fairask.strategies.passive import Passive
from fairask.strategies.strategy import Strategy
from fairask.strategies.uncertainty import Uncertainty

__all__ = [
    "Fal",
    "FalCur",
    "Falcon",
    "Fare",
    "GroupBalanced",
    "Panda",
    "Passive",
    "Strategy",
    "Uncertainty",
]

#: Strategy classes by name.
STRATEGIES: dict[str, type[Strategy]] = {
    cls.name: cls for cls in (Passive, GroupBalanced, Uncertainty, Fare, Fal, FalCur, Falcon, Panda)
}


def make_strategy(strategy: str | Strategy, **settings: object) -> Strategy:
    """Return a strategy by name and settings; an object that has ``propose`` is returned as it is.

    Examples
    --------
    >>> make_strategy("fare", k=5).k
    5
    >>> make_strategy("pasive")
    Traceback (most recent call last):
        ...
    ValueError: strategy='pasive' is unknown; did you mean 'passive'?
    """
    if not isinstance(strategy, str):
        if not hasattr(strategy, "propose"):  # a strategy need not inherit from Strategy
            raise TypeError(
                f"strategy must be a name or an object with propose(), got {type(strategy).__name__}"
            )
        if settings:
            raise ValueError(f"settings {sorted(settings)} go with a strategy's name, not with an object")
        return strategy
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy={strategy!r} is unknown; {suggest(strategy, STRATEGIES)}")
    known = inspect.signature(STRATEGIES[strategy]).parameters
    for name in settings:
        if name not in known:
            hint = suggest(name, known) if known else "it has no settings"
            raise ValueError(f"{name!r} is not a setting of strategy {strategy!r}; {hint}")
    return STRATEGIES[strategy](**settings)
