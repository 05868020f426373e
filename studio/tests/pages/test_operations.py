"""docs/operations.md, executed: its commands, its service's command line, and its nginx in front."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import psycopg
import pytest

from studio.tests.forked import fairask_command
from studio.tests.study.conftest import people_table
from studio.tests.study.postgres import started

pytestmark = pytest.mark.slow
PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until_reached(port: int, alive: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and alive():
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on {port}")


@contextmanager
def running(command: list[str], port: int, cwd: Path) -> Iterator[None]:
    with subprocess.Popen(command, cwd=cwd) as process:
        try:
            until_reached(port, lambda: process.poll() is None)
            yield
        finally:
            process.terminate()
            process.wait(40)


def _cannot_change_events(url: str) -> None:
    """The service's role may add events, and nothing else."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "UPDATE events SET who = 'eve'",
            "DELETE FROM events",
            "TRUNCATE events",
            "ALTER TABLE events DISABLE TRIGGER ALL",
            "DROP TABLE events",
            "UPDATE pool SET bytes = ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


@pytest.mark.long
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        reason = "nginx is not installed (Debian: apt-get install nginx-light)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    binaries = tmp_path / "bin"
    binaries.mkdir()
    table = people_table()
    rows = zip(*table.values(), strict=True)
    (tmp_path / "loans.csv").write_text("\n".join([",".join(table), *(",".join(map(str, r)) for r in rows)]))
    inside, outside = free_port(), free_port()
    with started() as server, fairask_command(binaries):
        port = server.url.rpartition(":")[2]
        env = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "fairask",
               "CA": str(tmp_path / "studio.pem"), "STUDIO": f"https://localhost:{outside}",
               "PATH": f"{binaries}:{os.environ['PATH']}"}  # fmt: skip

        def sh(script: str) -> str:
            done = subprocess.run(
                ["bash", "-euc", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
            return done.stdout

        make, health, backup = blocks("sh")
        tokens = re.findall(r"shown only now:\n(\S+)", sh(make))
        assert len(tokens) == 2
        _cannot_change_events(f"postgresql://studio@127.0.0.1:{port}/loans")

        unit = configparser.ConfigParser(strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read_string(blocks("ini")[0])
        command = unit["Service"]["ExecStart"].replace("/opt/fairask/bin/", f"{binaries}/")
        command = command.replace(":5432/", f":{port}/").replace("--port 8080", f"--port {inside}")
        sh(
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
            "-addext subjectAltName=DNS:localhost -keyout studio.key -out studio.pem"
        )
        site = (
            blocks("nginx")[0]
            .replace("/etc/ssl/", f"{tmp_path}/")
            .replace("listen 443", f"listen 127.0.0.1:{outside}")
        )
        site = site.replace("studio.example.org", "localhost").replace(":8080", f":{inside}")
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/t-{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off;\npid {tmp_path}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{folders}{site}}}\n"
        )
        proxy = [nginx, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"]
        with running(shlex.split(command), inside, tmp_path), running(proxy, outside, tmp_path):
            deadline = time.monotonic() + 60
            while httpx.get(f"http://127.0.0.1:{inside}/readyz", timeout=60).status_code != 200:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            assert '"ok"' in sh(health)
            context = ssl.create_default_context(cafile=str(tmp_path / "studio.pem"))
            with httpx.Client(base_url=f"https://localhost:{outside}", verify=context, timeout=60) as client:
                assert client.get("/overview", follow_redirects=True).url.path == "/signin"
                signed_in = client.post("/api/session", json={"token": tokens[1]})
                assert signed_in.status_code == 201
                assert "secure" in signed_in.headers["set-cookie"].lower()
                page = client.get("/label").text
                client.headers["X-CSRF-Token"] = page.split('name="csrf" content="')[1].split('"')[0]
                card = client.post("/api/next", json={}).json()["cards"][0]
                answer = {"row": card["row"], "label": "1"}
                assert client.post("/api/answers", json=answer).status_code == 201
            # A visitor who claims another address is counted by the real one.
            guesses = [
                httpx.post(f"{env['STUDIO']}/api/session", json={"token": "guess"}, verify=context,
                           timeout=60, headers={"X-Forwarded-For": f"203.0.113.{i}"}).status_code
                for i in range(9)
            ]  # fmt: skip
            assert guesses == [401] * 8 + [429]
            said = sh(backup)
            assert "Whole:" in said
            assert re.search(r"\b1\b", said)
