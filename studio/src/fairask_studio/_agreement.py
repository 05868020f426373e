"""Agreement of people on rows that several of them answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations


def agreement(answers: Iterable[Sequence[int]]) -> dict[str, float | int | None]:
    """Return the share of pairs of answers that agree, and Krippendorff's alpha, which corrects for chance.

    Parameters
    ----------
    answers : iterable of sequences
        The labels each row was given, one sequence per row.

    Examples
    --------
    >>> agreement([[1, 1], [0, 0], [1, 0], [1]])
    {'rows': 3, 'share': 0.6666666666666666, 'alpha': 0.4444444444444444}
    """
    rows = [list(row) for row in answers if len(row) > 1]
    if not rows:
        return {"rows": 0, "share": None, "alpha": None}
    pairs = [(a, b) for row in rows for a, b in combinations(row, 2)]
    values = [value for row in rows for value in row]
    # Observed disagreement weighs each row by its pairs over (answers - 1); expected pairs all values.
    observed = (
        sum(sum(a != b for a, b in combinations(row, 2)) / (len(row) - 1) for row in rows) * 2 / len(values)
    )
    ones = sum(values)
    expected = 2 * ones * (len(values) - ones) / (len(values) * (len(values) - 1))
    return {
        "rows": len(rows),
        "share": sum(a == b for a, b in pairs) / len(pairs),
        "alpha": 1 - observed / expected if expected else None,
    }
