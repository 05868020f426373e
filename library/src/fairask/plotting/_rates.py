"""The final model's rates by group: one dot per trial, the mean with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fairask.checks import check_choice
from fairask.learner import FairActiveLearner
from fairask.metrics import Float
from fairask.plotting._style import group_color, panels, style

if TYPE_CHECKING:
    from fairask.plotting._style import Panels


@dataclass
class GroupRatesDisplay:
    """Rates by method and group over trials, with the 95 % t-interval of their mean.

    Parameters
    ----------
    trials : dict
        ``{method: array of shape (trials, groups)}``.
    means, intervals : dict
        By method; arrays of shape (groups,) and (groups, 2). Intervals are NaN for a single trial.
    groups : list of str
    title : str
    names : dict of str to str
        What to call the methods.

    Examples
    --------
    >>> display = GroupRatesDisplay.from_trials({"fare": [[0.5, 0.6], [0.7, 0.6]]}, ["a", "b"]).plot()
    >>> display.means["fare"].round(2).tolist()
    [0.6, 0.6]
    """

    trials: dict[str, Float]
    means: dict[str, Float]
    intervals: dict[str, Float]
    groups: list[str]
    title: str = ""
    names: Mapping[str, str] | None = None

    @classmethod
    def from_trials(
        cls,
        rates: Mapping[str, ArrayLike],
        groups: list[str],
        *,
        title: str = "",
        names: Mapping[str, str] | None = None,
    ) -> GroupRatesDisplay:
        """Summarise ``{method: (trials, groups)}``."""
        from scipy.stats import t

        trials = {m: np.atleast_2d(np.asarray(r, dtype=np.float64)) for m, r in rates.items()}
        means, intervals = {}, {}
        for method, table in trials.items():
            if table.shape[1] != len(groups):
                raise ValueError(f"rates of {method!r} have {table.shape[1]} groups, expected {len(groups)}")
            n = len(table)
            means[method] = table.mean(axis=0)
            half = np.full(len(groups), np.nan)
            if n > 1:
                half = t.ppf(0.975, n - 1) * table.std(axis=0, ddof=1) / np.sqrt(n)
            intervals[method] = np.stack([means[method] - half, means[method] + half], axis=1)
        return cls(trials, means, intervals, list(groups), title, names)

    @classmethod
    def from_learner(cls, learner: FairActiveLearner, condition: str | None = None) -> GroupRatesDisplay:
        """The rates of the current model as its oracle estimates them, for one condition of the metric.

        Examples
        --------
        >>> from fairask.datasets import load
        >>> from fairask.experiment import simulate
        >>> data = load("german")
        >>> learner = FairActiveLearner(data.X, data.groups, strategy="passive", random_state=0)
        >>> history = simulate(learner, data.y, 50)
        >>> GroupRatesDisplay.from_learner(learner).groups
        ['Female', 'Male']
        """
        rates = learner.current_model().rates_
        known = list(dict.fromkeys(name for name, _ in rates))
        chosen = known[0] if condition is None else check_choice(condition, "condition", known)
        found = {str(group): rate for (name, group), rate in rates.items() if name == chosen}
        title = f"Share decided positive ({chosen}), estimated"
        return cls.from_trials({learner.strategy.name: [list(found.values())]}, list(found), title=title)

    def plot(self, ax: Panels = None) -> GroupRatesDisplay:
        """Draw on given axes, or on a new figure."""
        with style():
            height = 1.0 + 0.32 * len(self.trials) * (len(self.groups) + 0.6)
            self.figure_, (self.ax_,) = panels(ax, 1, 1, (7.4, height))
            axis = self.ax_
            handles = []
            for m, method in enumerate(self.trials):
                for g in range(len(self.groups)):
                    y, color = m * (len(self.groups) + 0.6) + g, group_color(g)
                    dots = self.trials[method][:, g]
                    look = {"alpha": 0.4, "markersize": 4, "markeredgewidth": 0}
                    axis.plot(dots, np.full(len(dots), y + 0.3), "o", color=color, **look)
                    low, high = np.clip(self.intervals[method][g], 0.0, 1.0)
                    axis.plot([low, high], [y, y], color=color, linewidth=2.5, solid_capstyle="round")
                    (mean,) = axis.plot(self.means[method][g], y, "D", color=color, markersize=6)
                    handles.append(mean)
            middle = (len(self.groups) - 1) / 2
            axis.set_yticks(
                [m * (len(self.groups) + 0.6) + middle for m in range(len(self.trials))],
                [(self.names or {}).get(m, m) for m in self.trials],
            )
            axis.tick_params(axis="y", length=0)
            axis.invert_yaxis()
            axis.set_xlabel(self.title)
            axis.xaxis.grid(True)
            axis.yaxis.grid(False)
            self.figure_.legend(
                handles[: len(self.groups)],
                self.groups,
                loc="outside upper left",
                ncols=4,
                frameon=False,
                fontsize=9.5,
            )
        return self
