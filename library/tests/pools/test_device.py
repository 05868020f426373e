"""Pools that are read once and held as a tensor on a device."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from fairask import FairActiveLearner
from fairask.errors import UserError
from fairask.pools import MemoryPool, PassProgress, check_device, open_pool
from library.tests.pools.conftest import NAMES


def test_rows_are_read_once_and_shown_as_they_are_stored(stored: Path, small_blocks: None, rows: Any) -> None:
    passes: list[PassProgress] = []
    plain = open_pool(stored / "many", "group", NAMES, preprocess="none", progress=passes.append)
    pool = plain.on_device("cpu")
    passes.clear()
    counts = [pool.excluding(gone).by_group().counts.sum() for gone in ([], [3], [3, 2999])]
    assert counts == [3000, 2999, 2998]
    assert [one.rows for one in passes if one.stage == "loading" and one.rows == one.total] == [3000]
    assert pool.table([2999, 4], ["y"])["y"].to_pylist() == rows[2][[2999, 4]].tolist()
    assert pool.fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(pool.in_memory().X, rows[0])


def test_a_learner_moves_to_a_device_and_keeps_its_labels(rows: Any) -> None:
    X, groups, y = rows
    learner = FairActiveLearner(X, groups, estimator="linear", random_state=3)
    query = learner.ask(40)
    learner.tell(query.indices, y[query.indices])
    there = learner.on_device("cpu")
    assert there.ask().indices.tolist() == learner.ask().indices.tolist()


def test_a_device_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, rows: Any) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="sees 0 GPUs; Leave the device out"):
        check_device("cuda")
    pool = MemoryPool(rows[0], rows[1], 3).on_device("cuda:1")  # looked for by the first pass
    with pytest.raises(UserError, match="cuda:1"):
        pool.by_group()
    with pytest.raises(UserError, match="cannot hold a pool"):
        check_device("meta")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"needs PyTorch.*fairask\[torch\]"):
        check_device("cuda")


def test_what_a_device_cannot_hold_is_refused() -> None:
    sparse = MemoryPool(csr_array(np.eye(4)), np.array([0, 1, 0, 1]), 2).on_device("cpu")
    with pytest.raises(UserError, match="sparse"):
        sparse.by_group()
    many = MemoryPool(np.zeros((300, 1)), np.arange(300), 300).on_device("cpu")
    with pytest.raises(UserError, match="at most 256"):
        many.by_group()
