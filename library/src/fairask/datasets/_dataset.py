"""A loaded dataset: features, labels, groups and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What a table is called, what it is about, and where it comes from: fields of every description of it.
_ABOUT = ("name", "target", "protected", "description", "citation", "licence")


def about(described: object) -> dict[str, Any]:
    """Return the fields that every description of a table has."""
    return {name: vars(described)[name] for name in _ABOUT}


# Comparing arrays with == gives arrays, so the generated __eq__ could only fail.
@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A binary classification table with a protected attribute.

    Attributes
    ----------
    name, variant : str
        Which dataset, and which reading of it.
    X : ndarray of shape (rows, features)
        Numbers; categories are one-hot without their first level.
    y : ndarray of shape (rows,)
        1 where ``target`` holds, else 0.
    groups : ndarray of shape (rows,)
        The group of each row, a readable name.
    feature_names : list of str
        ``column`` or ``column=level``, one per column of ``X``.
    target, protected : str
        What is predicted, and what the groups are.
    description, citation, licence : str
        Where the table comes from.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> load("german")
    Dataset(german, paper): 1,000 rows, 48 features
      y = 1: good credit risk (70.0 %)
      groups by sex: Female 310 (64.8 %), Male 690 (72.3 %)
    """

    name: str
    variant: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    groups: NDArray[np.str_]
    feature_names: list[str]
    target: str
    protected: str
    description: str
    citation: str
    licence: str

    @property
    def group_sizes(self) -> dict[str, int]:
        """Rows in each group, by name.

        Examples
        --------
        >>> from fairask.datasets import load
        >>> load("german").group_sizes
        {'Female': 310, 'Male': 690}
        """
        values, sizes = np.unique(self.groups, return_counts=True)
        return dict(zip(values.tolist(), sizes.tolist(), strict=True))

    @property
    def base_rates(self) -> dict[str, float]:
        """P(y = 1) in each group, by name.

        Examples
        --------
        >>> from fairask.datasets import load
        >>> round(load("german").base_rates["Female"], 3)
        0.648
        """
        return {group: float(self.y[self.groups == group].mean()) for group in self.group_sizes}

    def __repr__(self) -> str:
        rates = self.base_rates
        groups = ", ".join(f"{g} {n:,} ({100 * rates[g]:.1f} %)" for g, n in self.group_sizes.items())
        rows, features = self.X.shape
        return (
            f"Dataset({self.name}, {self.variant}): {rows:,} rows, {features} features\n"
            f"  y = 1: {self.target} ({100 * self.y.mean():.1f} %)\n"
            f"  groups by {self.protected}: {groups}"
        )
