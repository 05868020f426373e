"""A study from the terminal: new, ask, tell, status, export, correct, skip, repair, people."""

from __future__ import annotations

import getpass
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fairask.study import Study

__all__ = ["register", "study_commands"]

study_commands = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_Where = Annotated[str, typer.Argument(help="The study: a folder, or a postgresql:// URL.", metavar="STUDY")]
_Who = Annotated[str | None, typer.Option("--as", help="Who labels; default your login name.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the main app."""
    app.registered_commands.extend(study_commands.registered_commands)


def _opened(target: str) -> Study:
    from fairask.study import Study

    return Study.open(target)


def _me(who: str | None) -> str:
    return who or getpass.getuser()


def _say(as_json: bool, data: dict[str, Any], words: str) -> None:
    typer.echo(json.dumps(data, ensure_ascii=False) if as_json else words)


@study_commands.command("new")
def new(
    pool: Annotated[
        str,
        typer.Argument(
            help="The unlabelled rows: CSV, TSV, Parquet or Label Studio's JSON; a folder of Parquet files, "
            "or a URL of Parquet (s3://...)."
        ),
    ],
    protected: Annotated[str, typer.Option(help="Column of the protected attribute.")],
    classes: Annotated[str, typer.Option(help="The two answers, the positive one last: bad,good")] = "0,1",
    question: Annotated[str, typer.Option(help="What annotators are asked.")] = "Which class is this?",
    tolerance: Annotated[float, typer.Option(help="Largest difference between groups to stay within.")] = 0.1,
    budget: Annotated[int | None, typer.Option(help="Labels to spend; default 250, or the pool.")] = None,
    metric: Annotated[str, typer.Option(help="tprp, fprp, eo or dp.")] = "tprp",
    strategy: Annotated[str, typer.Option(help="How rows are chosen.")] = "fare",
    profile: Annotated[
        str,
        typer.Option(help="What the model is made of: calibrated, or paper for exactly the paper's oracle."),
    ] = "calibrated",
    stop: Annotated[
        str, typer.Option(help="Also stop by this rule: plateau, plateau:ROUNDS, plateau:ROUNDS:BY.")
    ] = "",
    batch: Annotated[int, typer.Option(help="Rows a batch.")] = 25,
    overlap: Annotated[int, typer.Option(help="People who answer each row.")] = 1,
    lease: Annotated[
        float, typer.Option(help="Seconds after which an unanswered row goes to another.")
    ] = 300.0,
    hide: Annotated[list[str] | None, typer.Option(help="Column neither shown nor learned from.")] = None,
    words: Annotated[
        Path | None, typer.Option(help="Column dictionary, JSON: titles, units, values.")
    ] = None,
    show_protected: Annotated[bool, typer.Option("--show-protected", help="Annotators see it.")] = False,
    use_protected: Annotated[bool, typer.Option("--use-protected", help="The model may use it.")] = False,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same first rows.")] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--copy",
            help="Leave the pool where it is, or copy it; default copy, but a URL or a large one stays.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Folder or postgresql:// URL; default the pool's name.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Make a study of a table of unlabelled rows."""
    from fairask.cli._passes import passes
    from fairask.pools.places import name_of
    from fairask.study import PoolReference, Study, StudyError, choose_pool

    target = to or name_of(pool)
    given: dict[str, Any] = {} if budget is None else {"budget": budget}
    dictionary = None
    if words is not None:
        try:
            dictionary = json.loads(words.read_text("utf-8"))
        except ValueError as error:
            raise StudyError(f"{words.name} is no JSON ({error}); see docs/study.md") from error
    with passes(quiet=as_json) as progress:
        table = choose_pool(pool, stream, progress=progress)
        made = Study.create(
            target,
            table,
            protected=protected,
            who=_me(None),
            classes=tuple(name.strip() for name in classes.split(",")),
            question=question,
            tolerance=tolerance,
            metric=metric,
            strategy=strategy,
            profile=profile,
            stop=stop,
            batch_size=batch,
            overlap=overlap,
            lease_seconds=lease,
            show_protected=show_protected,
            use_protected=use_protected,
            hide=hide or [],
            words=dictionary,
            random_state=seed,
            **given,
        )
    with made as study:
        config = study.config
        only_shown = [column.name for column in config.columns if column.role == "shown"]
        sizes = ", ".join(f"{g['group']} {g['pool']:,}" for g in study.status()["groups"])
        lines = [f"Study {target}: {config.rows:,} rows, groups by {protected}: {sizes}"]
        if only_shown:
            lines.append(
                "Shown but not learned from (identifiers, or too many different values): "
                + ", ".join(only_shown[:10])
            )
        streamed = isinstance(table, PoolReference)
        if streamed:
            files = f"{len(table.files):,} file{'s' if len(table.files) > 1 else ''}"
            lines.append(
                f"The pool stays at {table.uri} ({files}, {sum(f.bytes for f in table.files):,} bytes): "
                "keep it there, unchanged"
            )
        else:
            lines.append("The pool was copied into the study")
        lines.append(f"Next: fairask ask {target}    or    fairask studio {target}")
        data = {"study": target, "streamed": streamed, "config": config.to_dict()}
        _say(as_json, data, "\n".join(lines))


@study_commands.command("ask")
def ask(
    study: _Where,
    n: Annotated[int | None, typer.Option("-n", help="Rows; default a batch.")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="CSV, Parquet or JSON file to label.")
    ] = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="Write again what you hold, ask nothing new.")
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="Where the pool is now, if it was not copied and has moved.")
    ] = None,
    who: _Who = None,
    as_json: _Json = False,
) -> None:
    """Choose the rows to label next and write them to a file with an empty label column."""
    from fairask.cli._passes import passes
    from fairask.study import Study
    from fairask.study.files import write_rows

    with (
        passes(quiet=as_json) as progress,
        Study.open(study, pool=pool, moved_by=_me(who), progress=progress) as opened,
    ):
        rows = opened.store.pending(_me(who)) if pending else opened.ask(n, _me(who))
        path = out or Path(f"batch-{opened.state().batches}.csv")
        if rows:
            write_rows(path, [(row, opened.row(row)) for row in rows], opened.config)
        classes = " or ".join(opened.config.classes)
        words = (
            f"{len(rows)} rows in {path}\nFill in label ({classes}), then: fairask tell {study} {path}"
            if rows
            else _nothing(opened.state().stop_reason, study)
        )
        _say(as_json, {"rows": rows, "file": str(path) if rows else None}, words)


