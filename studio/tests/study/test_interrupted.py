"""Ctrl-C in the middle of a pass over a slow pool leaves a study as it was."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import select

from fairask_studio import Study
from fairask_studio.store._schema import tasks
from studio.tests.forked import fairask_command
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.slow import Slow  # also makes slow:// known here

FILES, EACH = 16, 25
TABLE = people_table(FILES * EACH)
LABELS = truth(TABLE)


@pytest.fixture
def pool(tmp_path: Path) -> str:
    (tmp_path / "people").mkdir()
    for i in range(FILES):
        pq.write_table(pa.table(TABLE).slice(i * EACH, EACH), tmp_path / "people" / f"{i:02}.parquet")
    return f"slow://{tmp_path}/people"


def stopped(words: list[str], reads: int, cwd: Path, bin_folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command and send it SIGINT after so many reads of files."""
    with (
        fairask_command(bin_folder, "studio.tests.study.slow") as program,
        subprocess.Popen(
            [program, *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if line == "read\n" and lines.count("read\n") == reads:
                process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        out = process.stdout.read()
    return subprocess.CompletedProcess(words, process.returncode, out, "".join(lines))


def everything(target: Path) -> Any:
    with Study.open(target) as study, study.store.database.read() as connection:
        queue = sorted((t.row, t.slot, t.who, t.answer) for t in connection.execute(select(tasks)))
        return study.store.events(), queue


@pytest.mark.slow
def test_an_ask_that_is_stopped_changes_nothing(
    pool: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from fairask_studio import refer

    with Study.create(
        tmp_path / "s", refer(pool), protected="sex", classes=("bad", "good"), budget=100, random_state=0
    ) as study:
        rows = study.ask(40, "ada")
        study.tell(rows, [LABELS[row] for row in rows], "ada")
        study.refit()
        # Rows that are drawn and free: the stopped ask holds them for a moment, and must give them back.
        study.ask(4, "ada")
        study.store.release("ada")
        expected = study.learner().ask(6).indices.tolist()
    before = everything(tmp_path / "s")
    # Looking at the files comes first, with two reads of each; then the pass that counts.
    done = stopped(
        ["ask", "s", "-n", "10", "--as", "ada"], 2 * FILES + 6, tmp_path, tmp_path_factory.mktemp("bin")
    )
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("read\n") < 3 * FILES, "it stopped in the middle of the pass"
    assert everything(tmp_path / "s") == before
    assert not list(tmp_path.glob("batch-*"))
    with Study.open(tmp_path / "s") as study:
        assert study.ask(10, "ada")[4:] == expected


@pytest.mark.slow
def test_a_new_that_is_stopped_leaves_no_study(
    pool: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = stopped(
        ["new", pool, "--protected", "sex", "--to", "s"],
        2 * FILES + 6,
        tmp_path,
        tmp_path_factory.mktemp("bin"),
    )
    assert done.returncode == 130, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people"]


def test_the_slow_filesystem_is_found_by_its_name() -> None:
    import fsspec

    assert fsspec.get_filesystem_class("slow") is Slow
