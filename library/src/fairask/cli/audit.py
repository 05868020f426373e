"""``fairask audit``: certify any model from its predictions, with as few labels as possible."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli import _options as opt
from fairask.cli._command import takes_options
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.audit.plan import AuditPlan
    from fairask.audit.signature import OwnerKey
    from fairask.cli._screen import Screen

EXAMPLE = """fairask audit scored.csv --predictions score --protected sex
fairask audit scored.csv --tell scored.audit/rows-1.csv
fairask audit tested.csv --predictions score --protected sex --known repaid
fairask audit history.csv --predictions score --protected sex --truth repaid"""

#: Exit code of the command for each verdict; 3 also while labels are awaited, so that 0 means certified.
EXIT_CODES = {"certified": 0, "refuted": 1, "undecided": 3}

#: Simulated audits are held in memory together.
_MOST_RUNS = 100_000


def _option(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


def _flag(name: str, text: str) -> Any:
    return typer.Option(name, help=text)


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """The options of ``fairask audit``."""

    pool: Annotated[
        str, typer.Argument(help="A CSV or Parquet file, a folder of Parquet files, a URL, or URL#TABLE.")
    ]
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
    judge: Annotated[
        list[str] | None,
        _option("A judge's answers: COLUMN or COLUMN,CONFIDENCE; repeat it for several. People still label."),
    ] = None
    cost: Annotated[str | None, _option("A column with the cost of a label; --budget is a cost then.")] = None
    known: Annotated[
        str | None,
        _option("A column of labels, of all rows or of a random part: decides at once, asks for none."),
    ] = None
    not_random: Annotated[
        bool,
        _flag("--not-random", "The rows with known labels were not drawn at random: asks for others."),
    ] = False
    observed: Annotated[
        str | None,
        _option("A column of outcomes that exist because rows were accepted: only others are asked for."),
    ] = None
    missing: Annotated[
        str | None, _option("Accepted rows without an outcome: worst (default), or random if they are.")
    ] = None
    noise: Annotated[str | None, _option("Share of wrong labels: 0.05, or a=0.1,b=0.02-0.05.")] = None
    answers: Annotated[
        str | None,
        _option("A file of people's answers (row, person, answer, group, truth): learns wrong labels."),
    ] = None
    opinions: Annotated[
        int | None, _option("With --answers: people whose answers make one label; default 1.")
    ] = None
    missing_groups: Annotated[
        str | None,
        _option("Rows without a group: drop, own (a group, the default), or unknown (of any: bounds allow)."),
    ] = None
    plan_only: Annotated[
        bool, _flag("--plan", "Say what budgets buy, and write nothing (--out: a plot).")
    ] = False
    tolerance: Annotated[float | None, _option("Difference to certify; default 0.1.")] = None
    delta: Annotated[float | None, _option("Probability of error; default 0.05.")] = None
    budget: Annotated[int | None, _option("Most labels to ask for; default 1000.")] = None
    looks: Annotated[int | None, _option("Batches of labels; default 5.")] = None
    target: Annotated[
        str | None, _option("Whose difference decides: pool (default), or population (default with --known).")
    ] = None
    runs: Annotated[int, typer.Option(help="Audits to simulate, with --truth.")] = 500
    seed: Annotated[int | None, _option("The same seed asks for the same rows; default 0.")] = None
    reading: opt.Reading
    sign: Annotated[
        Path | None, _option("Sign with this private key; its register counts audits of the same model.")
    ] = None
    out: Annotated[Path | None, _option("The audit's folder; default NAME.audit beside the pool.")] = None
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the outcome only.")] = False
    as_json: opt.Json = False
    no_color: opt.NoColor = False

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of the plan that were given."""
        given = {
            "metric": self.metric, "tolerance": self.tolerance, "delta": self.delta, "budget": self.budget,
            "looks": self.looks, "target": self.target, "random_state": self.seed, "compare": self.compare,
            "also": self.also or None,
        }  # fmt: skip
        if self.at_least is not None:
            if not (self.metric or "").endswith("-ratio") or self.tolerance is not None:
                raise UserError(
                    "--at-least is for a ratio, and instead of --tolerance",
                    "Give --metric tpr-ratio, fpr-ratio or selection-ratio with it",
                )
            if not 0 < self.at_least < 1:
                raise UserError(
                    f"--at-least {self.at_least:g} is no ratio between 0 and 1", "Give one, such as 0.8"
                )
            given["tolerance"] = round(1 - self.at_least, 12)
        return {name: value for name, value in given.items() if value is not None}

    @property
    def columns(self) -> dict[str, Any]:
        """The columns and how they are read; None where not given."""
        models = self.predictions or []
        if len(models) > 1:
            raise UserError(
                f"--predictions names {len(models)} columns, and an audit is of one model",
                "Give each model an audit of its own (--out), or several to fairask.audit.Audit",
            )
        protected, positive = (
            v[0] if v and len(v) == 1 else v or None for v in (self.protected, self.positive)
        )
        return {
            "predictions": models[0] if models else None, "protected": protected, "positive": positive,
            "score": self.score, "cost": self.cost, "known": self.known, "noise": self.noise,
            "observed": self.observed, "missing": self.missing, "judge": self.judge or None,
            "missing_groups": self.missing_groups, "answers": self.answers, "opinions": self.opinions,
        }  # fmt: skip

    def plan(self) -> AuditPlan:
        """Return the plan; raise UserError, by the option's name, for one that cannot be."""
        from fairask.audit.plan import AuditPlan
        from fairask.checks import check_count

        settings = self.settings
        try:
            check_count(self.runs, "runs", most=_MOST_RUNS)
            return AuditPlan(**settings)
        except ValueError as error:
            what, _, remedy = str(error).partition("; ")
            raise UserError(
                f"--{what.replace('random_state=', 'seed=')}", remedy or "See fairask audit --help"
            ) from error