def _nothing(reason: str | None, study: str) -> str:
    if reason is not None:
        return f"Nothing to label: {reason}. To go on all the same: fairask stop {study} none"
    return "Nothing to label: the budget is spent, or others hold the rest (see fairask status)"


@study_commands.command("stop")
def stop(
    study: _Where,
    rule: Annotated[str, typer.Argument(help="plateau, plateau:ROUNDS, plateau:ROUNDS:BY, or none.")],
    who: _Who = None,
) -> None:
    """Change the rule that ends a study before its budget is spent."""
    with _opened(study) as opened:
        opened.change(stop="" if rule == "none" else rule, who=_me(who))
        reason = opened.state().stop_reason
    typer.echo(f"The study stops now: {reason}" if reason else "The study goes on")


@study_commands.command("tell")
def tell(
    study: _Where,
    file: Annotated[Path, typer.Argument(help="The labelled file; any order, in part, again: all fine.")],
    correct: Annotated[
        bool, typer.Option("--correct", help="Other labels than before replace them.")
    ] = False,
    who: _Who = None,
    as_json: _Json = False,
) -> None:
    """Read labels back; telling the same twice changes nothing."""
    from fairask.study.files import read_labels

    with _opened(study) as opened:
        told = read_labels(file)
        receipt = opened.tell(told.rows, told.labels, _me(who), notes=told.notes, correct=correct)
        fitted = opened.refit(force=receipt.corrected > 0)
        words = f"{receipt.new} new labels, {receipt.known} known already, {receipt.corrected} corrected"
        if fitted is not None:
            words += f"\nModel of round {fitted['round']} fitted on {fitted['labels']} labels"
        data = {"new": receipt.new, "known": receipt.known, "corrected": receipt.corrected, "fitted": fitted}
        _say(as_json, data, words)


@study_commands.command("correct")
def correct(
    study: _Where,
    row: Annotated[int, typer.Argument(help="Row number.")],
    label: Annotated[str, typer.Argument(help="The right label.")],
    who: _Who = None,
) -> None:
    """Replace the label of a row."""
    with _opened(study) as opened:
        opened.correct(row, label, _me(who))
        opened.refit(force=True)
        typer.echo(f"Row {row} is {label}")


