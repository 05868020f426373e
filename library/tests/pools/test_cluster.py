"""Pools on a real cluster of worker processes."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairask.pools import MemoryPool, open_pool
from fairask.pools.coders import Group
from fairask.rules import LinearRule
from library.tests.pools.conftest import NAMES, as_table
from library.tests.pools.test_same_draws import campaign

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            yield client


@pytest.mark.parametrize("strategy", ["uncertainty", "fare"])
def test_a_cluster_draws_what_one_process_draws(strategy: str, client: Any, stored: Path, rows: Any) -> None:
    import dask.dataframe as dd

    X, groups, y = rows
    settings: dict[str, Any] = {"columns": NAMES, "preprocess": "none", "client": client}
    frame = dd.from_pandas(as_table(*rows).to_pandas(), npartitions=5)
    expected = campaign(MemoryPool(X, groups, 3), strategy, y)
    for pool in (open_pool(stored / "many", "group", **settings), open_pool(frame, "group", **settings)):
        found = campaign(pool, strategy, y)
        assert found.labelled_indices_.tolist() == expected.labelled_indices_.tolist()


class Weighed:
    """A result that remembers how large it was when it left its worker."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        result = self.function(*arguments)
        return result, len(distributed.protocol.serialize_bytes(result))


def test_what_leaves_a_worker_does_not_grow_with_the_rows(client: Any, rows: Any) -> None:
    import dask.dataframe as dd
    import pandas as pd

    X, groups, y = rows
    rules = [LinearRule(np.array([1.0, w, 0.0, 0.0, 0.0, 0.0])) for w in (-0.5, 0.0, 0.5)]
    moved = []
    for times in (1, 20):
        frame = pd.concat([as_table(X, groups, y).to_pandas()] * times, ignore_index=True)
        pool = open_pool(
            dd.from_pandas(frame, npartitions=3), "group", NAMES, preprocess="none", client=client
        )
        sizes: list[int] = []
        run = pool._source.runner.run

        def weigh(work: Any, shared: Any, calls: Any, threads: bool = True, run: Any = run) -> Any:
            for position, (result, size) in run(Weighed(work), shared, calls):
                sizes.append(size)  # noqa: B023
                yield position, result

        pool._source.runner.run = weigh
        cells = pool.by_prediction(rules)
        cells.locate(np.zeros(5, dtype=np.int64), np.arange(5))
        assert cells.counts.sum() == times * len(X)
        moved.append(max(sizes))
    assert moved[1] < 1.5 * moved[0] < 20_000


class DiesOnce(Group):
    """Sorts rows by group, and takes its worker down with it the first time."""

    def __init__(self, marker: str) -> None:
        object.__setattr__(self, "marker", marker)

    def codes(self, chunk: Any) -> Any:
        try:
            Path(self.marker).touch(exist_ok=False)  # type: ignore[attr-defined]
        except FileExistsError:
            return super().codes(chunk)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_a_killed_worker_changes_nothing_but_the_time(
    client: Any, stored: Path, rows: Any, tmp_path: Path
) -> None:
    pool = open_pool(stored / "many", "group", NAMES, preprocess="none", client=client)
    cells = pool._cells(DiesOnce(str(tmp_path / "died")))
    assert (tmp_path / "died").exists()
    assert cells.counts.tolist() == np.bincount(rows[1]).tolist()
    rows_of_group_2 = np.flatnonzero(rows[1] == 2)
    assert cells.locate(np.array([2, 2]), np.array([0, 50])).tolist() == rows_of_group_2[[0, 50]].tolist()
