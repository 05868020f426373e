"""A uniform sample of a table: what is left of it when it has been read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairask.metrics import Int

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a sample, where nothing else is said. A round of the default takes 0.06 s of a processor then, and
#: 0.10 s with 200,000 rows, for 0.03 % less variance in a batch of 25.
SAMPLE = 1 << 16


def each_once(columns: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The columns to read, in their order; all that are known by default."""
    return list(known if columns is None else dict.fromkeys(columns))


@dataclass(frozen=True)
class RowSample:
    """Rows drawn uniformly from a table, without replacement.

    Attributes
    ----------
    table : pyarrow.Table
        Their cells, in the order of the keys.
    keys : ndarray
        Each row's number (files) or key (engine) in the table, ascending.
    of : int
        Rows of the table.
    counts : Counter
        Rows of each group in the whole table, where protected columns were named; as
        ``GroupColumns.counted`` counts them.
    """

    table: pa.Table
    keys: Int
    of: int
    counts: Counter[Hashable] = field(default_factory=Counter)
