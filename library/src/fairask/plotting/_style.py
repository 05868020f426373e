"""Colours, text sizes and small helpers that every figure shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.metrics import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

METRIC_NAMES = {
    "tprp": "difference of true positive rates",
    "fprp": "difference of false positive rates",
    "eo": "equalized odds difference",
    "dp": "difference of selection rates",
}


def method_color(name: str, position: int = 0) -> str:
    """Return a method's colour; one without a fixed colour takes that of its ``position`` among such.

    Examples
    --------
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

    Examples
    --------
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


def draw_tolerance(axis: Axes, tolerance: float, top: float, right: bool = False) -> None:
    """Draw the tolerance, and tint what is above it up to ``top``, the end of the axis."""
    axis.set_ylim(0, top)
    axis.axhline(tolerance, color=INK, linestyle=(0, (5, 3)), linewidth=1.2)
    axis.axhspan(tolerance, top, color=FORBIDDEN, alpha=0.08, linewidth=0)
    axis.annotate(
        f"above the tolerance of {tolerance:g}",
        (0.99 if right else 0.01, 0.98),
        xycoords="axes fraction",
        ha="right" if right else "left",
        va="top",
        fontsize=9.5,
    )


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

    Examples
    --------
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
