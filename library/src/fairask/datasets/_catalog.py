"""The datasets by name. Adding a table is one file with a ``SPEC`` and one entry here."""

from __future__ import annotations

from fairask.datasets import _adult, _bank, _compas, _crime, _drug, german
from fairask.datasets._spec import Spec
from fairask.errors import suggest

CATALOG: dict[str, Spec] = {
    module.SPEC.name: module.SPEC for module in (_adult, _bank, _compas, _crime, _drug, german)
}
#: The dataset that is generated.
SYNTHETIC = "synthetic"


def names() -> list[str]:
    """Return the names that ``load`` knows.

    Examples
    --------
    >>> names()
    ['adult', 'bank', 'compas', 'crime', 'drug', 'german', 'synthetic']
    """
    return sorted([*CATALOG, SYNTHETIC])


def check_name(name: str) -> str:
    """Return ``name`` if it is known, or raise naming the nearest known one.

    Examples
    --------
    >>> check_name("germany")
    Traceback (most recent call last):
    ...
    ValueError: unknown dataset 'germany'; did you mean 'german'?
    """
    if name not in names():
        raise ValueError(f"unknown dataset {name!r}; {suggest(name, names())}")
    return name
