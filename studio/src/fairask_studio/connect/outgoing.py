"""Rows that go to a tool: drawn, still open, and only the columns that it may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairask.log import ASKED
from fairask_studio import Config, Study
from fairask_studio.columns import ColumnInfo
from fairask_studio.events import Cell


@dataclass(frozen=True)
class OutgoingRow:
    """A drawn row with the code that must come back with its answers."""

    row: int
    check: str
    cells: dict[str, Cell]


def columns_for(config: Config, protected: bool) -> list[ColumnInfo]:
    """Return the columns that a tool gets: those that annotators see, and protected ones only if asked."""
    shown = set(config.shown)
    return [
        column
        for column in config.columns
        if (protected if column.role == "protected" else column.name in shown)
    ]


def outgoing_rows(study: Study, rows: Sequence[int], protected: bool) -> list[OutgoingRow]:
    """Return drawn rows as a tool gets them.

    Examples
    --------
    >>> import tempfile
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> with Study.create(tempfile.mkdtemp() + "/loans", pool, protected="sex", random_state=0) as study:
    ...     drawn = study.draw(1).indices.tolist()
    ...     list(outgoing_rows(study, drawn, protected=False)[0].cells)
    ['age']
    """
    names = [column.name for column in columns_for(study.config, protected)]
    codes = study.row_codes(rows)
    found = study.rows(rows)
    return [
        OutgoingRow(row, codes[row], {name: cells[name] for name in names})
        for row, cells in zip(rows, found, strict=True)
    ]


def unsent_rows(study: Study, name: str, most: int) -> list[list[int]]:
    """Return parts of batches, at most ``most`` rows each, with open rows that the link has not sent.

    The cut does not depend on what was sent or answered: after a kill, the part is sent again as it was.
    """
    with study.lock:
        state = study.state()
        sent = state.outside.sent.get(name, set())
        batches: dict[int, list[int]] = {}
        wanted: set[tuple[int, int]] = set()
        for entry in state.log.entries:
            rows = batches.setdefault(entry.batch, [])
            if entry.state == ASKED and entry.index not in sent:
                wanted.add((entry.batch, len(rows) // most))
            rows.append(entry.index)
    return [batches[batch][part * most : (part + 1) * most] for batch, part in sorted(wanted)]
