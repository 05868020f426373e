"""``fairask datasets``: list, describe and fetch the benchmark's tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli import _options as opt
from fairask.cli._command import HelpfulApp
from fairask.cli._errors import FAILED
from fairask.errors import TableError, UserError

if TYPE_CHECKING:
    from fairask.datasets.dataset import Dataset

_Name = Annotated[str, typer.Argument(help="A dataset's name.")]
_Names = Annotated[list[str] | None, typer.Argument(help="Datasets; default all.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = HelpfulApp(
        no_args_is_help=True, rich_markup_mode=None, help="The benchmark's tables: list, info, pull."
    )
    group.command("list", epilog="Example: fairask datasets list")(list_datasets)
    group.command("info", epilog="Example: fairask datasets info adult")(info)
    group.command("pull", epilog="Example: fairask datasets pull compas drug")(pull)
    app.add_typer(group, name="datasets")


def load_dataset(name: str) -> Dataset:
    """Load a dataset; raise UserError if it is unknown, absent or damaged."""
    from fairask import datasets

    _known(name)
    try:
        return datasets.load(name)
    except TableError as error:
        raise UserError(str(error), f"Fetch it again: fairask datasets pull {name} --force") from error


def _known(name: str) -> str:
    from fairask import datasets
    from fairask.errors import suggest

    if name not in datasets.names():
        raise UserError(
            f"unknown dataset {name!r}", f"{suggest(name, datasets.names())} (see fairask datasets list)"
        )
    return name


def list_datasets(as_json: opt.Json = False, no_color: opt.NoColor = False) -> None:
    """List the datasets, and say which are on this machine."""
    from rich.table import Table
    from rich.text import Text

    from fairask import datasets
    from fairask.cli._screen import console

    known = [datasets.info(name) for name in datasets.names()]
    if as_json:
        print(json.dumps(known, indent=1))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name, side in (
        ("dataset", "left"),
        ("rows", "right"),
        ("features", "right"),
        ("positive", "right"),
        ("groups by", "left"),
        ("where", "left"),
    ):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for d in known:
        features = "/".join(str(n) for n in d["features"].values())
        where = Text(d["place"] or "absent", style="" if d["place"] else "yellow")
        table.add_row(
            d["name"], f"{d['rows']:,}", features, f"{100 * d['base_rate']:.1f} %", d["protected"], where
        )
    screen = console(no_color=no_color)
    screen.print(table)
    if absent := [d["name"] for d in known if d["place"] is None]:
        screen.print(f"Fetch what is absent: fairask datasets pull {' '.join(absent)}")


def info(name: _Name, as_json: opt.Json = False, no_color: opt.NoColor = False) -> None:
    """Describe one dataset."""
    from rich.table import Table
    from rich.text import Text

    from fairask import datasets
    from fairask.cli._screen import console

    d = datasets.info(_known(name))
    if as_json:
        print(json.dumps(d, indent=1))
        return
    share = {g: f"{100 * rate:.1f} % positive" for g, rate in d["base_rates"].items()}
    groups = "; ".join(f"{g}: {n:,} rows, {share[g]}" for g, n in d["group_sizes"].items())
    features = ", ".join(f"{n} ({variant})" for variant, n in d["features"].items())
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")
    facts = {
        "dataset": d["name"],
        "positive": f"{d['target']} ({100 * d['base_rate']:.1f} %)",
        "groups": f"{d['protected']}: {groups}",
        "rows": f"{d['rows']:,}",
        "features": features,
        "about": d["description"],
        "cite": d["citation"],
        "licence": d["licence"],
        "source": d["source"],
        "where": d["path"] or d["place"] or f"absent: {d['how_to_get']}",
    }
    for key, value in facts.items():
        table.add_row(Text(key, style="bold"), Text(value))
    console(no_color=no_color).print(table, soft_wrap=False)


def pull(
    names: _Names = None,
    force: Annotated[bool, typer.Option("--force", help="Download even if the table is there.")] = False,
    quiet: opt.Quiet = False,
    no_color: opt.NoColor = False,
) -> None:
    """Download tables from their official sources into the cache, checked to the last value."""
    from rich.text import Text

    from fairask import datasets
    from fairask.cli._screen import console

    chosen = [_known(name) for name in names] if names else datasets.names()
    screen = console(no_color=no_color)
    failed = False
    for name in chosen:
        try:
            path = datasets.pull(name, force=force)
        except UserError as error:
            failed = True
            screen.print(Text(f"{name}: {error}", style="yellow"))
            continue
        if not quiet:
            screen.print(Text(f"{name}: {path or 'comes with fairask: nothing to download'}"))
    if failed:
        raise typer.Exit(FAILED)
