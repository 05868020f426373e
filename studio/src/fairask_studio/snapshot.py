"""Snapshots: the state after some event, so that opening a study replays only the events since.

Events stay the only truth. A snapshot counts if this version wrote it and the event that it stands on has the
hash that it had then; otherwise everything is replayed. ``fairask verify`` compares it with a replay.
"""

from __future__ import annotations

import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fairask import __version__
from fairask.log import ASKED, LABELLED, SKIPPED, DrawLog, DrawnRow
from fairask_studio._errors import SENSELESS
from fairask_studio.config import Config
from fairask_studio.events import Document, LimitReached, StudyCreated
from fairask_studio.flags import Flags
from fairask_studio.known import KnownRows
from fairask_studio.outside import Outside
from fairask_studio.state import Answer, State
from fairask_studio.store import Store, Transaction

#: Written by another version, a snapshot is not read: what events mean may have changed.
FORMAT = f"2 {__version__}"
#: Events after a snapshot that are worth another one.
_WORTH = 2000
_STATES = (ASKED, LABELLED, SKIPPED)
#: Attributes of the state that are plain values as they are.
_PLAIN = (
    "created", "last", "batches", "answered", "skipped", "audited", "stale", "changed", "history",
    "certificates",
)  # fmt: skip


def read_state(turn: Transaction, to: int | None = None) -> State:
    """Return the state after all events, or after event ``to``, from the last snapshot if it can be used."""
    state = _from_snapshot(turn, to)
    if state is None:
        return State.replay(turn.each_event(0, to))
    for event in turn.each_event(state.last, to):
        state.apply(event)
    return state


def keep_snapshot(store: Store, state: State) -> None:
    """Write a snapshot, if there are many events since the last one and no audit is under way."""
    if state.audit is not None or state.last - store.snapshot_at() < _WORTH:
        return
    packed = _pack(state)
    with store.write(durable=False) as turn:
        turn.put_snapshot(state.last, FORMAT, packed)


def check_snapshot(turn: Transaction) -> str | None:
    """Say what is wrong with the snapshot; None if it is what the events say, or there is none."""
    state = _from_snapshot(turn, None)
    if state is None or _pack(state) == _pack(State.replay(turn.each_event(0, state.last))):
        return None
    return f"the snapshot at event {state.last} is not what the events say: fairask study repair removes it"


def _from_snapshot(turn: Transaction, to: int | None) -> State | None:
    found = turn.get_snapshot(FORMAT, to)
    if found is None:
        return None
    created = next(turn.each_event(0, 1)).happening
    try:
        return _unpack(found, created) if isinstance(created, StudyCreated) else None
    except (*SENSELESS, OSError, BadZipFile, zlib.error):
        return None  # damaged: the events are there


