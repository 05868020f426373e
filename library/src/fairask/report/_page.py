"""From a comparison to one self-contained page."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairask.experiment import Comparison, Snapshot
from fairask.plotting import (
    INK,
    METRIC_NAMES,
    GroupRatesDisplay,
    LabelSpendDisplay,
    LearningCurveDisplay,
    SamplingDisplay,
    style,
)
from fairask.report._words import column_lines, headline, savings, stops, verdict

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup
    from matplotlib.figure import Figure

#: Colours that are too dark on a dark page, and what takes their place there.
ON_DARK = {
    "#0072b2": "#4aa8e0",
    "#5e4fa2": "#8f80d6",
    "#882255": "#d4729f",
    "#332288": "#9b90e8",
    "#117733": "#4fb573",
    "#aa4499": "#cf7dc1",
}
_RATES = {
    "tprp": [("tpr", "true positive rate")],
    "fprp": [("fpr", "false positive rate")],
    "eo": [("tpr", "true positive rate"), ("fpr", "false positive rate")],
    "dp": [("selection_rate", "selection rate")],
}


def write_report(comparison: Comparison, path: str | PathLike[str]) -> Path:
    """Write the report to ``path``; the file appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from fairask.experiment import METHODS, Run, Task
    >>> spend, rates = {"a": {"uniform": 50}}, {"tpr": [0.5]}
    >>> run = Run("passive", 0, np.array([50]), np.array([0.8]), np.array([0.1]), spend, rates)
    >>> seen = Comparison("t", "y", "g", [METHODS["passive"]], [run], Task(budget=50), 1, {"a": 1.0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(seen, f"{folder}/report.html").name
    'report.html'
    """
    target = Path(path)
    scratch = target.with_name(target.name + ".part")
    scratch.write_text(render(comparison), encoding="utf-8")
    scratch.replace(target)
    return target


def render(comparison: Comparison) -> str:
    """Return the page as text: no scripts, nothing from the network, every name escaped."""
    return template("report.html.j2").render(
        c=comparison,
        palette=ON_DARK,
        headline=headline(comparison),
        lines=[
            *([verdict(comparison)] if comparison.beside() is not None else []),
            *column_lines(comparison),
            *savings(comparison),
            *(stops(comparison) if comparison.task.stop is not None else []),
        ],
        references=comparison.references(),
        rows=[(m, comparison.final(m.name)) for m in comparison.methods],
        metric_name=METRIC_NAMES[comparison.task.metric],
        figures=_figures(comparison),
        sampling=_snapshot(comparison),
        remarks=_remarks(comparison),
    )


def template(name: str) -> Template:
    """One of this package's pages; whatever is put into it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fairask.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def curves_display(comparison: Comparison) -> LearningCurveDisplay:
    """The two learning curves of a comparison, within its budget."""
    return LearningCurveDisplay.from_results(
        {m.name: comparison.curves(m.name) for m in comparison.methods},
        tolerance=comparison.task.tolerance,
        metric=comparison.task.metric,
        names=comparison.names,
    )


def svg(figure: Figure, name: str) -> Markup:
    """Return a figure as inline SVG in the page's text colour; ``name`` makes its ids unique."""
    import matplotlib
    from markupsafe import Markup

    buffer = io.StringIO()
    with style(), matplotlib.rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # SVG keeps text as text: the browser needs the glyphs, not this font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        metadata: dict[str, str | None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=metadata, dpi=160)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    for light in ON_DARK:
        text = text.replace(light, f"var(--c{light[1:]})")
    # Numbered ids repeat from figure to figure, and nothing refers to them.
    text = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", text)
    text = re.sub(
        r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1system-ui, 'DejaVu Sans', sans-serif", text
    )
    return Markup(text)


def _figures(c: Comparison) -> dict[str, Markup]:
    drawn = {"curves": svg(curves_display(c).plot().figure_, "curves")}
    drawn["spend"] = svg(
        LabelSpendDisplay.from_counts(_spend(c), c.pool_shares, names=c.names).plot().figure_, "spend"
    )
    groups = list(c.pool_shares)
    for i, (rate, title) in enumerate(_RATES[c.task.metric]):
        tables = {m.name: [run.rates[rate] for run in c.of(m.name)] for m in c.methods}
        display = GroupRatesDisplay.from_trials(tables, groups, title=title, names=c.names)
        drawn[f"rates{i}"] = svg(display.plot().figure_, f"rates{i}")
    if (snapshot := _snapshot(c)) is not None:
        display2 = SamplingDisplay(snapshot.points, snapshot.ratios, snapshot.drawn).plot()
        drawn["sampling"] = svg(display2.figure_, "sampling")
    return drawn


def _snapshot(c: Comparison) -> Snapshot | None:
    return next((run.snapshot for run in c.runs if run.snapshot is not None), None)


def _spend(c: Comparison) -> dict[str, dict[str, dict[str, float]]]:
    out: dict[str, dict[str, dict[str, float]]] = {}
    for method in c.methods:
        total: dict[str, Counter[str]] = {group: Counter() for group in c.pool_shares}
        for run in c.of(method.name):
            for group, by_component in run.spend.items():
                total[group].update(by_component)
        out[method.name] = {group: dict(counts) for group, counts in total.items()}
    return out


def _remarks(c: Comparison) -> list[str]:
    """Warnings of the runs, in words."""
    words = {
        "InterpolationWarning": "the model separated its labels, so the constraint bound nothing",
        "EmptyCellWarning": "a group had no label of one class yet, so its rate was unknown",
        "InfeasibleWarning": "labels did not suffice for the tolerance; a model at a larger one was used",
        "NoDisagreementWarning": "the perturbed classifiers agreed everywhere, so λ_fair alone was sampled",
    }
    out = []
    for method in c.methods:
        runs = c.of(method.name)
        rounds = int(np.sum([len(run.labels) for run in runs]))
        total: Counter[str] = Counter()
        for run in runs:
            total.update(run.warnings)
        out += [
            f"{method.label}: in {n:,} of {rounds:,} rounds {words.get(k, k)}."
            for k, n in sorted(total.items())
        ]
    return out
