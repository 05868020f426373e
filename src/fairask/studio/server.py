"""Serve the app with uvicorn: to this machine or, if the study has people, to others."""

from __future__ import annotations

import ipaddress
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from fairask.studio._app import create_app
from fairask.studio._demo import demo_study
from fairask.studio._robot import Robot
from fairask.studio._trainer_process import TrainerProcess
from fairask.study import Study, StudyError

__all__ = ["app_from_environment", "check_host", "is_local", "serve"]

_STUDY, _LOCAL = "FAIRASK_STUDIO_STUDY", "FAIRASK_STUDIO_LOCAL"


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


def check_host(study: Study, host: str) -> None:
    """Refuse to serve a study to others while nobody would have to sign in."""
    if not is_local(host) and not any(person.role == "owner" for person in study.people.all()):
        raise StudyError(
            f"host {host!r} lets others in, and this study has no owner with a token; "
            "first: fairask people STUDY --add NAME --role owner"
        )


def serve(
    target: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    processes: int = 1,
    announce: Callable[[], object] = lambda: None,
) -> None:
    """Serve a study until interrupted.

    Parameters
    ----------
    target : folder or PostgreSQL URL
    host, port : str, int
        A host other than this machine needs people with tokens.
    processes : int
        More than one, for a study in PostgreSQL with very many people.
    announce : callable
        Called when everything is checked, just before serving begins.
    """
    local = is_local(host)
    with Study.open(target) as study:
        check_host(study, host)
        if not study.state().batches:
            study.draw()  # uniform, so fast: the first person does not wait for the trainer to start
        trainer = TrainerProcess(target)
        announce()
        if processes == 1:
            app = create_app(study, local=local, trainer=trainer)
            uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
            return
    os.environ[_STUDY], os.environ[_LOCAL] = target, "1" if local else ""
    trainer.start()  # one for all processes
    uvicorn.run(
        "fairask.studio.server:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=processes,
        log_level="warning",
        access_log=False,
    )
    trainer.stop()


def serve_demo(
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    seconds: float = 0.4,
    announce: Callable[[], object] = lambda: None,
) -> None:
    """Serve a temporary study of German Credit that a scripted annotator labels."""
    if not is_local(host):
        raise StudyError(f"the demo is for this machine only, not for host {host!r}; leave --host out")
    with tempfile.TemporaryDirectory() as folder:
        study, truth = demo_study(Path(folder) / "german")
        with study:
            announce()
            app = create_app(study, robot=Robot(study, truth, seconds))
            uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)


def app_from_environment() -> FastAPI:
    """Make the app of one of several processes."""
    return create_app(Study.open(os.environ[_STUDY]), local=bool(os.environ[_LOCAL]), train=False)
