from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from fairask.experiment.loop import Run
from fairask.experiment.runner import missing, read_run, run, write_run
from paper import plan
from paper.problems import get_setup
from paper.render import render
from paper.store import load_curves
from paper.tables import all_tables

JOBS = plan("smoke", ["german"], ["passive", "fare"], 3)


def tables(folder: Path) -> str:
    setup = get_setup("smoke")
    return "\n".join(render(t) for t in all_tables(load_curves(folder, "smoke"), setup))


def result_bytes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("trial-*.json")}


def test_running_again_computes_nothing(smoke_run):
    assert missing(JOBS, smoke_run) == []
    assert run(JOBS, smoke_run) == 0


def test_only_missing_jobs_are_computed_and_come_out_the_same(smoke_run, tmp_path):
    run(JOBS[:4], tmp_path)
    gone = tmp_path / JOBS[0].path
    gone.unlink()
    done = []
    assert run(JOBS, tmp_path, on_done=lambda job, seconds: done.append(job)) == 3
    assert set(done) == {JOBS[0], *JOBS[4:]}
    assert result_bytes(tmp_path) == result_bytes(smoke_run)


@pytest.mark.slow
def test_two_workers_write_the_same_bytes_as_one(smoke_run, tmp_path):
    run(JOBS, tmp_path, workers=2)
    assert result_bytes(tmp_path) == result_bytes(smoke_run)


def test_results_hold_no_times(smoke_run):
    content = json.loads((smoke_run / JOBS[0].path).read_text())
    assert set(content) == {"job", "settings", "result"}
    assert len((smoke_run / "timings.csv").read_text().splitlines()) == len(JOBS)


def test_a_half_written_result_is_no_result(smoke_run, tmp_path, monkeypatch):
    def dies(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        run(JOBS[:1], tmp_path)
    assert missing(JOBS[:1], tmp_path) == JOBS[:1]


def test_what_an_infeasible_model_said_is_kept(tmp_path):
    values = np.array([50]), np.array([0.8]), np.array([0.1])
    write_run(tmp_path, JOBS[0], Run("passive", 0, *values, feasible=[False], labels_needed=(120, 240)))
    found = read_run(tmp_path / JOBS[0].path)
    assert found.is_infeasible_at(50)
    assert found.labels_needed == (120, 240)


def test_a_damaged_result_is_named(tmp_path):
    path = tmp_path / "trial-0000.json"
    path.write_text('{"cell": ')
    with pytest.raises(ValueError, match=r"trial-0000\.json is not JSON: line 1, column 10"):
        read_run(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("papr", ["german"], ["fare"], 1), "did you mean 'paper'"),
        (("paper", ["germn"], ["fare"], 1), "did you mean 'german'"),
        (("paper", ["german"], ["fair"], 1), "did you mean 'fare'"),
        (("paper", ["german"], ["fare"], 0), "trials=0"),
    ],
)
def test_wrong_names_are_found_before_anything_runs(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan(*arguments)


@pytest.mark.slow
def test_killed_at_any_moment_and_run_again_gives_the_same_tables(smoke_run, tmp_path):
    script = (
        "import sys; from pathlib import Path; from paper import plan; "
        "from fairask.experiment.runner import run; "
        "run(plan('smoke', ['german'], ['passive', 'fare'], 3), Path(sys.argv[1]))"
    )
    for results_before_kill in (1, 3):
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
        while len(result_bytes(tmp_path)) < results_before_kill and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert result_bytes(tmp_path)
    run(JOBS, tmp_path)
    assert tables(tmp_path) == tables(smoke_run)
    assert result_bytes(tmp_path) == result_bytes(smoke_run)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own, about ports and workers that went away
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_tables(smoke_run, tmp_path):
    distributed = pytest.importorskip("distributed")
    killed = threading.Event()
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]

        def kill_one(job, seconds):
            if not killed.is_set():
                killed.set()
                os.kill(pids[0], signal.SIGKILL)

        assert len(set(pids)) == 2
        with distributed.Client(cluster), parallel_config(backend="dask"):
            run(JOBS, tmp_path, on_done=kill_one)
    assert killed.is_set()
    assert missing(JOBS, tmp_path) == []
    assert tables(tmp_path) == tables(smoke_run)
    assert result_bytes(tmp_path) == result_bytes(smoke_run)
