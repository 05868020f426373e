"""``fairask audit``: certify any model from its predictions, with as few labels as possible."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairask.cli import _options as opt
from fairask.cli._errors import WrongUse

__all__ = ["audit", "register"]

#: What an audit is begun with where an option is not given.
DEFAULTS: dict[str, Any] = {
    "metric": "tprp",
    "alpha": 0.1,
    "delta": 0.05,
    "budget": 1000,
    "looks": 5,
    "target": "pool",
    "seed": 0,
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


def audit(
    pool: Annotated[
        str, typer.Argument(help="A CSV or Parquet file, a folder of Parquet files, or a URL (s3://...).")
    ],
    predictions: Annotated[
        str | None, typer.Option(help="The model's predictions: 0/1, classes, or probabilities of 1.")
    ] = None,
    protected: Annotated[
        str | None, typer.Option(help="The column whose groups are to be treated alike.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="A file of labelled rows: goes on with the audit in --out.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A column of known labels: simulates the audit, and writes nothing.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The class that counts as 1.")] = None,
    metric: Annotated[str | None, typer.Option(help="tprp, fprp, eo or dp; default tprp.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Difference to certify; default 0.1.")] = None,
    delta: Annotated[float | None, typer.Option(help="Probability of error; default 0.05.")] = None,
    budget: Annotated[int | None, typer.Option(help="Most labels to ask for; default 1000.")] = None,
    looks: Annotated[int | None, typer.Option(help="Batches of labels; default 5.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Whose difference decides: pool or population; default pool.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Audits to simulate, with --label.")] = 500,
    seed: Annotated[int | None, typer.Option(help="The same seed asks for the same rows; default 0.")] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Count predictions where they are; default so for a URL, or above a million rows.",
        ),
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV file, e.g. latin-1; default utf-8.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The audit's folder; default NAME.audit beside the pool.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the outcome only.")] = False,
    as_json: opt.Json = False,
    no_color: opt.NoColor = False,
) -> None:
    """Certify a model's fairness: write rows to label, take labels, write the certificate."""
    given = {
        "metric": metric,
        "alpha": alpha,
        "delta": delta,
        "budget": budget,
        "looks": looks,
        "target": target,
        "seed": seed,
    }
    _check(given, runs)
    columns = {"predictions": predictions, "protected": protected, "positive": positive}
    screen = _Screen(quiet, as_json, no_color)
    if label is not None:
        for name, value in (("labels", labels), ("out", out), ("target", target)):
            if value is not None:
                raise WrongUse(
                    f"--label simulates audits of the pool, so --{name} has no place beside it",
                    f"Leave out --{name}, or --label",
                )
        from fairask.cli._audit_simulate import simulate

        simulate(pool, label, columns, _filled(given), runs, encoding or "utf-8", screen)
        return
    from fairask.cli._audit_steps import Streaming, step
    from fairask.cli._passes import passes

    with passes(quiet=quiet or as_json) as progress:
        step(pool, labels, columns, given, encoding, out, screen, Streaming(stream, progress))


class _Screen:
    """Where the command speaks: to people, to programs (JSON), or hardly at all."""

    def __init__(self, quiet: bool, json: bool, no_color: bool) -> None:
        from fairask.cli._screen import console

        self.json, self._quiet = json, quiet
        self._console = console(no_color=no_color)

    def say(self, text: Any = "", *, always: bool = False, style: str | None = None) -> None:
        """Print for people; ``always`` also when quiet."""
        if not self.json and (always or not self._quiet):
            self._console.print(text, style=style, markup=False)

    def data(self, values: dict[str, Any]) -> None:
        """Print for programs, if that was asked for."""
        if self.json:
            import json

            print(json.dumps(values, indent=1, allow_nan=False))


def _filled(given: dict[str, Any]) -> dict[str, Any]:
    return {name: DEFAULTS[name] if value is None else value for name, value in given.items()}


def _check(given: dict[str, Any], runs: int) -> None:
    from fairask.certify.audit.plan import TARGETS
    from fairask.errors import suggest
    from fairask.metrics import METRICS

    settings = _filled(given)
    for name, known in (("metric", METRICS), ("target", TARGETS)):
        if settings[name] not in known:
            raise WrongUse(
                f"unknown {name} {settings[name]!r}", f"--{name}: {suggest(settings[name], list(known))}"
            )
    for name in ("alpha", "delta"):
        if not 0 < settings[name] < 1:
            raise WrongUse(
                f"--{name} {settings[name]:g} is not between 0 and 1", f"Give e.g. {DEFAULTS[name]:g}"
            )
    for name, value, least in (
        ("budget", settings["budget"], 1),
        ("looks", settings["looks"], 1),
        ("seed", settings["seed"], 0),
        ("runs", runs, 1),
    ):
        if value < least:
            raise WrongUse(f"--{name} {value} is too small", f"Give a whole number, {least} or more")
