"""Rows of a PyTorch tensor: coded, counted and ranked on the tensor's own device."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np

from fairask.errors import UserError
from fairask.matrix import tie_breakers, within
from fairask.metrics import Bool, Int, Matrix
from fairask.pools.cells import BlockCounts, count_block
from fairask.pools.coders import Chunk, Coder, Decision, Group, Predictions
from fairask.pools.codes import decisions, linear_cuts
from fairask.pools.runners import Threads
from fairask.pools.scores import DistanceToHalf
from fairask.pools.tasks import (
    BlockTask,
    CellRanks,
    CountCells,
    Counted,
    Fetch,
    FindRows,
    Found,
    Lowest,
    Ranked,
    lowest,
)
from fairask.rules import GroupLinearRule, LinearRule, Rule
from fairask.tables.arrow import optional

if TYPE_CHECKING:
    from torch import Tensor

J = TypeVar("J")
R = TypeVar("R")

#: Groups are codes of one byte.
MOST_GROUPS = 256
#: Rows per block, and most values that one block turns into single precision.
_BLOCK, _CPU_BLOCK = 1 << 22, 1 << 16
_VALUES = 1 << 27
#: Bytes that the codes of all rows may take on the device between counting and finding.
_KEPT = 1 << 32
#: Cells up to which rows are counted in a table with one entry per possible cell.
_LARGEST_TABLE = 1 << 24


class _Coded(NamedTuple):
    """The linear rules of a coder on a device."""

    rules: list[Rule]
    beta: Tensor  #: (rules, features) in single precision, or (3 rules, features) in bfloat16
    lower: Tensor  #: (rules, 1 or groups)
    upper: Tensor


class TensorSource:
    """See :class:`fairask.pools.sources.BlockSource`: blocks are slices of a tensor, which stays where it is.

    Counting, finding and ranking by linear rules happen on the device; histograms and drawn rows come back.
    Other rules get each block as an array. The tensor may be stored in half precision; scores are computed
    in single precision, and those within rounding of a cut again in double precision.

    Parameters
    ----------
    X : Tensor of shape (rows, features)
        float16, bfloat16 or float32.
    groups : Tensor of shape (rows,)
        Codes, on the same device.
    """

    #: Keys stay on the device.
    local = False

    def __init__(self, X: Tensor, groups: Tensor) -> None:
        self.X, self.groups, self.torch = X, groups, optional("torch", "torch")
        #: Apple's devices have no double precision: doubtful rows are decided by the processor there.
        self.doubles = X.device.type != "mps"
        self.runner = Threads(None if X.device.type == "cpu" else 1)
        most = _CPU_BLOCK if X.device.type == "cpu" else _BLOCK
        #: Rows that are turned into single precision at a time.
        self.step = max(1, _VALUES // max(X.shape[1], 1))
        self.thirds = X.device.type == "cuda" and X.dtype == self.torch.bfloat16 and self._adds_up()
        size = most if self.thirds else min(most, self.step)
        self.starts: Int = np.append(np.arange(0, len(X), size), len(X))
        self.largest = self._largest()
        self._kept: tuple[Coder | None, dict[int, Tensor]] = None, {}

    def _adds_up(self) -> bool:
        """Whether this PyTorch multiplies in half precision and adds up in single precision."""
        try:
            self.torch.mm(self.X[:1], self.X[:1].T, out_dtype=self.torch.float32)
        except (TypeError, RuntimeError):
            return False
        return True

    def _largest(self) -> float:
        """Largest absolute value; refuses values that are not finite."""
        found = []
        for start, stop in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            low, high = self.torch.aminmax(self.X[start:stop])
            found.append(self.torch.maximum(-low, high).float())
        largest = self.torch.stack(found).cpu().numpy().astype(np.float64)
        if not np.isfinite(largest).all():
            raise UserError(
                "the tensor has values that are missing or infinite", "Fill them, or leave the rows out"
            )
        return float(largest.max())

    def run(self, task: BlockTask[J, R], jobs: Mapping[int, J], excluded: Int) -> Generator[tuple[int, R]]:
        """See :class:`fairask.pools.sources.BlockSource`."""
        coded = self._coded(task.coder) if isinstance(task, CountCells | FindRows) else None
        if isinstance(task, CountCells):
            self._kept = task.coder, {}

        def work(task: BlockTask[J, R], block: int, job: J) -> R:
            # A processor's threads work on blocks of their own: waiting for each other in every operation
            # costs more than it saves.
            if self.X.device.type == "cpu":
                self.torch.set_num_threads(1)
            with self.torch.no_grad():
                return cast("R", self._answer(task, coded, block, excluded, job))

        calls = {block: (block, job) for block, job in jobs.items()}
        with self._settings():
            yield from self.runner.run(work, task, calls, threads=task.threads)

    def _answer(
        self, task: BlockTask[J, R], coded: _Coded | None, block: int, excluded: Int, job: J
    ) -> object:
        start, stop = self._span(block)
        out = within(excluded, start, stop)
        if isinstance(task, CountCells) and coded is not None:
            return self._count(task, coded, block, out)
        if isinstance(task, FindRows) and coded is not None:
            return self._find(task.coder, coded, block, out, cast("CellRanks", job))
        if isinstance(task, Fetch):
            return self.fetch(cast("Int", job))
        if isinstance(task, Lowest) and _is_linear(task.score):
            return self._lowest(task, block, out)
        parts = range(start, stop, self.step)
        return task((self._chunk(at, min(at + self.step, stop)) for at in parts), excluded, job)

    def _span(self, block: int) -> tuple[int, int]:
        start, stop = self.starts[block : block + 2].tolist()
        return start, stop

    @contextmanager
    def _settings(self) -> Iterator[None]:
        """Switch off products in reduced precision, which some programs switch on for training."""
        before, threads = self.torch.get_float32_matmul_precision(), self.torch.get_num_threads()
        self.torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            self.torch.set_float32_matmul_precision(before)
            self.torch.set_num_threads(threads)

    def _chunk(self, start: int, stop: int) -> Chunk:
        def features(rows: Int | None) -> Matrix:
            part = self.X[start:stop]
            at = part if rows is None else part[self.torch.from_numpy(rows).to(part.device)]
            return at.float().cpu().numpy()

        return Chunk(start, self.groups[start:stop].cpu().numpy(), features)

    def fetch(self, rows: Int) -> Found:
        """These rows with their features and group codes, as arrays."""
        at = self.torch.from_numpy(np.asarray(rows, dtype=np.int64)).to(self.X.device)
        return Found(rows, self.X[at].float().cpu().numpy(), self.groups[at].long().cpu().numpy())

    def _coded(self, coder: Coder) -> _Coded | None:
        """The coder's rules on the device; None if they are not linear."""
        if isinstance(coder, Group):
            none = self.torch.zeros(0)
            return _Coded([], none, none, none)
        if not isinstance(coder, Predictions) or (isinstance(coder, Decision) and len(coder.rules) > 1):
            return None
        if not all(isinstance(rule, LinearRule | GroupLinearRule) for rule in coder.rules):
            return None
        # A device may cut off instead of rounding when it adds up products in half precision.
        cuts = linear_cuts(coder.rules, self.largest * (2 if self.thirds else 1), np.float32)
        beta, lower, upper = (
            self.torch.from_numpy(part).to(self.X.device)
            for part in (cuts.beta[:, :-1].astype(np.float32), cuts.lower, cuts.upper)
        )
        return _Coded(coder.rules, in_thirds(beta) if self.thirds else beta, lower, upper)

    def _scores(self, beta: Tensor, X: Tensor) -> Tensor:
        """Scores in single precision, (rules, rows)."""
        if not self.thirds:
            return beta @ X.float().T
        parts = self.torch.mm(beta, X.T, out_dtype=self.torch.float32)
        return cast("Tensor", parts.view(3, len(beta) // 3, len(X)).sum(0))

    def _codes(self, coder: Coder, coded: _Coded, block: int) -> tuple[Tensor, Tensor]:
        """Codes and groups of a block's rows; codes are kept from counting to finding."""
        start, stop = self._span(block)
        groups = self.groups[start:stop]
        kept_for, kept = self._kept
        if kept_for is coder and block in kept:
            return kept[block], groups
        codes = self._new_codes(coder, coded, block, groups)
        small = self.torch.int16 if coder.k <= 16 else codes.dtype
        if kept_for is coder and len(self.X) * small.itemsize <= _KEPT:
            kept[block] = codes.to(small) if small != codes.dtype else codes.clone()
        return codes, groups

    def _new_codes(self, coder: Coder, coded: _Coded, block: int, groups: Tensor) -> Tensor:
        start, stop = self._span(block)
        dtype = self.torch.int32 if coder.k <= 31 else self.torch.int64
        codes = self.torch.zeros(stop - start, dtype=dtype, device=self.X.device)
        if not coded.rules:
            return cast("Tensor", codes)
        X = self.X[start:stop]
        scores, lower, upper = self._scores(coded.beta, X), coded.lower, coded.upper
        if lower.shape[1] > 1:
            column = groups.int()
            lower, upper = lower.index_select(1, column), upper.index_select(1, column)
        decided = scores > upper
        doubt = (scores > lower).logical_xor_(decided)
        rows = doubt.any(0).nonzero()[:, 0]
        if len(rows):
            decided[:, rows] = self._settled(coded.rules, X[rows].float(), groups[rows])
        if isinstance(coder, Decision):
            return cast("Tensor", codes.add_(decided[0]))
        for i in range(1, len(coded.rules)):
            codes.add_(decided[i] ^ decided[0], alpha=1 << (i - 1))
        return cast("Tensor", codes)

    def _settled(self, rules: list[Rule], X: Tensor, groups: Tensor) -> Tensor:
        """Decisions on rows within rounding of a cut: in double precision, then in the order of features."""
        if not self.doubles:
            return self._by_processor(rules, X, groups)
        cuts = linear_cuts(rules, self.largest, np.float64)
        beta, lower, upper = (
            self.torch.from_numpy(part).to(X.device) for part in (cuts.beta[:, :-1], cuts.lower, cuts.upper)
        )
        scores = beta @ X.double().T
        if cuts.by_group:
            lower, upper = (part.index_select(1, groups.int()) for part in (lower, upper))
        decided = scores > upper
        doubt = (scores > lower).logical_xor_(decided)
        rows = doubt.any(0).nonzero()[:, 0]
        if len(rows):
            decided[:, rows] = self._by_processor(rules, X[rows], groups[rows])
        return cast("Tensor", decided)

    def _by_processor(self, rules: list[Rule], X: Tensor, groups: Tensor) -> Tensor:
        found: Bool = decisions(rules, X.cpu().numpy(), groups.long().cpu().numpy())
        return cast("Tensor", self.torch.from_numpy(found).to(X.device))

    def _count(self, task: CountCells, coded: _Coded, block: int, out: Int) -> Counted:
        codes, groups = self._codes(task.coder, coded, block)
        width = 1 << (task.coder.k - 1)
        if width * task.n_groups > _LARGEST_TABLE:
            unsigned = codes.cpu().numpy().astype(np.uint64)
            left = np.ones(len(unsigned), dtype=bool)
            left[out] = False
            counts = count_block(unsigned[left], groups.cpu().numpy()[left], task.n_groups, task.coder.k)
            return Counted(counts, None, [])
        keys = codes.add_(groups, alpha=width)
        # All rows are counted, then the few excluded ones subtracted: no row is copied.
        table = self.torch.bincount(keys, minlength=width * task.n_groups)
        if len(out):
            less = keys[self.torch.from_numpy(out).to(keys.device)]
            table -= self.torch.bincount(less, minlength=width * task.n_groups)
        counted = table.cpu().numpy()
        cells = np.flatnonzero(counted)
        return Counted(
            BlockCounts(cells // width, (cells % width).astype(np.uint64), counted[cells]), None, []
        )

    def _find(self, coder: Coder, coded: _Coded, block: int, out: Int, job: CellRanks) -> Found:
        codes, groups = self._codes(coder, coded, block)
        gone = self.torch.from_numpy(out).to(codes.device)
        inside = np.empty(len(job.ranks), dtype=np.int64)
        for group, code in sorted(set(zip(job.groups.tolist(), job.codes.tolist(), strict=True))):
            hit = (codes == code) & (groups == group)
            hit[gone] = False
            which = (job.groups == group) & (job.codes == np.uint64(code))
            ranks = self.torch.from_numpy(job.ranks[which]).to(codes.device)
            inside[which] = hit.nonzero()[:, 0][ranks].cpu().numpy()
        return self.fetch(self._span(block)[0] + inside)

    def _lowest(self, task: Lowest, block: int, out: Int) -> Ranked:
        """Find candidates on the device, in double precision; rank them by the score itself."""
        start, stop = self._span(block)
        score = cast("DistanceToHalf", task.score)
        torch, X, groups = self.torch, self.X[start:stop], self.groups[start:stop]
        precise = torch.float64 if self.doubles else torch.float32
        p, reach = torch.zeros(len(X), dtype=precise, device=X.device), 0.0
        for rule, weight in zip(score.rules, score.weights, strict=True):
            rule = cast("LinearRule | GroupLinearRule", rule)
            beta = torch.from_numpy(rule.beta).to(X.device, precise)
            parts = [part.to(precise) @ beta[:-1] for part in torch.split(X, self.step)]
            value = torch.cat(parts) + beta[-1]
            reach += float(np.abs(rule.beta).sum()) * max(1.0, self.largest)
            if isinstance(rule, GroupLinearRule):
                reach += float(np.abs(rule.cuts[np.isfinite(rule.cuts)]).max(initial=0.0))
                value -= torch.from_numpy(rule.cuts).to(X.device, precise)[groups.long()]
            p += float(weight) * torch.sigmoid(value)
        value = (p - 0.5).abs_()
        value[torch.from_numpy(out).to(X.device)] = float("inf")
        n = min(task.n, len(X) - len(out))
        none = np.zeros(0)
        if n == 0:
            return Ranked(none, none.astype(np.uint64), none.astype(np.int64))
        # Twice what rounding can do to a value on the device: no row that belongs to the lowest is lost.
        slack = 2 * (X.shape[1] + 8) * torch.finfo(precise).eps * (1.0 + reach)
        bound = torch.topk(value, n, largest=False).values[-1] + slack
        found = self.fetch(start + (value <= bound).nonzero()[:, 0].cpu().numpy())
        exact = np.asarray(task.score(found.X, found.groups), dtype=np.float64)
        return lowest([Ranked(exact, tie_breakers(found.rows, task.seed), found.rows)], task.n)


def in_thirds(beta: Tensor) -> Tensor:
    """Coefficients (rules, features) as three times as many rows in bfloat16 that add up to them exactly.

    A product of two numbers in bfloat16 is exact in single precision, so the sum of the three products is
    one in single precision, without a copy of the rows in single precision.

    Examples
    --------
    >>> import torch
    >>> beta = torch.tensor([[0.1, 1 / 3]])
    >>> bool((in_thirds(beta).float().sum(0) == beta).all())
    True
    """
    first = beta.bfloat16()
    second = (beta - first.float()).bfloat16()
    torch = optional("torch", "torch")
    return cast("Tensor", torch.cat([first, second, (beta - first.float() - second.float()).bfloat16()]))


def _is_linear(score: object) -> bool:
    return isinstance(score, DistanceToHalf) and all(
        isinstance(rule, LinearRule | GroupLinearRule) for rule in score.rules
    )
