"""Which methods exceed the tolerance, on which datasets: a test, ours beside the paper's own numbers."""

from __future__ import annotations

import numpy as np

from paper.methods import METHODS
from paper.problems import Setup
from paper.render import Table, body, fold
from paper.reported import PAPER
from paper.stats import Verdict, judge_means, summarize
from paper.store import Curves, by_problem
from paper.tables import best_of_families

__all__ = ["our_verdicts", "paper_verdicts", "significance_section", "verdict_table"]

#: The paper's columns in its order; "FARE w/o λ_fair" is on synthetic data only.
COLUMNS = ("FARE", "FARE w/o λ_fair", "PANDA", "FAL", "FAL-CUR", "Passive")
#: Trials behind the paper's means.
_PAPER_TRIALS = {"PANDA": 50}
_WORDS = {
    "above": "Above the tolerance",
    "within": "Within it",
    "undecided": "Undecided",
}


def our_verdicts(
    results: dict[tuple[str, str], Curves], setup: Setup
) -> dict[tuple[str, str], tuple[str, Verdict]]:
    """Method and verdict by (problem, column of the paper): best shares, trials that converged."""
    keys, names, ends = [], [], []
    for problem, methods in by_problem(results).items():
        for name, (_, curves) in best_of_families(methods, setup.tolerance).items():
            end = summarize(curves, setup.tolerance)
            if METHODS[name].paper in COLUMNS and end.trials >= 2:
                keys.append((problem, str(METHODS[name].paper)))
                names.append(name)
                ends.append(end)
    if not ends:
        return {}
    verdicts = judge_means(
        np.array([end.gap for end in ends]),
        np.array([end.gap_se for end in ends]),
        np.array([end.trials for end in ends]),
        setup.tolerance,
    )
    return dict(zip(keys, zip(names, verdicts, strict=True), strict=True))


def paper_verdicts(setup: Setup) -> dict[tuple[str, str], Verdict]:
    """The paper's means and standard errors under the same rule.

    Examples
    --------
    >>> from paper.problems import get_setup
    >>> found = paper_verdicts(get_setup("paper"))
    >>> found["compas", "FAL"].verdict, found["drug", "FARE"].verdict
    ('above', 'undecided')
    """
    reported = list(PAPER.values())
    verdicts = judge_means(
        np.array([r.gap for r in reported]),
        np.array([r.gap_se for r in reported]),
        np.array([_PAPER_TRIALS.get(column, 100) for _, column in PAPER]),
        setup.tolerance,
    )
    return dict(zip(PAPER, verdicts, strict=True))


def verdict_table(results: dict[tuple[str, str], Curves], setup: Setup) -> Table:
    """One row a dataset and method: gap and verdict here, and the same from the paper's numbers."""
    ours, theirs = our_verdicts(results, setup), paper_verdicts(setup)
    table = Table(
        "Which methods exceed the tolerance",
        ["dataset", "method", "trials", "gap", "p", "verdict", "paper", "p", "verdict"],
        note="p: t-test of the mean gap against α in both directions, adjusted by Holm's method over "
        "all rows of its column; above or within at 0.05. Right: the paper's printed means and standard "
        "errors (100 trials, PANDA 50) under the same rule. Where FARE's paper column is a dash the paper "
        "has no such row. Trials whose policy did not converge are left out, and a method with fewer than "
        "two that did has no verdict. A best share picked on these results flatters the method.",
    )
    for problem in setup.problems:
        for column in COLUMNS:
            mine, paper = ours.get((problem, column)), PAPER.get((problem, column))
            if mine is None:
                continue
            name, verdict = mine
            end = summarize(results[problem, name], setup.tolerance)
            row = [setup.problem(problem).title, METHODS[name].label, f"{end.trials}"]
            row += [f"{end.gap:.3f} ± {end.gap_se:.3f}", _p(verdict.p), verdict.verdict]
            if paper is None:
                row += ["–"] * 3
            else:
                row.append(f"{paper.gap:.3f} ± {paper.gap_se:.3f}")
                row += [_p(theirs[problem, column].p), theirs[problem, column].verdict]
            table.rows.append([*row])
    return table


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def significance_section(results: dict[tuple[str, str], Curves], setup: Setup) -> list[str]:
    """Parts of the page: the verdicts in words, then the table."""
    ours, theirs = our_verdicts(results, setup), paper_verdicts(setup)
    if not ours:
        return []
    lines = []
    rivals = ("PANDA", "FAL", "FAL-CUR")
    lines.append(
        "The paper says that its rivals are often above 0.1 and FARE is not. A mean above or below 0.1 by "
        "chance is neither, so this is a test.\n"
    )
    for columns, who in ((COLUMNS[:2], "FARE"), (rivals, "The rivals"), (("Passive",), "Passive")):
        for verdict, words in _WORDS.items():
            found = {k: n for k, (n, v) in ours.items() if k[1] in columns and v.verdict == verdict}
            said = _by_method(found, setup)
            lines.append(f"- {who}. {words}: {said or 'none'}.")
    both = [key for key in ours if key in theirs]
    same = sum(ours[key][1].verdict == theirs[key].verdict for key in both)
    against = [
        f"{METHODS[ours[key][0]].label} on {setup.problem(key[0]).title} ({ours[key][1].verdict} here, "
        f"{theirs[key].verdict} in the paper)"
        for key in both
        if {ours[key][1].verdict, theirs[key].verdict} == {"above", "within"}
    ]
    lines.append(
        f"\nThe verdict is the paper's on {same} of {len(both)}; the opposite one: "
        f"{'; '.join(against) or 'never'}.\n"
    )
    table = verdict_table(results, setup)
    return [*lines, *fold(table.title, [body(table)])]


def _by_method(found: dict[tuple[str, str], str], setup: Setup) -> str:
    by_column: dict[tuple[str, str], list[str]] = {}
    for (problem, column), name in found.items():
        family = METHODS[name].family or METHODS[name].label
        title = setup.problem(problem).title.replace(", ", " with ")  # no comma within an enumeration
        by_column.setdefault((column, family), []).append(title)
    return "; ".join(f"{family} on {', '.join(titles)}" for (_, family), titles in by_column.items())
