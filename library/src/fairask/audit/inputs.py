"""What an audit is given besides predictions and groups: known labels, noise, intersections of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from fairask.audit.bounds.newcombe import wilson
from fairask.checks import check_number
from fairask.metrics import Float

#: Probability of a wrong label: one number, or by group a number or (least, largest).
Noise = float | Mapping[Any, float | tuple[float, float]]


class AuditInputs(TypedDict, total=False):
    """Optional inputs of :class:`fairask.audit.Audit` as keywords."""

    known: Mapping[int, object] | None
    score: ArrayLike | None
    cost: ArrayLike | None
    noise: Noise


def known_codes(
    known: Mapping[int, object] | None, classes: Sequence[object] | None
) -> dict[int, int | None]:
    """Labels known before the audit as 0 and 1, None where nobody can tell.

    Examples
    --------
    >>> known_codes({3: "yes", 5: None}, ["no", "yes"])
    {3: 1, 5: None}
    """
    names = [0, 1] if classes is None else list(classes)
    out: dict[int, int | None] = {}
    for row, label in (known or {}).items():
        if label is not None and label not in names:
            raise ValueError(
                f"known: label {label!r} of row {row} is not one of the classes {tuple(names)!r}"
            )
        out[int(row)] = None if label is None else int(label == names[1])
    return out


def noise_table(noise: Noise, groups: Sequence[object]) -> Float:
    """Least and largest probability of a wrong label by group; for rows of unknown group, over all groups.

    Examples
    --------
    >>> noise_table({"a": 0.1, "b": (0.0, 0.05)}, ["a", "b"]).tolist()
    [[0.1, 0.0, 0.0], [0.1, 0.05, 0.1]]
    """
    given = noise if isinstance(noise, Mapping) else dict.fromkeys(groups, noise)
    named = {str(name): value for name, value in given.items()}
    if unknown := set(named) - {str(g) for g in groups}:
        raise ValueError(f"noise names {sorted(unknown)[0]!r}, which is no group")
    ends = []
    for group in groups:
        value = named.get(str(group), 0.0)
        low, high = value if isinstance(value, tuple | list) else (value, value)
        ends.append([check_number(low, "noise", 0.0, 0.4), check_number(high, "noise", float(low), 0.4)])
    table = np.array(ends).T
    return np.concatenate([table, [[table[0].min()], [table[1].max()]]], axis=1)


def noise_from_overlap(disagreements: int, pairs: int, delta: float = 0.005) -> tuple[float, float]:
    """Least and largest share of wrong labels that two annotators' disagreements allow.

    Both annotators are taken to err alike and independently, so that they disagree with probability
    ``2 e (1 - e)``. Give the rest of the error to the audit: ``delta=0.045`` there makes 0.05 in all.

    Examples
    --------
    >>> [round(v, 3) for v in noise_from_overlap(18, 200)]
    [0.024, 0.09]
    """
    z = -float(ndtri(delta / 2))
    low, high = wilson(disagreements, pairs, z)
    ends = [(1 - np.sqrt(max(1 - 2 * float(d), 0.0))) / 2 for d in (low, high)]
    return float(ends[0]), float(min(ends[1], 0.4))


def intersect(*columns: ArrayLike) -> np.ndarray:
    """Groups by several protected columns at once; None where any of them is unknown.

    Examples
    --------
    >>> intersect(["f", "m", None], ["old", "young", "old"]).tolist()
    ['f & old', 'm & young', None]
    """
    rows = zip(*(np.asarray(c, dtype=object).tolist() for c in columns), strict=True)
    joined = [None if any(v is None or v != v for v in row) else " & ".join(map(str, row)) for row in rows]
    out = np.empty(len(joined), dtype=object)
    out[:] = joined
    return out
