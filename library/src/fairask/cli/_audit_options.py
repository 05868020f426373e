"""The options of ``fairask audit``, and what they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli import _options as opt
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.audit.request import AuditRequest
    from fairask.pools.runners import ProgressCallback


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, show_default=False)


def _flag(name: str, text: str) -> Any:
    return typer.Option(name, help=text)


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """The options of ``fairask audit``."""

    pool: Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of Parquet files, or a URL.")]
    predictions: Annotated[
        list[str] | None, _option("Predictions of one model: 0/1, classes, or probabilities of 1.")
    ] = None
    protected: Annotated[
        list[str] | None,
        _option("The column whose groups are to be treated alike (repeat; age:30,50 for bands)."),
    ] = None
    tell: Annotated[
        Path | None, _option("A sheet that was filled in: takes its labels and goes on with the audit.")
    ] = None
    unchecked: Annotated[
        bool, _flag("--unchecked", "Take labels by row number alone, without comparing rows.")
    ] = False
    correct: Annotated[
        bool, _flag("--correct", "Labels that differ from those told before replace them.")
    ] = False
    show: Annotated[
        list[str] | None,
        _option("Show this column to who labels: prediction, score, protected (or repeat it)."),
    ] = None
    truth: Annotated[
        str | None, _option("A column of known labels: simulates such audits, and writes nothing.")
    ] = None
    positive: Annotated[list[str] | None, _option("The class that counts as 1; repeat it for several.")] = (
        None
    )
    metric: Annotated[
        str | None,
        _option("tprp, fprp, eo, dp, tpr-ratio, fpr-ratio or selection-ratio; default tprp."),
    ] = None
    also: Annotated[list[str] | None, _option("Another metric to decide, e.g. fprp or fprp:0.15.")] = None
    at_least: Annotated[float | None, _option("Of a ratio: the least allowed, e.g. 0.8.")] = None
    compare: Annotated[str | None, _option("pairs (default), or rest: each group with all others.")] = None
    score: Annotated[str | None, _option("A column that may tell positives: fewer labels.")] = None
    cost: Annotated[str | None, _option("A column with the cost of a label; --budget is a cost then.")] = None
    known: Annotated[str | None, _option("A column of labels that exist already, empty elsewhere.")] = None
    noise: Annotated[str | None, _option("Share of wrong labels: 0.05, or a=0.1,b=0.02-0.05.")] = None
    unknown_groups: Annotated[
        bool, _flag("--unknown-groups", "Rows without a group may be of any group: the bounds allow for it.")
    ] = False
    plan_only: Annotated[
        bool, _flag("--plan", "Say what budgets buy, and write nothing (--out: a plot, SVG).")
    ] = False
    tolerance: Annotated[
        float | None, _option("Difference to certify; default 0.1.", "--tolerance", "--alpha")
    ] = None
    delta: Annotated[float | None, _option("Probability of error; default 0.05.")] = None
    budget: Annotated[int | None, _option("Most labels to ask for; default 1000.")] = None
    looks: Annotated[int | None, _option("Batches of labels; default 5.")] = None
    target: Annotated[str | None, _option("Whose difference decides: pool (default) or population.")] = None
    runs: Annotated[int, typer.Option(help="Audits to simulate, with --truth.")] = 500
    seed: Annotated[int | None, _option("The same seed asks for the same rows; default 0.")] = None
    stream: Annotated[
        bool | None,
        _option(
            "Count predictions where they are; default so for a URL, or above a million rows.",
            "--stream/--no-stream",
        ),
    ] = None
    device: Annotated[
        str | None, _option("Count a streamed table on this device of PyTorch: cuda, cuda:1, mps or cpu.")
    ] = None
    reading: opt.Reading
    out: Annotated[Path | None, _option("The audit's folder; default NAME.audit beside the pool.")] = None
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the outcome only.")] = False
    as_json: opt.Json = False
    no_color: opt.NoColor = False
    old_labels: Annotated[Path | None, typer.Option("--labels", hidden=True)] = None
    old_label: Annotated[str | None, typer.Option("--label", hidden=True)] = None

    def request(self, progress: ProgressCallback | None = None) -> AuditRequest:
        """Return what is asked of the audit's folder."""
        from fairask.audit.request import AuditRequest, with_least_ratio
        from fairask.pools import check_device

        if self.device is not None:
            check_device(self.device)
        models = self.predictions or []
        if len(models) > 1:
            raise UserError(
                f"--predictions names {len(models)} columns, and an audit is of one model",
                "Give each model an audit of its own (--out), or several to fairask.audit.Audit",
            )
        given = {
            "metric": self.metric, "tolerance": self.tolerance, "delta": self.delta, "budget": self.budget,
            "looks": self.looks, "target": self.target, "random_state": self.seed, "compare": self.compare,
            "also": self.also or None,
        }  # fmt: skip
        settings = {name: value for name, value in given.items() if value is not None}
        protected, positive = (
            v[0] if v and len(v) == 1 else v or None for v in (self.protected, self.positive)
        )
        return AuditRequest(
            self.pool,
            {
                "predictions": models[0] if models else None, "protected": protected, "positive": positive,
                "score": self.score, "cost": self.cost, "known": self.known, "noise": self.noise,
                "unknown_groups": "yes" if self.unknown_groups else None,
            },
            with_least_ratio(settings, self.at_least),
            self.out,
            self.reading.format(),
            True if self.stream is None and self.device is not None else self.stream,
            progress,
            tuple(self.show or ()),
            self.device,
        )  # fmt: skip

    def check_truth(self) -> None:
        """Raise UserError for options that simulated audits do not have."""
        for name, value in (("tell", self.tell), ("out", self.out), ("target", self.target)):
            if value is not None:
                raise UserError(
                    f"--truth simulates audits of the pool, so --{name} cannot be combined with it",
                    f"Leave out --{name}, or --truth",
                )
