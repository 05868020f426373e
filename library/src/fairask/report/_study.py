"""From a study to one self-contained page."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.audit import Certificate
from fairask.plotting import (
    METRIC_NAMES,
    DrawnRowsDisplay,
    EstimateCurvesDisplay,
    GroupRatesDisplay,
    LabelsOverTimeDisplay,
    LabelSpendDisplay,
)
from fairask.report._page import ON_DARK, svg, template

if TYPE_CHECKING:
    from markupsafe import Markup

#: matplotlib's settings are the process's own, and several owners may ask for a report at once.
_DRAWING = threading.Lock()
_CONDITIONS = {"y=1": "true positive rate", "y=0": "false positive rate", "all": "selection rate"}
_LONGEST = 60


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
    drawn : DrawnRowsDisplay or None
        Where the drawn rows lie.
    settings : dict of str to str
        For the table at the end.
    commands : list of tuple of str
        How to make this again: words, and what to type.
    """

    title: str
    question: str
    protected: str
    status: Mapping[str, Any]
    moments: Sequence[float] = ()
    drawn: DrawnRowsDisplay | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[tuple[str, str]] = ()

    @property
    def estimate(self) -> Mapping[str, Any] | None:
        """The last model's estimates, None while there are too few labels."""
        history = self.status["history"]
        found: Mapping[str, Any] | None = history[-1]["estimate"] if history else None
        return found

    @property
    def certificate(self) -> Certificate | None:
        """The last certificate."""
        made = self.status["certificate"]
        if made is None:
            return None
        return Certificate.from_dict(made)

    def verdict(self) -> str:
        """One sentence: how many labels, how accurate, and how fair as far as is known.

        Examples
        --------
        >>> status = {"labels": 0, "budget": 250, "history": [], "certificate": None}
        >>> StudyReport("loans", "Repaid?", "sex", status).verdict()
        'No labels yet: the first batch is uniform, so that nothing is assumed.'
        """
        status, guess = self.status, self.estimate
        if not status["labels"]:
            return "No labels yet: the first batch is uniform, so that nothing is assumed."
        if guess is None:
            return f"{status['labels']:,} labels are too few to estimate accuracy or violation."
        trained = status["history"][-1]["labels"]  # labels of an audit train nothing
        head = (
            f"With {trained:,} labels the model is right for about {100 * guess['accuracy']['value']:.1f} %"
        )
        gap = guess["violation"]
        if gap is None:
            return f"{head}; a group has too few labels to estimate the violation."
        limit = status["tolerance"]
        words = f"whether that is within {limit:g} is not known yet"
        if gap["high"] <= limit:
            words = f"that is within {limit:g}"
        elif gap["low"] > limit:
            words = f"that is above {limit:g}"
        return f"{head}; its {METRIC_NAMES[status['metric']]} is about {gap['value']:.3f}: {words}."


def render_study(report: StudyReport) -> str:
    """Return the page as text: no scripts, nothing from the network, every name escaped.

    Examples
    --------
    >>> group = {"group": "f", "pool": 2, "labels": 0, "components": {}}
    >>> status = {"labels": 0, "budget": 4, "rows": 4, "metric": "tprp", "tolerance": 0.1, "groups": [group],
    ...           "history": [], "certificate": None, "audit": None, "people": [], "overlap": 1, "skipped": 0,
    ...           "agreement": {"rows": 0, "share": None, "alpha": None}, "open": 0, "strategy": "fare",
    ...           "story": None, "safety": None}
    >>> "No labels yet" in render_study(StudyReport("loans", "Repaid?", "sex", status))
    True
    """
    with _DRAWING:
        figures = _figures(report)
    return str(
        template("study.html.j2").render(
            r=report,
            s=report.status,
            palette=ON_DARK,
            figures=figures,
            metric_name=METRIC_NAMES[report.status["metric"]],
            conditions=_CONDITIONS,
        )
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _figures(report: StudyReport) -> dict[str, Markup]:
    status = report.status
    drawn: dict[str, Markup] = {}
    seen = [entry for entry in status["history"] if entry["estimate"]]
    if seen:
        curves = EstimateCurvesDisplay.from_rounds(
            [entry["labels"] for entry in seen],
            [_interval(entry["estimate"]["accuracy"]) for entry in seen],
            [_interval(entry["estimate"]["violation"]) for entry in seen],
            status["tolerance"],
            metric=status["metric"],
            strategy=status["strategy"],
        )
        drawn["curves"] = svg(curves.plot().figure_, "curves")
        drawn |= _rates(seen[-1]["estimate"]["rates"])
    if len(report.moments) > 1:
        drawn["time"] = svg(LabelsOverTimeDisplay.from_seconds(report.moments).plot().figure_, "time")
    if status["labels"]:
        names = [_short(group["group"]) for group in status["groups"]]
        spend = {name: dict(group["components"]) for name, group in zip(names, status["groups"], strict=True)}
        pool = {
            name: group["pool"] / status["rows"] for name, group in zip(names, status["groups"], strict=True)
        }
        display = LabelSpendDisplay.from_counts({"labels": spend}, pool, names={"labels": ""})
        drawn["spend"] = svg(display.plot().figure_, "spend")
    if report.drawn is not None:
        drawn["drawn"] = svg(report.drawn.plot().figure_, "drawn")
    return drawn


def _interval(guess: Mapping[str, float] | None) -> list[float]:
    return [math.nan] * 3 if guess is None else [guess["value"], guess["low"], guess["high"]]


def _rates(rates: Sequence[Mapping[str, Any]]) -> dict[str, Markup]:
    out = {}
    for i, condition in enumerate(dict.fromkeys(rate["condition"] for rate in rates)):
        known = [rate for rate in rates if rate["condition"] == condition]
        if any(rate["value"] is None for rate in known):
            continue
        values = np.array([_interval(rate) for rate in known])
        title = _CONDITIONS[condition]
        display = GroupRatesDisplay(
            trials={"model": np.empty((0, len(known)))},
            means={"model": values[:, 0]},
            intervals={"model": values[:, 1:]},
            groups=[_short(rate["group"]) for rate in known],
            title=title,
            names={"model": ""},
        )
        display.plot().ax_.set_ylim(len(known) - 0.4, -0.6)
        out[f"rates{i}"] = svg(display.figure_, f"rates{i}")
    return out
