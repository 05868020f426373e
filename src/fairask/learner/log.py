"""The draw log: what was asked, in which order, with which probability, and what came back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fairask.metrics import Float, Int
from fairask.sampling import Draws, importance_weights

__all__ = ["DrawLog", "Entry"]

ASKED, LABELLED, SKIPPED = "asked", "labelled", "skipped"


@dataclass
class Entry:
    """One drawn row. Everything but ``state`` and ``label`` is fixed at the draw."""

    index: int
    batch: int
    propensity: float
    component: str
    pool_size: int
    state: str = ASKED
    label: int | None = None


@dataclass
class DrawLog:
    """Entries in draw order, with the position of each row."""

    n_pool: int
    entries: list[Entry] = field(default_factory=list)
    position: dict[int, int] = field(default_factory=dict)
    version: int = 0  #: grows with every change of the labels

    def add(self, draws: Draws, batch: int) -> None:
        """Book a batch of drawn rows."""
        for i, q, c, n in zip(
            draws.indices, draws.propensities, draws.components, draws.pool_sizes, strict=True
        ):
            self.position[int(i)] = len(self.entries)
            self.entries.append(Entry(int(i), batch, float(q), c, int(n)))

    def entry(self, index: int) -> Entry | None:
        """Entry of a row, None if it was never drawn."""
        at = self.position.get(index)
        return None if at is None else self.entries[at]

    def labelled(self) -> list[Entry]:
        """Labelled entries, in draw order."""
        return [e for e in self.entries if e.state == LABELLED]

    def open_rows(self, batch: int | None = None) -> list[int]:
        """Rows asked for and not answered yet."""
        return [e.index for e in self.entries if e.state == ASKED and batch in (None, e.batch)]

    def arrays(self) -> tuple[Int, Float, Float, Int]:
        """Indices, labels, propensities and pool sizes of the labelled rows."""
        rows = self.labelled()
        return (
            np.array([e.index for e in rows], dtype=np.int64),
            np.array([e.label for e in rows], dtype=np.float64),
            np.array([e.propensity for e in rows], dtype=np.float64),
            np.array([e.pool_size for e in rows], dtype=np.int64),
        )

    def weights(self, kind: str) -> Float:
        """Importance weights of the labelled rows; skipped rows count as outside the pool."""
        _, _, propensities, sizes = self.arrays()
        skipped = sum(e.state == SKIPPED for e in self.entries)
        return importance_weights(kind, propensities, sizes, self.n_pool - skipped)

    def to_list(self) -> list[dict[str, Any]]:
        """Plain values for JSON; a missing propensity is null."""
        rows = [asdict(e) for e in self.entries]
        for row in rows:
            row["propensity"] = None if np.isnan(row["propensity"]) else row["propensity"]
        return rows

    @classmethod
    def from_list(cls, n_pool: int, rows: list[dict[str, Any]]) -> DrawLog:
        """Rebuild from :meth:`to_list`."""
        log = cls(n_pool)
        for row in rows:
            q = row["propensity"]
            entry = Entry(**{**row, "propensity": np.nan if q is None else q})
            log.position[entry.index] = len(log.entries)
            log.entries.append(entry)
        log.version = 1
        return log
