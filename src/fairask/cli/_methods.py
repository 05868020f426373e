"""The methods a comparison can name."""

from __future__ import annotations

from dataclasses import replace

from fairask.cli._errors import WrongUse
from fairask.errors import suggest
from fairask.learner import PROFILES
from fairask.report import Method
from fairask.strategies import STRATEGIES

__all__ = ["DEFAULT", "METHODS", "chosen"]

METHODS = {
    m.key: m
    for m in (
        Method("fare", "FARE", "fare"),
        Method("passive", "passive", "passive"),
        Method("group_balanced", "group-balanced", "group_balanced"),
        Method("uncertainty", "uncertainty", "uncertainty", weights="none"),
        # Algorithm 1 with the paper's oracle, and its ablation, by its source the setting of its experiments.
        Method("fare_paper", "FARE of the paper", "fare", {"diff_share": 0.5}, profile="paper"),
        Method(
            "fare_diff_paper", "FARE of the paper, λ_diff alone", "fare", {"diff_share": 1.0}, "none", "paper"
        ),
        Method("passive_paper", "passive of the paper", "passive", profile="paper"),
    )
}
METHODS |= {name: Method(name, name, name) for name in STRATEGIES if name not in METHODS}
DEFAULT = ("fare", "passive", "fare_paper")
PAPER_DEFAULT = ("fare", "passive", "fare_diff_paper")


def chosen(names: list[str] | None, profile: str = "calibrated") -> list[Method]:
    """Return the methods by name, once each, the baseline always among them.

    ``profile`` is what they are made of, unless their name says so.

    Examples
    --------
    >>> [m.label for m in chosen(["fare"])]
    ['FARE', 'passive']
    """
    if profile not in PROFILES:
        raise WrongUse(f"unknown profile {profile!r}", f"--profile: {suggest(profile, PROFILES)}")
    wanted = list(dict.fromkeys(names or (DEFAULT if profile == "calibrated" else PAPER_DEFAULT)))
    for name in wanted:
        if name not in METHODS:
            raise WrongUse(f"unknown strategy {name!r}", f"--strategy: {suggest(name, METHODS)}")
    if "passive" not in wanted:
        wanted.append("passive")
    return [m if m.profile == "paper" else replace(m, profile=profile) for m in map(METHODS.get, wanted) if m]
