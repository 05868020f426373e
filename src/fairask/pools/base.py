"""The abstract pool: what every pool can do, given blocks on which tasks can be run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fairask.metrics import Float, Int
from fairask.pools._cells import CellIndex, Cells, patterns_of
from fairask.pools._tasks import (
    Chance,
    CountCells,
    Decision,
    DrawnDecision,
    FindRows,
    Group,
    Lowest,
    Predictions,
    find_kept,
    lowest,
)
from fairask.pools.codes import code_dtype
from fairask.pools.rows import nth_left, row_set, within
from fairask.rules import Rule, RuleMixture, as_rule

__all__ = ["Pool"]


#: Bytes that the keys of a pool's rows may take between counting and finding.
MOST_KEPT = 1 << 28


class Pool(ABC):
    """Unlabelled rows, some of which may still be asked for.

    This is the contract between a pool and everything that draws from one: strategies, the learner and the
    audit. A subclass says where the rows are (:class:`MemoryPool`, :class:`StreamedPool`).

    Rows are numbered 0 to ``n_rows - 1``. A pool never changes: :meth:`excluding` returns another pool over
    the same rows. Every result depends on row numbers, features, groups and the given seed alone, never on
    how rows are cut into blocks, on the order in which blocks finish, or on the number of workers. So the
    same rows give the same draws as an array, a memory map, Parquet files or a Dask frame.

    Rows are read in blocks of consecutive rows. A subclass implements ``n_blocks``, ``_span`` and ``_run``
    (run a task on some blocks), and ``take``, ``groups_of`` and ``fingerprint``. Counting, finding and
    ranking are written once, here.

    Attributes
    ----------
    n_rows, n_groups : int
    group_values : list
        The group with code i, as the user knows it.
    excluded : ndarray
        Rows that may not be asked for, sorted: eight bytes per excluded row.
    """

    n_rows: int
    n_groups: int
    group_values: list[Any]
    excluded: Int

    @abstractmethod
    def _run(self, task: Any, jobs: Mapping[int, Any], stage: str) -> dict[int, Any]:
        """Run a task on the blocks that have a job; results in the order of the blocks."""

    @abstractmethod
    def _span(self, block: int) -> tuple[int, int]:
        """First row of a block, and the first one after it."""

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Blocks the pool is made of."""

    @abstractmethod
    def take(self, rows: Int) -> Any:
        """Features of these rows, in this order."""

    @abstractmethod
    def groups_of(self, rows: Int) -> Int:
        """Group codes of these rows."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that changes when the pool's rows do."""

    def __len__(self) -> int:
        """Rows that may still be asked for."""
        return self.n_rows - len(self.excluded)

    @property
    def rows(self) -> Int:
        """Numbers of the available rows: eight bytes for each, made when asked for."""
        left = np.ones(self.n_rows, dtype=bool)
        left[self.excluded] = False
        return np.flatnonzero(left)

    def excluding(self, rows: ArrayLike) -> Self:
        """The same pool without these rows (and without those it had excluded); nothing is copied.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> MemoryPool(np.zeros((4, 1)), np.zeros(4, int), 1).excluding([1, 2]).rows.tolist()
        [0, 3]
        """
        other = copy(self)
        other.excluded = np.union1d(self.excluded, row_set(rows, self.n_rows))
        return other

    def everything(self) -> Cells:
        """All available rows as one cell; no row is read.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> MemoryPool(np.zeros((4, 1)), np.zeros(4, int), 1).everything().counts.tolist()
        [4]
        """
        one = np.zeros(1, dtype=np.int64)
        excluded = self.excluded
        return Cells(
            np.array([len(self)]), one, np.zeros((0, 1), bool), lambda _, ranks: nth_left(excluded, ranks)
        )

    def by_group(self) -> Cells:
        """One cell a group; only groups are read.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> MemoryPool(np.zeros((3, 1)), np.array([0, 1, 0]), 2).by_group().counts.tolist()
        [2, 1]
        """
        return self._cells(Group(), 1)

    def by_prediction(self, rules: Sequence[Rule]) -> Cells:
        """One cell for each group and pattern of the rules' predictions, up to complement.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> from fairask.rules import LinearRule
        >>> pool = MemoryPool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> rules = [LinearRule(np.array([1.0, 0.0])), LinearRule(np.array([1.0, -1.0]))]
        >>> cells = pool.by_prediction(rules)
        >>> cells.counts.tolist(), cells.patterns.tolist()
        ([1, 1, 1], [[False, False, False], [False, True, False]])
        """
        code_dtype(len(rules))  # refuses too few and too many
        return self._cells(Predictions(rules), len(rules))

    def by_decision(self, model: Any, seed: int = 0) -> Cells:
        """One cell for each group and decision of one model: what an audit draws from.

        Parameters
        ----------
        model : fair oracle, or object with ``decide``, ``predict`` or ``chance``
            Its decisions must depend on a row's features alone; ``predict`` gives 1 for a positive one,
            ``chance`` the probability of one.
        seed : int
            A fair oracle that mixes several rules is randomised: its decisions are drawn once, by this seed
            and the row's number.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> from fairask.rules import LinearRule
        >>> pool = MemoryPool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> cells = pool.by_decision(LinearRule(np.array([1.0, 0.0])))
        >>> cells.groups.tolist(), cells.patterns.tolist(), cells.counts.tolist()
        ([0, 0, 1], [[False, True, True]], [1, 1, 1])
        """
        cells = self._cells(_decision(model, seed), 2)
        return Cells(cells.counts, cells.groups, cells.patterns[1:], cells.finder)

    def lowest(self, score: Callable[..., Float], n: int, seed: int) -> Int:
        """The n available rows with the lowest score, lowest first; ties broken by row number and seed.

        ``score`` maps features (and group codes, if it has a true attribute ``aware``) to one number a row;
        it must be importable where blocks are worked on.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> pool = MemoryPool(np.array([[3.0], [1.0], [2.0]]), np.zeros(3, int), 1)
        >>> pool.lowest(lambda X: X[:, 0], 2, seed=0).tolist()
        [1, 2]
        """
        if not 1 <= n <= len(self):
            raise ValueError(f"n={n} rows were asked for, but the pool has {len(self)} left")
        parts = self._run(
            Lowest(score, n, seed, threads=getattr(score, "threads", True)),
            dict.fromkeys(range(self.n_blocks)),
            "ranking",
        )
        rows: Int = lowest(list(parts.values()), n)[2]
        return rows

    def _cells(self, coder: Any, k: int) -> Cells:
        note = self._noting()
        found = self._run(
            CountCells(coder, self.n_groups, keep=self._keeps(k), features=note is not None),
            dict.fromkeys(range(self.n_blocks)),
            "counting",
        )
        if not found:
            raise ValueError("the pool has no rows")
        index = CellIndex([part.counts for part in found.values()])
        kept = {block: (part.keys, part.features) for block, part in found.items()}
        total = index.total

        def finder(cells: Int, ranks: Int) -> Int:
            rows = np.empty(len(cells), dtype=np.int64)
            where, within_block = np.empty((2, len(cells)), dtype=np.int64)
            for cell in np.unique(cells):
                at = cells == cell
                where[at], within_block[at] = index.block_of(int(cell), ranks[at])
            jobs = {}
            for block in np.unique(where).tolist():
                at = where == block
                groups, codes, rank = total.groups[cells[at]], total.codes[cells[at]], within_block[at]
                keys, features = kept[block]
                if keys is None:
                    jobs[block] = (groups, codes, rank)
                    continue
                start, stop = self._span(block)
                wanted = groups.astype(np.uint64) * np.uint64(1 << (k - 1)) + codes
                out = within(self.excluded, start, stop)
                inside = find_kept(keys, out, wanted.astype(keys.dtype), rank)
                rows[at] = start + inside
                if features and note is not None:
                    note(start, inside, groups, features)
            for block, found_rows in self._find(coder, jobs).items():
                rows[where == block] = found_rows
            return rows

        return Cells(total.counts, total.groups, patterns_of(total.codes, k), finder)

    def _keeps(self, k: int) -> bool:
        """Whether keys are kept from counting to finding, or computed again for blocks drawn from."""
        return bool(self.n_rows * np.min_scalar_type((self.n_groups << (k - 1)) - 1).itemsize <= MOST_KEPT)

    def _noting(self) -> Callable[[int, Int, Int, list[Any]], None] | None:
        """What takes features of drawn rows of a block, by their places in it; None to read them again."""
        return None

    def _find(self, coder: Any, jobs: Mapping[int, Any]) -> dict[int, Int]:
        return {b: f.rows for b, f in self._run(FindRows(coder), jobs, "drawing").items()}


def _decision(model: Any, seed: int) -> Chance | Decision | DrawnDecision:
    """What sorts rows by the decision of a model."""
    if hasattr(model, "chance"):
        return Chance(model, seed)
    if isinstance(model, RuleMixture):
        rules, weights = model.used_members()
        return Decision(rules[0]) if len(rules) == 1 else DrawnDecision(rules, weights, seed)
    return Decision(as_rule(model))
