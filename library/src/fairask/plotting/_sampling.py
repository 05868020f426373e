"""The sampling distributions of one round, on the pool's first two principal components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fairask.metrics import Float
from fairask.plotting._style import INK, panels, principal_plane, style

if TYPE_CHECKING:
    from fairask.plotting._style import Panels

_TITLES = {
    "diff": "λ_diff: where the classifiers disagree",
    "fair": "λ_fair: all groups alike",
    "uniform": "uniform",
}


@dataclass
class SamplingDisplay:
    """How likely each row is to be drawn, by component, as a multiple of uniform.

    Parameters
    ----------
    points : ndarray of shape (rows, 2)
        Where the rows lie: the first two principal components.
    ratios : dict of str to ndarray of shape (rows,)
        By component, probability of a row times the size of the pool.
    drawn : dict of str to ndarray of shape (n, 2)
        Where the rows lie that each component drew in this round.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, p = rng.normal(size=(50, 4)), np.r_[np.full(10, 0.1), np.zeros(40)]
    >>> display = SamplingDisplay.from_probabilities(X, {"diff": p}, {"diff": [3]}).plot()
    >>> float(display.ratios["diff"].max()), display.points.shape
    (5.0, (50, 2))
    """

    points: Float
    ratios: dict[str, Float]
    drawn: dict[str, Float]

    @classmethod
    def from_probabilities(
        cls,
        X: ArrayLike,
        probabilities: Mapping[str, ArrayLike],
        drawn: Mapping[str, ArrayLike] | None = None,
        *,
        max_points: int = 2500,
    ) -> SamplingDisplay:
        """Project rows and thin them out for drawing.

        Parameters
        ----------
        X : array-like of shape (rows, features)
            The rows of the pool.
        probabilities : dict of str to array-like of shape (rows,)
            By component; each adds up to 1.
        drawn : dict of str to indices of rows, optional
            By component.
        max_points : int
            Rows to draw at most, evenly spaced in the order of the table.
        """
        rows = np.asarray(X, dtype=np.float64)
        points = principal_plane(rows)(rows)
        kept = np.unique(np.linspace(0, len(rows) - 1, min(max_points, len(rows))).astype(int))
        ratios = {c: np.asarray(p, dtype=np.float64)[kept] * len(rows) for c, p in probabilities.items()}
        return cls(
            points[kept], ratios, {c: points[np.asarray(i, dtype=int)] for c, i in (drawn or {}).items()}
        )

    def plot(self, ax: Panels = None) -> SamplingDisplay:
        """Draw one panel per component, on given axes (a sequence) or a new figure."""
        from matplotlib import colormaps
        from matplotlib.colors import LinearSegmentedColormap, LogNorm

        # Without its ends the map is visible on a light and on a dark page.
        colors = LinearSegmentedColormap.from_list(
            "likelihood", colormaps["plasma"](np.linspace(0.88, 0.2, 64))
        )
        with style():
            n = len(self.ratios)
            self.figure_, self.axes_ = panels(ax, 1, n, (3.5 * n + 0.8, 3.6), sharex=True, sharey=True)
            positive = np.concatenate([r[r > 0] for r in self.ratios.values()])
            high = max(float(positive.max()), 2.0) if len(positive) else 2.0
            low = min(0.25, 1.0 / high)
            norm = LogNorm(low, high)
            for axis, (component, ratio) in zip(self.axes_, self.ratios.items(), strict=True):
                order = np.argsort(ratio, kind="stable")
                never, order = order[ratio[order] <= 0], order[ratio[order] > 0]
                shared = {"s": 7, "linewidths": 0, "rasterized": True}
                axis.scatter(*self.points[never].T, c="#808080", alpha=0.25, **shared)
                dots = axis.scatter(
                    *self.points[order].T, c=ratio[order], cmap=colors, norm=norm, alpha=0.85, **shared
                )
                if component in self.drawn:
                    axis.scatter(
                        *self.drawn[component].T, s=26, facecolors="none", edgecolors=INK, linewidths=0.9
                    )
                axis.set_title(_TITLES.get(component, component), fontsize=10.5)
                axis.set_xlabel("first principal component")
                axis.tick_params(labelleft=False, labelbottom=False, length=0)
            self.axes_[0].set_ylabel("second")
            ticks = [t for t in (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= t <= high]
            bar = self.figure_.colorbar(
                dots, ax=self.axes_, ticks=ticks, format=lambda v, _: f"{v:g}×", pad=0.02
            )
            bar.minorticks_off()
            bar.set_label("as likely as uniform")
            if bar.solids is not None:
                bar.solids.set(alpha=1)
        return self
