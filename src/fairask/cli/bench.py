"""``fairask bench``: run the paper's benchmark, pack its results, draw its tables and figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as TimeLeft

from fairask.bench.methods import METHODS
from fairask.bench.problems import get_profile

__all__ = ["bench_app", "register"]

bench_app = typer.Typer(
    help="The paper's benchmark: tables and figures by one command.", no_args_is_help=True
)

ProfileName = Annotated[str, typer.Option("--profile", help="Protocol: paper, or smoke for a first look.")]
ResultsFolder = Annotated[
    Path, typer.Option("--results", help="Folder of cell files (run) or of packed Parquet (pack).")
]


def _names(value: str | None, default: list[str]) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()] if value else default


def _fail(error: Exception) -> typer.Exit:
    Console(stderr=True).print(f"error: {error}", style="red", markup=False)
    return typer.Exit(2 if isinstance(error, ValueError) else 1)


@bench_app.command("run")
def run_command(
    profile: ProfileName = "paper",
    datasets: Annotated[
        str | None, typer.Option(help="Comma-separated; default: all of the profile.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Comma-separated; default: fare,passive.")] = None,
    trials: Annotated[int, typer.Option(help="Trials of each method on each dataset.")] = 100,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder of cell files; finished cells are kept.")] = Path("runs"),
    backend: Annotated[str, typer.Option(help="joblib (this machine), dask or ray.")] = "joblib",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask or Ray cluster.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Compute the cells that OUT has no result of; stop it at any time and run it again."""
    from fairask.bench.runner import missing, plan, run

    console = Console(stderr=True)
    try:
        problems = _names(datasets, list(get_profile(profile).problems))
        cells = plan(profile, problems, _names(methods, ["fare", "passive"]), trials)
        todo = len(missing(cells, out))
        start = time.perf_counter()
        columns: tuple[Any, ...] = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeLeft(),
        )
        with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
            task = progress.add_task("starting", total=todo)
            run(
                cells,
                out,
                jobs=jobs,
                backend=backend,
                scheduler=scheduler,
                on_done=lambda cell, _: progress.update(
                    task, advance=1, description=f"{cell.problem} · {METHODS[cell.method].label}"
                ),
            )
    except (ValueError, ImportError, OSError) as error:
        raise _fail(error) from None
    except KeyboardInterrupt:
        left = len(missing(cells, out))
        console.print(f"stopped: {todo - left} cells done, {left} left; the same command goes on from here")
        raise typer.Exit(130) from None
    if not quiet:
        typer.echo(
            f"{todo} cells computed in {time.perf_counter() - start:.0f} s, "
            f"{len(cells) - todo} were there already: {out}"
        )


@bench_app.command("methods")
def methods_command() -> None:
    """List the methods and their settings."""
    for method in METHODS.values():
        changed = {k: v for k, v in method.settings.items() if v not in (None, {}, 0.0, 1.0)}
        typer.echo(f"{method.name:16} {method.label:24} {changed}")


@bench_app.command("pack")
def pack_command(
    folder: Annotated[Path, typer.Argument(help="Folder of cell files.")],
    target: Annotated[Path, typer.Argument(help="Folder for the Parquet files.")] = Path("results"),
) -> None:
    """Merge cell files into one Parquet a dataset and method."""
    from fairask.bench.store import pack

    try:
        written = pack(folder, target)
    except (ValueError, OSError) as error:
        raise _fail(error) from None
    size = sum(path.stat().st_size for path in written)
    typer.echo(f"{len(written)} files, {size / 1e6:.1f} MB: {target}")


@bench_app.command("tables")
def tables_command(
    results: ResultsFolder = Path("results"),
    profile: ProfileName = "paper",
    form: Annotated[str, typer.Option("--format", help="md, latex or html.")] = "md",
    out: Annotated[Path | None, typer.Option(help="File to write; default: the terminal.")] = None,
) -> None:
    """Print Tables 1 and 2 with the paper's values beside ours, and the labels saved."""
    from fairask.bench.render import render
    from fairask.bench.store import load_curves
    from fairask.bench.tables import all_tables

    try:
        tables = all_tables(load_curves(results, profile), get_profile(profile))
        text = "\n".join(render(table, form) for table in tables)
    except (ValueError, OSError) as error:
        raise _fail(error) from None
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text)
        typer.echo(f"{len(tables)} tables: {out}")


@bench_app.command("figures")
def figures_command(
    results: ResultsFolder = Path("results"),
    profile: ProfileName = "paper",
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("figures"),
    formats: Annotated[str, typer.Option(help="Comma-separated file types.")] = "png,pdf",
) -> None:
    """Draw the paper's figures from the results."""
    from fairask.bench.figures import draw_all
    from fairask.bench.store import load_curves

    try:
        curves = load_curves(results, profile)
        paths = draw_all(curves, get_profile(profile), out, _names(formats, ["png"]))
    except (ValueError, ImportError, OSError) as error:
        raise _fail(error) from None
    typer.echo(f"{len(paths)} files: {out}")


@bench_app.command("docs")
def docs_command(
    results: ResultsFolder = Path("results"),
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write results.md with its tables, figures and reading, from the results alone."""
    from fairask.bench.docs import write_page
    from fairask.bench.store import load_curves

    try:
        misses = results / "misses.csv"
        page = write_page(load_curves(results, "paper"), docs, misses if misses.exists() else None)
    except (ValueError, ImportError, OSError) as error:
        raise _fail(error) from None
    typer.echo(f"written: {page}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(bench_app, name="bench")
