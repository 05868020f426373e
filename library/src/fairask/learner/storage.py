"""Saving a learner: one zip of JSON and .npy, no pickle, so that a file cannot run code."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, load_npz, save_npz

from fairask.learner.state import DrawLog, LearnerState
from fairask.matrix import sparse_bytes
from fairask.metrics import Matrix
from fairask.pools import Pool
from fairask.tables.arrow import column_names
from fairask.tables.frames import FrameColumns

if TYPE_CHECKING:
    from fairask.learner.learner import FairActiveLearner

#: Format 3 knows a base learner by name. Files before it mean logistic regression where they name none.
FORMAT = 3
_SETTINGS = (
    "profile",
    "level",
    "blind",
    "metric",
    "tolerance",
    "margin",
    "risk_weights",
    "fairness_weights",
    "batch_size",
    "random_state",
)


def save(learner: FairActiveLearner, path: str | PathLike[str]) -> None:
    """Write ``learner`` to ``path``; the file appears whole or not at all."""
    from fairask.strategies import STRATEGIES

    by_name = type(learner.strategy) is STRATEGIES.get(learner.strategy.name)
    has_array = (
        not learner.pool_given and isinstance(learner.X, np.ndarray) and learner.X.dtype.kind in "biuf"
    )
    is_sparse = not learner.pool_given and issparse(learner.X)
    state = {
        "format": FORMAT,
        "settings": {name: vars(learner)[name] for name in _SETTINGS},
        "classes": [_plain(c) for c in learner.classes],
        "strategy": learner.strategy.name,
        "strategy_params": asdict(learner.strategy) if by_name else None,  # type: ignore[call-overload]
        "estimator": None if _is_named(learner.estimator) else repr(learner.estimator),
        "named_estimator": learner.estimator if _is_named(learner.estimator) else None,
        "oracle": None if learner.oracle is None else repr(learner.oracle),
        "groups": [_plain(g) for g in learner.groups_],
        "batches": learner.state.batches,
        "log": learner.state.log.to_list(),
        "history": [{k: _plain(v) for k, v in row.items()} for row in learner.state.history],
        "X": "stored" if has_array or is_sparse else "given",
        "columns": None if learner.columns_ is None else learner.columns_.to_dict(),
        "digest": learner.pool.fingerprint() if learner.pool_given else _digest(learner.X),
    }
    target = Path(path)
    scratch = target.with_name(target.name + ".part")
    with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.json", json.dumps(state))
        if not learner.pool_given:
            archive.writestr("groups.npy", _npy(learner.pool.groups_of(np.arange(learner.pool.n_rows))))
        if has_array:
            archive.writestr("X.npy", _npy(np.asarray(learner.X)))
        elif is_sparse:
            buffer = io.BytesIO()
            save_npz(buffer, learner.X)
            archive.writestr("X.npz", buffer.getvalue())
    scratch.replace(target)


def _is_named(estimator: object) -> bool:
    """Whether a file can hold the base learner: none, or one that is known by name."""
    return estimator is None or isinstance(estimator, str)


def load(
    path: str | PathLike[str], *, X: Matrix = None, strategy: Any = None, **given: Any
) -> FairActiveLearner:
    """Read a learner back.

    Parameters
    ----------
    path : path
    X : table, optional
        The pool, when it was not a numeric array and so is not in the file; a pool object likewise.
    strategy, estimator, oracle : optional
        The objects the learner was made with, when it was made with objects.

    Examples
    --------
    >>> import tempfile
    >>> from fairask import FairActiveLearner
    >>> learner = FairActiveLearner(np.eye(4), [0, 1, 0, 1], random_state=0)
    >>> query = learner.ask(2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(f"{folder}/learner.fairask")
    ...     again = load(f"{folder}/learner.fairask")
    >>> again.pending_indices_.tolist() == query.indices.tolist()
    True
    """
    from fairask.learner.learner import FairActiveLearner

    try:
        with zipfile.ZipFile(path) as archive:
            state = json.loads(archive.read("state.json"))
            stored = "groups.npy" in archive.namelist()
            codes = np.load(io.BytesIO(archive.read("groups.npy")), allow_pickle=False) if stored else None
            if state["X"] == "stored" and X is None:
                if "X.npz" in archive.namelist():
                    X = load_npz(io.BytesIO(archive.read("X.npz")))
                else:
                    X = np.load(io.BytesIO(archive.read("X.npy")), allow_pickle=False)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{Path(path).name} is not a saved learner, or is damaged: {error}") from error
    if state["format"] > FORMAT:
        raise ValueError(f"{Path(path).name} has format {state['format']}; this version reads up to {FORMAT}")
    columns = FrameColumns.from_dict(state["columns"]) if state.get("columns") else None
    if columns is not None and column_names(X) is not None:
        X = columns.features(X)
    if X is None:
        raise ValueError("X is not in the file (it was no numeric array): pass it again, load(path, X=...)")
    if codes is None and not isinstance(X, Pool):
        raise TypeError(f"this learner was made with a pool: X must be that pool, got {type(X).__name__}")
    if (_digest(X) if codes is not None else X.fingerprint()) != state["digest"]:
        raise ValueError("X is not the table this learner was made with")
    if given.get("estimator") is None and state["estimator"] is None and state["oracle"] is None:
        given["estimator"] = "linear" if state["format"] < FORMAT else state["named_estimator"]
        state["estimator"] = given["estimator"]
    for name in ("estimator", "oracle"):
        if (state[name] is None) != (given.get(name) is None):
            raise ValueError(
                f"this learner was made with {name}={state[name]}; load(path, {name}=...) must match"
            )
    if strategy is None and state["strategy_params"] is None:
        raise ValueError(
            f"this learner's strategy {state['strategy']!r} is an object: pass it, load(path, strategy=...)"
        )
    named = strategy is None
    learner = FairActiveLearner(
        X,
        None if codes is None else [_hashable(state["groups"][c]) for c in codes],
        strategy=state["strategy"] if named else strategy,
        strategy_params=state["strategy_params"] if named else None,
        classes=tuple(state["classes"]),
        # Files of format 1 come from before there were profiles: the paper's was the only one.
        **{"profile": "paper", **state["settings"]},
        **given,
    )
    learner.columns_ = columns
    log = DrawLog.from_list(len(learner.pool), state["log"])
    return learner.with_state(LearnerState(log, state["batches"], state["history"]))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _digest(X: Matrix) -> str:
    if issparse(X):
        return hashlib.sha256(repr(X.shape).encode() + sparse_bytes(X)).hexdigest()
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    data = np.ascontiguousarray(array).tobytes() if array.dtype != object else repr(array.tolist()).encode()
    return hashlib.sha256(repr(array.shape).encode() + data).hexdigest()
