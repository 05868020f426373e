"""Protected columns as they are named: ``sex``, several of them, or ``age:30,50`` for bands of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fairask.errors import suggest
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow
from fairask.tables.kinds import kind_of
from fairask.tables.numbers import as_numbers


@dataclass(frozen=True)
class ProtectedColumn:
    """A protected column, and where its numbers are cut into bands.

    Examples
    --------
    >>> ProtectedColumn.parse("age:30,50", ["age", "sex"]).bands
    ['under 30', '30 up to 50', '50 or more']
    """

    name: str
    cuts: tuple[float, ...] = ()

    @classmethod
    def parse(cls, spec: str, names: Sequence[str]) -> ProtectedColumn:
        """Read ``column`` or ``column:cut,cut``; a column whose name holds a colon comes first."""
        if spec in names:
            return cls(spec)
        name, colon, cuts = spec.rpartition(":")
        if not colon or name not in names:
            wanted = name if colon else spec
            hint = suggest(wanted, names)
            raise TableError(f"--protected: no column {wanted!r}", hint[0].upper() + hint[1:])
        try:
            numbers = tuple(float(cut) for cut in cuts.split(","))
        except ValueError:
            raise TableError(
                f"--protected {spec}: {cuts!r} are not numbers", f"Say where bands begin: {name}:30,50"
            ) from None
        if any(not a < b for a, b in pairwise(numbers)) or not np.isfinite(numbers).all():
            raise TableError(f"--protected {spec}: the numbers must grow", f"Order them: {name}:30,50")
        return cls(name, numbers)

    @property
    def bands(self) -> list[str]:
        """Names of the bands, from low to high."""
        cuts = [f"{cut:g}" for cut in self.cuts]
        between = [f"{low} up to {high}" for low, high in pairwise(cuts)]
        return [f"under {cuts[0]}", *between, f"{cuts[-1]} or more"]

    def band_codes(self, column: Arrow) -> npt.NDArray[np.int64]:
        """Return the band of each row, from 0; -1 where the number is missing."""
        if kind_of(column.type) != "number":
            raise TableError(
                f"column {self.name!r} has type {column.type}, which cannot be cut into bands",
                f"Name it without numbers: --protected {self.name}",
            )
        values = as_numbers(column, self.name).astype(np.float64)
        codes = np.searchsorted(self.cuts, values, side="right")
        return np.where(np.isnan(values), -1, codes).astype(np.int64)


def as_specs(protected: str | Sequence[str]) -> tuple[str, ...]:
    """Return the protected columns as they were named, one or several.

    Examples
    --------
    >>> as_specs("sex"), as_specs(["race", "age:30"])
    (('sex',), ('race', 'age:30'))
    """
    return (protected,) if isinstance(protected, str) else tuple(protected)


def protected_columns(protected: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of the protected columns, or raise TableError for one that is not there.

    Examples
    --------
    >>> protected_columns(["sex", "age:30"], ["age", "sex"])
    ['sex', 'age']
    """
    found = [ProtectedColumn.parse(spec, names).name for spec in as_specs(protected)]
    if not found:
        raise TableError("no protected column is named", "Name one: --protected sex")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise TableError(f"--protected names the column {twice!r} twice", "Name each column once")
    return found
