"""The first ten lines and the first figure of the results page: what a reader should take home."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairask.report.figures import INK, panels
from paper._draw import styled
from paper.methods import METHODS
from paper.problems import Setup
from paper.reported import PAPER
from paper.rivals import paired
from paper.stats import Summary, summarize
from paper.store import Curves

__all__ = [
    "SHOWN",
    "SIX",
    "methods_table",
    "rivals_ahead",
    "save_takehome",
    "shown_tables",
    "takehome_lines",
    "takehome_table",
]

Results = Mapping[tuple[str, str], Curves]

SIX = ("drug", "german", "compas", "crime", "bank", "adult")
DEFAULT, PASSIVE, PLAIN = "default", "default-passive", "plain-passive"
#: Methods of the figure and the first table, with their colours.
SHOWN = {
    DEFAULT: "#0072b2",
    PASSIVE: INK,
    "fare": "#e69f00",
    "passive": "#999999",
    PLAIN: "#d55e00",
    "plain-uncertainty": "#56b4e9",
    "plain-fal": "#cc79a7",
    "plain-falcur": "#8c564b",
    "threshold-optimizer": "#009e73",
    "relaxed-thresholds": "#5e4fa2",
    "exponentiated-gradient": "#b8a500",
}
#: What people would use to be fair.
_MADE_FAIR = ("threshold-optimizer", "relaxed-thresholds", "exponentiated-gradient")


def shown_tables(results: Results) -> list[str]:
    """Return the six tables of which a method of the figure has results."""
    return [name for name in SIX if any((name, method) in results for method in SHOWN)]


def takehome_lines(results: Results, setup: Setup) -> list[str]:
    """Ten lines at most; each is left out where its results are not there."""
    tables = [name for name in SIX if (name, DEFAULT) in results]
    ends = {key: summarize(curves, setup.tolerance) for key, curves in results.items()}
    lines = [
        *(_default(ends, setup, tables) if tables else ["The default has not been run on these tables."]),
        _half(results, setup, tables),
        _exploring(results, setup, tables),
        _unconstrained(ends, setup),
        rivals_ahead(results, setup, tables),
        _above(ends, setup),
        "Where a plain model is fair by itself, nothing is bought: use one. Where a group has few positive "
        "rows, the default pays accuracy to stay safe, or says that the labels do not suffice.",
        "The paper's own numbers reproduce in part: see below, with what was tried to explain the misses.",
    ]
    return [line for line in lines if line]


def _default(ends: Mapping[tuple[str, str], Summary], setup: Setup, tables: list[str]) -> list[str]:
    ours = [ends[name, DEFAULT] for name in tables]
    counted = _span([end.trials for end in ours])
    named = ", ".join(
        f"{_title(setup, n)} {e.accuracy:.1f} ± {e.accuracy_se:.1f}"
        for n, e in zip(tables, ours, strict=True)
    )
    return [
        f"The default (one setting, {counted} trials) is right in per cent on: {named}; mean gap "
        f"{min(e.gap for e in ours):.3f} to {max(e.gap for e in ours):.3f} (tolerance "
        f"{setup.tolerance:g}), {100 * min(e.above for e in ours):.0f} to "
        f"{100 * max(e.above for e in ours):.0f} % of trials above it."
    ]


def _span(counts: list[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"


def _label(method: str) -> str:
    """What to call a method where the paper's and the default stand side by side."""
    return f"{METHODS[method].label} of the paper" if METHODS[method].paper else METHODS[method].label


def _title(setup: Setup, name: str) -> str:
    return setup.problem(name).title


def _half(results: Results, setup: Setup, tables: list[str]) -> str:
    """Which tables need half the labels, or a third, for FARE's accuracy as printed and as run here."""
    if not tables:
        return ""
    printed = {name: PAPER[name, "FARE"].accuracy for name in tables}
    said = [
        "The accuracy that the paper prints for FARE at its full budget is reached, within the tolerance, "
        + _reached(results, setup, printed)
    ]
    run = {
        name: summarize(results[name, "fare"], setup.tolerance).accuracy
        for name in tables
        if (name, "fare") in results
    }
    if run:
        said.append(f"That of FARE as run here on the same splits is reached {_reached(results, setup, run)}")
    return " ".join(said)


