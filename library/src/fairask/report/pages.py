"""Reports: one HTML file each, that opens from disk, without scripts and without the network."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.audit import Certificate
from fairask.audit.plan import QUESTIONS
from fairask.audit.watch import Watch
from fairask.experiment import Comparison
from fairask.experiment.comparison import over_trials
from fairask.metrics import Float
from fairask.report.figures import (
    ON_DARK,
    Sampling,
    draw_estimates,
    draw_label_spend,
    draw_labels_over_time,
    draw_learning_curves,
    draw_months,
    draw_rates,
    draw_sampling,
    in_percent,
    panels,
    svg,
)
from fairask.report.words import (
    CERTIFICATE_LIMITS,
    METRIC_NAMES,
    RATE_NAMES,
    at_worst,
    counted_sentence,
    gap_sentence,
    listed,
    points,
    points_between,
    promise_sentence,
    rate_words,
    shift_sentences,
    verdict_sentence,
    visible,
)
from fairask.tables.sheets import csv_text, write_whole

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Rates that are drawn, by metric.
_RATES = {"tprp": ("tpr",), "fprp": ("fpr",), "eo": ("tpr", "fpr"), "dp": ("selection_rate",)}
_LONGEST = 60
#: Characters of a cell of a table.
_CELL = 500


def write_report(comparison: Comparison, path: str | PathLike[str]) -> Path:
    """Write the report of a comparison to ``path``; the file appears whole or not at all.

    >>> import tempfile
    >>> from fairask.experiment import LabelledTable, Task
    >>> from fairask.experiment.loop import Run
    >>> from fairask.experiment.method import METHODS
    >>> table = LabelledTable(np.zeros((1, 1)), np.array([1]), np.array(["a"]))
    >>> spend, rates = {"a": {"uniform": 50}}, {"tpr": [0.5]}
    >>> run = Run("passive", 0, np.array([50]), np.array([0.8]), np.array([0.1]), spend, rates)
    >>> comparison = Comparison(table, [METHODS["passive"]], Task(budget=50), [run])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(comparison, f"{folder}/report.html").name
    'report.html'
    """
    write_whole(Path(path), render(comparison))
    return Path(path)


def render(comparison: Comparison) -> str:
    """Return the report of a comparison as text, every name escaped."""
    beside, audited = comparison.beside(), comparison.audited
    ours = audited is not None and audited[0] == comparison.methods[0].label
    audit = audited[1].verdict if audited is not None and ours else None
    finding = comparison.verdict() if beside is None else beside.averages(comparison.trials)
    certified = audited is not None and audit == "certified"
    page = template("report.html.j2").render(
        c=comparison,
        palette=ON_DARK,
        points=points,
        finding=_certified(audited[1]) if certified and audited is not None else finding,
        proved="" if audited is None else _certified(audited[1]) if certified else audited[1].headline(),
        measured="" if audited is None else _measured(audited[1]),
        action="" if beside is None else beside.action(audit),
        enough="" if beside is not None and beside.case == "no better" else comparison.enough().sentence(),
        lines=[
            *([finding] if certified else []),
            *([] if beside is None else [comparison.verdict()]),
            *comparison.findings(),
        ],
        rows=[(m.label, comparison.task.budget, comparison.final(m.name)) for m in comparison.methods],
        references=comparison.references(),
        metric_name=METRIC_NAMES[comparison.task.metric],
        figures=_comparison_figures(comparison),
        sampling=_sampling(comparison),
    )
    return _whole(page)


def _certified(proof: Certificate) -> str:
    """Say in points what a certificate promises; one of a ratio has no points."""
    if QUESTIONS[proof.metric].ratio:
        return proof.headline()
    if proof.lower == proof.upper:
        gap, allowed = points(proof.estimate), points(proof.tolerance)
        return f"Certified: the gap is {gap} on the whole pool; {allowed} are allowed."
    return verdict_sentence("certified", proof.lower, proof.upper, proof.delta)


def _measured(proof: Certificate) -> str:
    """Say in points what an audit measured."""
    if QUESTIONS[proof.metric].ratio or math.isnan(proof.estimate):
        return proof._bounds()
    bounds = points_between(proof.lower, proof.upper)
    return f"Gap measured: {points(proof.estimate)}; bounds: {bounds}; allowed: {points(proof.tolerance)}."


def write_tables(found: Sequence[Comparison], folder: Path) -> dict[str, Path]:
    """Write comparisons on several tables as ``results.csv`` and ``curves.png``; return both paths."""
    table, figure = folder / "results.csv", folder / "curves.png"
    drawn, axes = panels(None, 2, len(found), (7.4 * len(found), 5.8))
    for column, comparison in enumerate(found):
        draw_comparison(comparison, axes[column :: len(found)])
        axes[column].set_title(f"{comparison.table.title}: accuracy on unseen rows")
    drawn.savefig(figure, dpi=110)
    ends = [
        [c.table.title, m.name, c.task.budget, *vars(c.final(m.name)).values()]
        for c in found
        for m in c.methods
    ]
    names = ["table", "method", "labels", *vars(found[0].final(found[0].methods[0].name))]
    write_whole(table, csv_text(names, ends))
    return {"table": table, "figure": figure}


def watch_page(watch: Watch) -> str:
    """Return the page of a watch.

    >>> from fairask.audit.watch import Watch
    >>> "months" in watch_page(Watch(["f", "m"]))
    True
    """
    looks = dict(zip([m.name for m in watch.months], watch.looks, strict=False))
    told = {name: look for name, look in looks.items() if not np.isnan(look.month[0])}
    page = template("watch.html.j2").render(
        palette=ON_DARK,
        standing=watch.standing(),
        shifts=shift_sentences(watch.shift()),
        months=watch.months,
        looks=looks,
        figure=_figure(partial(draw_months, told, watch.claim.tolerance), "watch") if told else None,
        groups=listed(watch.groups),
        metric_name=watch.claim.question.words,
        valid_for=watch.valid_for,
        windows=", ".join(
            f"{max(n, 1):g}" for n in (watch.valid_for // 2, watch.valid_for, 2 * watch.valid_for)
        ),
        horizon=watch.horizon,
        delta=f"{watch.delta:g}",
    )
    return _whole(page)


def _whole(page: str) -> str:
    """Return a page as it is written: nothing in it is hidden, and no number is parted from its unit."""
    kept = re.compile(
        r"<pre>.*?</pre>|(?<=\d) (?=%|points?\b|of 100\b)", re.DOTALL
    )  # what is copied from a page stays as it is
    return kept.sub(lambda found: "\u00a0" if found[0] == " " else found[0], visible(page))


def _figure(draw: Callable[..., Figure], name: str) -> Markup:
    """Return a figure for a page twice: for wide windows and for phones. The page shows the one that fits."""
    from markupsafe import Markup

    both = '<div class="broad">{}</div><div class="narrow">{}</div>'
    return Markup(both).format(svg(draw(), name), svg(draw(narrow=True), f"{name}-narrow"))


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


def draw_comparison(
    comparison: Comparison, ax: Sequence[Axes] | None = None, *, narrow: bool = False
) -> Figure:
    """The two learning curves of a comparison, within its budget."""
    return draw_learning_curves(
        {m.name: comparison.curves(m.name) for m in comparison.methods},
        tolerance=comparison.task.tolerance,
        metric=comparison.task.metric,
        names=comparison.names,
        ax=ax,
        narrow=narrow,
    )


def _comparison_figures(c: Comparison) -> dict[str, Markup]:
    shares = c.table.group_shares
    drawn = {"curves": _figure(partial(draw_comparison, c), "curves")}
    drawn["spend"] = _figure(partial(draw_label_spend, _spend(c), shares, names=c.names), "spend")
    for i, rate in enumerate(_RATES[c.task.metric]):
        trials = {m.name: np.array([run.rates[rate] for run in c.of(m.name)]) for m in c.methods}
        limits = {
            name: np.array([_over_trials(group) for group in found.T]) for name, found in trials.items()
        }
        draw = partial(draw_rates, trials, limits, list(shares), RATE_NAMES[rate], c.names)
        drawn[f"rates{i}"] = _figure(draw, f"rates{i}")
    if (sampling := _sampling(c)) is not None:
        drawn["sampling"] = _figure(partial(draw_sampling, sampling), "sampling")
    return drawn


def _over_trials(values: Float) -> tuple[float, float, float]:
    """Mean and limits; one trial has no limits to draw."""
    found = over_trials(values)
    return (found.value, found.low, found.high) if len(values) > 1 else (found.value, math.nan, math.nan)


def _sampling(c: Comparison) -> Sampling | None:
    return next((run.sampling for run in c.runs if run.sampling is not None), None)


def _spend(c: Comparison) -> dict[str, dict[str, dict[str, float]]]:
    out: dict[str, dict[str, dict[str, float]]] = {}
    for method in c.methods:
        total: dict[str, Counter[str]] = {group: Counter() for group in c.table.group_shares}
        for run in c.of(method.name):
            for group, by_component in run.spend.items():
                total[group].update(by_component)
        out[method.name] = {group: dict(counts) for group, counts in total.items()}
    return out


@dataclass(frozen=True, eq=False)
class StudyReport:
    """What a report on a study needs.

    Attributes
    ----------
    title, question, protected : str
    status : mapping
        As :meth:`fairask_studio.Study.status` gives it.
    moments : sequence of float
        When each label came, in seconds.
    drawn : callable or None
        Draws where the drawn rows lie, for a phone or not.
    settings : dict of str to str
        For the table at the end.
    commands : list of tuple of str
        How to make this again: words, and what to type.
    action : str
        The one thing to do next.
    columns : list of tuple of str
        Every column, and what it is for.
    learns, not_learned : list
        Columns that the model learns from; and those that it does not, with the reason.
    inputs : list of str
        Names of the columns that a table needs so that the model can decide.
    """

    title: str
    question: str
    protected: str
    status: Mapping[str, Any]
    moments: Sequence[float] = ()
    drawn: Callable[..., Figure] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[tuple[str, str]] = ()
    action: str = ""
    columns: Sequence[tuple[str, str]] = ()
    learns: Sequence[str] = ()
    not_learned: Sequence[tuple[str, str]] = ()
    inputs: Sequence[str] = ()

    @property
    def estimate(self) -> Mapping[str, Any] | None:
        """The estimates of the study's model, None while there are too few labels."""
        history, model = self.status["history"], self.status["model"]
        mine = [entry for entry in history if model is not None and entry["digest"] == model["digest"]]
        found: Mapping[str, Any] | None = mine[-1]["estimate"] if mine else None
        return found

    @property
    def proof(self) -> str:
        """What the last certificate found."""
        made = self.certificate
        return "" if made is None else verdict_sentence(made.verdict, made.lower, made.upper, made.delta)

    @property
    def certificate(self) -> Certificate | None:
        """The last certificate."""
        made = self.status["certificate"]
        if made is None:
            return None
        return Certificate.from_dict(made)

    def _counted(self) -> str:
        """The labels on which the last certificate rests."""
        made = self.certificate
        if made is None:
            return ""
        return counted_sentence(made.n_labels, sum(made.positives) + sum(made.negatives))

    def _trained_at(self) -> str:
        """When the study's model was trained, as a day."""
        model, history = self.status["model"], self.status["history"]
        mine = [str(entry["at"]) for entry in history if model and entry["digest"] == model["digest"]]
        return mine[-1][:10] if mine else ""

    def _worst(self) -> str:
        """The limit of the audit that its verdict rests on."""
        gap = self.status["gap"]
        if gap is None:
            return ""
        return at_worst(gap["low"], gap["high"], self.status["tolerance"])

    def render(self, name: str, **more: object) -> str:
        """Return one of the pages about the study, every name escaped."""
        page = template(name).render(
            r=self,
            s=self.status,
            palette=ON_DARK,
            metric_name=METRIC_NAMES[self.status["metric"]],
            rates=rate_words(self.status["classes"]),
            worst=self._worst(),
            gap_is=gap_sentence(self.status["metric"], self.status["classes"]),
            counted=self._counted(),
            trained_at=self._trained_at(),
            points=points,
            points_between=points_between,
            percent=_percent,
            cell=_cell,
            **more,
        )
        return _whole(page)


