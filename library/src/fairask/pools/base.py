"""The abstract pool: counting, finding and ranking rows, given a source of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fairask.matrix import nth_left, row_set, within
from fairask.metrics import Int, Matrix
from fairask.pools import tasks
from fairask.pools.cells import CellIndex, Cells, patterns_of
from fairask.pools.coders import Coder, Group, Model, Predictions, decision_coder
from fairask.pools.codes import code_dtype
from fairask.pools.runners import ProgressCallback, collect
from fairask.pools.sources.base import BlockSource
from fairask.pools.sources.device import DeviceSource
from fairask.rules import Rule

J = TypeVar("J")
R = TypeVar("R")

#: Bytes that the keys of a pool's rows may take between counting and finding.
MOST_KEPT = 1 << 28


class Pool(ABC):
    """Unlabelled rows, some of which may still be asked for.

    This is the contract between a pool and everything that draws from one: strategies, the learner and the
    audit. A subclass says where the rows are (:class:`Pool`, :class:`StreamedPool`).

    Rows are numbered 0 to ``n_rows - 1``. A pool never changes: :meth:`excluding` returns another pool over
    the same rows. Every result depends on row numbers, features, groups and the given seed alone, never on
    how rows are cut into blocks, on the order in which blocks finish, or on the number of workers. So the
    same rows give the same draws as an array, a memory map, Parquet files or a Dask frame.

    Counting, finding and ranking are written once, here, as tasks that the pool's source of blocks runs. A
    subclass implements :meth:`take`, :meth:`groups_of` and :meth:`fingerprint`.

    Parameters
    ----------
    source : BlockSource
    n_rows : int
    group_values : list
    progress : callable, optional
        Called with a :class:`PassProgress` after every block of a pass.

    Attributes
    ----------
    n_rows, n_groups : int
    group_values : list
        The group with code i, as the user knows it.
    excluded : ndarray
        Rows that may not be asked for, sorted: eight bytes per excluded row.
    """

    def __init__(
        self,
        source: BlockSource,
        n_rows: int,
        group_values: Sequence[object],
        progress: ProgressCallback | None = None,
    ) -> None:
        self._source, self.n_rows, self.progress = source, n_rows, progress
        self.group_values = list(group_values)
        self.n_groups = len(self.group_values)
        self.excluded: Int = np.zeros(0, dtype=np.int64)

    @abstractmethod
    def take(self, rows: Int) -> Matrix:
        """Features of these rows, in this order."""

    @abstractmethod
    def groups_of(self, rows: Int) -> Int:
        """Group codes of these rows."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that changes when the pool's rows do."""

    def sample(self, rows: Int) -> tuple[Matrix, Int]:
        """Features and group codes of many rows, in this order; they are not kept."""
        return self.take(rows), self.groups_of(rows)

    def __len__(self) -> int:
        """Rows that may still be asked for."""
        return self.n_rows - len(self.excluded)

    @property
    def n_blocks(self) -> int:
        """Blocks of consecutive rows in which the pool is read."""
        return len(self._source.starts) - 1

    @property
    def rows(self) -> Int:
        """Numbers of the available rows: eight bytes per row, made when asked for."""
        left = np.ones(self.n_rows, dtype=bool)
        left[self.excluded] = False
        return np.flatnonzero(left)

    def excluding(self, rows: ArrayLike) -> Self:
        """The same pool without these rows (and without those it had excluded); nothing is copied.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> Pool(np.zeros((4, 1)), np.zeros(4, int), 1).excluding([1, 2]).rows.tolist()
        [0, 3]
        """
        other = copy(self)
        other.excluded = np.union1d(self.excluded, row_set(rows, self.n_rows))
        return other

    def on_device(self, device: str) -> Self:
        """The same pool, with all rows as a float32 tensor on a device of PyTorch, where they are counted.

        Parameters
        ----------
        device : str
            ``"cuda"``, ``"cuda:1"``, ``"mps"`` or ``"cpu"``. The first pass looks for the device, and reads
            the rows, once; see :func:`fairask.pools.check_device`.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> pool = Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).on_device("cpu")
        >>> pool.by_group().counts.tolist()
        [2, 1]
        """
        other = copy(self)
        other._source = DeviceSource(self._source, device, self.progress)
        return other

    def everything(self) -> Cells:
        """All available rows as one cell; no row is read.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> Pool(np.zeros((4, 1)), np.zeros(4, int), 1).everything().counts.tolist()
        [4]
        """
        excluded, zero = self.excluded, np.zeros(1, dtype=np.int64)
        return Cells(
            np.array([len(self)]), zero, np.zeros((0, 1), bool), lambda _, ranks: nth_left(excluded, ranks)
        )

    def by_group(self) -> Cells:
        """One cell per group; only groups are read.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> Pool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group().counts.tolist()
        [2, 1]
        """
        return self._cells(Group())

    def by_prediction(self, rules: Sequence[Rule]) -> Cells:
        """One cell per group and pattern of the rules' predictions, up to complement.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> from fairask.rules import LinearRule
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> rules = [LinearRule(np.array([1.0, 0.0])), LinearRule(np.array([1.0, -1.0]))]
        >>> cells = pool.by_prediction(rules)
        >>> cells.counts.tolist(), cells.patterns.tolist()
        ([1, 1, 1], [[False, False, False], [False, True, False]])
        """
        code_dtype(len(rules))  # refuses too few and too many
        return self._cells(Predictions(rules))

    def by_decision(self, model: Model, seed: int = 0) -> Cells:
        """One cell per group and decision of one model: what an audit draws from.

        Parameters
        ----------
        model : Rule, fair oracle, SoftModel or classifier of 0 and 1
            Its decision must depend on the features (and the group) of the row alone.
        seed : int
            The decisions of a randomised model are drawn once, by this seed and the row's number.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> from fairask.rules import LinearRule
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> cells = pool.by_decision(LinearRule(np.array([1.0, 0.0])))
        >>> cells.groups.tolist(), cells.patterns.tolist(), cells.counts.tolist()
        ([0, 0, 1], [[False, True, True]], [1, 1, 1])
        """
        cells = self._cells(decision_coder(model, seed))
        return Cells(cells.counts, cells.groups, cells.patterns[1:], cells.finder)

    def lowest(self, score: tasks.Score, n: int, seed: int, *, threads: bool = True) -> Int:
        """The n available rows with the lowest score, lowest first; ties broken by row number and seed.

        Parameters
        ----------
        score : callable
            ``score(X, groups)`` returns one number per row. It must be importable where blocks are.
        n, seed : int
        threads : bool
            Whether several threads may call ``score`` at once.

        Examples
        --------
        >>> from fairask.pools import Pool
        >>> pool = Pool(np.array([[3.0], [1.0], [2.0]]), np.zeros(3, int), 1)
        >>> pool.lowest(lambda X, groups: X[:, 0], 2, seed=0).tolist()
        [1, 2]
        """
        if not 1 <= n <= len(self):
            raise ValueError(f"n={n} rows were asked for, but the pool has {len(self)} left")
        parts = self._run(
            tasks.Lowest(score, n, seed, threads), dict.fromkeys(range(self.n_blocks)), "ranking"
        )
        return tasks.lowest(list(parts.values()), n).row

    def _run(self, task: tasks.BlockTask[J, R], jobs: Mapping[int, J], stage: str) -> dict[int, R]:
        """Run a task on the blocks that have a job; results in the order of the blocks."""
        results = self._source.run(task, jobs, self.excluded)
        return collect(results, self._sizes(jobs), stage, self.progress)

    def _sizes(self, blocks: Iterable[int]) -> dict[int, int]:
        """Rows of each of these blocks."""
        return {block: stop - start for block in blocks for start, stop in [self._span(block)]}

    def _span(self, block: int) -> tuple[int, int]:
        """First row of a block, and the first one after it."""
        start, stop = self._source.starts[block : block + 2].tolist()
        return start, stop

    def _cells(self, coder: Coder) -> Cells:
        """Count the available rows of each cell."""
        width = np.min_scalar_type((self.n_groups << (coder.k - 1)) - 1).itemsize
        # Keys are kept from counting to finding, or else computed again in the blocks that are drawn from.
        keep = self._source.local and self.n_rows * width <= MOST_KEPT
        task = tasks.CountCells(coder, self.n_groups, keep, features=keep and self._keeps_features())
        counted = self._run(task, dict.fromkeys(range(self.n_blocks)), "counting")
        if not counted:
            raise ValueError("the pool has no rows")
        index = CellIndex([part.counts for part in counted.values()])
        patterns = patterns_of(index.total.codes, coder.k)
        return Cells(
            index.total.counts, index.total.groups, patterns, partial(self._locate, coder, index, counted)
        )

    def _locate(
        self, coder: Coder, index: CellIndex, counted: Mapping[int, tasks.Counted], cells: Int, ranks: Int
    ) -> Int:
        """Find the ``ranks``-th rows of ``cells``."""
        rows = np.empty(len(cells), dtype=np.int64)
        where, within_block = np.empty((2, len(cells)), dtype=np.int64)
        for cell in np.unique(cells):
            at = cells == cell
            where[at], within_block[at] = index.block_of(int(cell), ranks[at])
        jobs: dict[int, tasks.CellRanks] = {}
        for block in np.unique(where).tolist():
            at = where == block
            job = tasks.CellRanks(
                index.total.groups[cells[at]], index.total.codes[cells[at]], within_block[at]
            )
            if counted[block].keys is None:
                jobs[block] = job
            else:
                rows[at] = self._find_kept(block, counted[block], job, coder.k)
        for block, found in self._run(tasks.FindRows(coder), jobs, "drawing").items():
            rows[where == block] = found.rows
            self._cache_drawn_rows(found)
        return rows

    def _find_kept(self, block: int, counted: tasks.Counted, job: tasks.CellRanks, k: int) -> Int:
        """Find rows of a block by the keys that were kept; the block is not read again."""
        assert counted.keys is not None
        start, stop = self._span(block)
        wanted = ((job.groups.astype(np.uint64) << np.uint64(k - 1)) + job.codes).astype(counted.keys.dtype)
        inside = tasks.find_kept(counted.keys, within(self.excluded, start, stop), wanted, job.ranks)
        if counted.features:
            ends = np.cumsum([len(part) for part in counted.features])
            parts = np.searchsorted(ends, inside, side="right")
            X = [counted.features[p][at - ends[p]] for p, at in zip(parts, inside, strict=True)]
            self._cache_drawn_rows(tasks.Found(start + inside, np.array(X), job.groups))
        return start + inside

    def _keeps_features(self) -> bool:
        """Whether features are kept from counting to finding, so that drawn rows need not be read again."""
        return False

    def _cache_drawn_rows(self, found: tasks.Found) -> None:
        """Called with drawn rows whose features were read on the way; by default they are not kept."""
        return
