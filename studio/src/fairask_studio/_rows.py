"""The rows of a study: copied into it, or read where they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fairask.learner import FairActiveLearner
from fairask.metrics import Int, Matrix, encode_groups
from fairask.pools import StreamedPool
from fairask.pools.runners import ProgressCallback, Threads
from fairask.pools.sources.place import PlacedTable
from fairask.tables import Encoder, GroupColumns
from fairask.tables.groups import as_specs, protected_columns
from fairask_studio._errors import StudyError
from fairask_studio._pool import rows_values
from fairask_studio._reference import PoolReference, rows_table
from fairask_studio.config import Config
from fairask_studio.encoder_0_1_0 import FirstEncoder, first_group_names
from fairask_studio.events import Cell
from fairask_studio.state import State

#: The unlabelled rows: copied, or referred to.
StudyTable: TypeAlias = pa.Table | PoolReference
_Given: TypeAlias = tuple[Matrix | StreamedPool, ArrayLike | None]


class StudyRows(Protocol):
    """What a study needs of its rows, copied or not."""

    #: What a learner is made of: features and groups, or a pool and None.
    given: _Given
    #: From columns to features.
    encoder: Encoder | FirstEncoder
    #: The protected columns and their groups; None in studies made by version 0.1.0.
    groups: GroupColumns | None
    #: Group code of a row, by its number.
    codes: Int | _Codes
    #: Rows of each group, in the order of the codes.
    sizes: list[int]
    #: Features and groups of some rows, for an oracle that looks at the pool; None to take them from it.
    sample: tuple[Matrix, NDArray[np.int64]] | None

    def row(self, index: int, state: State) -> dict[str, Cell]:
        """Return the cells of a row."""
        ...

    def rows(self, indices: Sequence[int], state: State) -> list[dict[str, Cell]]:
        """Return the cells of several rows, in their order."""
        ...

    def cells_of(self, rows: Sequence[int]) -> tuple[list[str], list[list[Cell]]] | None:
        """Return columns and cells that the log must keep of drawn rows; None if the study has the rows."""
        ...

    def cache_drawn_rows(self, state: State) -> None:
        """Load drawn rows from the log into the pool's cache."""
        ...


def rows_of(table: StudyTable, config: Config) -> StudyRows:
    """Return the rows of a study, given its table or the reference to it."""
    return ReferencedRows(table, config) if isinstance(table, PoolReference) else CopiedRows(table, config)


def with_sample(table: StudyTable, learner: FairActiveLearner) -> StudyTable:
    """Return the table; a reference with the rows that the oracle of its learner reads, to be kept."""
    return table.sampled(learner.background()) if isinstance(table, PoolReference) else table


def placed(table: StudyTable, pool: str | None, progress: ProgressCallback | None) -> StudyTable:
    """Return the table of a study; a reference at the place that was given, if one was."""
    if not isinstance(table, PoolReference):
        if pool is not None:
            raise StudyError("this study holds a copy of its pool; leave out --pool")
        return table
    return replace(table if pool is None else table.moved(pool), progress=progress)


class CopiedRows:
    """Rows of a table that the study holds."""

    def __init__(self, table: pa.Table, config: Config) -> None:
        self._table = table
        self.sample: tuple[Matrix, NDArray[np.int64]] | None = None
        # Studies made by version 0.1.0 do not hold their encoder.
        self.encoder: Encoder | FirstEncoder = (
            FirstEncoder(table, config) if config.encoder is None else Encoder.from_dict(config.encoder)
        )
        X = self.encoder.transform(table)
        groups: ArrayLike
        self.groups: GroupColumns | None = None
        if config.encoder is None and isinstance(config.protected, str):
            groups = first_group_names(table, config.protected)
        else:
            self.groups = GroupColumns.in_table(table, config.protected)
            groups = np.array(self.groups.names)[self.groups.codes(table.combine_chunks())]
        self.given: _Given = (X, groups)
        names, codes = encode_groups(groups)
        self.codes: Int | _Codes = codes
        self.sizes = np.bincount(codes, minlength=len(names)).tolist()

    def row(self, index: int, state: State) -> dict[str, Cell]:
        """See :class:`StudyRows`."""
        return self.rows([index], state)[0]

    def rows(self, indices: Sequence[int], state: State) -> list[dict[str, Cell]]:
        """See :class:`StudyRows`."""
        return rows_values(self._table.take(pa.array(indices, pa.int64())))

    def cells_of(self, rows: Sequence[int]) -> None:
        """See :class:`StudyRows`."""

    def cache_drawn_rows(self, state: State) -> None:
        """See :class:`StudyRows`."""


