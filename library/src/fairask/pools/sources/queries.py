"""Tasks of a pool as queries of an engine: counting is one query, drawn rows are fetched by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import narwhals as nw
import numpy as np
import pyarrow.compute as pc

from fairask.metrics import Int
from fairask.pools.cells import BlockCounts, merge_counts
from fairask.pools.coders import Chunk, Coder
from fairask.pools.sources.engine import KEY, EngineTable
from fairask.pools.sources.expressions import Features, coded_frame, linear_rules_of
from fairask.pools.tasks import BlockTask, CellRanks, CountCells, Counted, Fetch, FindRows, Found
from fairask.tables import Encoder, GroupColumns
from fairask.tables.arrow import Arrow
from fairask.tables.groups import protected_columns

J = TypeVar("J")
R = TypeVar("R")


@dataclass
class EngineQueries:
    """Answers tasks on an :class:`EngineTable` without reading its blocks.

    ``starts`` are the first rows of the blocks, and the number of all rows.
    """

    table: EngineTable
    encoder: Encoder
    protected: GroupColumns
    starts: Int

    @cached_property
    def features(self) -> Features | None:
        """The columns as expressions; None where they have none."""
        return Features.of(self.table, self.encoder, self.protected)

    def answer(
        self, task: BlockTask[J, R], jobs: Mapping[int, J], excluded: Int
    ) -> Iterator[tuple[int, R]] | None:
        """Results by block; None if blocks must be read: other rules, or columns without an expression."""
        found: Iterator[tuple[int, Any]] | None = None
        if not jobs:
            return iter(())
        if isinstance(task, Fetch):
            found = self._fetch(cast("Mapping[int, Int]", jobs))
        elif isinstance(task, CountCells | FindRows) and linear_rules_of(task.coder) is not None:
            if self.features is None:
                return None
            if isinstance(task, CountCells):
                found = self._count(task, excluded)
            else:
                found = self._find(task.coder, cast("Mapping[int, CellRanks]", jobs), excluded)
        return cast("Iterator[tuple[int, R]] | None", found)

    @property
    def columns(self) -> list[str]:
        """Columns of groups and features."""
        groups = protected_columns(self.protected.columns, self.table.schema.names)
        return list(dict.fromkeys([*groups, *self.encoder.columns]))

    def rows(self, table: Arrow, rows: Int) -> Found:
        """Encode fetched rows."""
        batch = table.combine_chunks().to_batches()[0]
        X = np.ascontiguousarray(self.encoder(batch))
        return Found(rows, X, self.protected.codes(batch).astype(np.int64))

    def _fetch(self, jobs: Mapping[int, Int]) -> Iterator[tuple[int, Found]]:
        wanted = np.concatenate(list(jobs.values()))
        every = self.rows(self.table.fetch(wanted, self.columns), wanted)
        at = 0
        for block, rows in jobs.items():
            here = slice(at, at + len(rows))
            yield block, Found(rows, every.X[here], every.groups[here])
            at += len(rows)

    def _coded(self, coder: Coder, blocks: list[int], excluded: Int) -> nw.LazyFrame[Any]:
        frame = self.table.between([self.table.blocks[b] for b in blocks])
        if len(excluded):
            frame = frame.filter(~nw.col(KEY).is_in(self.table.keys_of(excluded).tolist()))
        assert self.features is not None
        return coded_frame(frame, self.features, coder, self.table.single)

    def _settled(self, coder: Coder, keys: Int) -> tuple[Int, Int, Any]:
        """Row numbers, groups and exact codes of rows in doubt, given their keys."""
        if not len(keys):
            none = np.zeros(0, dtype=np.int64)
            return none, none, none.astype(np.uint64)
        rows = np.sort(self.table.numbers(keys))
        found = self.rows(self.table.fetch(rows, self.columns), rows)
        codes = coder.codes(Chunk(0, found.groups, lambda at: found.X if at is None else found.X[at]))
        return rows, found.groups, codes.astype(np.uint64)

    def _count(self, task: CountCells, excluded: Int) -> Iterator[tuple[int, Counted]]:
        k, first, blocks = task.coder.k, self.table.blocks[0].first, len(self.table.blocks)
        frame = self._coded(task.coder, list(range(blocks)), excluded)
        block = (nw.col(KEY) - first) // self.table.width
        cell = block * task.n_groups + nw.col("__group__")
        # A row in doubt is a group of its own, so that one pass names it; it is then fetched by its key.
        own = nw.when(nw.col("__doubt__")).then(nw.col(KEY) - first).otherwise(-1)
        frame = frame.with_columns(__cell__=cell, __own__=own)
        if packed := (blocks * task.n_groups).bit_length() + k < 62:  # one column is grouped fastest
            key = cell * (1 << (k - 1)) + nw.col("__code__")
            frame = frame.select(
                __all__=nw.when(nw.col("__own__") >= 0).then(-1 - nw.col("__own__")).otherwise(key)
            )
        by = ["__all__"] if packed else ["__cell__", "__code__", "__own__"]
        counted = self.table.collect(frame.select(*by).group_by(*by).agg(n=nw.len()))
        cells, codes, doubtful = self._unpacked(counted, k, packed)
        sure = doubtful < 0
        counts = counted.column("n").to_numpy().astype(np.int64)
        parts = [(cells[sure], codes[sure], counts[sure])]
        if not sure.all():
            rows, groups, exact = self._settled(task.coder, doubtful[~sure] + first)
            of = np.searchsorted(self.starts, rows, side="right") - 1
            parts.append((of * task.n_groups + groups, exact, np.ones(len(rows), dtype=np.int64)))
        # The cells of all blocks are merged as if each block's groups were groups of their own.
        total = merge_counts([BlockCounts(*part) for part in parts])[0]
        bounds = np.searchsorted(total.groups, np.arange(blocks + 1) * task.n_groups)
        for b in range(blocks):
            at = slice(bounds[b], bounds[b + 1])
            counts_ = BlockCounts(total.groups[at] % task.n_groups, total.codes[at], total.counts[at])
            yield b, Counted(counts_, None, [])

    def _unpacked(self, counted: Arrow, k: int, packed: bool) -> tuple[Int, Any, Int]:
        """Cells, codes and, where a row is in doubt, its key less the first one (-1 elsewhere)."""
        if not packed:
            cell, code, own = (
                counted.column(name).to_numpy() for name in ("__cell__", "__code__", "__own__")
            )
            return cell.astype(np.int64), code.astype(np.uint64), own.astype(np.int64)
        key = counted.column("__all__").to_numpy().astype(np.int64)
        cell, code = np.divmod(key, 1 << (k - 1))
        return cell, code.astype(np.uint64), np.where(key < 0, -1 - key, -1)

    def _find(
        self, coder: Coder, jobs: Mapping[int, CellRanks], excluded: Int
    ) -> Iterator[tuple[int, Found]]:
        wanted = {
            (int(g), int(c)) for job in jobs.values() for g, c in zip(job.groups, job.codes, strict=True)
        }
        frame = self._coded(coder, sorted(jobs), excluded)
        hit = nw.col("__doubt__")
        for group in sorted({g for g, _ in wanted}):
            codes = sorted(c for g, c in wanted if g == group)
            hit = hit | ((nw.col("__group__") == group) & nw.col("__code__").is_in(codes))
        told = frame.filter(hit).select(KEY, "__group__", "__code__", "__doubt__")
        members = self.table.collect(told)
        doubt = members.column("__doubt__")
        sure = members.filter(pc.invert(doubt))
        rows, groups, codes_ = self._settled(coder, members.filter(doubt).column(KEY).to_numpy())
        rows = np.concatenate([self.table.numbers(sure.column(KEY).to_numpy()), rows])
        groups = np.concatenate([sure.column("__group__").to_numpy(), groups])
        codes_ = np.concatenate([sure.column("__code__").to_numpy().astype(np.uint64), codes_])
        order = np.argsort(rows)
        rows, groups, codes_ = rows[order], groups[order], codes_[order]
        found: dict[int, Int] = {}
        for block, job in jobs.items():
            at = slice(*np.searchsorted(rows, self.starts[block : block + 2]))
            inside = np.empty(len(job.ranks), dtype=np.int64)
            for i, (group, code, rank) in enumerate(zip(*job, strict=True)):
                inside[i] = rows[at][(groups[at] == group) & (codes_[at] == code)][rank]
            found[block] = inside
        every = np.unique(np.concatenate(list(found.values())))
        fetched = self.rows(self.table.fetch(every, self.columns), every)
        for block, inside in found.items():
            at_ = np.searchsorted(every, inside)
            yield block, Found(inside, fetched.X[at_], fetched.groups[at_])