@study_commands.command("skip")
def skip(
    study: _Where,
    rows: Annotated[list[int], typer.Argument(help="Row numbers.")],
    who: _Who = None,
) -> None:
    """Set aside rows that cannot be labelled."""
    with _opened(study) as opened:
        opened.skip(rows, _me(who))
        typer.echo(f"{len(rows)} rows skipped")


@study_commands.command("status")
def status(study: _Where, as_json: _Json = False) -> None:
    """Say where a study stands."""
    with _opened(study) as opened:
        now = opened.status()
    lines = [
        f"{now['labels']} of {now['budget']} labels, {now['open']} open, {now['skipped']} skipped, "
        f"{now['batches']} batches",
    ]
    for group in now["groups"]:
        drawn = ", ".join(f"{name} {n}" for name, n in group["components"].items()) or "none yet"
        lines.append(f"  {group['group']}: {group['labels']} labels of {group['pool']:,} rows ({drawn})")
    if now["stop_reason"]:
        lines.append(f"Stopped: {now['stop_reason']}")
    if now["history"]:
        lines.append(_model_line(now["history"][-1], now["tolerance"]))
    else:
        lines.append("No model yet: the first batch is uniform, so that nothing is assumed")
    _say(as_json, now, "\n".join(lines))


def _model_line(fitted: dict[str, Any], tolerance: float) -> str:
    guess = fitted["estimate"]
    if guess is None or guess["violation"] is None:
        return (
            f"Model of round {fitted['round']} on {fitted['labels']} labels: too few to estimate its accuracy"
        )
    accuracy, gap = guess["accuracy"], guess["violation"]
    return (
        f"Model of round {fitted['round']} on {fitted['labels']} labels: accuracy {accuracy['value']:.3f} "
        f"({accuracy['low']:.3f} to {accuracy['high']:.3f}), violation {gap['value']:.3f} "
        f"({gap['low']:.3f} to {gap['high']:.3f}), tolerance {tolerance}"
    )


@study_commands.command("export")
def export(
    study: _Where,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the files.")] = Path("export"),
    as_json: _Json = False,
) -> None:
    """Write labels with propensities, the event log, the settings, the report and the model (skops)."""
    from fairask.study import export as write

    with _opened(study) as opened:
        files = [str(path) for path in write(opened, out)]
        _say(as_json, {"files": files}, "\n".join(files))


@study_commands.command("repair")
def repair(
    study: _Where,
    check: Annotated[
        bool, typer.Option("--check", help="Only look; exit 1 when something is wrong.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Rebuild the queue of drawn rows from the event log, after somebody or a disk damaged it."""
    with _opened(study) as opened:
        found = opened.store.repair(change=not check)
    data = {**asdict(found), "sound": found.sound, "changed": not (check or found.sound)}
    wrong = (
        f"{found.missing} places missing, {found.foreign} of rows never drawn, {found.wrong} with other "
        "answers than the events say"
    )
    words = "The queue is what the events say" if found.sound else f"The queue was wrong: {wrong}"
    if not found.sound:
        words += (
            "\nNothing was changed" if check else f"\nRebuilt from the events; {found.leases} leases kept"
        )
    _say(as_json, data, words)
    if check and not found.sound:
        raise typer.Exit(1)


@study_commands.command("people")
def people(
    study: _Where,
    add: Annotated[str | None, typer.Option(help="Add somebody, or give them a new token.")] = None,
    role: Annotated[str, typer.Option(help="annotator or owner.")] = "annotator",
    remove: Annotated[str | None, typer.Option(help="Remove somebody; their labels stay.")] = None,
) -> None:
    """List, add or remove the people who may sign in to the studio."""
    with _opened(study) as opened:
        if add is not None:
            token = opened.people.add(add, role)
            typer.echo(f"{add} ({role}) signs in with this token, shown only now:\n{token}")
        elif remove is not None:
            opened.people.remove(remove)
            typer.echo(f"{remove} can no longer sign in")
        else:
            for person in opened.people.all():
                typer.echo(f"{person.name}\t{person.role}\tsince {person.since}")