class ReferencedRows:
    """Rows that stay where they are. The files are opened when a pass or a row first needs them."""

    def __init__(self, reference: PoolReference, config: Config) -> None:
        assert reference.facts is not None
        self.reference, self.sample = reference, reference.facts.sample
        protected = GroupColumns(as_specs(config.protected), tuple(v for v, _ in reference.facts.groups))
        self.sizes = [rows for _, rows in reference.facts.groups]
        self._stamp: object = None
        self.pool = StreamedPool(
            self._open,
            None,
            Threads(),
            reference.facts.encoder,
            protected,
            reference.progress,
            n_rows=reference.num_rows,
        )
        self.given: _Given = (self.pool, None)
        self.groups: GroupColumns | None = protected
        self.encoder: Encoder | FirstEncoder = reference.facts.encoder
        self.codes: Int | _Codes = _Codes(self.pool)
        self._seen = 0

    def _open(self) -> PlacedTable:
        self._stamp = self.reference.stamp()
        return self.reference.open()

    def row(self, index: int, state: State) -> dict[str, Cell]:
        """See :class:`StudyRows`; a row that was drawn is in the log."""
        return self.rows([index], state)[0]

    def rows(self, indices: Sequence[int], state: State) -> list[dict[str, Cell]]:
        """See :class:`StudyRows`; rows that were drawn are in the log."""
        missing = sorted({index for index in indices if index not in state.cells})
        read = dict(zip(missing, rows_values(self.pool.table(missing)) if missing else [], strict=True))
        return [
            read[index] if index in read else {k: _shown(v) for k, v in state.cells[index].items()}
            for index in indices
        ]

    def cells_of(self, rows: Sequence[int]) -> tuple[list[str], list[list[Cell]]]:
        """See :class:`StudyRows`."""
        table = self.pool.table(rows)
        if self.reference.stamp() != self._stamp:
            raise StudyError(
                f"the pool at {self.reference.uri} was changed while the study was using it",
                "Restore it, then start the studio or the command again: it compares every file",
            )
        cells = [[_plain(value) for value in row.values()] for row in table.to_pylist()]
        return table.column_names, cells

    def cache_drawn_rows(self, state: State) -> None:
        """See :class:`StudyRows`."""
        new = list(state.cells)[self._seen :]
        if new:
            groups = protected_columns(self.pool.protected.columns, self.reference.schema.names)
            columns = list(dict.fromkeys([*self.pool.encoder.columns, *groups]))
            self.pool.cache_rows(
                new, rows_table(self.reference.schema, columns, [state.cells[r] for r in new])
            )
            self._seen += len(new)


class _Codes:
    """Group codes of drawn rows, by row number."""

    def __init__(self, pool: StreamedPool) -> None:
        self._pool = pool

    def __getitem__(self, row: int) -> int:
        return int(self._pool.groups_of([row])[0])


def _plain(value: object) -> Cell:
    """Return a cell as JSON holds it; what a model reads (numbers, texts, booleans) comes back as it was."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None if np.isnan(value) else str(value)
    if isinstance(value, list):
        return json.dumps(value)  # a vector
    return value.isoformat() if isinstance(value, date) else str(value)


def _shown(value: Cell) -> Cell:
    return str(value) if isinstance(value, bool) else value