@takes_options
def audit(options: AuditOptions) -> None:
    """Certify a model's fairness: write rows to label, take labels, write the certificate."""
    from fairask.cli._screen import Screen

    screen, plan = Screen(options.quiet, options.as_json, options.no_color), options.plan()
    if options.not_random and options.known is None:
        raise UserError(
            "--not-random is about labels that --known names",
            "Give --known COLUMN with it, or leave out --not-random",
        )
    if options.plan_only:
        _plan(options, plan, screen)
    elif options.truth is not None:
        _simulate(options, plan, screen)
    elif options.known is not None and not options.not_random and options.tell is None:
        _decide(options, screen)
    else:
        _advance(options, screen)


def _needed(options: AuditOptions) -> dict[str, Any]:
    """Return the columns that were given; raise unless predictions and groups are among them."""
    given = {name: value for name, value in options.columns.items() if value is not None}
    if not {"predictions", "protected"} <= given.keys():
        raise UserError("--predictions and --protected are needed", "See fairask audit --help")
    return given


def _plan(options: AuditOptions, plan: AuditPlan, screen: Screen) -> None:
    """Say what budgets would buy."""
    from fairask.audit.predictions import open_audit_table

    columns = _needed(options)
    for name in ("cost", "known", "observed", "noise", "answers"):
        if name in columns:
            raise UserError(f"--plan does not allow for --{name}", f"Leave out --{name} or --plan")
    form, seed = options.reading.format(), plan.random_state
    table = open_audit_table(options.pool, form=form, seed=seed, **columns)
    table.source.close()
    found = table.plan(plan, min(options.runs, 500))
    if options.out is not None:
        from fairask.report.figures import draw_budgets  # matplotlib is slow to import

        draw_budgets(found).savefig(options.out, bbox_inches="tight")
    notes = [*table.hints, *table.notes]
    screen.data({**found.to_dict(), "notes": notes})
    screen.notes(notes)
    screen.say(str(found), always=True)


