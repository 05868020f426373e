"""Figures in one style: the only place where something is drawn.

A display computes once and draws later, as in scikit-learn: ``XDisplay.from_...(...).plot(ax=...)``.
matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.checks import check_choice
from fairask.metrics import Float
from fairask.report.words import METRIC_NAMES, points

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairask.learner import FairActiveLearner

    #: Axes to draw on: one, several, or None for a new figure.
    Panels = Axes | Sequence[Axes] | None

#: Text, axes and the passive baseline. Not quite black, so that a page can swap it for its own text colour.
INK = "#111111"
#: Okabe and Ito's colours, told apart with any colour vision; their yellow is darkened to be seen on white.
#: Brown is not theirs.
COLORS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "orange": "#E69F00",
    "purple": "#CC79A7",
    "yellow": "#B3A400",
    "grey": "#555555",
    "brown": "#8C564B",
}
#: One colour per method wherever it is drawn: in reports, in the benchmark and on the results page.
METHOD_COLORS = {
    "fare": COLORS["blue"],
    "fare_paper": COLORS["orange"],
    "fare_diff_paper": COLORS["vermillion"],
    "passive": INK,
    "passive_paper": COLORS["grey"],
    "group_balanced": COLORS["green"],
    "uncertainty": COLORS["sky"],
    "fal": COLORS["purple"],
    "falcur": COLORS["brown"],
    "panda": COLORS["yellow"],
}
#: For methods without a fixed colour; also drawn dashed, since a hue is shared.
_OTHERS = tuple(COLORS[name] for name in ("green", "purple", "sky", "vermillion"))
#: Paul Tol's muted scheme: none of these is a method's colour.
GROUP_COLORS = ("#882255", "#44AA99", "#332288", "#999933", "#AA4499", "#117733", "#DDCC77", "#88CCEE")
#: Draws by component, neither a method's nor a group's colour; names without an entry take the last.
COMPONENT_COLORS = {
    "uniform": "#B8B8B8",
    "diff": "#5E4FA2",
    "fair": "#BCA9DC",
    "audit": "#1F8A9E",
    "ranked": "#8A8A8A",
}
FORBIDDEN = COLORS["vermillion"]
#: Colours that are too dark on a dark page, and what takes their place there.
ON_DARK = {
    "#0072b2": "#4aa8e0",
    "#5e4fa2": "#8f80d6",
    "#882255": "#d4729f",
    "#332288": "#9b90e8",
    "#117733": "#4fb573",
    "#aa4499": "#cf7dc1",
}


def method_color(name: str, position: int = 0) -> str:
    """Return a method's colour; one without a fixed colour takes that of its ``position`` among such.

    >>> method_color("fare"), method_color("mine", 1)
    ('#0072B2', '#CC79A7')
    """
    return METHOD_COLORS.get(name, _OTHERS[position % len(_OTHERS)])


def group_color(position: int) -> str:
    """Return the colour of the group at ``position`` in sorted order.

    Examples
    --------
    >>> group_color(0) in METHOD_COLORS.values()
    False
    """
    return GROUP_COLORS[position % len(GROUP_COLORS)]


@contextmanager
def style() -> Iterator[None]:
    """Draw in this package's style; names are plain text, so a ``$`` in a column name is a ``$``.

    >>> import matplotlib
    >>> with style():
    ...     matplotlib.rcParams["text.parse_math"]
    False
    """
    import matplotlib

    settings: Any = {
        "font.size": 11,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.labelsize": 11,
        "xtick.labelsize": 10,
        "ytick.labelsize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "grid.color": "#808080",
        "grid.alpha": 0.2,
        "lines.linewidth": 2.0,
        "text.parse_math": False,
        "svg.fonttype": "none",
    }
    settings |= dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"),
        INK,
    )
    with matplotlib.rc_context(settings):
        yield


def panels(
    given: Panels, rows: int, columns: int, size: tuple[float, float], **options: Any
) -> tuple[Figure, list[Any]]:
    """Return a figure and its axes, row by row: the given ones, or new ones that pyplot does not know of.

    Axes are typed as Any: matplotlib's stubs refuse keywords from a dict and points from an array.
    """
    from matplotlib.figure import Figure

    if given is None:
        made = Figure(figsize=size, layout="constrained")
        return made, list(made.subplots(rows, columns, squeeze=False, **options).ravel())
    axes = list(np.ravel(np.array(given, dtype=object)))
    return axes[0].figure, axes


def draw_tolerance(
    axis: Axes, tolerance: float, top: float, right: bool = False, *, said: str | None = None
) -> None:
    """Draw the tolerance, and tint what is above it up to ``top``, the end of the axis."""
    axis.set_ylim(0, top)
    axis.axhline(tolerance, color=INK, linestyle=(0, (5, 3)), linewidth=1.2)
    axis.axhspan(tolerance, top, color=FORBIDDEN, alpha=0.08, linewidth=0)
    axis.annotate(
        f"above the tolerance of {tolerance:g}" if said is None else f"above the allowed {said}",
        (0.99 if right else 0.01, 0.98),
        xycoords="axes fraction",
        ha="right" if right else "left",
        va="top",
        fontsize=9.5,
    )


def svg(figure: Figure, name: str) -> Markup:
    """Return a figure as inline SVG in the page's text colour; ``name`` makes its ids unique."""
    import matplotlib
    from markupsafe import Markup

    buffer = io.StringIO()
    with style(), matplotlib.rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # SVG keeps text as text: the browser needs the glyphs, not this font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        metadata: dict[str, str | None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=metadata, dpi=160)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    for light in ON_DARK:
        text = text.replace(light, f"var(--c{light[1:]})")
    # Numbered ids repeat from figure to figure, and nothing refers to them.
    text = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", text)
    text = re.sub(
        r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1system-ui, 'DejaVu Sans', sans-serif", text
    )
    return Markup(text)


