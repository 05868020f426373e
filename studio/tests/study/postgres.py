"""A PostgreSQL server of the tests' own: fresh data folder, free port, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    plain = shutil.which("initdb")
    if not found and plain is None:
        reason = "PostgreSQL's server is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found[-1].parent if found else Path(str(plain)).parent


def _in_memory() -> str | None:
    """A folder in memory with 2 GB left, or None. Disks take half a minute to delete dozens of databases."""
    place = "/dev/shm"
    roomy = os.access(place, os.W_OK) and shutil.disk_usage(place).free > 2 << 30
    return place if roomy else None


@dataclass(frozen=True)
class Server:
    """A server: its URL without a database's name, and how to stop and start it."""

    url: str
    start: Callable[[], None]
    stop: Callable[[], None]

    def restart(self) -> None:
        self.stop()
        self.start()


@contextmanager
def running() -> Iterator[str]:
    """Yield the URL of a server, without a database's name."""
    with started("-c fsync=off") as server:  # it is never killed: nothing has to reach the disk
        yield server.url


@contextmanager
def started(settings: str = "") -> Iterator[Server]:
    """Yield a server of one's own, with further settings."""
    programs = _programs()
    home = Path(tempfile.mkdtemp(prefix="fairask-pg-", dir=_in_memory()))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = pwd.getpwnam("postgres")
        os.chown(home, user.pw_uid, user.pw_gid)

    def run(*command: str) -> None:
        done = subprocess.run(
            command, cwd=home, user=user.pw_uid if user else None, capture_output=True,
            env={**os.environ, "HOME": str(home)}, stdin=subprocess.DEVNULL, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")

    data = str(home / "data")
    try:
        run(str(programs / "initdb"), "-D", data, "-U", "fairask", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} {settings}"
        control = [str(programs / "pg_ctl"), "-D", data, "-w"]

        def start() -> None:
            run(*control, "-l", str(home / "log"), "-o", options, "start")

        def stop() -> None:
            run(*control, "-m", "immediate", "stop")

        start()
        try:
            yield Server(f"postgresql://fairask@127.0.0.1:{port}", start, stop)
        finally:
            stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)
