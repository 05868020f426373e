"""Figures in one style: the only place where something is drawn.

matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.metrics import Float
from fairask.report.words import METRIC_NAMES, at_worst, points

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairask.audit.simulation import BudgetTable
    from fairask.audit.watch import Look

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
#: Width of a figure for a phone, in inches: shown on one, its letters are as large as the page's.
_PHONE = 3.6
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
#: Colours that are too dark on a dark page, or like one that was, and what takes their place there.
ON_DARK = {
    "#0072b2": "#4aa8e0",
    "#5e4fa2": "#8f80d6",
    "#882255": "#d4729f",
    "#332288": "#9b90e8",
    "#117733": "#4fb573",
    "#aa4499": "#cf7dc1",
    "#56b4e9": "#a9dcfb",
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


#: matplotlib's settings are the process's own, and several owners may ask for a report at once.
_DRAWING = threading.RLock()


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
    with _DRAWING, matplotlib.rc_context(settings):
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


def draw_learning_curves(
    results: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    *,
    tolerance: float,
    metric: str = "tprp",
    names: Mapping[str, str] | None = None,
    fit_first: bool = True,
    ax: Panels = None,
    narrow: bool = False,
) -> Figure:
    """Draw accuracy and gap against labels, mean and one standard error over trials.

    Parameters
    ----------
    results : dict
        By method, labels of shape (rounds,), and accuracy and gap of shape (trials, rounds).
    tolerance : float
    metric : str
    names : dict of str to str
        What to call the methods; default their own names.
    fit_first : bool
        Whether the scale of the gap shows the first round whole. It can squeeze the later ones.
    ax : pair of Axes, optional
        For accuracy and gap; default a new figure.
    narrow : bool
        Whether a new figure is made for a phone, with names above the curves.

    Examples
    --------
    >>> results = {"fare": ([100, 200], [[0.7, 0.8], [0.7, 0.9]], [[0.2, 0.1], [0.3, 0.1]])}
    >>> draw_learning_curves(results, tolerance=0.1).axes[0].lines[0].get_ydata().round(2).tolist()
    [0.7, 0.85]
    """
    if not results:
        raise ValueError("results is empty: nothing to draw")
    accuracy = {m: Curve.from_trials(labels, values) for m, (labels, values, _) in results.items()}
    gaps = {m: Curve.from_trials(labels, values) for m, (labels, _, values) in results.items()}
    with style():
        figure, (top, bottom) = panels(ax, 2, 1, (_PHONE if narrow else 7.4, 5.8), sharex=True)
        for axis, curves in ((top, accuracy), (bottom, gaps)):
            for i, (method, curve) in enumerate(curves.items()):
                color, dash = method_color(method, i), "-" if method in METHOD_COLORS else "--"
                low, high = curve.mean - curve.error, curve.mean + curve.error
                axis.fill_between(curve.labels, low, high, color=color, alpha=0.15, linewidth=0)
                axis.plot(curve.labels, curve.mean, dash, color=color, marker="o", markersize=3.5)
        top.set_title("Accuracy on unseen rows")
        said = METRIC_NAMES.get(metric, metric).capitalize() + " on unseen rows, in points"
        bottom.set_title(_in_lines(said, 32) if narrow else said)
        bottom.set_xlabel("labels")
        start = 0 if fit_first else 1
        ends = [(curve.mean + np.nan_to_num(curve.error))[start:] for curve in gaps.values()]
        highest = np.nanmax([end.max(initial=0.0) for end in ends])
        most = min(1.0, max(1.12 * float(highest), 1.6 * tolerance, 0.02))
        draw_tolerance(bottom, tolerance, most, said=points(tolerance))
        bottom.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
        if narrow:
            lines = top.lines[: len(accuracy)]
            _legend(figure, lines, [_in_lines((names or {}).get(m, m), 18) for m in accuracy], 2)
            return figure
        # The right margin holds the direct labels.
        first, last = bottom.get_xlim()
        for axis, curves in ((top, accuracy), (bottom, gaps)):
            axis.set_xlim(first, last)
            _label_directly(axis, curves, figure.get_figheight(), names or {})
    return figure


def _label_directly(axis: Axes, curves: dict[str, Curve], height: float, names: Mapping[str, str]) -> None:
    """Write the names of methods beside the ends of their curves, in a figure of this height in inches."""
    low, high = axis.get_ylim()
    ends = [float(curve.mean[-1]) for curve in curves.values()]
    points_high = axis.get_position().height * height * 72
    places = spread(ends, 14 / max(points_high, 1) * (high - low))
    for i, ((method, curve), place) in enumerate(zip(curves.items(), places, strict=True)):
        axis.annotate(
            names.get(method, method),
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


def draw_rates(
    trials: Mapping[str, Float],
    limits: Mapping[str, Float],
    groups: Sequence[str],
    title: str,
    names: Mapping[str, str],
    *,
    narrow: bool = False,
) -> Figure:
    """Draw a rate by method and group.

    ``trials`` has arrays of shape (trials, groups), drawn as dots; ``limits`` has the mean and its lower and
    upper end, of shape (groups, 3), NaN where there are none.
    """
    with style():
        height = 1.0 + 0.32 * len(trials) * (len(groups) + 0.6)
        figure, (axis,) = panels(None, 1, 1, (_PHONE if narrow else 7.4, height))
        handles = []
        for m, method in enumerate(trials):
            for g in range(len(groups)):
                y, color = m * (len(groups) + 0.6) + g, group_color(g)
                dots = trials[method][:, g]
                look = {"alpha": 0.4, "markersize": 4, "markeredgewidth": 0}
                axis.plot(dots, np.full(len(dots), y + 0.3), "o", color=color, **look)
                middle, low, high = limits[method][g]
                axis.plot(
                    np.clip([low, high], 0.0, 1.0), [y, y], color=color, linewidth=2.5, solid_capstyle="round"
                )
                handles += axis.plot(middle, y, "D", color=color, markersize=6)
        middle = (len(groups) - 1) / 2
        axis.set_yticks(
            [m * (len(groups) + 0.6) + middle for m in range(len(trials))],
            [
                _in_lines(names.get(method, method), 12) if narrow else names.get(method, method)
                for method in trials
            ],
        )
        axis.tick_params(axis="y", length=0)
        axis.invert_yaxis()
        axis.set_xlabel(title)
        axis.xaxis.grid(True)
        axis.yaxis.grid(False)
        _legend(
            figure,
            handles[: len(groups)],
            [_in_lines(g, 18) for g in groups] if narrow else groups,
            2 if narrow else 4,
        )
    return figure


def _in_lines(name: str, width: int) -> str:
    """Return a name in at most two lines of so many characters."""
    lines = wrap(name, width)
    return "\n".join(lines[:2]) + ("…" if len(lines) > 2 else "")


def _legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], columns: int) -> None:
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=9.5,
        handlelength=2.6,
    )


_COMPONENT_NAMES = {"uniform": "uniform", "diff": "λ_diff", "fair": "λ_fair", "ranked": "by rank"}


def draw_label_spend(
    counts: Mapping[str, Mapping[str, Mapping[str, float]]],
    pool: Mapping[str, float],
    *,
    names: Mapping[str, str] | None = None,
    ax: Panels = None,
    narrow: bool = False,
) -> Figure:
    """Draw one bar per method and group, stacked by the component that drew the labels.

    Parameters
    ----------
    counts : dict
        ``{method: {group: {component: labels}}}``.
    pool : dict of str to float
        Share of each group in the pool, a tick on its bars.
    names : dict of str to str
        What to call the methods; default their own names.
    ax : Axes, optional
    narrow : bool
        Whether a new figure is made for a phone.

    Examples
    --------
    >>> counts = {"fare": {"a": {"diff": 30, "fair": 20}, "b": {"fair": 50}}}
    >>> figure = draw_label_spend(counts, {"a": 0.9, "b": 0.1})
    >>> [float(bar.get_width()) for bar in figure.axes[0].patches]
    [0.3, 0.2, 0.5]
    """
    groups, n = list(pool), len(counts)
    with style():
        figure, (axis,) = panels(
            ax, 1, 1, (_PHONE if narrow else 7.4, 0.9 + 0.2 * narrow + n * (0.34 * len(groups) + 0.3))
        )
        ticks, seen = [], {}
        for m, (method, by_group) in enumerate(counts.items()):
            total = sum(sum(by_component.values()) for by_component in by_group.values())
            if not total:
                raise ValueError(f"counts of {method!r} are all zero")
            base = m * (len(groups) + 0.9)
            axis.annotate(
                (names or {}).get(method, method),
                (0, base - 0.72),
                xytext=(2, 0),
                textcoords="offset points",
                va="center",
                fontsize=10,
                fontweight="bold",
            )
            for g, group in enumerate(groups):
                y, left = base + g, 0.0
                for component, labels in sorted(by_group.get(group, {}).items(), key=_order):
                    color = COMPONENT_COLORS.get(component, COMPONENT_COLORS["ranked"])
                    seen[component] = axis.barh(y, labels / total, 0.72, left=left, color=color)
                    left += labels / total
                tick = axis.plot([pool[group]] * 2, [y - 0.44, y + 0.44], color=INK, linewidth=2.2)
                ticks.append(y)
        axis.set_yticks(ticks, ([_in_lines(g, 14) for g in groups] if narrow else groups) * n)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(n * (len(groups) + 0.9) - 1.2, -1.15)
        axis.set_xlim(0, min(1.0, 1.08 * max([axis.dataLim.x1, *pool.values()])))
        axis.xaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
        axis.set_xlabel("share of the labels")
        axis.xaxis.grid(True)
        axis.yaxis.grid(False)
        shown = sorted(seen.items(), key=_order)
        said = [_COMPONENT_NAMES.get(component, component) for component, _ in shown]
        _legend(figure, [*(bar for _, bar in shown), *tick], [*said, "share of the pool"], 2 if narrow else 5)
    return figure


def _order(item: tuple[str, object]) -> tuple[int, str]:
    known = list(COMPONENT_COLORS)
    return (known.index(item[0]) if item[0] in known else len(known), item[0])


def in_percent(value: float, _: object = None) -> str:
    """Write a share of an axis in per cent.

    >>> in_percent(0.25)
    '25 %'
    """
    return f"{100 * value:g} %"


def draw_estimates(
    labels: Sequence[int],
    accuracy: Float,
    gap: Float,
    *,
    tolerance: float,
    strategy: str,
    audited: tuple[int, float, float, float] | None = None,
    narrow: bool = False,
) -> Figure:
    """Draw estimates against labels, right answers above, the gap below in points, each with its interval.

    ``accuracy`` and ``gap`` are of shape (rounds, 3): the estimate, its lower and its upper end, NaN where a
    round has none. ``audited`` is what an audit found: its labels, the gap, the lower and the upper end. It
    stands at the right, in a column of its own, for its labels trained nothing.

    >>> guess = np.array([[0.7, 0.6, 0.8], [0.8, 0.7, 0.9]])
    >>> figure = draw_estimates([50, 75], guess, guess, tolerance=0.1, strategy="fare")
    >>> figure.axes[1].get_title(loc="left")
    'Gap between groups, in points'
    """
    with style():
        figure, (top, bottom) = panels(None, 2, 1, (_PHONE if narrow else 7.4, 5.4), sharex=True)
        color = method_color(strategy)
        for axis, values in ((top, accuracy), (bottom, gap)):
            axis.fill_between(labels, values[:, 1], values[:, 2], color=color, alpha=0.15, linewidth=0)
            if len(labels) == 1:  # a single round has no band to fill
                error = np.abs(values[:, 1:] - values[:, :1]).T
                axis.errorbar(
                    labels, values[:, 0], error, fmt="none", ecolor=color, alpha=0.35, linewidth=1.2
                )
            axis.plot(labels, values[:, 0], color=color, marker="o", markersize=4)
        top.set_title("Right answers")
        top.yaxis.set_major_formatter(in_percent)
        bottom.set_title("Gap between groups, in points")
        bottom.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
        bottom.set_xlabel("labels to train")
        last = max(labels)
        top.set_xlim(0, 1.04 * last)
        high = np.nanmax([*gap.ravel(), 0.0])
        if audited is not None:
            n, value, lower, upper = audited
            high, at = max(high, upper), (1.3 if narrow else 1.14) * last
            top.set_xlim(0, (1.58 if narrow else 1.28) * last)
            top.set_xticks([tick for tick in top.get_xticks() if 0 <= tick <= last])
            bottom.errorbar([at], [value], [[value - lower], [upper - value]], fmt="D", color=INK, capsize=4)
            worst = at_worst(lower, upper, tolerance)
            bottom.annotate(
                f"found {points(value)},\n{worst}", (at, upper), (0, 6), ha="center",
                va="bottom", textcoords="offset points", fontsize=9.5,
            )  # fmt: skip
            under = bottom.get_xaxis_transform()
            bottom.text(
                at, -0.05, f"audit,\n{n:,} labels", transform=under, ha="center", va="top", fontsize=9.5
            )
        limit = min(1.0, max(1.08 * float(high), 1.6 * tolerance, 0.02))
        draw_tolerance(bottom, tolerance, limit, right=True, said=points(tolerance))
    return figure


def draw_labels_over_time(seconds: Sequence[float], narrow: bool = False) -> Figure:
    """Draw how many labels there were, given when each came, in seconds."""
    moments = np.sort(np.asarray(seconds, dtype=np.float64))
    moments -= moments[0]
    units = [("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)]
    unit, size = next((u for u in units if moments[-1] >= 2 * u[1]), units[-1])
    with style():
        figure, (axis,) = panels(None, 1, 1, (_PHONE if narrow else 7.4, 2.2))
        axis.step(moments / size, np.arange(1, len(moments) + 1), where="post", color=INK)
        axis.set_ylim(0)
        axis.set_title("Labels")
        axis.set_xlabel(f"{unit} since the first label")
    return figure


def draw_months(looks: Mapping[str, Look], tolerance: float, narrow: bool = False) -> Figure:
    """Draw the gap of a watched model: of each month, and over the year that ends with it, with bounds."""
    with style():
        figure, (axis,) = panels(None, 1, 1, (_PHONE if narrow else 7.4, 3.0))
        x, color = np.arange(len(looks)), method_color("fare")
        gap, lower, upper = (np.array([getattr(v, name) for v in looks.values()], float)
                             for name in ("gap", "lower", "upper"))  # fmt: skip
        month, low, high = (np.array(v, float) for v in zip(*(v.month for v in looks.values()), strict=True))
        axis.fill_between(x, lower, upper, color=color, alpha=0.15, linewidth=0)
        axis.plot(x, gap, color=color)
        error = np.maximum([month - low, high - month], 0.0)
        axis.errorbar(x, month, error, fmt="o", markersize=4, color=color, alpha=0.5, linewidth=1.2)
        step = -(-len(x) // (4 if narrow else 9))  # more names overlap
        axis.set_xticks(x[::step], [*looks][::step])
        highest = np.nanmax([*gap, *month, 0.0])
        draw_tolerance(axis, tolerance, max(1.3 * float(highest), 2.2 * tolerance, 0.02))
        axis.set_title("Gap by month")
    return figure


def draw_budgets(found: BudgetTable) -> Figure:
    """Draw the chance of a certificate by budget: groups alike, and half a tolerance apart."""
    with style():
        figure, (axis,) = panels(None, 1, 1, (6, 4))
        for score, kind, color in (
            (True, "with the score", COLORS["blue"]),
            (False, "without a score", COLORS["orange"]),
        ):
            rows = [row for row in found.rows if row.score == score]
            if not rows:
                continue
            budgets = [row.budget for row in rows]
            alike, half = [row.certify_alike for row in rows], [row.certify_half for row in rows]
            axis.plot(budgets, alike, color=color, label=f"{kind}, groups are alike")
            axis.plot(budgets, half, "--", color=color, label=f"{kind}, groups are half the tolerance apart")
        axis.axvline(found.given, color=INK, linestyle=":", label=f"plan: {found.given:,}")
        axis.set(xscale="log", ylim=(0, 1), xlabel="budget, in labels", ylabel="chance of a certificate")
        axis.set_xticks(list(found.by_budget), [f"{budget:,}" for budget in found.by_budget])
        axis.minorticks_off()
        axis.legend()
    return figure


_DISTRIBUTIONS = {
    "diff": "λ_diff: where the classifiers disagree",
    "fair": "λ_fair: all groups alike",
    "uniform": "uniform",
}
#: Rows that are drawn at most, evenly spaced in the order of the table.
_MOST_POINTS = 2500


@dataclass(frozen=True)
class Sampling:
    """How likely each row is to be drawn, by component, in one round.

    Attributes
    ----------
    points : ndarray of shape (rows, 2)
        Where the rows lie: the first two principal components.
    ratios : dict of str to ndarray of shape (rows,)
        By component, probability of a row times the size of the pool.
    drawn : dict of str to ndarray of shape (n, 2)
        Where the rows lie that each component drew in this round.
    labels : int
        Labels before the round.
    """

    points: Float
    ratios: dict[str, Float]
    drawn: dict[str, Float]
    labels: int = 0

    @classmethod
    def of(
        cls, rows: Float, probabilities: Mapping[str, Float], drawn: Mapping[str, Sequence[int]], labels: int
    ) -> Sampling:
        """Project the rows of a pool and thin them out for drawing; ``drawn`` are numbers of rows.

        >>> X, p = np.random.default_rng(0).normal(size=(50, 4)), np.r_[np.full(10, 0.1), np.zeros(40)]
        >>> sampling = Sampling.of(X, {"diff": p}, {"diff": [3]}, 25)
        >>> float(sampling.ratios["diff"].max()), sampling.points.shape, sampling.drawn["diff"].shape
        (5.0, (50, 2), (1, 2))
        """
        rows = np.asarray(rows, dtype=np.float64)
        points = principal_plane(rows)(rows)
        kept = np.unique(np.linspace(0, len(rows) - 1, min(_MOST_POINTS, len(rows))).astype(int))
        ratios = {c: np.asarray(p, dtype=np.float64)[kept] * len(rows) for c, p in probabilities.items()}
        there = {c: points[np.asarray(i, dtype=int)] for c, i in drawn.items()}
        return cls(points[kept], ratios, there, labels)


def draw_sampling(sampling: Sampling, narrow: bool = False) -> Figure:
    """Draw one panel per component: how likely rows are to be drawn, as a multiple of uniform."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    # Without its ends the map is visible on a light and on a dark page.
    colors = LinearSegmentedColormap.from_list("likelihood", colormaps["plasma"](np.linspace(0.88, 0.2, 64)))
    with style():
        n = len(sampling.ratios)
        shape, size = ((n, 1), (_PHONE, 3.2 * n)) if narrow else ((1, n), (3.5 * n + 0.8, 3.6))
        figure, axes = panels(None, *shape, size, sharex=True, sharey=True)
        positive = np.concatenate([r[r > 0] for r in sampling.ratios.values()])
        high = max(float(positive.max()), 2.0) if len(positive) else 2.0
        low = min(0.25, 1.0 / high)
        norm = LogNorm(low, high)
        for axis, (component, ratio) in zip(axes, sampling.ratios.items(), strict=True):
            order = np.argsort(ratio, kind="stable")
            never, order = order[ratio[order] <= 0], order[ratio[order] > 0]
            shared = {"s": 7, "linewidths": 0, "rasterized": True}
            axis.scatter(*sampling.points[never].T, c="#808080", alpha=0.25, **shared)
            dots = axis.scatter(
                *sampling.points[order].T, c=ratio[order], cmap=colors, norm=norm, alpha=0.85, **shared
            )
            if component in sampling.drawn:
                axis.scatter(
                    *sampling.drawn[component].T, s=26, facecolors="none", edgecolors=INK, linewidths=0.9
                )
            axis.set_title(_DISTRIBUTIONS.get(component, component), fontsize=10.5)
            axis.set_xlabel("first principal component")
            axis.tick_params(labelleft=False, labelbottom=False, length=0)
        axes[0].set_ylabel("second")
        ticks = [t for t in (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= t <= high]
        bar = figure.colorbar(dots, ax=axes, ticks=ticks, format=lambda v, _: f"{v:g}×", pad=0.02)
        bar.minorticks_off()
        bar.set_label("as likely as uniform")
        if bar.solids is not None:
            bar.solids.set(alpha=1)
    return figure


def draw_drawn_rows(rows: Float, drawn: Mapping[str, Float], narrow: bool = False) -> Figure:
    """Draw the rows that each component drew, given by their features, over rows of the pool."""
    project = principal_plane(rows)
    pool = project(rows)
    with style():
        n = len(drawn)
        shape, size = ((n, 1), (_PHONE, 2.6 * n)) if narrow else ((1, n), (7.4, min(7.4 / n, 3.4)))
        figure, axes = panels(None, *shape, size, sharex=True, sharey=True)
        for axis, (component, features) in zip(axes, drawn.items(), strict=True):
            found, color = project(features), COMPONENT_COLORS.get(component, COMPONENT_COLORS["ranked"])
            axis.scatter(*pool.T, s=6, c="#808080", alpha=0.25, linewidths=0, rasterized=True)
            axis.scatter(*found.T, s=20, c=color, edgecolors="#808080", linewidths=0.5)
            axis.set_title(f"{_COMPONENT_NAMES.get(component, component)}: {len(found):,}", fontsize=10.5)
            axis.tick_params(labelleft=False, labelbottom=False, length=0)
    return figure
