"""How experiments on a miss are shown: what was changed, and how far from the paper it ends."""

from __future__ import annotations

import csv
from pathlib import Path

from paper.reading import Check
from paper.render import Entry, Table, body, fold
from paper.reported import PAPER, Reported
from paper.stats import apart

__all__ = ["miss_table", "misses_section", "near", "what_helps"]


def _numbers(row: dict[str, str]) -> tuple[float, float, float, float]:
    keys = ("accuracy", "accuracy_se", "gap", "gap_se")
    a, b, c, d = (float(row[key]) for key in keys)
    return a, b, c, d


def near(row: dict[str, str], paper: Reported) -> bool:
    """Whether both numbers of an experiment are within two joint standard errors of the paper's.

    Examples
    --------
    >>> row = dict(accuracy="81", accuracy_se="0.3", gap="0.1", gap_se="0.01")
    >>> near(row, Reported(81.2, 0.4, 0.1, 0.01)), near(row, Reported(84.0, 0.4, 0.1, 0.01))
    (True, False)
    """
    return max(map(abs, apart(*_numbers(row), paper))) <= 2.0


def what_helps(rows: list[dict[str, str]], paper: Reported) -> str:
    """Which changes bring both numbers within two joint standard errors of the paper's.

    Examples
    --------
    >>> row = dict(variant="ridge", accuracy="81", accuracy_se="0.3", gap="0.1", gap_se="0.01")
    >>> what_helps([row], Reported(81.2, 0.4, 0.1, 0.01))
    'Within two joint standard errors on both numbers: ridge.'
    """
    found = [row["variant"] for row in rows if near(row, paper)]
    if not found:
        return "No single change brings both numbers within two joint standard errors."
    return "Within two joint standard errors on both numbers: " + "; ".join(found) + "."


def miss_table(rows: list[dict[str, str]], paper: Reported) -> str:
    """The changes as a Markdown table without heading, those near the paper in bold.

    Examples
    --------
    >>> row = dict(variant="ridge", trials="9", accuracy="81", accuracy_se="0.3")
    >>> print(miss_table([row | dict(gap="0.1", gap_se="0.01")], Reported(81, 0.4, 0.1, 0.01)))
    | change | trials | accuracy % | gap | distance |
    |---|---|---|---|---|
    | ridge | 9 | 81.0 ± 0.3 | 0.100 ± 0.010 | **+0.0, +0.0** |
    <BLANKLINE>
    """
    table = Table("", ["change", "trials", "accuracy %", "gap", "distance"])
    for row in rows:
        accuracy, accuracy_se, gap, gap_se = _numbers(row)
        by = apart(accuracy, accuracy_se, gap, gap_se, paper)
        table.rows.append(
            [
                row["variant"],
                row["trials"],
                f"{accuracy:.1f} ± {accuracy_se:.1f}",
                f"{gap:.3f} ± {gap_se:.3f}",
                Entry(f"{by[0]:+.1f}, {by[1]:+.1f}", best=near(row, paper)),
            ]
        )
    return body(table)  # its heading is the sentence above


def misses_section(failed: list[Check], path: Path) -> list[str]:
    """Parts of the page: the experiments of ``benchmarks/misses.py`` on claims that do not hold."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = list(csv.DictReader(file))
    lines = [
        "Each row changes one thing that the paper leaves open and keeps the rest "
        "(`python -m benchmarks.misses`); distances are from the paper's value, in joint standard errors. "
        "A dozen changes are tried on each miss, so one that lands near the paper is a candidate for its "
        "cause and no proof.\n",
        "## Claims that do not hold\n",
    ]
    left = []
    for check in failed:
        mine = [row for row in rows if (row["problem"], row["method"]) == (check.problem, check.method)]
        paper = PAPER.get((check.problem, "Passive" if check.method == "passive" else "FARE"))
        if mine and paper:
            lines += fold(check.text, [what_helps(mine, paper), "", miss_table(mine, paper)])
        else:
            left.append(f"- {check.text}")
    return [*lines, *(["No experiment has been run on these:\n", *left, ""] if left else [])]
