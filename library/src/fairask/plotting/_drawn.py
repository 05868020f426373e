"""Which rows were drawn: by component, on the pool's first two principal components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fairask.learner import FairActiveLearner
from fairask.metrics import Float
from fairask.plotting._style import COMPONENT_COLORS, panels, principal_plane, style

if TYPE_CHECKING:
    from fairask.plotting._style import Panels

_TITLES = {"diff": "λ_diff", "fair": "λ_fair", "ranked": "by rank"}


@dataclass
class DrawnRowsDisplay:
    """The rows that each component drew, over the pool.

    Parameters
    ----------
    points : ndarray of shape (rows, 2)
        Rows of the pool.
    drawn : dict of str to ndarray of shape (n, 2)
        By component.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> display = DrawnRowsDisplay.from_rows(rng.normal(size=(50, 4)), {"fair": rng.normal(size=(3, 4))})
    >>> len(display.plot().axes_)
    1
    """

    points: Float
    drawn: dict[str, Float]

    @classmethod
    def from_rows(cls, X: ArrayLike, drawn: Mapping[str, ArrayLike]) -> DrawnRowsDisplay:
        """Project rows of the pool and the drawn ones, given as features by component."""
        if not drawn:
            raise ValueError("drawn is empty: nothing to draw")
        rows = np.asarray(X, dtype=np.float64)
        project = principal_plane(rows)
        found = {name: project(np.asarray(values, dtype=np.float64)) for name, values in drawn.items()}
        return cls(project(rows), found)

    @classmethod
    def from_learner(cls, learner: FairActiveLearner) -> DrawnRowsDisplay:
        """The labelled rows of a learner whose pool is an array in memory, by component.

        Examples
        --------
        >>> learner = FairActiveLearner(np.eye(4), ["a", "b"] * 2, random_state=0)
        >>> learner.tell(learner.ask(4).indices, [0, 1, 0, 1])
        >>> list(DrawnRowsDisplay.from_learner(learner).drawn)
        ['uniform']
        """
        if not isinstance(learner.pool.X, np.ndarray):
            raise TypeError("from_learner needs a pool that is an array; give features to from_rows")
        components = np.array(learner.components_)
        rows = {name: learner.labelled_indices_[components == name] for name in dict.fromkeys(components)}
        return cls.from_rows(
            learner.pool.X, {str(name): learner.pool.X[found] for name, found in rows.items()}
        )

    def plot(self, ax: Panels = None) -> DrawnRowsDisplay:
        """Draw one panel per component, on given axes (a sequence) or a new figure."""
        with style():
            n = len(self.drawn)
            self.figure_, self.axes_ = panels(ax, 1, n, (7.4, min(7.4 / n, 3.4)), sharex=True, sharey=True)
            for axis, (component, points) in zip(self.axes_, self.drawn.items(), strict=True):
                color = COMPONENT_COLORS.get(component, COMPONENT_COLORS["ranked"])
                axis.scatter(*self.points.T, s=6, c="#808080", alpha=0.25, linewidths=0, rasterized=True)
                axis.scatter(*points.T, s=20, c=color, edgecolors="#808080", linewidths=0.5)
                axis.set_title(f"{_TITLES.get(component, component)}: {len(points):,}", fontsize=10.5)
                axis.tick_params(labelleft=False, labelbottom=False, length=0)
        return self
