"""What safety costs a model, and whether its labels suffice for the tolerance, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairask.experiment.story import SAME


def safety_sentence(fitted: Mapping[str, Any], tolerance: float, rows: int | None = None) -> str | None:
    """Say where a tolerance is infeasible with the labels, where safety costs accuracy, and what would help.

    Parameters
    ----------
    fitted : mapping
        An entry of a learner's or a study's history.
    tolerance : float
    rows : int, optional
        Rows of the pool: more labels than that cannot be had.

    Returns
    -------
    str or None
        None where there is nothing to say: safety costs less than half a point, the oracle does not estimate
        its own error, or the entry is of version 0.1.0.

    Examples
    --------
    >>> fitted = {"labels": 75, "feasible": False, "level": 0.95, "violation_limit": 0.45,
    ...           "safety_cost": 0.0, "labels_needed": 1519, "contradicted": False}
    >>> print(safety_sentence(fitted, 0.1))
    Infeasible with these 75 labels: no useful model has a gap within 0.1 with probability 0.95. By labels
    and pool together, the gap of this one is within 0.45. About 1,520 labels are needed.
    >>> print(safety_sentence(fitted | {"feasible": True, "safety_cost": 0.021, "labels_needed": 210}, 0.1))
    This model gives up 2.1 points of accuracy to have a gap within 0.1 with probability 0.95. With about 210
    labels it would give up less.
    >>> safety_sentence(fitted | {"feasible": True}, 0.1) is safety_sentence({"labels": 75}, 0.1) is None
    True
    """
    if "safety_cost" not in fitted:
        return None
    cost, sure = fitted["safety_cost"], f"with probability {fitted['level']:g}"
    said = []
    if fitted.get("unseen"):
        said.append(
            f"Infeasible with these {fitted['labels']:,} labels: fewer than three of them tell of the rate "
            f"of some group, so the gap may be up to {fitted['violation_limit']:.2f}. "
            "Label more rows of that group."
        )
    elif not fitted["feasible"]:
        price = f"; that costs {100 * cost:.1f} points of accuracy" if cost > SAME else ""
        # The source is named: estimates from labels alone, which stand beside this, reach further.
        said.append(
            f"Infeasible with these {fitted['labels']:,} labels: no useful model has a gap within "
            f"{tolerance:g} {sure}. By labels and pool together, the gap of this one is within "
            f"{fitted['violation_limit']:.2f}{price}. "
            f"{_needed(fitted, rows, 'About {} labels are needed')}"
        )
    elif cost > SAME:
        said.append(
            f"This model gives up {100 * cost:.1f} points of accuracy to have a gap within {tolerance:g} "
            f"{sure}. {_needed(fitted, rows, 'With about {} labels it would give up less')}"
        )
    if fitted["contradicted"]:
        said.append(_contradiction(fitted))
    return " ".join(said) or None


def infeasible_sentence(method: str, said: int, runs: int, needed: int | None = None) -> str:
    """Say in how many runs the last model called the tolerance infeasible, and about what it needs.

    Examples
    --------
    >>> print(infeasible_sentence("FARE", 3, 3, 1234))
    In 3 of 3 runs the last model of FARE said: infeasible with these labels. About 1,200 labels
    are needed.
    >>> infeasible_sentence("FARE", 0, 3)
    ''
    """
    if not said:
        return ""
    about = "" if needed is None else f" About {float(f'{needed:.2g}'):,.0f} labels are needed."
    return f"In {said} of {runs} runs the last model of {method} said: infeasible with these labels.{about}"


def _needed(fitted: Mapping[str, Any], rows: int | None, words: str) -> str:
    """Say how many labels would help, in tens."""
    if fitted["labels_needed"] <= fitted["labels"]:  # thresholds alone are safe already, but costly ones
        return "More labels would help."
    count = 10 * math.ceil(fitted["labels_needed"] / 10)
    beyond = rows is not None and count > rows
    return words.format(f"{count:,}") + (f", more than the pool's {rows:,} rows." if beyond else ".")


def _contradiction(fitted: Mapping[str, Any]) -> str:
    alone, low, high = (fitted.get(f"violation_{name}") for name in ("by_labels", "low", "high"))
    # One group may have no rate by labels, while two others contradict the pool.
    value = "elsewhere" if alone is None or not math.isfinite(alone) else f"at {alone:.2f}"
    return (
        f"The labels alone put the gap {value}, the pool puts it between {low:.2f} and {high:.2f}: do not "
        "trust this model without an audit."
    )
