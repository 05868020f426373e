"""The paper's Tables 1 and 2 with its values beside ours, and the labels saved."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairask.report.words import LabelSaving
from paper.methods import METHODS
from paper.problems import Setup
from paper.render import Entry, Table
from paper.reported import CITATION, PAPER, Reported
from paper.stats import Summary, label_saving, summarize
from paper.store import Curves, by_problem

__all__ = ["TABLES", "all_tables", "best_of_families", "results_table", "savings_table", "sweep_table"]

#: Title -> problems. Methods are whatever has results.
TABLES: dict[str, tuple[str, ...]] = {
    "Table 1. Accuracy and TPRP gap at the end of the budget": (
        "drug",
        "bank",
        "german",
        "adult",
        "compas",
        "crime",
    ),
    "Table 2. The role of λ_fair, on synthetic data": ("synthetic", "synthetic-wide"),
    "Equalized odds on Adult": ("adult-eo",),
}

#: Reference curves for the savings; in no table of results.
LONG = "passive-long"


def best_of_families(methods: dict[str, Curves], tolerance: float) -> dict[str, tuple[str, Curves]]:
    """Return {method: (label, curves)}, a sweep reduced to its best member.

    Best is the most accurate member whose mean gap is within the tolerance, or, where no member
    is, the one of smallest gap. Members of which most trials did not converge come last.
    """
    out: dict[str, tuple[str, Curves]] = {}
    best: dict[str, tuple[tuple[bool, bool, float], str]] = {}
    for name, curves in methods.items():
        method = METHODS[name]
        if name == LONG or method.constraint:  # what people would use instead has a table of its own
            continue
        if method.family is None:
            out[name] = (method.label, curves)
            continue
        end = summarize(curves, tolerance)
        met = end.met(tolerance)
        usual = end.trials >= max(end.failed, 2)
        score = (usual, met, end.accuracy if met else -end.gap) if end.trials else (False, False, -9.0)
        if method.family not in best or score > best[method.family][0]:
            best[method.family] = (score, name)
    for _, name in best.values():
        out[name] = (METHODS[name].label, methods[name])
    return out


def results_table(
    title: str, problems: Iterable[str], results: dict[tuple[str, str], Curves], setup: Setup
) -> Table:
    """One row a problem and method: ours, the paper's, and the share of trials above the tolerance."""
    alpha = setup.tolerance
    table = Table(
        title,
        ["dataset", "method", "labels", "trials", "accuracy %", "paper", "gap", "paper", "above α"],
        note=f"Mean ± standard error over trials. ✓ and ✗: the mean gap is, or is not, at most "
        f"α = {alpha:g}. Above α: share of trials. Bold: the most accurate of the methods that meet it. "
        f"Paper: {CITATION}.{_picked(results)}",
    )
    grouped = by_problem(results)
    for problem in problems:
        methods = best_of_families(grouped.get(problem, {}), alpha)
        ends = {name: summarize(curves, alpha) for name, (_, curves) in methods.items()}
        fair = [end.accuracy for end in ends.values() if end.met(alpha)]
        for name, end in ends.items():
            met = end.met(alpha)
            label = methods[name][0] + _unconverged(end)
            best = met and end.accuracy == max(fair)
            table.rows.append(
                [
                    setup.problem(problem).title,
                    label,
                    f"{end.labels:,}",
                    f"{end.trials}",
                    Entry(f"{end.accuracy:.1f} ± {end.accuracy_se:.1f}", best=best) if end.trials else "–",
                    *_with_paper(end, PAPER.get((problem, METHODS[name].paper or "")), alpha),
                    f"{100 * end.above:.0f} %" if end.trials else "–",
                ]
            )
    return table


def _with_paper(end: Summary, paper: Reported | None, alpha: float) -> list[Entry | str]:
    ours = Entry(f"{end.gap:.3f} ± {end.gap_se:.3f}", met=end.met(alpha)) if end.trials else "–"
    if paper is None:
        return ["–", ours, "–"]
    theirs = Entry(f"{paper.gap:.3f} ± {paper.gap_se:.3f}", met=paper.gap <= alpha)
    return [f"{paper.accuracy:.1f} ± {paper.accuracy_se:.1f}", ours, theirs]


