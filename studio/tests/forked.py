"""Processes for tests, forked from one that has imported fairask: a new Python needs seconds for that.

:func:`forked` calls a function in such a process. :func:`fairask_command` makes a program ``fairask`` for
shells: a small script that hands its words, folder, environment and files to a forked process.
"""

from __future__ import annotations

import atexit
import json
import os
import shlex
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from fairask_studio.pages import server
from fairask_studio.pages.processes import process_context

__all__ = ["fairask_command", "forked", "serve_study"]

#: Sent by the script; it waits for the number of the process, passes signals on, and ends as that one does.
_SCRIPT = """
import json, os, signal, socket, sys
place = {place!r}
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect(place)
    told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(sock, [b"%16d" % len(told)], [0, 1, 2])
    sock.sendall(told)
    said = sock.makefile()
    child = int(said.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    sys.exit(int(said.readline()))
"""


def serve_study(target: str, port: int, processes: int = 1, grace: int = 8, path: str = "") -> None:
    """Serve until told to end; ``grace`` is for requests under way then, ``path`` precedes PYTHONPATH."""
    warnings.simplefilter("ignore")
    os.dup2(sys.stdin.fileno(), 0)
    sys.stdin = open(0)  # noqa: SIM115  # several processes of a server have the same input
    server._GRACE = grace
    if path:
        os.environ["PYTHONPATH"] = os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])
    server.serve(target, port=port, processes=processes)


@contextmanager
def forked(work: Callable[..., None], *args: object) -> Iterator[psutil.Process]:
    """Call a function of a module in another process, which is ended at the end."""
    process = process_context().Process(target=work, args=args)
    process.start()
    assert process.pid is not None
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join(40)
        process.kill()
        process.join()


@contextmanager
def fairask_command(folder: Path, *modules: str) -> Iterator[Path]:
    """Yield the path of a program ``fairask`` in the folder; it imports the modules first."""
    place = str(folder / "commands")
    script, program = folder / "script.py", folder / "fairask"
    script.write_text(_SCRIPT.format(place=place))
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(str(script))} "$@"\n')
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        with forked(_take_commands, listener, modules):
            yield program


def _take_commands(listener: socket.socket, modules: tuple[str, ...]) -> None:
    for module in modules:
        import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that took a command are not waited for
    while True:
        asked, _ = listener.accept()
        if os.fork() == 0:
            with asked:
                _take(asked)
        asked.close()


def _take(asked: socket.socket) -> None:
    """Run the command in a process of its own; report its number and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, files, _, _ = socket.recv_fds(asked, 16, 3)
    told = b""
    while len(told) < int(size):
        told += asked.recv(1 << 16)
    child = os.fork()
    if child == 0:
        asked.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
        _run(*json.loads(told))
    asked.sendall(b"%d\n" % child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    asked.sendall(b"%d\n" % (code if code >= 0 else 128 - code))
    os._exit(0)


def _run(words: list[str], folder: str, env: dict[str, str]) -> Any:
    from fairask.cli import main

    atexit._clear()  # what the parent does at its end is not the child's
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["fairask", *words]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code: Any = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code or 0))
