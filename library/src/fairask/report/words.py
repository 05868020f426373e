"""Sentences for people: pure functions of numbers and names, for every part of the library to import."""

from __future__ import annotations

from collections.abc import Sequence

from fairask.metrics import Bool

# What a fair oracle says of its model.


def name_cells(cells: Bool, conditions: Sequence[int | None], groups: Sequence[object]) -> str:
    """Name the rows that marked cells (conditions, groups) hold.

    Examples
    --------
    >>> import numpy as np
    >>> name_cells(np.array([[False, True]]), (1,), ["a", "b"])
    "positive rows of group 'b'"
    """
    kinds = {1: "positive rows", 0: "negative rows", None: "rows"}
    marked = [(int(z), int(g)) for z, g in zip(*cells.nonzero(), strict=True)]
    return ", ".join(f"{kinds[conditions[z]]} of group {groups[g]!r}" for z, g in marked)


def infeasible(labels: int, needed: int, goal: str, upper: float, unseen: str) -> str:
    """Say why labels do not suffice for a tolerance, and what to do.

    ``goal`` is the violation that is wanted, ``upper`` the limit of the returned rule's, and ``unseen`` names
    rows of which fewer than three are labelled, or is empty.

    Examples
    --------
    >>> print(infeasible(50, 200, "tprp violation within 0.1", 0.9, "positive rows of group 'b'"))
    infeasible with these 50 labels: fewer than three of them are positive rows of group 'b', so the
    violation may be up to 0.90; label more rows of that group
    """
    begin = f"infeasible with these {labels} labels: "
    if unseen:
        return (
            f"{begin}fewer than three of them are {unseen}, so the violation may be up to {upper:.2f}; "
            "label more rows of that group"
        )
    return (
        f"{begin}no useful rule has a {goal}; that of the returned rule is within {upper:.2f}. "
        f"About {needed} labels are needed"
    )


def contradicted(by_labels: float, low: float, high: float) -> str:
    """Say that the labels alone put a violation where the pool does not."""
    return (
        f"the labels alone put the violation at {by_labels:.2f}, the pool puts it between {low:.2f} and "
        f"{high:.2f}: do not trust this model without an audit"
    )


def constant(answer: object, needed: int | None) -> str:
    """Say that a model answers the same for everybody, and what would help.

    Examples
    --------
    >>> constant(0, 400)
    'this model answers 0 for everybody, which is fair and of no use; about 400 labels would help'
    """
    remedy = "more labels or other features" if needed is None else f"about {needed} labels"
    return f"this model answers {answer} for everybody, which is fair and of no use; {remedy} would help"
