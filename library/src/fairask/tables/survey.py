"""Learning an encoder: what must be known of columns before rows can be encoded, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from fairask.errors import suggest
from fairask.tables.categories import CategoryTally
from fairask.tables.encode import CONSTANT, Encoder, Part
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow, optional
from fairask.tables.groups import GroupColumns
from fairask.tables.kinds import kind_of
from fairask.tables.numbers import NumberTally
from fairask.tables.text import fit_text
from fairask.tables.textmodel import fit_model_text
from fairask.tables.vectors import VectorTally


class Tally(Protocol):
    """What must be known of a column before its part is fitted; taken batch by batch, in row order."""

    @property
    def missing(self) -> int:
        """Rows without a value."""

    def add(self, column: Arrow) -> None:
        """Take in the next batch."""

    def merge(self, other: Self) -> None:
        """Take in a tally of the rows that follow."""

    def finish(self, name: str) -> Part | str | None:
        """Return the part, the reason why the column cannot train, or None for one value only."""


#: How each kind of column is learned.
TALLIES: dict[str, Callable[[], Tally]] = {
    "number": NumberTally,
    "boolean": NumberTally,
    "date": NumberTally,
    "category": CategoryTally,
    "vector": VectorTally,
}


@dataclass(frozen=True)
class TextColumns:
    """Which columns are free text, besides those that look like it.

    Attributes
    ----------
    names : sequence of str
        Columns to read as free text, however few different values they have.
    model : str, optional
        Folder of a model2vec or sentence-transformers model that makes vectors of texts; by default word
        and character n-grams are counted.
    """

    names: Sequence[str] = ()
    model: str | None = None

    def check(self, columns: Sequence[str]) -> None:
        """Raise TableError for a column that cannot be learned from."""
        for name in self.names:
            if name not in columns:
                raise TableError(f"--text: no column {name!r} to learn from", suggest(name, columns))

    def part(self, name: str, tally: Tally) -> Part | str | None:
        """Return what a column becomes."""
        if not isinstance(tally, CategoryTally):
            if name in self.names:
                raise TableError(f"--text: column {name!r} does not hold texts", "Leave it out of --text")
            return tally.finish(name)
        if not (name in self.names or tally.is_text):
            return tally.finish(name)
        texts, missing = tally.texts(), tally.missing > 0
        if not texts:
            return None
        if self.model is not None:
            return fit_model_text(name, texts, missing, self.model)
        return fit_text(name, texts, missing)


@dataclass
class Survey:
    """What one pass over rows found; surveys of parts, in row order, add up.

    Attributes
    ----------
    n_rows : int
    tallies : dict
        What was found of each column.
    unusable : dict
        Columns of a type that cannot train, and why.
    groups : Counter
        Rows of each value (or tuple of values) of the protected columns; None stands for a missing value.
    """

    n_rows: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    groups: Counter[Hashable] = field(default_factory=Counter)

    def add(self, batch: Arrow, columns: Iterable[str], protected: Sequence[str]) -> None:
        """Take in the next record batch."""
        self.n_rows += batch.num_rows
        for name in columns:
            column = batch.column(name)
            kind = kind_of(column.type)
            if kind is None:
                self.unusable[name] = _why_not(column.type)
            else:
                self.tallies.setdefault(name, TALLIES[kind]()).add(column)
        if protected:
            self.groups.update(GroupColumns.counted(batch, protected))

    def merge(self, other: Survey) -> None:
        """Take in a survey of the rows that follow."""
        self.n_rows += other.n_rows
        self.groups.update(other.groups)
        self.unusable |= other.unusable
        for name, tally in other.tallies.items():
            if name in self.tallies:
                self.tallies[name].merge(tally)
            else:
                self.tallies[name] = tally

    def encoder(
        self,
        columns: Sequence[str],
        fitted_on: str,
        *,
        required: Iterable[str] = (),
        text: TextColumns | None = None,
    ) -> Encoder:
        """Return the encoder of ``columns``; one of the ``required`` ones that cannot train is an error."""
        text = TextColumns() if text is None else text
        text.check(columns)
        parts: list[Part] = []
        left_out: dict[str, str] = {}
        for name in columns:
            tally = self.tallies.get(name)
            found = self.unusable.get(name) if tally is None else text.part(name, tally)
            if found is None or isinstance(found, str):
                left_out[name] = found or CONSTANT
            else:
                parts.append(found)
        for name in required:
            if left_out.get(name, CONSTANT) != CONSTANT:
                raise TableError(
                    f"column {name!r} cannot be a feature: {left_out[name]}",
                    "Leave it out with columns= or drop=",
                )
        if not parts:
            why = ", ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:8])
            raise TableError(
                "no column is left to learn from" + (f" ({why})" if why else ""),
                "Give a table with features besides label and group",
            )
        return Encoder(tuple(parts), fitted_on, left_out)


def survey(batches: Iterable[Arrow], columns: Sequence[str], protected: Sequence[str] = ()) -> Survey:
    """Look through record batches once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = survey([pa.record_batch({"a": [1.0, None], "sex": ["f", "m"]})], ["a"], ["sex"])
    >>> found.n_rows, found.tallies["a"].missing, dict(found.groups)
    (2, 1, {'f': 1, 'm': 1})
    """
    total = Survey()
    for batch in batches:
        total.add(batch, columns, protected)
    return total


def _why_not(kind: Arrow) -> str:
    types = optional("pyarrow", "parquet").types
    return f"nested values ({kind})" if types.is_nested(kind) else f"values of type {kind}"


def fit_encoder(
    table: Arrow, columns: Sequence[str] | None = None, text: TextColumns | None = None
) -> Encoder:
    """Fit an encoder to a pyarrow table in memory.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fit_encoder(pa.table({"job": ["b", "a"]})).feature_names_out
    ['job=b']
    """
    names = list(table.column_names if columns is None else columns)
    found = survey(table.select(names).to_batches(), names)
    return found.encoder(names, f"all {table.num_rows:,} rows", text=text)
