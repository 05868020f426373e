"""``fairask new``: make a study of a table of unlabelled rows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._study import me, say, without_password

if TYPE_CHECKING:
    from fairask.study import Config, PoolReference, Study

__all__ = ["EXAMPLE", "new"]

EXAMPLE = "fairask new loans.csv --classes bad,good --protected sex --to loans"

Pool = Annotated[
    str,
    typer.Argument(
        help="The unlabelled rows: CSV, TSV, Parquet or Label Studio's JSON; a folder of Parquet files, "
        "or a URL of Parquet (s3://...)."
    ),
]


def new(
    pool: Pool,
    protected: opt.Protected,
    classes: Annotated[str, typer.Option(help="The two answers, the positive one last: bad,good")] = "0,1",
    question: Annotated[str, typer.Option(help="What annotators are asked.")] = "Which class is this?",
    tolerance: opt.Tolerance = 0.1,
    budget: Annotated[
        int | None, typer.Option(help=f"Labels to spend; default {opt.BUDGET}, or the pool.")
    ] = None,
    metric: opt.Metric = "tprp",
    strategy: Annotated[str, typer.Option(help="How rows are chosen.")] = "fare",
    profile: opt.Profile = "calibrated",
    stop: Annotated[
        str, typer.Option(help="Also stop by this rule: plateau, plateau:ROUNDS, plateau:ROUNDS:BY.")
    ] = "",
    batch: opt.Batch = opt.BATCH,
    overlap: Annotated[int, typer.Option(help="People who answer each row.")] = 1,
    lease: Annotated[
        float, typer.Option(help="Seconds after which an unanswered row goes to another person.")
    ] = 300.0,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", "--hide", help="Columns neither shown nor learned from: a,b (or repeat it)."),
    ] = None,
    encoding: opt.Encoding = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    thousands: opt.Thousands = None,
    sheet: opt.Sheet = None,
    vectors: opt.Vectors = None,
    text: opt.Text = None,
    text_model: opt.TextModel = None,
    words: Annotated[
        Path | None, typer.Option(help="Column dictionary, JSON: titles, units, values.")
    ] = None,
    show_protected: Annotated[
        bool, typer.Option("--show-protected", help="Annotators see the protected attribute.")
    ] = False,
    use_protected: opt.UseProtected = opt.USE_PROTECTED,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same first rows.")] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--copy",
            help="Leave the pool where it is, or copy it; default copy, but a URL or a large one stays.",
        ),
    ] = None,
    device: opt.Device = None,
    to: Annotated[
        str | None,
        typer.Option(help="Folder or postgresql:// URL; default the pool's name.", callback=without_password),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Make a study of a table of unlabelled rows."""
    from fairask.cli._passes import passes
    from fairask.data import TableFormat, TextColumns
    from fairask.pools import check_device
    from fairask.pools.places import name_of
    from fairask.study import PoolReference, Study, choose_pool

    if device is not None:
        check_device(device)
    form = TableFormat(encoding, delimiter, decimal, thousands, sheet, vectors)
    notes: list[str] = []
    target = to or name_of(pool)
    dictionary = None if words is None else _read_words(words)
    settings: dict[str, object] = {} if budget is None else {"budget": budget}
    with passes(quiet=as_json) as progress:
        table = choose_pool(pool, stream, form=form, notes=notes, progress=progress)
        study = Study.create(
            target,
            table,
            protected=protected,
            who=me(None),
            classes=tuple(name.strip() for name in classes.split(",")),
            question=question,
            tolerance=tolerance,
            metric=metric,
            strategy=strategy,
            profile=profile,
            stopping=stop or None,
            batch_size=batch,
            overlap=overlap,
            lease_seconds=lease,
            show_protected=show_protected,
            use_protected=use_protected,
            hide=_columns(drop or [], table.column_names),
            words=dictionary,
            text=TextColumns(text or (), text_model),
            random_state=seed,
            device=device,
            **settings,
        )
    with study:
        reference = table if isinstance(table, PoolReference) else None
        data = {"study": target, "streamed": reference is not None, "config": _shown(study.config)}
        say(
            as_json,
            data,
            "\n".join([*(f"note: {note}" for note in notes), _describe(study, target, reference)]),
        )


def _shown(config: Config) -> dict[str, object]:
    """Return the settings without the encoder, which may hold a whole vocabulary."""
    return {name: value for name, value in config.to_dict().items() if name != "encoder"}


def _columns(given: list[str], known: list[str]) -> list[str]:
    return [name for words in given for name in ([words] if words in known else words.split(","))]


def _read_words(file: Path) -> dict[str, dict[str, object]]:
    from fairask.study import StudyError

    try:
        words: dict[str, dict[str, object]] = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise StudyError(f"{file.name} is not JSON ({error}); see docs/study.md") from error
    return words


def _describe(study: Study, target: str, reference: PoolReference | None) -> str:
    import numpy as np

    from fairask.certify.questions import QUESTIONS
    from fairask.data import Encoder
    from fairask.data.groups import group_notes
    from fairask.data.leaks import group_leaks
    from fairask.data.positive import CHECK, known_positive

    config = study.config
    groups: dict[Hashable, int] = {g["group"]: int(g["pool"]) for g in study.status()["groups"]}
    sizes = ", ".join(f"{group} {n:,}" for group, n in groups.items())
    negative, positive = config.classes
    words = QUESTIONS[config.learner.metric].words.rstrip(",")
    lines = [
        f"Study {target}: {config.rows:,} rows, groups by {config.grouped_by}: {sizes}",
        f"Goal: a {words} of at most {config.learner.tolerance:g} (--metric {config.learner.metric}, "
        f"--tolerance {config.learner.tolerance:g})",
        f"Labels: {config.budget:,} in batches of {config.learner.batch_size:,}; {positive!r} counts as "
        f"positive, {negative!r} as negative",
    ]
    if known_positive(config.classes) == negative:
        turned = shlex.quote(f"{positive},{negative}")
        lines.append(
            f"{CHECK}the last of --classes is the positive one; if that is {negative!r}: --classes {turned}"
        )
    lines += [f"note: {note}" for note in group_notes(config.grouped_by, groups)]
    encoder = study.rows.encoder
    if isinstance(encoder, Encoder):
        shown = {column.name for column in config.columns if column.role == "shown"}
        why = [f"{name!r} ({reason})" for name, reason in encoder.left_out.items() if name in shown]
        lines += [f"Shown but not learned from: {', '.join(why[:10])}"] if why else []
        lines += [
            f"note: {note}" for note in encoder.notes() if "text" in note and "were left out" not in note
        ]
        X, named = study.rows.given
        if named is not None and isinstance(X, np.ndarray) and not config.use_protected:
            lines += [f"note: {note}" for note in group_leaks(X, named, encoder.feature_names_out)]
    if reference is None:
        lines.append("The pool was copied into the study")
    else:
        files = f"{len(reference.files):,} file{'s' if len(reference.files) > 1 else ''}"
        size = sum(file.bytes for file in reference.files)
        lines.append(f"The pool stays at {reference.uri} ({files}, {size:,} bytes): keep it there, unchanged")
    return "\n".join([*lines, f"Next: fairask ask {target}    or    fairask studio {target}"])