def _pack(state: State) -> bytes:
    entries = state.log.entries
    given = [
        (row, who, answer) for row, kept in sorted(state.answers.items()) for who, answer in kept.items()
    ]
    people = sorted({*state.recent, *(who for _, who, _ in given)})
    code = {who: number for number, who in enumerate(people)}
    components = sorted({entry.component for entry in entries})
    place = {name: number for number, name in enumerate(components)}
    rest = _rest(state, people, components, [answer for _, _, answer in given])
    arrays: dict[str, NDArray[Any]] = {
        "index": np.array([e.index for e in entries], np.int64),
        "batch": np.array([e.batch for e in entries], np.int32),
        "propensity": np.array([e.propensity for e in entries], np.float64),
        "component": np.array([place[e.component] for e in entries], np.int16),
        "pool_size": np.array([e.pool_size for e in entries], np.int64),
        "state": np.array([_STATES.index(e.state) for e in entries], np.int8),
        "label": np.array([-1 if e.label is None else e.label for e in entries], np.int8),
        "answer_row": np.array([row for row, _, _ in given], np.int64),
        "answer_who": np.array([code[who] for _, who, _ in given], np.int32),
        "answer_code": np.array([answer.code for _, _, answer in given], np.int8),
        "answer_at": np.array([answer.at.encode("ascii") for _, _, answer in given], np.bytes_),
        "recent_row": np.array([row for who in people for row in state.recent.get(who, ())], np.int64),
        "recent_count": np.array([len(state.recent.get(who, ())) for who in people], np.int64),
        "rest": np.frombuffer(json.dumps(rest, ensure_ascii=False).encode(), np.uint8),
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _rest(state: State, people: list[str], components: list[str], given: list[Answer]) -> Document:
    """Return what is not an array; ``given`` are all answers, by row and person."""
    config = {name: value for name, value in state.config.to_dict().items() if name != "encoder"}
    return {
        **{name: vars(state)[name] for name in _PLAIN},
        "config": config,
        "uri": None if state.pool is None else state.pool["uri"],
        "people": people,
        "components": components,
        "version": state.log.version,
        "notes": {str(i): answer.note for i, answer in enumerate(given) if answer.note},
        "links": {str(i): answer.link for i, answer in enumerate(given) if answer.link},
        "reasons": {str(i): answer.reason for i, answer in enumerate(given) if answer.reason},
        "outside": state.outside.to_data(),
        "flags": state.flags.to_data(),
        "known": state.known.to_data(),
        "by": dict(state.by),
        "skips": dict(state.skips),
        "seen": state.seen,
        "reopened": [
            [number, [[row, who, *astuple(a)] for (row, who), a in taken.items()]]
            for number, taken in state.reopened.items()
        ],
        "warned": [[at, limit.to_data()] for at, limit in state.warned],
        "decided": [[row, label, state.decided_by[row]] for row, label in state.decided.items()],
        "kept": None if state.kept is None else state.kept["event"],
        "cells": list(state.cells.items()),
    }


def _unpack(data: bytes, created: StudyCreated) -> State:
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    rest: Document = json.loads(arrays["rest"].tobytes())
    encoder = created.config.get("encoder")
    config = Config.from_dict({**rest["config"], **({} if encoder is None else {"encoder": encoder})})
    state = State(config, _log(config.rows, arrays, rest), **{name: rest[name] for name in _PLAIN})
    state.pool = None if created.pool is None else {**created.pool, "uri": rest["uri"]}
    people = rest["people"]
    columns = (arrays[f"answer_{name}"].tolist() for name in ("row", "who", "code", "at"))
    for i, (row, who, code, at) in enumerate(zip(*columns, strict=True)):
        note, link, reason = (rest[name].get(str(i), "") for name in ("notes", "links", "reasons"))
        answer = Answer(code, at.decode("ascii"), note, link, reason)
        state.answers.setdefault(row, {})[people[who]] = answer
    rows = iter(arrays["recent_row"].tolist())
    for who, count in zip(people, arrays["recent_count"].tolist(), strict=True):
        state.recent[who] = {next(rows): None for _ in range(count)}
    state.by, state.skips, state.seen = Counter(rest["by"]), Counter(rest["skips"]), rest["seen"]
    state.reopened = {
        number: {(row, who): Answer(*answer) for row, who, *answer in taken}
        for number, taken in rest["reopened"]
    }
    state.warned = [(at, LimitReached.from_data(limit)) for at, limit in rest["warned"]]
    state.decided = {row: label for row, label, _ in rest["decided"]}
    state.decided_by = {row: who for row, _, who in rest["decided"]}
    state.kept = next((entry for entry in state.history if entry["event"] == rest["kept"]), None)
    state.cells = dict(_pairs(rest["cells"]))
    state.outside = Outside.from_data(rest["outside"])
    state.flags = Flags.from_data(rest["flags"])
    state.known = KnownRows.from_data(rest["known"])
    return state


def _pairs(found: Iterable[list[Document]]) -> Iterable[tuple[int, Document]]:
    return ((int(str(row)), cells) for row, cells in found)


def _log(n_pool: int, arrays: dict[str, NDArray[Any]], rest: Document) -> DrawLog:
    names = ("index", "batch", "propensity", "component", "pool_size", "state", "label")
    log = DrawLog(n_pool, version=rest["version"])
    for index, batch, q, component, size, state, label in zip(
        *(arrays[name].tolist() for name in names), strict=True
    ):
        known = None if label < 0 else label
        log.position[index] = len(log.entries)
        log.entries.append(
            DrawnRow(index, batch, q, rest["components"][component], size, _STATES[state], known)
        )
    return log
