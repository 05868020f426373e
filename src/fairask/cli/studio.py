"""``fairask studio``: the page where people label."""

from __future__ import annotations

import threading
import webbrowser
from typing import Annotated

import typer

__all__ = ["register", "studio"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("studio")(studio)


def studio(
    study: Annotated[str | None, typer.Argument(help="The study: a folder, or a postgresql:// URL.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="German Credit, labelled by a script.")] = False,
    host: Annotated[str, typer.Option(help="Beyond this machine it needs people with tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8080,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Server processes.")] = 1,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Serve a study: annotators label, owners watch."""
    from fairask.studio.server import is_local, serve, serve_demo
    from fairask.study import StudyError

    if demo == (study is not None):
        raise StudyError("give a study or --demo, one of the two; fairask studio STUDY")

    def announce() -> None:
        shown = "localhost" if is_local(host) else host
        typer.echo(f"fairask studio on http://{shown}:{port}  (stop with Ctrl-C)")
        if open_page and is_local(host):
            timer = threading.Timer(1.5, webbrowser.open, [f"http://localhost:{port}/"])
            timer.daemon = True
            timer.start()

    if study is None:
        serve_demo(host=host, port=port, announce=announce)
    else:
        serve(study, host=host, port=port, processes=processes, announce=announce)
