"""The table of an audit, streamed: predictions and groups are counted where they are, never held."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairask.audit.audit import Audit
from fairask.audit.predictions import Classes, choose_classes, key
from fairask.audit.table import AuditTable, check_wanted, parquet_files
from fairask.metrics import Float
from fairask.pools import SoftModel, StreamedPool
from fairask.pools.open import Look
from fairask.pools.runners import ProgressCallback, Threads
from fairask.tables import Encoder, GroupColumns, TableError
from fairask.tables.arrow import kind_of
from fairask.tables.cells import listed
from fairask.tables.encoder import MOST_LEVELS, Category, Number
from fairask.tables.groups import as_specs, group_notes
from fairask.tables.survey import CategoryTally, NumberTally, Survey


@dataclass(frozen=True)
class SaysOne(SoftModel):
    """A model whose prediction is a column: its probability of 1, or whether it is one of some classes."""

    value: float | None = None
    randomised: bool = False
    threads = True

    def chance(self, X: Any) -> Float:
        """Probability of a positive decision."""
        said: Float = np.asarray(X, dtype=np.float64).sum(axis=1)
        return said if self.value is None else (said == self.value).astype(np.float64)


def footers_digest(path: str) -> str:
    """The sha256 of all files' names, sizes and footers."""
    files = [[f.name, f.bytes, f.rows, f.digest] for f in parquet_files(path).records()]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


def open_streamed_table(
    path: str,
    *,
    predictions: str,
    protected: str | Sequence[str],
    positive: str | Sequence[str] | None = None,
    progress: ProgressCallback | None = None,
    device: str | None = None,
) -> AuditTable:
    """Look through the two columns once; the audit then counts and draws where the rows are."""
    table = parquet_files(path)
    names = list(table.schema.names)
    specs = as_specs(protected)
    wanted = check_wanted(names, {"predictions": predictions}, specs)
    if not sum(table.sizes):
        raise TableError(f"{path} has no rows", "Give a table with rows")
    for name in wanted:
        kind = table.schema.field(name).type
        if kind_of(kind) not in ("number", "boolean", "category"):
            raise TableError(f"column {name!r} has type {kind}", "Name a column of numbers or texts")
    runner = Threads()
    found, sizes = Look(runner, table, progress).all([predictions], list(specs))
    groups = GroupColumns.of(specs, found.groups)
    notes: list[str] = []
    part, rule, classes = _rule(found, predictions, as_specs(positive or ()), notes)
    pool = StreamedPool(table, sizes, runner, Encoder((part,), "nothing"), groups, progress)
    counted = pool if device is None else pool.on_device(device)
    return AuditTable(
        names=names,
        rows=pool.n_rows,
        kept=None,
        group_rows=dict(zip(groups.names, groups.rows, strict=True)),
        classes=classes,
        notes=[
            *group_notes(", ".join(specs), dict(zip(groups.values, groups.rows, strict=True))),
            *notes,
            "the table was streamed: its predictions and groups were counted where they are",
        ],
        take=pool.table,
        begin=lambda plan: Audit.of_pool(counted, rule, plan),
    )


def _rule(
    found: Survey, name: str, positive: Sequence[str], notes: list[str]
) -> tuple[Number | Category, SaysOne, Classes]:
    """The column as a feature, the rule that reads it, and the classes."""
    tally = found.tallies[name]
    if n := tally.missing:
        raise TableError(
            f"{n:,} rows have no prediction in {name!r}",
            "The audit is of the model's decisions: predict those rows too, or leave them out of the file",
        )
    if isinstance(tally, CategoryTally):
        levels = sorted(tally.levels)
        if not levels:
            raise TableError(
                f"predictions in {name!r} have more than {MOST_LEVELS} different values",
                "Give 0 and 1, probabilities from 0 to 1, or classes with --positive",
            )
        classes = choose_classes(name, levels, positive, notes)
        # A category makes a feature of each level but the first: of the positive ones alone.
        return Category(name, ("\0", *classes.positive)), SaysOne(), classes
    assert isinstance(tally, NumberTally)
    seen = tally.moments
    if seen.low < 0 or seen.high > 1 or tally.infinite is not None:
        raise TableError(
            f"predictions in {name!r} go from {seen.low:g} to {seen.high:g}",
            "A streamed table's predictions are 0 and 1, probabilities of 1, or texts",
        )
    # Numbers from 0 to 1 whose squares add up to what they add up to are all 0 or 1.
    soft = abs(seen.squares / seen.n + seen.mean**2 - seen.mean) > 1e-12
    number = Number(name, fill=False)
    wanted = {key(one) for one in positive}
    if wanted <= {key("1")}:
        return number, SaysOne(randomised=soft), Classes()
    if wanted == {key("0")} and not soft:
        return number, SaysOne(value=0.0), Classes(("1",), ("0",))
    raise TableError(
        f"--positive {listed(positive)}: predictions in {name!r} are numbers from 0 to 1",
        "Leave --positive out, and label the rows with 1 and 0",
    )
