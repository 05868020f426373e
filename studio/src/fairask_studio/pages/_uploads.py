"""Tables that were sent to make a study of, and what to expect of a study where some labels are known."""

from __future__ import annotations

import secrets
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fairask.errors import UserError
from fairask.tables import read_noted
from fairask.tables.arrow import kind_of
from fairask.tables.groups import MOST_GROUPS
from fairask_studio import StudyError
from fairask_studio.columns import guess_displays
from fairask_studio.events import Document

#: Rows of a table that are shown before a study is made of it, and different values that are named.
_PREVIEW, _VALUES = 3, 12
#: Tables that are kept; a table may be large.
_MOST = 4


@dataclass(frozen=True)
class Uploaded:
    """A table that was sent to make a study of."""

    id: str
    table: pa.Table
    notes: list[str]

    def described(self) -> Document:
        """Return rows, columns with how they would be shown, and some rows."""
        displays = guess_displays(self.table)
        return {
            "id": self.id,
            "rows": self.table.num_rows,
            "notes": self.notes,
            "columns": [self._column(name, displays[name]) for name in self.table.column_names],
            "preview": [
                {name: "" if value is None else str(value)[:20_000] for name, value in row.items()}
                for row in self.table.slice(0, _PREVIEW).to_pylist()
            ],
        }

    def _column(self, name: str, display: str) -> Document:
        values = self.table.column(name)
        plain = kind_of(values.type) not in (None, "vector")
        different = values.unique().drop_null() if plain else pa.chunked_array([pa.array([], pa.string())])
        few = 0 < len(different) <= _VALUES
        return {
            "name": name,
            "display": display,
            "different": len(different),
            "values": sorted(str(value) for value in different.to_pylist()) if few else [],
            "known": values.length() - values.null_count if plain else 0,
            "can_group": 2 <= len(different) <= MOST_GROUPS,
        }


class Uploads:
    """The last tables that were sent, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Uploaded] = {}

    def take(self, name: str, data: bytes) -> Uploaded:
        """Read a table that was sent; UserError in words if it cannot be read."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                (Path(folder) / Path(name).name).write_bytes(data)
                table, notes = read_noted(Path(folder) / Path(name).name)
            except ValueError as error:
                if isinstance(error, UserError):
                    raise
                raise StudyError(f"{name} cannot be read: {error}") from error
        found = Uploaded(secrets.token_hex(8), table, list(notes))
        with self._lock:
            while len(self._kept) >= _MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[found.id] = found
        return found

    def get(self, number: str) -> Uploaded:
        """Return a table that was sent before."""
        with self._lock:
            found = self._kept.get(number)
        if found is None:
            raise StudyError("the table is not here any more", "Choose the file again")
        return found
