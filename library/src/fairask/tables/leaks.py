"""Columns that give the label away: known only after the label is, in most tables where they occur."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairask.report.words import IS_MISSING, column_of, said_column

#: Accuracy from one column that nothing honest reaches.
TELLING = 0.99
#: Rows that are looked at, and rows per level of a category, at least.
_MOST_ROWS, _ROWS_PER_LEVEL = 4000, 20
#: Rows of the rarer label, at least: one or two are the largest of some column by chance.
_RARER = 3
#: Features of a free text, which is what people read when they label.
_TOPIC = re.compile(r" topic \d+$")
#: Most groups that columns are compared with.
_MOST_GROUPS = 8
#: Where the name of a column ends and that of one of its values begins, as in Race_Black.
_STEM = re.compile(r"[_.: -]+(?=[^_.: -]+$)")


def columns_that_tell(
    X: npt.NDArray[np.float64], y: npt.NDArray[np.int64], names: Sequence[str]
) -> dict[str, float]:
    """Return the columns from which alone the label follows, with the accuracy that each gives.

    A number tells by one threshold, a category (features ``column=level``) by the more frequent label of each
    level. The accuracy must be 0.99 or more, and half the errors of a constant answer or fewer. Where only
    its emptiness tells, the column is called by that feature, ``column is missing``.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
    y : ndarray of 0 and 1
    names : sequence of str
        Names of the features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=200)
    >>> columns_that_tell(np.column_stack([rng.normal(size=200), 3.0 * y]), y, ["age", "closed"])
    {'closed': 1.0}
    """
    if len(y) < 2 * _ROWS_PER_LEVEL or np.bincount(y, minlength=2).min() < _RARER:
        return {}
    if len(y) > _MOST_ROWS:
        some = np.linspace(0, len(y) - 1, _MOST_ROWS).astype(np.int64)
        X, y = X[some], y[some]
    least = max(TELLING, 1.0 - 0.5 * min(y.mean(), 1.0 - y.mean()))
    parts: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        if not _TOPIC.search(name):
            parts.setdefault(name.partition("=")[0], []).append(i)
    found = {}
    for column, features in parts.items():
        values = X[:, features]
        accuracy = _by_threshold(values[:, 0], y) if len(features) == 1 else _by_level(values, y)
        if accuracy >= least:
            found[column] = float(accuracy)
    return {
        name: accuracy
        for name, accuracy in found.items()
        if not (name.endswith(IS_MISSING) and column_of(name) in found)
    }


def group_leaks(X: npt.NDArray[np.float64], groups: npt.ArrayLike, names: Sequence[str]) -> list[str]:
    """Say which columns tell the group of nearly every row, though the protected column is no feature.

    >>> group_leaks(np.arange(100.0)[:, None] % 2, ["f", "m"] * 50, ["title"])
    ["column 'title' alone tells the group (1.000 of rows): drop it if nobody may know it"]
    """
    values, codes = np.unique(np.asarray(groups), return_inverse=True)
    if len(values) > _MOST_GROUPS:
        return []
    found = [columns_that_tell(X, (codes == code).astype(np.int64), names) for code in range(len(values))]
    alone = [
        f"column {said_column(name)} alone tells the group ({min(one[name] for one in found):.3f} of rows): "
        "drop it if nobody may know it"
        for name in found[0]
        if all(name in one for one in found)
    ]
    return [*alone, *_dummies_that_tell(X, codes, names)]


def _dummies_that_tell(
    X: npt.NDArray[np.float64], codes: npt.NDArray[np.int64], names: Sequence[str]
) -> list[str]:
    """Say which columns, one for each value of what was one column, together tell the group."""
    some = np.linspace(0, len(codes) - 1, min(len(codes), _MOST_ROWS)).astype(np.int64)
    X, codes = X[some], codes[some]
    columns_of = [name.partition("=")[0] for name in names]
    single = [i for i, name in enumerate(columns_of) if columns_of.count(name) == 1]  # texts: no and yes
    binary = [i for i in single if len(np.unique(X[:, i])) == 2]
    families: dict[str, list[int]] = {}
    for i in binary:
        if len(stem := _STEM.split(columns_of[i])) == 2:
            families.setdefault(stem[0], []).append(i)
    said = []
    for columns in families.values():
        values = X[:, columns] > X[:, columns].min(axis=0)
        if len(columns) < 2 or values.sum(axis=1).max() > 1:
            continue  # several at once: no values of one column
        accuracy = [_by_level(values, (codes == code).astype(np.int64)) for code in range(codes.max() + 1)]
        if all(a >= max(TELLING, 1.0 - 0.5 * (codes == c).mean()) for c, a in enumerate(accuracy)):
            shown = ", ".join(repr(columns_of[i]) for i in columns[:4])
            more = f" and {len(columns) - 4} more" if len(columns) > 4 else ""
            said.append(
                f"columns {shown}{more} together tell the group ({min(accuracy):.3f} of rows): drop them if "
                "nobody may know it"
            )
    return said


def _by_threshold(values: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> float:
    """Accuracy of the best single threshold, in either direction."""
    order = np.argsort(values, kind="stable")
    ordered, ones = values[order], np.cumsum(y[order])
    cut = np.append(ordered[1:] != ordered[:-1], True)  # between equal values there is no threshold
    below, total = np.arange(1, len(y) + 1), int(ones[-1])
    right = (below - ones + total - ones)[cut]  # predicting 0 up to the threshold and 1 above
    return float(max(right.max(initial=0), (len(y) - right).max(initial=0)) / len(y))


def _by_level(values: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> float:
    """Accuracy of the more frequent label of each level; 0 with too many levels to tell."""
    _, level = np.unique(values, axis=0, return_inverse=True)
    counts = np.zeros((int(level.max()) + 1, 2))
    np.add.at(counts, (level.ravel(), y), 1)
    if len(counts) * _ROWS_PER_LEVEL > len(y):
        return 0.0
    return float(counts.max(axis=1).sum() / len(y))
