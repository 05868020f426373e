"""Serve the app with uvicorn: to this machine or, if the study has people, to others."""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import signal
import socket
import sqlite3
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from fairask.errors import FairaskWarning
from fairask.installation import SOUND_SQLITE
from fairask_studio import Study, StudyError
from fairask_studio.connect.webhook import Webhooks
from fairask_studio.events import Document
from fairask_studio.pages.access import write_to
from fairask_studio.pages.app import create_app
from fairask_studio.pages.demo import Robot, demo_study
from fairask_studio.pages.guard import TimedProtocol
from fairask_studio.pages.home import create_home
from fairask_studio.pages.processes import show_controls
from fairask_studio.pages.worker import TrainerProcess
from fairask_studio.store.people import People
from fairask_studio.store.postgres import is_url

#: Seconds for requests under way when the studio stops.
_GRACE = 8

#: Seconds a new process may need for its imports, before it is taken for dead and replaced.
_IMPORTS = 120


@dataclass(frozen=True)
class Proxy:
    """What stands in front of the studio.

    Attributes
    ----------
    trusted : str
        Addresses of proxies, with commas between them, whose headers name the visitor.
    https : bool
        Whether visitors reach the studio by HTTPS only.
    root_path : str
        The path under which the proxy serves the studio, ``/loans`` say; the proxy takes it off.
    """

    trusted: str = ""
    https: bool = False
    root_path: str = ""

    @property
    def used(self) -> bool:
        """Whether there is one, so that visitors come from elsewhere."""
        return bool(self.trusted or self.https or self.root_path)


_NO_PROXY = Proxy()


