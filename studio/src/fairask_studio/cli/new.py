"""``fairask new``: make a study of a table of unlabelled rows."""

from __future__ import annotations

import shlex
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli import _options as opt
from fairask.cli._command import takes_options
from fairask.cli._options import say
from fairask.defaults import BATCH, BUDGET
from fairask_studio.cli.options import me, without_password

if TYPE_CHECKING:
    from fairask_studio import Study

EXAMPLE = "fairask new loans.csv --classes bad,good --protected sex --to loans"


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """The options of ``fairask new``."""

    pool: Annotated[
        str,
        typer.Argument(
            help="The unlabelled rows: CSV, TSV, Parquet or Label Studio's JSON; a folder of Parquet files, "
            "or a URL of Parquet (s3://...)."
        ),
    ]
    protected: opt.Protected
    classes: Annotated[str, typer.Option(help="The two answers, the positive one last: bad,good")] = "0,1"
    question: Annotated[str, typer.Option(help="What annotators are asked.")] = "Which class is this?"
    tolerance: opt.Tolerance = 0.1
    budget: Annotated[int | None, typer.Option(help=f"Labels to spend; default {BUDGET}, or the pool.")] = (
        None
    )
    metric: opt.Metric = "tprp"
    strategy: Annotated[str, typer.Option(help="How rows are chosen.")] = "fare"
    profile: opt.Profile = "calibrated"
    promise: opt.Promise = "prior"
    randomized: opt.Randomized = False
    stop: Annotated[
        str, typer.Option(help="Also stop by this rule: plateau, plateau:ROUNDS, plateau:ROUNDS:BY.")
    ] = ""
    batch: opt.Batch = BATCH
    overlap: Annotated[int, typer.Option(help="People who answer each row.")] = 1
    lease: Annotated[
        float, typer.Option(help="Seconds after which an unanswered row goes to another person.")
    ] = 300.0
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="Columns neither shown nor learned from: a,b (or repeat it)."),
    ] = None
    keep: opt.Keep = None
    reading: opt.ReadingWithVectors
    text: opt.Text = None
    text_model: opt.TextModel = None
    missing_groups: opt.MissingGroups = None
    words: Annotated[Path | None, typer.Option(help="Column dictionary, JSON: titles, units, values.")] = None
    show_protected: Annotated[
        bool, typer.Option("--show-protected", help="Annotators see the protected attribute.")
    ] = False
    use_protected: opt.UseProtected = opt.USE_PROTECTED
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same first rows.")] = None
    sample: Annotated[
        int | None, typer.Option(help="Rows of the pool at most: a larger table is sampled once.")
    ] = None
    to: Annotated[
        str | None,
        typer.Option(help="Folder or postgresql:// URL; default the pool's name.", callback=without_password),
    ] = None
    as_json: opt.Json = False

    def settings(self) -> dict[str, Any]:
        """Return what :meth:`fairask_studio.Study.create` takes besides the pool's columns."""
        from fairask.tables import TextColumns
        from fairask_studio.pool import read_words

        return {
            "protected": self.protected,
            "classes": tuple(name.strip() for name in self.classes.split(",")),
            "question": self.question,
            "tolerance": self.tolerance,
            "metric": self.metric,
            "strategy": self.strategy,
            "profile": self.profile,
            "promise": self.promise,
            "randomized": self.randomized,
            "stopping": self.stop or None,
            "batch_size": self.batch,
            "overlap": self.overlap,
            "lease_seconds": self.lease,
            "show_protected": self.show_protected,
            "use_protected": self.use_protected,
            "words": None if self.words is None else read_words(self.words),
            "text": TextColumns(self.text or (), self.text_model),
            "missing_groups": self.missing_groups,
            "random_state": self.seed,
            **({} if self.budget is None else {"budget": self.budget}),
        }


@takes_options
def new(options: NewOptions) -> None:
    """Make a study of a table of unlabelled rows."""
    from fairask.pools.files import name_of
    from fairask.pools.sample import SAMPLE
    from fairask.tables.labels import column_list
    from fairask_studio import Study
    from fairask_studio.pool import read_pool, with_groups

    settings, target = options.settings(), options.to or name_of(options.pool)
    pool = read_pool(
        options.pool,
        form=options.reading.format(),
        sample=SAMPLE if options.sample is None else options.sample,
        random_state=options.seed or 0,
    )
    pool = with_groups(pool, options.protected, settings["missing_groups"])
    hide, keep = (column_list(given or [], pool.table.column_names) for given in (options.drop, options.keep))
    with Study.create(target, pool, who=me(None), hide=hide, keep=keep, **settings) as study:
        # The encoder may hold a whole vocabulary.
        shown = {name: value for name, value in study.config.to_dict().items() if name != "encoder"}
        data: dict[str, object] = {"study": target, "config": shown}
        lines = [*(f"note: {note}" for note in pool.notes), *introduce(study, target)]
        say(options.as_json, data, lines)


def introduce(study: Study, target: str) -> list[str]:
    """Describe a new study: its goal, its groups, and what its model does not learn from."""
    from fairask.audit.plan import QUESTIONS
    from fairask.report.words import goal_sentences, sampled_sentence
    from fairask.tables.groups import group_notes
    from fairask.tables.labels import GUESS, few_rows_note, known_positive
    from fairask_studio.pool import KEY

    config = study.config
    groups: dict[Hashable, int] = {g["group"]: int(g["pool"]) for g in study.status()["groups"]}
    sizes = ", ".join(f"{group} {n:,}" for group, n in groups.items())
    negative, positive = config.classes
    gap, learner = QUESTIONS[config.learner.metric].words.rstrip(","), config.learner
    lines = [
        f"Study {target}: {config.rows:,} rows, groups by {config.grouped_by}: {sizes}",
        *goal_sentences(
            gap, learner.metric, learner.tolerance, config.budget, learner.batch_size, config.classes
        ),
    ]
    if known_positive(config.classes) == negative:
        turned = shlex.quote(f"{positive},{negative}")
        lines.append(
            f"{GUESS}the last of --classes is the positive one; if that is {negative!r}: --classes {turned}"
        )
    lines += [f"note: {note}" for note in group_notes(config.grouped_by, groups)]
    if few := few_rows_note({str(group): n for group, n in groups.items()}, config.budget):
        lines.append(f"note: {few}")
    lines += _feature_lines(study)
    if config.sampled_from is None:
        lines.append("The pool was copied into the study")
    else:
        lines.append(sampled_sentence(config.rows, config.sampled_from, KEY))
    return [*lines, f"Next: fairask ask {target}    or    fairask studio {target}"]


def _feature_lines(study: Study) -> list[str]:
    """Say which columns the model does not learn from, and which tell the group."""
    import numpy as np

    from fairask.tables.leaks import group_leaks

    config, encoder = study.config, study.encoder
    shown = {column.name for column in config.columns if column.role == "shown"}
    why = [f"{name!r} ({reason})" for name, reason in encoder.left_out.items() if name in shown]
    lines = [f"Shown but not learned from: {', '.join(why[:10])}"] if why else []
    lines += [f"note: {note}" for note in encoder.notes() if "text" in note and "were left out" not in note]
    X, named = study.learner().pool.X, np.array(study.groups)[study.codes]
    if isinstance(X, np.ndarray) and not config.use_protected:
        lines += [f"note: {note}" for note in group_leaks(X, named, encoder.feature_names_out)]
    return lines
