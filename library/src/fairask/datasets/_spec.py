"""The description of a table, and the check that a file holds this table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairask.datasets._errors import wrong_table


@dataclass(frozen=True)
class ParsedTable:
    """A table as read: encoded features (not standardised), labels 0 or 1, and one group per row."""

    X: NDArray[np.float64]
    feature_names: list[str]
    y: NDArray[np.int64]
    groups: NDArray[np.str_]


@dataclass(frozen=True)
class GroupCount:
    """How many rows a group has, and how many of them are labelled 1."""

    size: int
    positives: int


@dataclass(frozen=True)
class Spec:
    """One dataset: where it comes from, how to read it, and what must come out.

    ``parse`` gets the texts of ``files`` (paths in the layout of ``FAIRASK_DATA``) and the name to use
    in errors. ``leaks`` says which features the "honest" variant leaves out; without it there is only
    the "paper" variant. ``sha256`` pins the files' bytes where the published file itself is known;
    ``table_sha256`` pins the parsed content, which is the same whichever form the file has.
    """

    name: str
    files: tuple[str, ...]
    parse: Callable[[Sequence[str], str], ParsedTable]
    target: str
    protected: str
    description: str
    citation: str
    licence: str
    source: str
    counts: dict[str, GroupCount]
    features: dict[str, int]
    table_sha256: str
    sha256: tuple[str, ...] = ()
    embedded: bool = False
    url: str | None = None
    manual: str = ""
    encoding: str = "utf-8-sig"
    leaks: Callable[[str], bool] | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(count.size for count in self.counts.values())


def fingerprint(table: ParsedTable) -> str:
    """Return the sha256 of a parsed table: names, features, labels and groups, in row order.

    Examples
    --------
    >>> t = ParsedTable(np.array([[1.0], [2.0]]), ["a"], np.array([0, 1]), np.array(["f", "m"]))
    >>> fingerprint(t)[:12]
    '079d193b0b24'
    """
    digest = hashlib.sha256("\n".join(table.feature_names).encode())
    # Adding 0 turns -0.0 into 0.0: equal numbers must not differ in their bytes.
    digest.update(np.ascontiguousarray(table.X + 0.0, dtype="<f8").tobytes())
    digest.update(table.y.astype("<i1").tobytes())
    digest.update("\n".join(table.groups.tolist()).encode())
    return digest.hexdigest()


def check_table(spec: Spec, table: ParsedTable, source: str) -> None:
    """Raise TableError where the table is not the published one; the message says what differs."""
    if len(table.y) != spec.rows:
        raise wrong_table(
            f"{source}: {len(table.y):,} rows instead of {spec.rows:,}; "
            "the file is truncated or another release"
        )
    for group, expected in spec.counts.items():
        labels = table.y[table.groups == group]
        if (len(labels), int(labels.sum())) != (expected.size, expected.positives):
            raise wrong_table(
                f"{source}: group {group!r} has {len(labels):,} rows, {int(labels.sum()):,} of them "
                f"positive, instead of {expected.size:,} and {expected.positives:,}; the file was changed"
            )
    if len(table.feature_names) != spec.features["paper"]:
        raise wrong_table(
            f"{source}: {len(table.feature_names)} features instead of {spec.features['paper']}; "
            "the file was changed"
        )
    found = fingerprint(table)
    if found != spec.table_sha256:
        raise wrong_table(
            f"{source}: the counts agree but values were changed (sha256 of the parsed table {found[:12]}, "
            f"published {spec.table_sha256[:12]})"
        )
