"""A PostgreSQL server of the tests' own: fresh data folder, free port, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def running() -> Iterator[str]:
    """Yield the server's URL without a database's name."""
    programs = _programs()
    home = Path(tempfile.mkdtemp(prefix="fairask-pg-"))
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
        run(str(programs / "initdb"), "-D", data, "-U", "fairask", "-A", "trust", "-E", "UTF8")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home}"
        run(str(programs / "pg_ctl"), "-D", data, "-l", str(home / "log"), "-w", "-o", options, "start")
        try:
            yield f"postgresql://fairask@127.0.0.1:{port}"
        finally:
            run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