def render_study(report: StudyReport) -> str:
    """Return the report of a study as text, every name escaped.

    >>> group = {"group": "f", "pool": 2, "labels": 0, "components": {}}
    >>> advice = {"proof": "", "verdict": "No model yet", "reason": "No labels yet."}
    >>> own = {"labels": 0, "budget": 4}
    >>> status = {"labels": 0, "without_audits": own, "rows": 4, "metric": "tprp", "tolerance": 0.1,
    ...           "groups": [group],
    ...           "history": [], "certificate": None, "audit": None, "people": [], "overlap": 1, "skipped": 0,
    ...           "agreement": {"rows": 0, "share": None, "alpha": None}, "open": 0, "strategy": "fare",
    ...           "story": None, "safety": None, "unseen": None, "classes": ["no", "yes"], "model": None,
    ...           "gap": None, "advice": advice}
    >>> "No labels yet" in render_study(StudyReport("loans", "Repaid?", "sex", status))
    True
    """
    return report.render("study.html.j2", figures=_study_figures(report))


def render_card(report: StudyReport) -> str:
    """Return the model card of a study that has a model, as one page."""
    promise = promise_sentence(report.settings["promise"])
    return report.render("card.html.j2", promise=promise, limits=CERTIFICATE_LIMITS)


def render_certificate(report: StudyReport) -> str:
    """Return the last certificate of a study as a page to print and to sign."""
    made = report.certificate
    if made is None:
        raise ValueError("the study has no certificate; audit its model first")
    return report.render(
        "certificate.html.j2",
        limits=CERTIFICATE_LIMITS,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _cell(text: str) -> str:
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _short(name: str) -> str:
    name = visible(name)
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _study_figures(report: StudyReport) -> dict[str, Markup]:
    status = report.status
    drawn: dict[str, Markup] = {}
    seen = [entry for entry in status["history"] if entry["estimate"]]
    if seen:
        curves = partial(
            draw_estimates,
            [entry["labels"] for entry in seen],
            np.array([_interval(entry["estimate"]["accuracy"]) for entry in seen]),
            np.array([_interval(entry["estimate"]["gap"]) for entry in seen]),
            tolerance=status["tolerance"],
            strategy=status["strategy"],
            audited=_audited(status),
        )
        drawn["curves"] = _figure(curves, "curves")
    if status["gap"] is not None:
        drawn |= _study_rates(status["gap"]["rates"], rate_words(status["classes"]))
    if len(report.moments) > 1:
        drawn["time"] = _figure(partial(draw_labels_over_time, report.moments), "time")
    if status["labels"]:
        names = [_short(group["group"]) for group in status["groups"]]
        spend = {name: dict(group["components"]) for name, group in zip(names, status["groups"], strict=True)}
        pool = {
            name: group["pool"] / status["rows"] for name, group in zip(names, status["groups"], strict=True)
        }
        draw = partial(draw_label_spend, {"labels": spend}, pool, names={"labels": ""})
        drawn["spend"] = _figure(draw, "spend")
    if report.drawn is not None:
        drawn["drawn"] = _figure(report.drawn, "drawn")
    return drawn


def _audited(status: Mapping[str, Any]) -> tuple[int, float, float, float] | None:
    gap = status["gap"]
    if gap is None or gap["by"] != "audit":
        return None
    return status["labels"] - status["without_audits"]["labels"], gap["value"], gap["low"], gap["high"]


def _interval(guess: Mapping[str, float] | None) -> list[float]:
    if guess is None:
        return [math.nan] * 3
    return [guess["value"], guess.get("low", guess["value"]), guess.get("high", guess["value"])]


def _study_rates(rates: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, Markup]:
    out = {}
    for i, condition in enumerate(dict.fromkeys(rate["condition"] for rate in rates)):
        known = [rate for rate in rates if rate["condition"] == condition]
        if any(rate["value"] is None for rate in known):
            continue
        figure = draw_rates(
            {"model": np.empty((0, len(known)))},
            {"model": np.array([_interval(rate) for rate in known])},
            [_short(rate["group"]) for rate in known],
            names[condition],
            {"model": ""},
        )
        figure.axes[0].set_ylim(len(known) - 0.4, -0.6)
        figure.axes[0].set_xlim(-0.02, 1.02)  # groups that are alike look alike
        figure.axes[0].xaxis.set_major_formatter(in_percent)
        out[f"rates{i}"] = svg(figure, f"rates{i}")
    return out
