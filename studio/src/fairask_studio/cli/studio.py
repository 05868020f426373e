"""``fairask studio``: the page where people label."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "fairask studio loans"


def studio(
    study: Annotated[
        str | None,
        typer.Argument(
            help="A study (a folder, or a postgresql:// URL), or several: a folder of studies, or "
            "postgresql://HOST; default: the studies of this folder."
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="German Credit, labelled by a script.")] = False,
    host: Annotated[str, typer.Option(help="Beyond this machine it needs people with tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8080,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Server processes.")] = 1,
    trusted_proxy: Annotated[
        str, typer.Option(help="Addresses of proxies in front, whose headers name the visitor.")
    ] = "",
    https: Annotated[bool, typer.Option("--https", help="Visitors come by HTTPS, through a proxy.")] = False,
    root_path: Annotated[str, typer.Option(help="The path under which a proxy serves it: /loans.")] = "",
    security_log: Annotated[
        str | None, typer.Option(help="File for sign-ins and refusals; standard error by default.")
    ] = None,
    media: Annotated[
        list[str] | None,
        typer.Option(help="Take images and audio from this host (https://...) or folder, too."),
    ] = None,
    webhook: Annotated[
        list[str] | None,
        typer.Option(help="Post what happens to this address (https://...); repeat it for more."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Serve a study: annotators label, owners watch."""
    from fairask_studio import StudyError
    from fairask_studio.pages.server import Proxy, is_local, serve, serve_demo, serve_home
    from fairask_studio.store.postgres import is_server

    if demo and study is not None:
        raise StudyError("give a study or --demo, one of the two; fairask studio STUDY")
    if not demo and study is None:
        study = "."  # the studies of this folder

    if root_path and (not root_path.startswith("/") or root_path.endswith("/")):
        raise StudyError(f"--root-path {root_path!r} must begin with / and not end with it; as in /loans")
    proxy = Proxy(trusted_proxy, https, root_path)

    def announce(code: str) -> None:
        address = f"http://{'localhost' if is_local(host) else host}:{port}/"
        address += f"?code={code}" if code else ""
        once = ": it signs you in once" if code else ""
        print(f"fairask studio on {address}  (stop with Ctrl-C{once})", flush=True)
        if open_page and is_local(host) and not proxy.used:
            timer = threading.Timer(1.5, webbrowser.open, [address])
            timer.daemon = True
            timer.start()

    if study is None:
        serve_demo(host=host, port=port, announce=announce)
    elif is_server(study) or (Path(study).is_dir() and not (Path(study) / "study.db").exists()):
        if processes > 1 or webhook:
            raise StudyError("--processes and --webhook are for one study: fairask studio STUDY")
        serve_home(
            study,
            host=host,
            port=port,
            proxy=proxy,
            security_log=security_log,
            media=media or (),
            announce=announce,
        )
    else:
        serve(
            study,
            host=host,
            port=port,
            processes=processes,
            proxy=proxy,
            security_log=security_log,
            media=media or (),
            webhooks=webhook or (),
            announce=announce,
        )