def _reached(results: Results, setup: Setup, goals: Mapping[str, float]) -> str:
    reached = {}
    for share in (2, 3):
        names = []
        for name, goal in goals.items():
            curves = results[name, DEFAULT]
            at = np.flatnonzero(curves.labels <= setup.problem(name).budget // share)
            if not len(at):
                continue
            accuracy, gap = curves.accuracy[:, at[-1]].mean(), curves.gap[:, at[-1]].mean()
            if 100 * accuracy >= goal and gap <= setup.tolerance:
                names.append(_title(setup, name))
        reached[share] = names
    half, third = (
        f"{len(found)} of {len(goals)}" + (f" ({', '.join(found)})" if found else "")
        for found in reached.values()
    )
    return f"with half the labels on {half}, with a third on {third}."


def _exploring(results: Results, setup: Setup, tables: list[str]) -> str:
    gains = []
    for name in tables:
        if (name, PASSIVE) in results:
            _, (gain, error), _ = paired(results[name, DEFAULT], results[name, PASSIVE])
            gains.append((gain, error, f"{_title(setup, name)} {gain:+.1f} ± {error:.1f}"))
    if not gains:
        return ""
    clear, lost = sum(g > 2 * e for g, e, _ in gains), sum(g < -0.2 for g, _, _ in gains)
    return (
        f"Choosing rows, with the same oracle and classifier as passive sampling, gains two standard "
        f"errors on {clear} of {len(gains)} and loses more than 0.2 points on {lost}: "
        f"{', '.join(t for *_, t in gains)} points."
    )


def _unconstrained(ends: Mapping[tuple[str, str], Summary], setup: Setup) -> str:
    found = [(name, ends[name, PLAIN]) for name in SIX if (name, PLAIN) in ends]
    if not found:
        return ""
    unfair = sum(end.gap > setup.tolerance for _, end in found)
    prices = [
        f"{_title(setup, name)} {end.accuracy - ends[name, DEFAULT].accuracy:+.1f}"
        for name, end in found
        if (name, DEFAULT) in ends
    ]
    against = f"; its accuracy against the default's: {', '.join(prices)} points" if prices else ""
    gaps = ", ".join(f"{_title(setup, name)} {end.gap:.2f} ({100 * end.above:.0f} %)" for name, end in found)
    return (
        f"Without a constraint the same classifier on passive sampling's labels is above the tolerance in "
        f"the "
        f"mean on {unfair} of {len(found)} tables (gap, trials above: {gaps}){against}."
    )


def rivals_ahead(results: Results, setup: Setup, tables: list[str]) -> str:
    """Say which rivals within the tolerance are ahead of the default; "" where none was run beside it."""
    ends = {key: summarize(curves, setup.tolerance) for key, curves in results.items()}
    ahead, counts = [], []
    for name in tables:
        for (problem, method), curves in results.items():
            rival = METHODS[method].constraint or METHODS[method].family
            if problem != name or not rival or ends[name, method].gap > setup.tolerance:
                continue
            trials, (more, error), _ = paired(curves, results[name, DEFAULT])
            if trials < 2:
                continue
            counts.append(trials)
            if more > 2 * error:
                ahead.append(
                    f"{METHODS[method].label} on {_title(setup, name)} ({more:+.1f} ± {error:.1f}, "
                    f"{trials} trials)"
                )
    if not counts:
        return ""
    which = f": {'; '.join(ahead)}" if ahead else ""
    return (
        f"Of {len(counts)} comparisons ({_span(counts)} trials) with a rival within the "
        f"tolerance in the mean, the rival is ahead by more than two standard errors in {len(ahead)}{which}. "
        "Of so many a few are ahead by chance; with a handful of trials a difference of a point is noise."
    )


def _above(ends: Mapping[tuple[str, str], Summary], setup: Setup) -> str:
    """Shares above the tolerance, each against the default's on the same tables."""
    parts = []
    for method in _MADE_FAIR:
        tables = [name for name in SIX if (name, method) in ends]
        if not tables:
            continue
        share = f"{100 * np.mean([ends[name, method].above for name in tables]):.0f} %"
        both = [ends[name, DEFAULT].above for name in tables if (name, DEFAULT) in ends]
        ours = f", the default there {100 * np.mean(both):.0f} %" if len(both) == len(tables) else ""
        label = METHODS[method].label.removeprefix("Passive + ")
        parts.append(f"{label} {share} (mean of {len(tables)} tables{ours})")
    if not parts:
        return ""
    return (
        f"Trials above the tolerance of tools that make a classifier fair afterwards: {'; '.join(parts)}. "
        f"They "
        "meet the tolerance on the labels they were fitted on, not on new rows."
    )


def takehome_table(results: Results, setup: Setup, floors: Mapping[str, float]) -> list[str]:
    """Accuracy, gap and share above of every shown method, with the floor from test noise."""
    tables = shown_tables(results)
    shares = [f"{100 * floors[name]:.0f} %" if name in floors else "–" for name in tables]
    return [
        "*Floor*: the share of trials above α of a model that is exactly fair, from the noise of the test "
        "part "
        "alone (`python -m paper floor`).\n",
        *methods_table(results, setup, tables),
        f"| floor | {' | '.join(shares)} |\n",
    ]


def methods_table(results: Results, setup: Setup, tables: list[str]) -> list[str]:
    """One row per method, one column per table."""
    lines = [
        "Accuracy % ± standard error / mean gap (✗: above α) / trials above α, at the full budget "
        "(trials). *Unsaid* are trials above α whose model did not say that its labels are too few; it is "
        "given where that was recorded.\n",
        f"| method | {' | '.join(f'{_title(setup, n)}, {setup.problem(n).budget:,}' for n in tables)} |",
        f"|---{'|---' * len(tables)}|",
    ]
    for method in SHOWN:
        cells = []
        for name in tables:
            if (name, method) not in results:
                cells.append("–")
                continue
            end = summarize(results[name, method], setup.tolerance)
            sign = "" if end.met(setup.tolerance) else " ✗"
            unsaid = (
                f", unsaid {100 * end.broken:.0f} %"
                if method.startswith(DEFAULT) and end.infeasible > 0
                else ""
            )
            cells.append(
                f"{end.accuracy:.1f} ± {end.accuracy_se:.1f} / {end.gap:.3f}{sign} / "
                f"{100 * end.above:.0f} %{unsaid} ({end.trials})"
            )
        if set(cells) != {"–"}:
            lines.append(f"| {_label(method)} | {' | '.join(cells)} |")
    return lines


@styled
def _figure(results: Results, setup: Setup) -> Figure:
    """Labels against accuracy on each table: solid where the mean gap at the end is within bounds."""
    tables = shown_tables(results)
    rows = -(-len(tables) // 3)
    figure, axes = panels(None, rows, min(3, len(tables)), (12.5, 3.6 * rows + 0.9))
    seen: dict[str, Artist] = {}
    for axis, name in zip(axes, tables, strict=False):
        for method, color in SHOWN.items():
            if (name, method) not in results:
                continue
            curves = results[name, method].of_converged()
            fair = summarize(curves, setup.tolerance).met(setup.tolerance)
            wide = 2.6 if method == DEFAULT else 1.3
            axis.plot(
                curves.labels, 100 * curves.accuracy.mean(axis=0), "-" if fair else "--",
                color=color, lw=wide, marker="o", ms=3 if len(curves.labels) < 8 else 0,
            )  # fmt: skip
            seen.setdefault(_label(method), Line2D([], [], color=color, lw=wide))
        axis.set_title(_title(setup, name))
        axis.set_xlabel("labels")
        low = min(100 * results[name, m].accuracy.mean(axis=0)[-1] for m in SHOWN if (name, m) in results)
        high = max(100 * results[name, m].accuracy.mean(axis=0)[-1] for m in SHOWN if (name, m) in results)
        axis.set_ylim(low - 1.6 * max(high - low, 1.0), high + 0.25 * max(high - low, 1.0))
    axes[0].set_ylabel("accuracy %")
    figure.legend(
        list(seen.values()), list(seen), loc="outside lower center", ncols=4, frameon=False, fontsize=9,
        title="solid: mean gap within 0.1; dashed: above it",
    )  # fmt: skip
    return figure


def save_takehome(results: Results, setup: Setup, folder: Path) -> str | None:
    """Write the figure; return its name, None where there is nothing to draw."""
    if not shown_tables(results):
        return None
    figure = _figure(results, setup)
    figure.savefig(folder / "takehome.png", dpi=80, facecolor="white")
    return "takehome.png"
