"""Read delimited text into named columns; errors name the file and the row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairask.datasets._errors import wrong_table
from fairask.errors import suggest
from fairask.tables.cells import is_number


@dataclass(frozen=True)
class RawTable:
    """Columns of text as they stand in a file."""

    source: str
    columns: dict[str, list[str]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def text(self, name: str) -> list[str]:
        """Return a column as it stands."""
        try:
            return self.columns[name]
        except KeyError:
            hint = suggest(name, self.columns)
            raise wrong_table(f"{self.source}: there is no column {name!r}; {hint}") from None

    def numbers(self, name: str, missing: str | None = None) -> NDArray[np.float64]:
        """Return a column as float64; cells equal to ``missing`` become NaN."""
        cells = self.text(name)
        try:
            return np.array([np.nan if v == missing else float(v) for v in cells], dtype=np.float64)
        except ValueError:
            row, value = next((i, v) for i, v in enumerate(cells) if v != missing and not is_number(v))
            raise wrong_table(
                f"{self.source}: column {name!r} holds {value!r} in data row {row + 1}, which is not a number"
            ) from None

    def select(
        self, names: Sequence[str], numeric: Collection[str]
    ) -> dict[str, NDArray[np.float64] | list[str]]:
        """Return these columns, the ``numeric`` ones as numbers."""
        return {name: self.numbers(name) if name in numeric else self.text(name) for name in names}

    def where(self, keep: Callable[[int], bool]) -> RawTable:
        """Return the rows whose index passes ``keep``, in order."""
        rows = [i for i in range(len(self)) if keep(i)]
        return RawTable(self.source, {c: [v[i] for i in rows] for c, v in self.columns.items()})


def words(text: str) -> list[str]:
    """Return the column names in a block of text; shorter than a list of 147 strings.

    Examples
    --------
    >>> words("age sex")
    ['age', 'sex']
    """
    return text.split()


def read_table(
    text: str, *, source: str, names: Sequence[str] | None = None, delimiter: str = ","
) -> RawTable:
    """Read delimited text; a header line is optional where ``names`` is given.

    A name that occurs twice in a header keeps its first column, as in ProPublica's file.

    Examples
    --------
    >>> read_table("1,2\\n3,4\\n", source="t.csv", names=["a", "b"]).columns
    {'a': ['1', '3'], 'b': ['2', '4']}
    >>> read_table("b,a\\n2,1\\n", source="t.csv", names=["a", "b"]).text("a")
    ['1']
    """
    if text.lstrip()[:1] == "<":
        raise wrong_table(f"{source}: this is a web page, not a table")
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise wrong_table(f"{source}: line {reader.line_num} cannot be read ({error})") from None
    if not rows:
        raise wrong_table(f"{source}: the file is empty")
    header, body = (rows[0], rows[1:]) if names is None else _split_header(rows, names)
    for i, row in enumerate(body):
        if len(row) != len(header):
            raise wrong_table(
                f"{source}: data row {i + 1} has {len(row)} fields instead of {len(header)}; "
                "the file is truncated or not the published one"
            )
    if not body:
        raise wrong_table(f"{source}: the file has a header and no rows")
    columns: dict[str, list[str]] = {}
    for name, cells in zip(header, zip(*body, strict=True), strict=True):
        columns.setdefault(name, list(cells))
    return RawTable(source, columns)


def _split_header(rows: list[list[str]], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    shared = set(names) & set(rows[0])
    if len(shared) == len(names):
        return rows[0], rows[1:]
    # Copies spell a few names in their own way (MedNumBR, MedNumB): then the order counts.
    return list(names), rows[1:] if 2 * len(shared) > len(names) else rows
