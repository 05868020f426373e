"""The first page of the results: what a reader should take home, one table, one figure, where it fails."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairask.report.figures import INK, panels
from paper._draw import styled
from paper.before import worse_line
from paper.floor import read_floors
from paper.heldout import heldout_lines
from paper.methods import METHODS
from paper.problems import Setup
from paper.promised import promised_line
from paper.reading import fare_checks, passive_checks, read_claims
from paper.reported import PAPER
from paper.rivals import paired
from paper.stats import Summary, summarize
from paper.store import Curves

__all__ = [
    "METHODS_NOTE",
    "SHOWN",
    "SIX",
    "fails_lines",
    "first_page",
    "methods_table",
    "rivals_ahead",
    "save_takehome",
    "shown_tables",
    "takehome_lines",
    "takehome_table",
]

Results = dict[tuple[str, str], Curves]

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
#: Columns of the table on the first page.
_COLUMNS = {
    DEFAULT: "default",
    PASSIVE: "default, passive",
    PLAIN: "no constraint",
    "threshold-optimizer": "ThresholdOptimizer",
    "fare": "the paper's FARE",
}
METHODS_NOTE = (
    "Accuracy % ± standard error / mean gap (✗: above α) / trials above α (trials). *Unsaid* are trials "
    "above α whose model did not say that its labels are too few; it is given where that was recorded."
)


def shown_tables(results: Results) -> list[str]:
    """Return the six tables of which a method of the figure has results."""
    return [name for name in SIX if any((name, method) in results for method in SHOWN)]


def first_page(results: Results, setup: Setup, folder: Path) -> list[str]:
    """Markdown from the title to where the default fails; ``folder`` has the benchmarks' files."""
    taken = [
        *promise_line(folder / "promise.csv", "random populations, written down beforehand"),
        *takehome_lines(results, setup),
        *heldout_lines(folder / "heldout.csv"),
        *promised_line(folder / "promised.csv"),
    ]
    failed = [
        *fails_lines(results, setup),
        *worse_line(results, folder / "before.csv"),
        *promise_line(
            folder / "promise_hostile.csv",
            "harder populations, written down beforehand",
            "python -m benchmarks.promise --hostile",
        ),
        *promise_line(
            folder / "promise_mixed.csv",
            "populations of mixed kinds, with 150 to 400 labels, written down beforehand",
            "python -m benchmarks.promise --mixed",
        ),
    ]
    return [
        "# Results\n",
        "What the default buys, and where it fails. The default is what `FairActiveLearner` does when no "
        "method is named; commands print it as FARE. `python -m paper docs` writes this page and those below "
        "from the files in `results/`; no number is typed in.\n",
        "## What to take home\n",
        *(f"- {line}" for line in taken),
        "",
        *takehome_table(results, setup, read_floors(folder / "floor.csv")),
        "## Where it fails\n",
        *(f"- {line}" for line in failed),
        "",
    ]


def takehome_lines(results: Results, setup: Setup) -> list[str]:
    """What is bought; each line is left out where its results are not there."""
    tables = [name for name in SIX if (name, DEFAULT) in results]
    ends = {key: summarize(curves, setup.tolerance) for key, curves in results.items()}
    lines = [
        _default(ends, setup, tables) if tables else "The default has not been run on these tables.",
        _half(results, setup, tables),
        _exploring(results, setup, tables),
    ]
    return [line for line in lines if line]


def fails_lines(results: Results, setup: Setup) -> list[str]:
    """What is not bought; each line is left out where its results are not there."""
    tables = [name for name in SIX if (name, DEFAULT) in results]
    ends = {key: summarize(curves, setup.tolerance) for key, curves in results.items()}
    lines = [_unconstrained(ends, setup), rivals_ahead(results, setup, tables), _reproduced(results, setup)]
    return [line for line in lines if line]


def _reproduced(results: Results, setup: Setup) -> str:
    """How much of the paper was met; "" without its methods."""
    parts = []
    for what, found in (
        ("passive sampling's numbers", passive_checks(results, setup)),
        ("FARE's accuracy", fare_checks(results, setup)),
        ("its claims in words", read_claims(results, setup)),
    ):
        if found:
            parts.append(f"{what} on {sum(check.holds for check in found)} of {len(found)}")
    return (
        f"The paper reproduces in part ([details](results/reproduction.md)): {', '.join(parts)}."
        if parts
        else ""
    )


