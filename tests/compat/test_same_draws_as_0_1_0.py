"""The same seeds give the same draws and models as version 0.1.0 did."""

import json
import os
import platform
import subprocess
import sys

import pytest

from tests.compat.digests import CASES, FILE

STORED = json.loads(FILE.read_text())
SLOW = ("adult-blind", "adult-paper", "german-falcon")
#: Kernels of OpenBLAS for other processors add up in another order: where the last bit decides a near tie,
#: other rows are drawn. The digests are those of one kind, which every x86-64 processor since 2013 can run.
KERNELS = {"OPENBLAS_CORETYPE": "Haswell"}


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the digests are those of an x86-64 processor"
)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param([n for n in sorted(CASES) if n not in SLOW], id="short"),
        pytest.param(list(SLOW), id="long", marks=pytest.mark.slow),
    ],
)
def test_the_same_seed_gives_the_same_draws_and_decisions(names: list[str]) -> None:
    command = [sys.executable, "-m", "tests.compat.digests", *names]
    done = subprocess.run(command, env={**os.environ, **KERNELS}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: STORED[name] for name in names}


def test_every_stored_case_is_run() -> None:
    assert set(STORED) == set(CASES)
