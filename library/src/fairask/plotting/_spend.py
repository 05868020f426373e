"""Where the labels went: by group and component, against the pool's own shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairask.learner import FairActiveLearner
from fairask.plotting._style import COMPONENT_COLORS, INK, panels, style
from fairask.pools import Pool

if TYPE_CHECKING:
    from fairask.plotting._style import Panels

_COMPONENT_NAMES = {"uniform": "uniform", "diff": "λ_diff", "fair": "λ_fair", "ranked": "by rank"}


@dataclass
class LabelSpendDisplay:
    """Shares of the labels by method, group and the component that drew them.

    Parameters
    ----------
    shares : dict
        ``{method: {group: {component: share of the labels}}}``.
    pool : dict of str to float
        Share of each group in the pool.
    names : dict of str to str
        What to call the methods.

    Examples
    --------
    >>> counts = {"fare": {"a": {"diff": 30, "fair": 20}, "b": {"fair": 50}}}
    >>> display = LabelSpendDisplay.from_counts(counts, {"a": 0.9, "b": 0.1}).plot()
    >>> display.shares["fare"]["a"]
    {'diff': 0.3, 'fair': 0.2}
    """

    shares: dict[str, dict[str, dict[str, float]]]
    pool: Mapping[str, float]
    names: Mapping[str, str] | None = None

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, Mapping[str, Mapping[str, float]]],
        pool: Mapping[str, float],
        *,
        names: Mapping[str, str] | None = None,
    ) -> LabelSpendDisplay:
        """Turn label counts ``{method: {group: {component: count}}}`` into shares."""
        shares = {}
        for method, by_group in counts.items():
            total = sum(sum(by_component.values()) for by_component in by_group.values())
            if not total:
                raise ValueError(f"counts of {method!r} are all zero")
            shares[method] = {g: {c: n / total for c, n in by.items()} for g, by in by_group.items()}
        return cls(shares, pool, names)

    @classmethod
    def from_learner(cls, learner: FairActiveLearner) -> LabelSpendDisplay:
        """The labels of a learner with a pool in memory, by group and component.

        Examples
        --------
        >>> learner = FairActiveLearner(np.eye(4), ["a", "b"] * 2, random_state=0)
        >>> learner.tell(learner.ask(4).indices, [0, 1, 0, 1])
        >>> LabelSpendDisplay.from_learner(learner).shares
        {'fare': {'a': {'uniform': 0.5}, 'b': {'uniform': 0.5}}}
        """
        pool = learner.pool
        if not isinstance(pool, Pool):
            raise TypeError("from_learner needs a pool in memory; give counts to from_counts")
        names = [str(group) for group in learner.groups_]
        rows = np.bincount(pool.groups, minlength=len(names)) / pool.n_rows
        drawn = pool.groups_of(learner.labelled_indices_)
        counts = {
            name: dict(Counter(c for c, g in zip(learner.components_, drawn, strict=True) if g == code))
            for code, name in enumerate(names)
        }
        return cls.from_counts({learner.strategy.name: counts}, dict(zip(names, rows.tolist(), strict=True)))

    def plot(self, ax: Panels = None) -> LabelSpendDisplay:
        """Draw one bar per method and group, stacked by component, with a tick at the pool's share."""
        groups = list(self.pool)
        n = len(self.shares)
        with style():
            height = 0.9 + n * (0.34 * len(groups) + 0.3)
            self.figure_, (self.ax_,) = panels(ax, 1, 1, (7.4, height))
            axis = self.ax_
            ticks, words, seen = [], [], {}
            for m, (method, by_group) in enumerate(self.shares.items()):
                base = m * (len(groups) + 0.9)
                axis.annotate(
                    (self.names or {}).get(method, method),
                    (0, base - 0.72),
                    xytext=(2, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=10,
                    fontweight="bold",
                )
                for g, group in enumerate(groups):
                    y, left = base + g, 0.0
                    for component, share in sorted(by_group.get(group, {}).items(), key=_order):
                        color = COMPONENT_COLORS.get(component, COMPONENT_COLORS["ranked"])
                        seen[component] = axis.barh(y, share, 0.72, left=left, color=color)
                        left += share
                    pool = axis.plot([self.pool[group]] * 2, [y - 0.44, y + 0.44], color=INK, linewidth=2.2)[
                        0
                    ]
                    ticks.append(y)
                    words.append(group)
            axis.set_yticks(ticks, words)
            axis.tick_params(axis="y", length=0)
            axis.set_ylim(n * (len(groups) + 0.9) - 1.2, -1.15)
            axis.set_xlim(0, min(1.0, 1.08 * max([axis.dataLim.x1, *self.pool.values()])))
            axis.xaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
            axis.set_xlabel("share of the labels")
            axis.xaxis.grid(True)
            axis.yaxis.grid(False)
            handles = [seen[c] for c in sorted(seen, key=lambda c: _order((c, 0.0)))]
            labels = [_COMPONENT_NAMES.get(c, c) for c in sorted(seen, key=lambda c: _order((c, 0.0)))]
            self.figure_.legend(
                [*handles, pool],
                [*labels, "share of the pool"],
                loc="outside upper left",
                ncols=5,
                frameon=False,
                fontsize=9.5,
            )
        return self


def _order(item: tuple[str, float]) -> tuple[int, str]:
    known = list(COMPONENT_COLORS)
    return (known.index(item[0]) if item[0] in known else len(known), item[0])
