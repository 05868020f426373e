from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from fairask.cli._screen import progress
from fairask.datasets import load
from fairask.experiment import LabelledTable, Method, Task, compare
from fairask.experiment.loop import Run, run_trial
from fairask.experiment.method import METHODS, choose_methods
from fairask.experiment.table import pool_size, split

TWO = [METHODS["fare"], METHODS["passive"]]


TASK = Task(budget=80, batch=40, baseline_budget=120, seed=3)


@pytest.fixture(scope="module")
def table() -> LabelledTable:
    return LabelledTable.from_dataset(load("german"))


def trial_of(table: LabelledTable, method: Method, trial: int, *, pictured: bool = True) -> Run:
    shown = pictured and trial == 0 and method.name == "fare"
    return run_trial(method, table.split(TASK.seed, trial), TASK, trial, pictured=shown)


def test_every_row_is_in_the_pool_or_in_the_test_part() -> None:
    pool, test = split(1000, pool_size(1000), [3, 0])
    assert sorted([*pool, *test]) == list(range(1000))
    assert len(pool) == 750
    assert not np.array_equal(pool, split(1000, 750, [3, 1])[0])


def test_a_stratified_split_keeps_every_cell_in_both_parts() -> None:
    groups = np.array(["a"] * 90 + ["b"] * 10)
    y = np.array([1] * 45 + [0] * 45 + [1] * 5 + [0] * 5)
    table = LabelledTable(np.zeros((100, 1)), y, groups, stratify=True)
    for trial in range(20):
        rows = table.split(0, trial)
        for part, least in ((rows.pool, 3), (rows.held_out, 1)):
            for group in "ab":
                for label in (0, 1):
                    assert ((groups[part] == group) & (y[part] == label)).sum() >= least


def test_methods_of_a_trial_share_their_first_batch(table: LabelledTable) -> None:
    fare, passive = (trial_of(table, method, 0) for method in TWO)
    assert fare.accuracy[0] == passive.accuracy[0]
    assert fare.labels.tolist() == [40, 80]
    assert passive.labels.tolist() == [40, 80, 120]


def test_labels_are_booked_within_the_budget(table: LabelledTable) -> None:
    for method in TWO:
        run = trial_of(table, method, 0)
        assert sum(sum(by.values()) for by in run.spend.values()) == 80
        assert len(run.rates["tpr"]) == 2


def test_an_infeasible_model_says_how_many_labels_are_needed() -> None:
    rng = np.random.default_rng(0)
    groups, x = rng.choice(["f", "m"], 400), rng.normal(size=400)
    man = groups == "m"
    y = (x * np.where(man, 1.5, 0.3) + 1.2 * man - 0.6 + 0.7 * rng.normal(size=400) > 0).astype(np.int64)
    unfair = LabelledTable(np.column_stack([x, man + 0.3 * rng.normal(size=400)]), y, groups)
    task = replace(TASK, budget=200)
    run = run_trial(METHODS["passive"], unfair.split(0, 0), task)
    assert run.is_infeasible_at(task.budget)
    assert run.labels_needed is not None
    assert run.labels_needed[0] > task.budget


def test_all_runs_have_the_constant_answer_of_the_table() -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 20 < 9).astype(np.int64)  # 45 % are positive: of few labels, often the majority
    even = LabelledTable(rng.normal(size=(200, 2)), y, rng.choice(["a", "b"], 200))
    task = Task(budget=10, batch=10)
    for run in compare(even, [METHODS["passive"]], task, trials=6).runs:
        assert run.references is not None
        assert not run.references.positive
        negative = np.mean(even.split(task.seed, run.trial).test[1] == 0)
        assert run.references.constant_accuracy == pytest.approx(negative)


def test_the_first_fare_run_has_the_picture_of_a_real_round(table: LabelledTable) -> None:
    sampling = trial_of(table, METHODS["fare"], 0).sampling
    assert sampling is not None
    assert sampling.labels == 40
    assert sum(len(points) for points in sampling.drawn.values()) == 40
    assert sampling.ratios["fair"].mean() == pytest.approx(1.0)
    assert trial_of(table, METHODS["fare"], 1).sampling is None


def test_the_recorder_changes_nothing(table: LabelledTable) -> None:
    recorded = trial_of(table, METHODS["fare"], 0)
    plain = trial_of(table, METHODS["fare"], 0, pictured=False)
    assert plain.accuracy.tolist() == recorded.accuracy.tolist()


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_terminal_shows_each_run_that_is_done(table: LabelledTable, jobs: int) -> None:
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=120, color_system=None)
    with progress(screen, 4) as advance:
        seen = compare(table, TWO, TASK, 2, jobs=jobs, on_done=advance)
    assert "4 runs done" in out.getvalue()
    assert sorted((run.method, run.trial) for run in seen.runs) == [
        (method, trial) for method in ("fare", "passive") for trial in range(2)
    ]
    out.truncate(0)
    with progress(screen, 4, shown=False) as advance:
        advance()
    assert not out.getvalue().strip("\0")


def test_the_baseline_is_always_compared() -> None:
    assert [m.name for m in choose_methods(["uncertainty", "uncertainty"])] == ["uncertainty", "passive"]
    assert [m.name for m in choose_methods(None)] == ["fare", "passive", "fare_paper"]
    assert [m.profile for m in choose_methods(None, "paper")] == ["paper"] * 3
