"""Watch: does a certificate still hold, month after month? Evidence that adds up over time.

Each month has the model's decisions on new rows, and labels of a few rows that are drawn uniformly within
each group. So the labelled positives of a group are a uniform sample of its positives, whatever the model
decided.

Evidence is an e-value: a bet against a statement, which gains nothing on average where the statement is true
(Turner, Ly and Grünwald 2024). For two groups with rates a and b and the statement ``a - b <= t``, a bet on
the rates (a', b') pays their likelihood over that of the nearest pair for which the statement is true. The
same bet is valid for samples without replacement, whose spread is smaller. Bets on a grid of pairs are
averaged. A gain of 1 / delta has a probability of delta at most.

- *refuted*: bets against "the gap was within the tolerance in every month", one that begins in each month, so
  that a change in any of them is found. The error delta is that of all months together.
- *still certified*: one bet on all labels of a window of months, against "the mean gap in these months was
  above the tolerance", where each month counts by its labels. The error delta is that of each statement.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, xlogy

from fairask.checks import check_choice, check_count, check_lengths, check_share, check_tolerance
from fairask.errors import UserError
from fairask.metrics import METRICS, Float, Int, encode_groups, soft_predictions
from fairask.report import words

Verdict = Literal["certified", "undecided", "refuted"]
#: One number for each of two groups.
Pair = tuple[float, float]
_FORMAT = 1
#: Rates on which is bet.
_RATES = np.linspace(0.02, 0.98, 33)
#: Halvings of an interval, after which a nearest pair is exact to 1e-12.
_HALVINGS = 40
#: How many times the labels at hand a forecast of further labels may be.
_FAR = 64.0


def nearest(a: Float, b: Float, n_a: float, n_b: float, offset: float) -> tuple[Float, Float]:
    """The rates with ``a - b = offset`` that ``n_a`` and ``n_b`` rows tell apart least from (a, b).

    Examples
    --------
    >>> x, y = nearest(np.array([0.9]), np.array([0.5]), 50, 50, 0.1)
    >>> round(float(x[0]), 3), round(float(x[0] - y[0]), 3)
    (0.766, 0.1)
    """
    low = np.full(a.shape, max(offset, 0.0))
    high = np.full(a.shape, min(1.0 + offset, 1.0))
    for _ in range(_HALVINGS):
        x = (low + high) / 2
        y = x - offset
        # The divergence is convex along the line: go where it falls.
        falls = n_a * (x - a) / (x * (1 - x)) + n_b * (y - b) / (y * (1 - y)) < 0
        low, high = np.where(falls, x, low), np.where(falls, high, x)
    x = (low + high) / 2
    return x, x - offset


@dataclass(frozen=True, eq=False)
class Bets:
    """Bets on pairs of rates against ``a - b <= tolerance`` (``above``) or against ``a - b >= tolerance``.

    Examples
    --------
    >>> round(Bets.on(0.1, above=True).gain((95, 60), (100, 100)), 1)
    7.5
    >>> round(Bets.on(0.1, above=False).gain((95, 60), (100, 100)), 1)
    -2.6
    """

    a: Float
    b: Float
    tolerance: float

    @classmethod
    @functools.cache
    def on(cls, tolerance: float, *, above: bool) -> Self:
        """Bet on every pair of the grid that contradicts the statement."""
        a, b = (v.ravel() for v in np.meshgrid(_RATES, _RATES, indexing="ij"))
        chosen = a - b > tolerance if above else np.abs(a - b) < tolerance
        return cls(a[chosen], b[chosen], tolerance)

    @functools.lru_cache(maxsize=4096)  # noqa: B019 - months that are past are asked again each month
    def log_gains(self, hits: Pair, rows: Pair) -> Float:
        """Logarithm of what each bet pays; ``hits`` and ``rows`` are those of both groups."""
        if min(rows) == 0 or not len(self.a):
            return np.zeros(len(self.a))  # nothing is known of a difference
        x, y = nearest(self.a, self.b, rows[0], rows[1], self.tolerance)
        missed = rows[0] - hits[0], rows[1] - hits[1]
        return np.asarray(
            xlogy(hits[0], self.a / x) + xlogy(missed[0], (1 - self.a) / (1 - x))
            + xlogy(hits[1], self.b / y) + xlogy(missed[1], (1 - self.b) / (1 - y))
        )  # fmt: skip

    def gain(self, hits: Pair, rows: Pair) -> float:
        """Logarithm of what all bets pay together, each with the same stake."""
        return float(logsumexp(self.log_gains(hits, rows)) - np.log(max(len(self.a), 1)))


@dataclass
class Month:
    """New rows of a month, and the labels of those that were drawn.

    Attributes
    ----------
    name : str
        ``YYYY-MM``.
    rows, selected : dict
        By group, the rows and how many were decided positively.
    asked : list of int
        Row numbers that were drawn.
    group, decision : list of int
        Of the drawn rows.
    labels : list
        Of the drawn rows: 0, 1, -1 where nobody can tell, None while it is awaited.
    bins : list of int
        Rows of the month by tenths of the first month's scores.
    source : str
        Digest of the month's table.
    """

    name: str
    rows: dict[str, int]
    selected: dict[str, int]
    asked: list[int]
    group: list[int]
    decision: list[int]
    labels: list[int | None]
    bins: list[int] = field(default_factory=list)
    source: str = ""

    @property
    def awaited(self) -> list[int]:
        """Drawn rows without an answer."""
        return [row for row, label in zip(self.asked, self.labels, strict=True) if label is None]

    def counts(self, condition: int | None, n_groups: int, side: int) -> tuple[Float, Float]:
        """Hits and rows of each group, given a label; without one, of all rows.

        Rows that nobody can label count as what makes a group's rate least (``side`` -1) or most (1); with
        0 they are left out.
        """
        if condition is None:
            names = list(self.rows)
            return np.array([self.selected[n] for n in names], float), np.array([*self.rows.values()], float)
        group, said = np.array(self.group, dtype=np.int64), np.array(self.decision)
        told = np.array([-2 if v is None else v for v in self.labels])
        lost = (told == -1) & (said == (side > 0)) if side else np.zeros(len(told), dtype=bool)
        inside = (told == condition) | lost
        rows = np.bincount(group[inside], minlength=n_groups)
        hits = np.bincount(group[inside & (said == 1)], minlength=n_groups)
        return hits.astype(np.float64), rows.astype(np.float64)


@dataclass(frozen=True)
class Standing:
    """Where a watched model stands.

    Attributes
    ----------
    verdict : str
        ``"certified"`` (still), ``"undecided"`` (it cannot be told any more), ``"refuted"``.
    since : str or None
        Month of the last certificate, or from which on the gap was above the tolerance.
    gap : float
        Measured on the labels of the window; NaN while there are none.
    months : tuple of str
        The window: first and last month.
    labels, labels_needed : int, int or None
        Labels told in all, and further ones that would likely certify; None where none would.
    evidence_for, evidence_against : float
        Gains of the bets; 1 / delta decides.
    """

    verdict: Verdict
    since: str | None
    gap: float
    months: tuple[str, str] | None
    labels: int
    labels_needed: int | None
    evidence_for: float
    evidence_against: float
    tolerance: float
    metric: str

    def headline(self) -> str:
        """Return the state in one sentence."""
        return words.standing_sentence(self.verdict, self.since, self.tolerance, self.labels_needed)

    def details(self) -> str:
        """Return what it rests on."""
        return words.standing_details(self.gap, self.months, self.labels, self.metric, self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        gap = None if np.isnan(self.gap) else self.gap
        return {**dataclasses.asdict(self), "gap": gap, "months": list(self.months or ())}


@dataclass(frozen=True)
class Measured:
    """What was measured in a month: labels told, rows nobody can label, the gap and that of the window."""

    name: str
    rows: int
    labels: int
    skipped: int
    awaited: int
    gap: float
    error: float
    window: float


class Watch:
    """Follow a model that decides, by a few labels each month.

    Parameters
    ----------
    groups : sequence
        Names of the groups.
    metric : {"tprp", "fprp", "eo", "dp"}
        ``"dp"`` needs no labels.
    tolerance, delta : float
    certified : str, optional
        The month (YYYY-MM) in which an audit certified the model.
    labels : int
        Labels per month.
    valid_for : int
        Months for which a certificate holds unless it is refuted, and months of a window.
    horizon : int
        Months for which the watch is planned: ``delta`` is the error of all of them together.
    random_state : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> watch = Watch(["f", "m"], certified="2026-01", labels=400)
    >>> for month in ("2026-02", "2026-03"):
    ...     groups = rng.choice(["f", "m"], 3000)
    ...     y = rng.random(3000) < 0.5
    ...     good = np.where(groups == "f", 0.45, 0.9)  # women who repay are accepted half as often
    ...     decisions = np.where(rng.random(3000) < good, y, 0)
    ...     rows = watch.add(month, decisions, groups)
    ...     watch.tell(rows, y[rows])
    >>> watch.standing().verdict, watch.standing().since
    ('refuted', '2026-02')
    """

    def __init__(
        self,
        groups: Sequence[Hashable],
        *,
        metric: str = "tprp",
        tolerance: float = 0.1,
        delta: float = 0.05,
        certified: str | None = None,
        labels: int = 200,
        valid_for: int = 12,
        horizon: int = 36,
        random_state: int = 0,
    ) -> None:
        self.groups = [str(g) for g in groups]
        if len(set(self.groups)) < 2:
            raise ValueError(f"groups={list(groups)!r} must name at least two different groups")
        self.metric = check_choice(metric, "metric", METRICS)
        self.tolerance = check_tolerance(tolerance)
        self.delta = check_share(delta, "delta")
        self.certified = None if certified is None else check_month(certified)
        self.labels = check_count(labels, "labels", least=len(self.groups))
        self.valid_for = check_count(valid_for, "valid_for")
        self.horizon = check_count(horizon, "horizon")
        self.random_state = check_count(random_state, "random_state", least=0)
        self.months: list[Month] = []
        self._counts: dict[tuple[str, int | None, int], NDArray[np.float64]] = {}  # of months that are told
        self.tenths: list[float] = []  #: the limits between tenths of the first month's scores

    @property
    def needs_labels(self) -> bool:
        """Whether the metric is about rows with a label."""
        return METRICS[self.metric] != (None,)

    def add(
        self, month: str, pred: ArrayLike, groups: ArrayLike, score: ArrayLike | None = None, source: str = ""
    ) -> Int:
        """Take the decisions of a month; return the rows to label, drawn uniformly within each group.

        Parameters
        ----------
        month : str
            ``YYYY-MM``, after all months before.
        pred, groups : array-like
            Decision (0 or 1) and group of every new row.
        score : array-like, optional
            The model's score, of which shifts are reported.
        source : str
            Digest of the table, kept with the month.
        """
        check_month(month)
        if self.months and month <= self.months[-1].name:
            raise UserError(
                f"{month} is not after {self.months[-1].name}, the last month of the watch",
                "Add months in their order, each once",
            )
        if len(self.months) == self.horizon:
            raise UserError(
                f"the watch was planned for {self.horizon} months, and they are over",
                "Begin another with a new audit: its error is its own",
            )
        if self.months and self.months[-1].awaited:
            raise UserError(
                f"{len(self.months[-1].awaited):,} rows of {self.months[-1].name} wait for a label",
                "Tell their labels first (or that nobody can label them)",
            )
        decided, (names, own) = soft_predictions(pred), encode_groups(groups, "groups")
        check_lengths(pred=len(decided), groups=len(own))
        if not np.isin(decided, (0.0, 1.0)).all():
            raise ValueError("pred must be decisions, 0 or 1: a watch follows what was decided")
        strange = [str(g) for g in names if str(g) not in self.groups]
        if strange:
            raise UserError(
                f"{month} has the group {strange[0]!r}, which the certificate does not know",
                f"Its groups are {', '.join(map(repr, self.groups))}",
            )
        codes = np.array([self.groups.index(str(g)) for g in names])[own]
        rng = np.random.default_rng([self.random_state, len(self.months)])
        drawn = [np.zeros(0, dtype=np.int64)]
        for g in range(len(self.groups) if self.needs_labels else 0):
            mine = np.flatnonzero(codes == g)
            share = self.labels // len(self.groups) + (g < self.labels % len(self.groups))
            drawn.append(rng.choice(mine, min(share, len(mine)), replace=False))
        asked = np.sort(np.concatenate(drawn))
        size = np.bincount(codes, minlength=len(self.groups))
        positive = np.bincount(codes, weights=decided, minlength=len(self.groups))
        self.months.append(
            Month(
                month,
                rows=dict(zip(self.groups, size.tolist(), strict=True)),
                selected=dict(zip(self.groups, positive.astype(int).tolist(), strict=True)),
                asked=asked.tolist(),
                group=codes[asked].tolist(),
                decision=decided[asked].astype(int).tolist(),
                labels=[None] * len(asked),
                bins=self._bins(score),
                source=source,
            )
        )
        if not len(asked):
            self._settle()
        return asked

    def _bins(self, score: ArrayLike | None) -> list[int]:
        if score is None:
            return []
        values = np.asarray(score, dtype=np.float64)
        if not self.tenths:
            self.tenths = np.unique(np.quantile(values, np.arange(1, 10) / 10)).tolist()
        places = np.searchsorted(self.tenths, values)
        return [int(n) for n in np.bincount(places, minlength=len(self.tenths) + 1)]

    def tell(self, rows: ArrayLike, labels: Sequence[object] | ArrayLike) -> None:
        """Take labels (0 or 1; None where nobody can tell) of rows of the last month, all of them or none."""
        given, told = np.asarray(rows, dtype=np.int64).tolist(), list(np.asarray(labels, dtype=object))
        check_lengths(rows=len(given), labels=len(told))
        month = self.months[-1] if self.months else None
        places = {} if month is None else {row: i for i, row in enumerate(month.asked)}
        for row, label in zip(given, told, strict=True):
            if row not in places:
                raise UserError(
                    f"row {row} was never asked for", "Label the rows that were drawn, and no others"
                )
            if label is not None and label not in (0, 1):
                raise ValueError(f"labels has {label!r} for row {row}; expected 0, 1 or None")
        if month is None:
            return
        for row, label in zip(given, told, strict=True):
            month.labels[places[row]] = -1 if label is None else int(label == 1)
        self._settle()

    def _settle(self) -> None:
        """Certify again if the last month is told and its window has the evidence."""
        self._counts.clear()
        last = self.months[-1]
        if not last.awaited and self._evidence_for(self._window()) >= np.log(1 / self.delta):
            self.certified = last.name

    def _window(self) -> list[Month]:
        """The months whose labels are told, up to ``valid_for`` before the last of them."""
        told = [m for m in self.months if not m.awaited]
        return [m for m in told if months_between(m.name, told[-1].name) < self.valid_for]

    def standing(self) -> Standing:
        """Say where the model stands after the labels told so far."""
        window, certified = self._window(), self.certified
        against, since = self._evidence_against([m for m in self.months if not m.awaited])
        evidence = self._evidence_for(window) if window else 0.0
        gap = self._gap(window)[0] if window else float("nan")
        verdict: Verdict = "undecided"
        if against >= np.log(1 / self.delta):
            verdict = "refuted"
        elif certified is not None:
            last = self.months[-1].name if self.months else certified
            # A bet that has won anything is a reason to doubt, long before it is a proof.
            holds = months_between(certified, last) < self.valid_for and against <= 0.0
            verdict = "certified" if holds else "undecided"
        return Standing(
            verdict,
            since if verdict == "refuted" else certified,
            gap,
            (window[0].name, window[-1].name) if window else None,
            sum(label is not None for m in self.months for label in m.labels),
            self._labels_needed(window) if verdict == "undecided" and window else None,
            float(np.exp(min(evidence, 50.0))),
            float(np.exp(min(against, 50.0))),
            self.tolerance,
            self.metric,
        )

    def measured(self) -> list[Measured]:
        """What was measured in each month, and over the window that ends with it."""
        found, told = [], []
        for m in self.months:
            if not m.awaited:
                told.append(m)
            window = [w for w in told if months_between(w.name, m.name) < self.valid_for]
            gap, error = (float("nan"), float("nan")) if m.awaited else self._gap([m])
            answers = [label for label in m.labels if label is not None]
            found.append(
                Measured(
                    m.name, sum(m.rows.values()), sum(v >= 0 for v in answers), sum(v < 0 for v in answers),
                    len(m.awaited), gap, error, self._gap(window)[0] if window else float("nan"),
                )
            )  # fmt: skip
        return found

    def shift(self) -> dict[str, Any]:
        """Compare the last month with the first, without labels: shares of groups, decisions, scores.

        ``psi`` is the population stability index of the scores over tenths of the first month's: above 0.25
        is commonly called a large shift.
        """
        if len(self.months) < 2:
            return {}
        first, last = self.months[0], self.months[-1]
        found: dict[str, Any] = {"months": [first.name, last.name], "groups": {}}
        sizes = [sum(m.rows.values()) for m in (first, last)]
        for g in self.groups:
            found["groups"][g] = {
                "share": [m.rows[g] / size for m, size in zip((first, last), sizes, strict=True)],
                "selected": [m.selected[g] / max(m.rows[g], 1) for m in (first, last)],
            }
        if first.bins and last.bins:
            p, q = ((np.array(m.bins) + 0.5) / (sum(m.bins) + 0.5 * len(m.bins)) for m in (first, last))
            found["psi"] = float(((q - p) * np.log(q / p)).sum())
        return found

    def _pairs(self) -> list[tuple[int, int]]:
        n = len(self.groups)
        return [(a, b) for a in range(n) for b in range(n) if a != b]

    def _pair_counts(
        self, months: Sequence[Month], condition: int | None, a: int, b: int, sides: tuple[int, int]
    ) -> tuple[Pair, Pair]:
        """Hits and rows of two groups in some months together."""
        for m in months:
            for side in sides:
                if (m.name, condition, side) not in self._counts:
                    found = m.counts(condition, len(self.groups), side)
                    self._counts[m.name, condition, side] = np.array(found)
        first, second = (
            np.sum([self._counts[m.name, condition, side] for m in months], axis=0)[:, g]
            for g, side in zip((a, b), sides, strict=True)
        )
        return (float(first[0]), float(second[0])), (float(first[1]), float(second[1]))

    def _evidence_for(self, months: Sequence[Month], times: float = 1.0) -> float:
        """Least gain, over pairs of groups, of bets that the mean gap is within the tolerance."""
        bets = Bets.on(self.tolerance, above=False)
        gains = []
        for condition in METRICS[self.metric]:
            for a, b in self._pairs():
                # Rows that nobody can label count as what makes the difference largest.
                hits, rows = self._pair_counts(months, condition, a, b, (1, -1))
                more = [(times * first, times * second) for first, second in (hits, rows)]
                gains.append(bets.gain(*more))
        return min(gains)

    def _evidence_against(self, months: Sequence[Month]) -> tuple[float, str | None]:
        """Gain of bets that the gap is above the tolerance from a month on, and that month."""
        if not months:
            return 0.0, None
        bets = Bets.on(self.tolerance, above=True)
        gains = []
        for condition in METRICS[self.metric]:
            for a, b in self._pairs():
                each = [bets.log_gains(*self._pair_counts([m], condition, a, b, (-1, 1))) for m in months]
                from_month = np.cumsum(np.array(each)[::-1], axis=0)[::-1]
                gains.append(logsumexp(from_month, axis=1) - np.log(max(len(bets.a), 1)))
        by_month = logsumexp(np.array(gains), axis=0) - np.log(len(gains))
        return float(logsumexp(by_month) - np.log(self.horizon)), months[int(np.argmax(by_month))].name

    def _gap(self, months: Sequence[Month]) -> tuple[float, float]:
        """Largest difference of rates measured in some months, and its standard error; NaN without rows."""
        found = [(float("nan"), float("nan"))]
        for condition in METRICS[self.metric]:
            for a, b in self._pairs():
                hits, rows = self._pair_counts(months, condition, a, b, (0, 0))
                if min(rows):
                    p, q = hits[0] / rows[0], hits[1] / rows[1]
                    found.append((p - q, float(np.sqrt(p * (1 - p) / rows[0] + q * (1 - q) / rows[1]))))
        return max(found[1:], default=found[0])

    def _labels_needed(self, months: Sequence[Month]) -> int | None:
        """Further labels like those of the window that would certify, if the rates are what they seem."""
        told = sum(label is not None for m in months for label in m.labels)
        low, high = 1.0, _FAR
        if not told or self._evidence_for(months, high) < np.log(1 / self.delta):
            return None
        while high / low > 1.05:
            middle = float(np.sqrt(low * high))
            enough = self._evidence_for(months, middle) >= np.log(1 / self.delta)
            low, high = (low, middle) if enough else (middle, high)
        return int(np.ceil((high - 1) * told))

    def to_dict(self) -> dict[str, Any]:
        """Return the watch as plain values.

        Examples
        --------
        >>> watch = Watch(["f", "m"], certified="2026-01")
        >>> Watch.from_dict(watch.to_dict()).to_dict() == watch.to_dict()
        True
        """
        settings = ("groups", "metric", "tolerance", "delta", "certified", "labels", "valid_for", "horizon",
                    "random_state")  # fmt: skip
        return {
            "format": _FORMAT,
            "settings": {name: getattr(self, name) for name in settings},
            "tenths": self.tenths,
            "months": [dataclasses.asdict(m) for m in self.months],
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Make the watch that :meth:`to_dict` wrote."""
        if state["format"] != _FORMAT:
            raise ValueError(f"a watch of format {state['format']!r}; this version reads format {_FORMAT}")
        watch = cls(**state["settings"])
        watch.tenths = list(state["tenths"])
        watch.months = [Month(**m) for m in state["months"]]
        return watch


def check_month(value: object) -> str:
    """Return a month, written as YYYY-MM.

    Examples
    --------
    >>> check_month("2026-13")
    Traceback (most recent call last):
        ...
    ValueError: month='2026-13' must be written as YYYY-MM, such as 2026-03
    """
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", value):
        raise ValueError(f"month={value!r} must be written as YYYY-MM, such as 2026-03")
    return value


def months_between(first: str, last: str) -> int:
    """Months from one to another.

    Examples
    --------
    >>> months_between("2025-11", "2026-02")
    3
    """
    (y0, m0), (y1, m1) = (map(int, name.split("-")) for name in (first, last))
    return 12 * (y1 - y0) + m1 - m0