def _simulate(options: AuditOptions, plan: AuditPlan, screen: Screen) -> None:
    """Say what such audits would come to."""
    from fairask.audit.plan import QUESTIONS
    from fairask.audit.predictions import open_audit_table

    for name, value in (("tell", options.tell), ("out", options.out), ("target", options.target)):
        if value is not None:
            raise UserError(
                f"--truth simulates audits of the pool, so --{name} cannot be combined with it",
                f"Leave out --{name}, or --truth",
            )
    columns = _needed(options)
    if not QUESTIONS[plan.metric].labels:
        raise UserError(
            "demographic parity needs no labels, so there is nothing to simulate",
            "Leave out --truth: the certificate is written at once",
        )
    form, seed = options.reading.format(), plan.random_state
    table = open_audit_table(options.pool, truth=options.truth, form=form, seed=seed, **columns)
    table.source.close()
    found = table.simulate(plan, options.runs)
    notes = [*table.hints, *table.notes]
    screen.data({"rows": table.rows, **plan.to_dict(), **found.to_dict(), "notes": notes})
    screen.say(f"{options.pool}: {table.rows:,} rows, groups by {columns['protected']}", style="bold")
    screen.notes(notes)
    screen.outcome(found)


def _decide(options: AuditOptions, screen: Screen) -> None:
    """Decide from labels that exist; end with the exit code of the verdict."""
    from fairask.audit.folder import KnownLabels

    for name in (
        "budget",
        "looks",
        "compare",
        "cost",
        "noise",
        "answers",
        "show",
        "missing_groups",
        "judge",
        "observed",
    ):
        if getattr(options, name) not in (None, False):
            option = name.replace("_", "-")
            raise UserError(
                f"--known decides from labels that exist, and --{option} is for audits that ask for labels",
                f"Leave out --{option}; or say --not-random, and other labels are asked for",
            )
    work = KnownLabels.open(
        options.pool,
        options.columns,
        options.settings,
        folder=options.out,
        form=options.reading.format(),
        key=_key(options),
    )
    found = work.decide()
    screen.say(work.about(), style="bold")
    notes = [*work.table.hints, *work.pool["notes"]]
    screen.notes(notes)
    screen.outcome(found)
    screen.data({**found.to_dict(), "notes": notes})
    if code := EXIT_CODES[found.verdict]:
        raise typer.Exit(code)


def _key(options: AuditOptions) -> OwnerKey | None:
    """Read the key that signs, before the work."""
    from fairask.audit.signature import OwnerKey

    return None if options.sign is None else OwnerKey.read(options.sign)


def _advance(options: AuditOptions, screen: Screen) -> None:
    """Begin the audit or go on with it; end with the exit code of its verdict."""
    from fairask.audit.folder import AuditFolder, Decided

    tell = options.tell
    work = AuditFolder.open(
        options.pool,
        options.columns,
        options.settings,
        folder=options.out,
        form=options.reading.format(),
        show=options.show or (),
        begin=tell is None,
        key=_key(options),
    )
    new, corrected = (
        (0, 0) if tell is None else work.tell(tell, unchecked=options.unchecked, correct=options.correct)
    )
    screen.say(work.about(), style="bold")
    screen.notes([*work.hints, *work.notes])
    if tell is not None:
        changed = f" {corrected:,} changed;" if corrected else ""
        screen.say(f"{new:,} new labels;{changed} {work.audit.n_labels:,} in all.")
        if work.audit.trial is not None:
            screen.say(str(work.audit.trial))
    found = work.advance()
    work.source.close()
    screen.outcome(found)
    screen.data({**found.to_dict(), "notes": [*work.hints, *work.notes]})
    if code := EXIT_CODES[found.verdict if isinstance(found, Decided) else "undecided"]:
        raise typer.Exit(code)