def principal_plane(rows: Float) -> Callable[[Float], Float]:
    """Return the projection onto the first two principal components of ``rows``."""
    from sklearn.decomposition import PCA

    width = min(2, *rows.shape)
    solver = "covariance_eigh" if rows.shape[0] > rows.shape[1] else "full"
    axes = PCA(width, svd_solver=solver).fit(rows)

    def project(values: Float) -> Float:
        found: Float = axes.transform(values)
        return found if width == 2 else np.column_stack([found, np.zeros(len(found))])

    return project


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Move label positions apart until neighbours are ``gap`` or more away, keeping their order and mean.

    >>> [round(p, 3) for p in spread([0.0, 0.1, 2.0], 0.5)]
    [-0.2, 0.3, 2.0]
    """
    order = np.argsort(positions, kind="stable")
    blocks: list[list[float]] = []  # [centre, labels]: labels that touch move as one
    for i in order:
        blocks.append([float(positions[i]), 1.0])
        while len(blocks) > 1 and blocks[-1][0] - blocks[-2][0] < gap * (blocks[-1][1] + blocks[-2][1]) / 2:
            (a, m), (b, n) = blocks[-2], blocks[-1]
            blocks[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    placed = [centre + gap * (j - (n - 1) / 2) for centre, n in blocks for j in range(int(n))]
    out = [0.0] * len(placed)
    for i, position in zip(order, placed, strict=True):
        out[int(i)] = position
    return out


@dataclass(frozen=True)
class Curve:
    """A quantity against labels: its mean over trials and its standard error (NaN for one trial)."""

    labels: NDArray[np.int64]
    mean: Float
    error: Float

    @classmethod
    def from_trials(cls, labels: ArrayLike, values: ArrayLike) -> Curve:
        """Summarise ``values`` of shape (trials, rounds)."""
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        x = np.asarray(labels, dtype=np.int64)
        if table.shape[1:] != x.shape:
            raise ValueError(
                f"values has shape {table.shape}, labels {x.shape}; expected (trials, rounds) and (rounds,)"
            )
        return cls(x, *mean_and_error(table))


def mean_and_error(values: Float) -> tuple[Float, Float]:
    """Mean over trials (the first axis) and its standard error, NaN for one trial.

    >>> mean_and_error(np.array([[1.0], [3.0]]))
    (array([2.]), array([1.]))
    """
    if len(values) < 2:
        return values.mean(axis=0), np.full(values.shape[1:], np.nan)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


@dataclass
class LearningCurveDisplay:
    """Accuracy and gap against labels, mean and one standard error over trials.

    Parameters
    ----------
    accuracy, gap : dict of str to Curve
        By method.
    tolerance : float
    metric : str
    names : dict of str to str
        What to call the methods; default their own names.
    fit_first : bool
        Whether the scale of the gap shows the first round whole. It can squeeze the later ones.

    Attributes
    ----------
    figure_, axes_
        After :meth:`plot`.

    Examples
    --------
    >>> results = {"fare": ([100, 200], [[0.7, 0.8], [0.7, 0.9]], [[0.2, 0.1], [0.3, 0.1]])}
    >>> display = LearningCurveDisplay.from_results(results, tolerance=0.1).plot()
    >>> display.accuracy["fare"].mean.round(2).tolist(), len(display.axes_)
    ([0.7, 0.85], 2)
    """

    accuracy: dict[str, Curve]
    gap: dict[str, Curve]
    tolerance: float
    metric: str = "tprp"
    names: Mapping[str, str] | None = None
    fit_first: bool = True

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
        *,
        tolerance: float,
        metric: str = "tprp",
        names: Mapping[str, str] | None = None,
    ) -> LearningCurveDisplay:
        """Summarise ``{method: (labels, accuracy, gap)}``, the last two of shape (trials, rounds)."""
        if not results:
            raise ValueError("results is empty: nothing to draw")
        return cls(
            {m: Curve.from_trials(labels, acc) for m, (labels, acc, _) in results.items()},
            {m: Curve.from_trials(labels, vio) for m, (labels, _, vio) in results.items()},
            tolerance,
            metric,
            names,
        )

    def plot(self, ax: Panels = None) -> LearningCurveDisplay:
        """Draw on a pair of axes (accuracy, gap), or on a new figure."""
        with style():
            self.figure_, axes = panels(ax, 2, 1, (7.4, 5.8), sharex=True)
            self.axes_ = top, bottom = axes[0], axes[1]
            for axis, curves in ((top, self.accuracy), (bottom, self.gap)):
                self._lines(axis, curves)
            top.set_title("Accuracy on unseen rows")
            bottom.set_title(METRIC_NAMES.get(self.metric, self.metric).capitalize() + " on unseen rows")
            bottom.set_xlabel("labels")
            self._tolerance(bottom)
            # The right margin holds the direct labels.
            first, last = bottom.get_xlim()
            for axis, curves in ((top, self.accuracy), (bottom, self.gap)):
                axis.set_xlim(first, last)
                self._direct_labels(axis, curves)
        return self

    def _lines(self, axis: Axes, curves: dict[str, Curve]) -> None:
        for i, (method, curve) in enumerate(curves.items()):
            color = method_color(method, i)
            dash = "-" if method in METHOD_COLORS else "--"
            axis.fill_between(
                curve.labels,
                curve.mean - curve.error,
                curve.mean + curve.error,
                color=color,
                alpha=0.15,
                linewidth=0,
            )
            axis.plot(curve.labels, curve.mean, dash, color=color, marker="o", markersize=3.5)

    def _tolerance(self, axis: Axes) -> None:
        start = 0 if self.fit_first else 1
        ends = [(c.mean + np.nan_to_num(c.error))[start:] for c in self.gap.values()]
        high = np.nanmax([end.max(initial=0.0) for end in ends])
        top = min(1.0, max(1.12 * float(high), 1.6 * self.tolerance, 0.02))
        draw_tolerance(axis, self.tolerance, top)

    def _direct_labels(self, axis: Axes, curves: dict[str, Curve]) -> None:
        low, high = axis.get_ylim()
        ends = [float(c.mean[-1]) for c in curves.values()]
        height = axis.get_position().height * self.figure_.get_figheight() * 72
        places = spread(ends, 14 / max(height, 1) * (high - low))
        for i, ((method, curve), place) in enumerate(zip(curves.items(), places, strict=True)):
            axis.annotate(
                (self.names or {}).get(method, method),
                (curve.labels[-1], ends[i]),
                xytext=(1.03, place),
                textcoords=("axes fraction", "data"),
                # The line carries the colour: text in it would be too pale to read.
                arrowprops={
                    "arrowstyle": "-",
                    "color": method_color(method, i),
                    "linewidth": 1.2,
                    "linestyle": ":",
                    "shrinkA": 2,
                    "shrinkB": 0,
                    "relpos": (0, 0.5),
                },
                va="center",
                fontsize=10,
                annotation_clip=False,
            )


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
        >>> from fairask import FairActiveLearner, simulate
        >>> from fairask.datasets import load
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
        """The labels of a learner, by group and component.

        Examples
        --------
        >>> from fairask import FairActiveLearner
        >>> learner = FairActiveLearner(np.eye(4), ["a", "b"] * 2, random_state=0)
        >>> learner.tell(learner.ask(4).indices, [0, 1, 0, 1])
        >>> LabelSpendDisplay.from_learner(learner).shares
        {'fare': {'a': {'uniform': 0.5}, 'b': {'uniform': 0.5}}}
        """
        pool = learner.pool
        names = [str(group) for group in learner.groups_]
        rows = np.bincount(pool.groups_of(np.arange(pool.n_rows)), minlength=len(names)) / pool.n_rows
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


@dataclass
class EstimateCurvesDisplay:
    """Accuracy above, gap below, each with its interval, against labels.

    Parameters
    ----------
    labels : ndarray of shape (rounds,)
    accuracy, gap : ndarray of shape (rounds, 3)
        Estimate, lower and upper end; NaN where a round has none.
    tolerance : float
    metric : str
    strategy : str
        Whose colour the lines have.
    audited : tuple of (int, float, float, float), optional
        What an audit found: labels, gap, lower and upper end.
    in_points : bool
        Whether the gap is written in points, as the studio does: 0.1 is 10.

    Examples
    --------
    >>> guess = [[0.7, 0.6, 0.8], [0.8, 0.7, 0.9]]
    >>> display = EstimateCurvesDisplay.from_rounds([50, 75], guess, [[np.nan] * 3, [0.2, 0.1, 0.3]], 0.1)
    >>> len(display.plot().axes_)
    2
    """

    labels: NDArray[np.int64]
    accuracy: Float
    gap: Float
    tolerance: float
    metric: str = "tprp"
    strategy: str = "fare"
    audited: tuple[int, float, float, float] | None = None
    in_points: bool = False

    @classmethod
    def from_rounds(
        cls,
        labels: ArrayLike,
        accuracy: ArrayLike,
        gap: ArrayLike,
        tolerance: float,
        *,
        metric: str = "tprp",
        strategy: str = "fare",
        audited: tuple[int, float, float, float] | None = None,
        in_points: bool = False,
    ) -> EstimateCurvesDisplay:
        """Check shapes and keep the values."""
        x = np.asarray(labels, dtype=np.int64)
        above = np.asarray(accuracy, dtype=np.float64).reshape(-1, 3)
        below = np.asarray(gap, dtype=np.float64).reshape(-1, 3)
        for name, table in (("accuracy", above), ("gap", below)):
            if len(table) != len(x):
                raise ValueError(f"{name} has {len(table)} rounds, labels {len(x)}; expected as many")
        return cls(x, above, below, tolerance, metric, strategy, audited, in_points)

    @classmethod
    def from_learner(cls, learner: FairActiveLearner) -> EstimateCurvesDisplay:
        """The model's own estimates after each answered batch; they have no interval.

        Examples
        --------
        >>> from fairask import FairActiveLearner, simulate
        >>> from fairask.datasets import load
        >>> data = load("german")
        >>> learner = FairActiveLearner(data.X, data.groups, strategy="passive", random_state=0)
        >>> history = simulate(learner, data.y, 50)
        >>> EstimateCurvesDisplay.from_learner(learner).labels.tolist()
        [25, 50]
        """
        history = learner.history_
        if not history:
            raise ValueError("the learner has no answered batch yet: ask() for rows and tell() their labels")
        accuracy, gap = (
            np.stack([values, np.full_like(values, np.nan), np.full_like(values, np.nan)], axis=1)
            for values in (1.0 - history["error"], history["gap"])
        )
        return cls(history["labels"], accuracy, gap, learner.tolerance, learner.metric, learner.strategy.name)

    def plot(self, ax: Panels = None) -> EstimateCurvesDisplay:
        """Draw on a pair of axes (accuracy, gap), or on a new figure."""
        with style():
            self.figure_, axes = panels(ax, 2, 1, (7.4, 5.4), sharex=True)
            self.axes_ = top, bottom = axes[0], axes[1]
            color = method_color(self.strategy)
            for axis, values in ((top, self.accuracy), (bottom, self.gap)):
                axis.fill_between(
                    self.labels, values[:, 1], values[:, 2], color=color, alpha=0.15, linewidth=0
                )
                axis.errorbar(  # a single round has no band to fill
                    self.labels, values[:, 0], np.abs(values[:, 1:] - values[:, :1]).T, fmt="none",
                    ecolor=color, alpha=0.35, linewidth=1.2,
                )  # fmt: skip
                axis.plot(self.labels, values[:, 0], color=color, marker="o", markersize=4)
            how = ", estimated out of fold" if np.isfinite(self.accuracy[:, 1:]).any() else ", estimated"
            top.set_title("Accuracy" + how)
            gap = METRIC_NAMES.get(self.metric, self.metric).capitalize()
            bottom.set_title(gap + (", in points" if self.in_points else "") + how)
            if self.in_points:
                bottom.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
            bottom.set_xlabel("labels")
            high = np.nanmax([*self.gap.ravel(), 0.0])
            said = points if self.in_points else "{:.3f}".format
            if self.audited is not None:
                at, value, lower, upper = self.audited
                high = max(high, upper)
                bottom.errorbar(
                    [at], [value], [[value - lower], [upper - value]], fmt="D", color=INK, capsize=4
                )
                bottom.annotate(
                    f"audit: {said(value)}, at most {said(upper)}", (at, value), (-8, 0), ha="right",
                    va="bottom", textcoords="offset points", fontsize=9.5,
                )  # fmt: skip
            limit = min(1.0, max(1.08 * float(high), 1.6 * self.tolerance, 0.02))
            allowed = points(self.tolerance) if self.in_points else None
            draw_tolerance(bottom, self.tolerance, limit, right=True, said=allowed)
        return self


def draw_labels_over_time(seconds: Sequence[float]) -> Figure:
    """Draw how many labels there were, given when each came, in seconds."""
    moments = np.sort(np.asarray(seconds, dtype=np.float64))
    moments -= moments[0]
    units = [("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)]
    unit, size = next((u for u in units if moments[-1] >= 2 * u[1]), units[-1])
    with style():
        figure, (axis,) = panels(None, 1, 1, (7.4, 2.2))
        axis.step(moments / size, np.arange(1, len(moments) + 1), where="post", color=INK)
        axis.set_ylim(0)
        axis.set_title("Labels")
        axis.set_xlabel(f"{unit} since the first label")
    return figure


def draw_months(
    months: Sequence[str],
    gap: Sequence[float],
    error: Sequence[float],
    window: Sequence[float],
    tolerance: float,
) -> Figure:
    """Draw the gap of a watched model: of each month, and over the window that ends with it."""
    with style():
        figure, (axis,) = panels(None, 1, 1, (7.4, 3.0))
        x, color = np.arange(len(months)), method_color("fare")
        axis.errorbar(x, gap, error, fmt="o", markersize=4, color=color, alpha=0.5, linewidth=1.2)
        axis.plot(x, window, color=color)
        step = max(1, len(months) // 9)
        axis.set_xticks(x[::step], [*months][::step])
        highest = np.nanmax([*(np.array(gap) + error), *window, 0.0])
        draw_tolerance(axis, tolerance, max(1.08 * float(highest), 1.6 * tolerance, 0.02))
        axis.set_title("Gap by month")
    return figure


_DISTRIBUTIONS = {
    "diff": "λ_diff: where the classifiers disagree",
    "fair": "λ_fair: all groups alike",
    "uniform": "uniform",
}
#: Rows that are drawn at most, evenly spaced in the order of the table.
_MOST_POINTS = 2500


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
    labels : int
        Labels before the round.

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
    labels: int = 0

    @classmethod
    def from_probabilities(
        cls,
        X: ArrayLike,
        probabilities: Mapping[str, ArrayLike],
        drawn: Mapping[str, ArrayLike] | None = None,
        *,
        labels: int = 0,
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
        labels : int
            Labels before the round.
        """
        rows = np.asarray(X, dtype=np.float64)
        points = principal_plane(rows)(rows)
        kept = np.unique(np.linspace(0, len(rows) - 1, min(_MOST_POINTS, len(rows))).astype(int))
        ratios = {c: np.asarray(p, dtype=np.float64)[kept] * len(rows) for c, p in probabilities.items()}
        there = {c: points[np.asarray(i, dtype=int)] for c, i in (drawn or {}).items()}
        return cls(points[kept], ratios, there, labels)

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
                axis.set_title(_DISTRIBUTIONS.get(component, component), fontsize=10.5)
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

    def plot(self, ax: Panels = None) -> DrawnRowsDisplay:
        """Draw one panel per component, on given axes (a sequence) or a new figure."""
        with style():
            n = len(self.drawn)
            self.figure_, self.axes_ = panels(ax, 1, n, (7.4, min(7.4 / n, 3.4)), sharex=True, sharey=True)
            for axis, (component, points) in zip(self.axes_, self.drawn.items(), strict=True):
                color = COMPONENT_COLORS.get(component, COMPONENT_COLORS["ranked"])
                axis.scatter(*self.points.T, s=6, c="#808080", alpha=0.25, linewidths=0, rasterized=True)
                axis.scatter(*points.T, s=20, c=color, edgecolors="#808080", linewidths=0.5)
                name = _COMPONENT_NAMES.get(component, component)
                axis.set_title(f"{name}: {len(points):,}", fontsize=10.5)
                axis.tick_params(labelleft=False, labelbottom=False, length=0)
        return self
