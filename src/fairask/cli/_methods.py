"""The methods a comparison can name."""

from __future__ import annotations

from fairask.cli._errors import WrongUse
from fairask.exceptions import suggest
from fairask.report import Method
from fairask.strategies import STRATEGIES

__all__ = ["DEFAULT", "METHODS", "chosen"]

METHODS = {
    m.key: m
    for m in (
        Method("fare", "FARE", "fare", {"k": 10, "sigma": 0.1, "diff_share": 0.5}),
        Method("passive", "passive", "passive"),
        # The paper's ablation, and by its source the setting of its experiments.
        Method(
            "fare_diff", "FARE without λ_fair", "fare", {"k": 10, "sigma": 0.1, "diff_share": 1.0}, "none"
        ),
        Method("group_balanced", "group-balanced", "group_balanced"),
        Method("uncertainty", "uncertainty", "uncertainty", weights="none"),
    )
}
METHODS |= {name: Method(name, name, name) for name in STRATEGIES if name not in METHODS}
DEFAULT = ("fare", "passive", "fare_diff")


def chosen(names: list[str] | None) -> list[Method]:
    """Return the methods by name, once each, the baseline always among them.

    Examples
    --------
    >>> [m.label for m in chosen(["fare"])]
    ['FARE', 'passive']
    """
    wanted = list(dict.fromkeys(names or DEFAULT))
    for name in wanted:
        if name not in METHODS:
            raise WrongUse(f"unknown strategy {name!r}", f"--strategy: {suggest(name, METHODS)}")
    if "passive" not in wanted:
        wanted.append("passive")
    return [METHODS[name] for name in wanted]