def _unconverged(end: Summary) -> str:
    return f" (not converged in {end.failed} of {end.trials + end.failed} trials)" if end.failed else ""


def _picked(results: Iterable[tuple[str, str]]) -> str:
    """How the best of a sweep was chosen, if there is a sweep."""
    families = dict.fromkeys(METHODS[name].family for _, name in results if METHODS[name].family)
    if not families:
        return ""
    return (
        f" {', '.join(str(f) for f in families)}: the best of the pretraining shares that were tried, that "
        "is the most accurate whose mean gap is at most α, or the one of smallest gap if none "
        "is. It is picked after seeing these very results, which flatters it, as the better of FARE's two "
        "rows would. Trials whose policy did not converge are counted, and left out of the means."
    )


def savings_table(results: dict[tuple[str, str], Curves], setup: Setup) -> Table | None:
    """Labels passive sampling needs for each method's end, where passive was run long enough to tell."""
    table = Table(
        "Labels saved against passive sampling",
        ["dataset", "method", "labels", "passive needs", "90 % interval", "ratio"],
        note="Labels at which passive sampling reaches the method's final mean accuracy with a mean "
        f"gap of at most α = {setup.tolerance:g}; interval by bootstrap over trials. Methods "
        "whose own mean gap is above α are left out: what they save, they save by being unfair.",
    )
    for problem, methods in by_problem(results).items():
        if LONG not in methods:
            continue
        for name, (label, curves) in best_of_families(methods, setup.tolerance).items():
            if METHODS[name].model != METHODS[LONG].model or name == "passive":
                continue
            if not summarize(curves, setup.tolerance).met(setup.tolerance):
                continue
            saving = label_saving(curves, methods[LONG], setup.tolerance)
            table.rows.append(
                [
                    setup.problem(problem).title,
                    label,
                    f"{saving.labels:,}",
                    _count(saving.needed, saving),
                    f"{_count(saving.low, saving)} – {_count(saving.high, saving)}",
                    f"{saving.needed / saving.labels:.2f} ×" if np.isfinite(saving.needed) else "–",
                ]
            )
    return table if table.rows else None


def _count(value: float, saving: LabelSaving) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else f"> {saving.limit:,}"


def all_tables(results: dict[tuple[str, str], Curves], setup: Setup) -> list[Table]:
    """Return every table that the results have rows for."""
    tables = [results_table(title, problems, results, setup) for title, problems in TABLES.items()]
    if setup.name != "paper":
        tables = [results_table(f"Setup {setup.name}", setup.problems, results, setup)]
    savings = savings_table(results, setup)
    return [table for table in tables if table.rows] + ([savings] if savings else [])


def sweep_table(results: dict[tuple[str, str], Curves], setup: Setup) -> Table:
    """Every pretraining share of every rival, all trials and those that converged."""
    table = Table(
        "The pretraining sweep",
        ["dataset", "method", "trials", "accuracy %", "gap", "converged", "accuracy %", "gap"],
        note="Left: all trials, the policy used such as it is. Right: those whose policy converged; a dash "
        "where there is nothing to converge, or fewer than two did.",
    )
    grouped = by_problem(results)
    for problem, methods in grouped.items():
        for method in (m for m in METHODS.values() if m.family and m.name in methods):
            curves = methods[method.name]
            row: list[Entry | str] = [setup.problem(problem).title, method.label, f"{len(curves)}"]
            row += _shown(summarize(curves.regardless(), setup.tolerance), setup.tolerance)
            learns = "unconverged" in method.strategy_params
            end = summarize(curves, setup.tolerance)
            row.append(f"{end.trials}" if learns else "–")
            row += _shown(end, setup.tolerance) if learns and end.trials >= 2 else ["–", "–"]
            table.rows.append(row)
    return table


def _shown(end: Summary, alpha: float) -> list[Entry | str]:
    return [
        f"{end.accuracy:.1f} ± {end.accuracy_se:.1f}",
        Entry(f"{end.gap:.3f} ± {end.gap_se:.3f}", met=end.met(alpha)),
    ]
