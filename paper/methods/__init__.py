"""The methods of the benchmark: one file a family, a registry by name.

To add one, write a file with a list ``METHODS`` and name it below.
"""

from __future__ import annotations

from fairask.errors import suggest
from paper.methods import calibrated, fare, passive, rivals, trees
from paper.methods.method import MODELS, PaperMethod

__all__ = ["METHODS", "MODELS", "PaperMethod", "get_method"]

#: Methods by name, in the order of tables.
METHODS: dict[str, PaperMethod] = {
    m.name: m for file in (fare, rivals, passive, calibrated, trees) for m in file.METHODS
}


def get_method(name: str) -> PaperMethod:
    """Return a method by name.

    Examples
    --------
    >>> get_method("fare-diff").strategy_params
    {'diff_share': 1.0}
    >>> get_method("fair")
    Traceback (most recent call last):
        ...
    ValueError: method 'fair' is unknown; did you mean 'fare'?
    """
    if name not in METHODS:
        raise ValueError(f"method {name!r} is unknown; {suggest(name, METHODS)}")
    return METHODS[name]