def promise_line(path: Path, which: str, command: str = "python -m benchmarks.promise") -> list[str]:
    """One sentence on populations, from a file that ``benchmarks/promise.py`` writes."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "default"]
    above = np.array([float(row["gap"]) > 0.1 for row in rows])
    infeasible = np.array([float(row["feasible"]) == 0 for row in rows])
    if not len(rows) or infeasible.all():
        return []
    said = f"{100 * infeasible.mean():.0f} % say that the labels do not suffice"
    if infeasible.any():
        said += f", {100 * (~above[infeasible]).mean():.0f} % of these needlessly: they are within it"
    return [
        f"On {len(rows)} {which}, {100 * above[~infeasible].mean():.1f} % of the models that call themselves "
        f"feasible are above the tolerance; {said} (`{command}`)."
    ]


def _default(ends: Mapping[tuple[str, str], Summary], setup: Setup, tables: list[str]) -> str:
    ours = [ends[name, DEFAULT] for name in tables]
    return (
        f"On the {len(ours)} tables below ({_span([end.trials for end in ours])} trials) the default's mean "
        f"gap is {min(e.gap for e in ours):.3f} to {max(e.gap for e in ours):.3f} at a tolerance of "
        f"{setup.tolerance:g}, and {100 * min(e.above for e in ours):.0f} to "
        f"{100 * max(e.above for e in ours):.0f} % of its trials are above it."
    )


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
        "The accuracy that the paper prints for FARE is reached, within the tolerance, "
        + _reached(results, setup, printed)
    ]
    run = {
        name: summarize(results[name, "fare"], setup.tolerance).accuracy
        for name in tables
        if (name, "fare") in results
    }
    if run:
        said.append(f"That of FARE as run here: {_reached(results, setup, run)}")
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
        f"Choosing rows, against uniform rows for the same model, gains two standard "
        f"errors on {clear} of {len(gains)} and loses more than 0.2 points on {lost}: "
        f"{', '.join(t for *_, t in gains)} points."
    )


def _unconstrained(ends: Mapping[tuple[str, str], Summary], setup: Setup) -> str:
    found = [(name, ends[name, PLAIN]) for name in SIX if (name, PLAIN) in ends]
    if not found:
        return ""
    unfair = sum(end.gap > setup.tolerance for _, end in found)
    prices = [
        f"{_title(setup, name)} {ends[name, DEFAULT].accuracy - end.accuracy:+.1f}"
        for name, end in found
        if (name, DEFAULT) in ends
    ]
    against = f" Points of the default above it: {', '.join(prices)}." if prices else ""
    return (
        f"Where a plain model is fair, nothing is bought: use one. The same classifier without a constraint "
        f"is above the tolerance in the mean on {unfair} of {len(found)} tables.{against}"
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
        f"tolerance in the mean, the rival is ahead by more than two standard errors in {len(ahead)}{which}."
    )


def takehome_table(results: Results, setup: Setup, floors: Mapping[str, float]) -> list[str]:
    """Accuracy and share above of what people would use, with the floor from test noise."""
    tables = shown_tables(results)
    columns = [method for method in _COLUMNS if any((name, method) in results for name in tables)]
    if not columns:
        return []
    lines = [
        f"| table, labels | {' | '.join(_COLUMNS[method] for method in columns)} | floor |",
        f"|---{'|---' * len(columns)}|---|",
    ]
    for name in tables:
        cells = []
        for method in columns:
            if (name, method) not in results:
                cells.append("–")
                continue
            end = summarize(results[name, method], setup.tolerance)
            cells.append(f"{end.accuracy:.1f} / {100 * end.above:.0f} %")
        floor = f"{100 * floors[name]:.0f} %" if name in floors else "–"
        lines.append(
            f"| {_title(setup, name)}, {setup.problem(name).budget:,} | {' | '.join(cells)} | {floor} |"
        )
    return [
        *lines,
        "",
        f"Accuracy % / share of trials with a gap above {setup.tolerance:g}, also of models that said "
        '"infeasible with these labels". *Passive* is the default\'s model on uniform rows, *no constraint* '
        "its classifier alone, *ThresholdOptimizer* fairlearn's, with that classifier, and *the paper's "
        "FARE* the method as published, run here. *Floor*: the share for a model that is exactly fair, from "
        "the noise of the test part alone (`python -m paper floor`).\n",
    ]


def methods_table(results: Results, setup: Setup, tables: list[str]) -> list[str]:
    """One row per method, one column per table."""
    lines = [
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