def is_local(host: str) -> bool:
    """Whether a host reaches this machine only.

    Examples
    --------
    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(people: People, host: str, what: str = "STUDY") -> None:
    """Refuse to serve a study, or a home page, to others while nobody would have to sign in."""
    if not is_local(host) and not any(person.role == "owner" for person in people.all()):
        raise StudyError(
            f"{host!r} lets others in, and there is no owner with a token; "
            f"first: fairask study people {what} --add NAME --role owner"
        )


def warn_of_sqlite(target: str) -> None:
    """Warn if the study is in an SQLite that can lose a write when several processes write.

    The studio's server, its trainer and its desk are processes of their own.
    """
    found = tuple(int(part) for part in sqlite3.sqlite_version.split("."))
    if not is_url(target) and found < SOUND_SQLITE:
        warnings.warn(
            f"SQLite {sqlite3.sqlite_version} has a rare fault with several writing processes, mended in "
            f"{'.'.join(map(str, SOUND_SQLITE))}: put a study with many people into PostgreSQL; copy it by "
            "fairask study backup",
            FairaskWarning,
            stacklevel=3,
        )


def check_port(host: str, port: int) -> None:
    """Refuse a port that is in use, before anything else is done."""
    try:
        kind = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except UnicodeError as error:
        raise StudyError(f"--host {host!r} is not the name of a host", "As in 127.0.0.1") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise StudyError(
                f"port {port} is in use, perhaps by another studio", f"Choose another one: --port {port + 1}"
            ) from error
        raise StudyError(f"cannot serve on {host}:{port}: {error.strerror or error}") from error


def serve(
    target: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    processes: int = 1,
    proxy: Proxy = _NO_PROXY,
    security_log: str | None = None,
    media: Sequence[str] = (),
    webhooks: Sequence[str] = (),
    announce: Callable[[str], object] = lambda code: None,
) -> None:
    """Serve a study until interrupted.

    Parameters
    ----------
    target : folder or PostgreSQL URL
    host, port : str, int
        A host other than this machine, or a proxy, needs people with tokens.
    processes : int
        More than one, for a study in PostgreSQL with very many people.
    proxy : Proxy
        What stands in front.
    security_log : path, optional
        File for the security log; standard error by default.
    media : sequence of str
        Hosts and folders from which images and recordings come; see :func:`create_app`.
    webhooks : sequence of str
        Addresses that are told what happens; ``FAIRASK_WEBHOOK_SECRET`` in the environment signs it.
    announce : callable
        Called when everything is checked, just before serving begins, with the code that begins the owner's
        session; the code is empty where people sign in with tokens.
    """
    check_port(host, port)
    local = is_local(host) and not proxy.used
    with Study.open(target) as study:
        warn_of_sqlite(target)
        check_host(study.people, host if not proxy.used else "a proxy")
        if not study.store.waiting().free:
            # The first person does not wait for the trainer. A strategy's first batch needs no model.
            study.draw(uniform=study.state().batches > 0)
        trainer = TrainerProcess(target)
        secret = os.environ.get("FAIRASK_WEBHOOK_SECRET", "")
        told = Webhooks(study, webhooks, secret) if webhooks else None
        shown: Document = {"local": local, "https": proxy.https, "media": list(media)}
        if processes == 1:
            app = create_app(study, trainer=trainer, webhooks=told, apart=True, **shown)
            announce(app.state.access.invite() or "")
            write_to(security_log)
            _run(app, host, port, proxy)
            return
        # uvicorn makes the app again in each process. One trainer and one teller serve all of them.
        announce(create_app(study, train=False, **shown).state.access.invite() or "")
        os.environ[_SHARED] = json.dumps({"target": target, "security_log": security_log, "shown": shown})
        workers = [worker for worker in (trainer, told) if worker is not None]
        for worker in workers:
            worker.start()
        _run(f"{__name__}:shared_app", host, port, proxy, processes)
        for worker in workers:
            worker.stop()


#: What several processes of one server have in common, as JSON: uvicorn calls the function without arguments.
_SHARED = "FAIRASK_STUDIO_SHARED"


def shared_app() -> FastAPI:
    """Make the app of one of several processes."""
    shared = json.loads(os.environ[_SHARED])
    show_controls()
    write_to(shared["security_log"])
    return create_app(Study.open(shared["target"]), train=False, apart=True, **shared["shown"])


def serve_home(
    place: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    proxy: Proxy = _NO_PROXY,
    security_log: str | None = None,
    media: Sequence[str] = (),
    announce: Callable[[str], object] = lambda code: None,
) -> None:
    """Serve the studies of a folder, or of a PostgreSQL server, until interrupted.

    A page lists them and makes new ones. See :func:`serve` for the parameters. A host other than this
    machine, or a proxy, needs people of the home page with tokens:
    ``fairask study people FOLDER --add NAME``.
    """
    check_port(host, port)
    app = create_home(place, local=is_local(host) and not proxy.used, https=proxy.https, media=list(media))
    check_host(app.state.access.people, host if not proxy.used else "a proxy", "FOLDER")
    announce(app.state.access.invite() or "")
    write_to(security_log)
    _run(app, host, port, proxy)


def _run(app: FastAPI | str, host: str, port: int, proxy: Proxy, processes: int | None = None) -> None:
    uvicorn.run(
        app,
        factory=isinstance(app, str),
        host=host,
        port=port,
        workers=processes,
        timeout_worker_healthcheck=_IMPORTS,
        log_level="warning",
        access_log=False,
        server_header=False,
        http=TimedProtocol,
        timeout_graceful_shutdown=_GRACE,
        forwarded_allow_ips=proxy.trusted or None,
        root_path=proxy.root_path,
    )
    _end_soon()


def _end_soon() -> None:
    """End this process even if threads wait for a database that never answers. Nothing they do is lost:
    what they wait for was not acknowledged."""
    timer = threading.Timer(_GRACE, os.kill, [os.getpid(), signal.SIGTERM])
    timer.daemon = True
    timer.start()


def serve_demo(
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    announce: Callable[[str], object] = lambda code: None,
) -> None:
    """Serve a temporary study of German Credit that a scripted annotator labels."""
    if not is_local(host):
        raise StudyError(f"the demo is for this machine only, not for host {host!r}; leave --host out")
    check_port(host, port)
    with tempfile.TemporaryDirectory() as folder:
        study, truth = demo_study(Path(folder) / "german")
        with study:
            app = create_app(study, robot=Robot(study, truth))
            announce(app.state.access.invite() or "")
            _run(app, host, port, _NO_PROXY)
