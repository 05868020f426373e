"""Watch: does a certificate still hold, month after month? Evidence that adds up over time.

Each month has the model's decisions on new rows. Its strata are those of an audit: group, decision and bin of
the score. Labels are drawn where they narrow the gap most, as far as the months before tell; those that exist
already cost nothing. The months of a window make one pool, in which each label counts for the rows of its
month and stratum that it stands for, and the audit's own limits bound the gap of the population that these
rows are a sample of.

- *refuted*: the gap of a window that ends with this month is above the tolerance. Windows are the last year
  (``valid_for``), half of it, twice it and so on, and all months.
- *still certified*: the gap of the last year is within the tolerance.

One look follows each month, and each spends the same error: ``delta`` is the probability that a model is
falsely refuted in any of the months for which the watch is planned, and that it is falsely certified.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.bounds.boundaries import window_boundaries
from fairask.audit.layout import Counts, Layout, bins_for
from fairask.audit.plan import COMPARISONS, ROUNDING, Bounds, Claim, Schedule, bounds_at, check_question
from fairask.audit.rows import OUT, UNTOLD, PoolRows, known_codes
from fairask.audit.strata import Noise, bin_edges, noise_table
from fairask.checks import check_choice, check_count, check_lengths, check_seed, check_share, plain
from fairask.errors import UserError
from fairask.metrics import Bool, Float, Int
from fairask.report import words

Verdict = Literal["certified", "undecided", "refuted"]
_FORMAT = 2
#: Bins of the score within each group and decision, at most.
_BINS = 4
#: How many times the labels at hand a forecast of further labels may be.
_TIMES = np.geomspace(1.0, 64.0, 100)


@dataclass
class Month:
    """New rows of a month, and the labels of those that were drawn.

    Attributes
    ----------
    name : str
        ``YYYY-MM``.
    sizes : list of int
        Rows of each stratum.
    known : list of list of int
        Labels 0, labels 1 and rows without a label that were known at once, by stratum.
    asked, stratum : list of int
        Row numbers that were drawn, and the stratum of each.
    labels : list
        Of the drawn rows: 0, 1, -1 where nobody can tell, None while it is awaited.
    scores : list of int
        Rows by tenths of the first month's scores.
    source : str
        Digest of the month's table.
    """

    name: str
    sizes: list[int]
    known: list[list[int]]
    asked: list[int]
    stratum: list[int]
    labels: list[int | None]
    scores: list[int] = field(default_factory=list)
    source: str = ""

    @property
    def awaited(self) -> list[int]:
        """Drawn rows without an answer."""
        return [row for row, label in zip(self.asked, self.labels, strict=True) if label is None]

    def told(self) -> Int:
        """Labels 0, labels 1 and rows that nobody can label, by stratum: of shape (3, strata)."""
        found = np.array(self.known, dtype=np.int64)
        for stratum, label in zip(self.stratum, self.labels, strict=True):
            if label is not None:
                found[label, stratum] += 1  # -1 is the last
        return found


@dataclass(frozen=True)
class Look:
    """What the labels of all months say after one of them; arrays where several watches are simulated.

    Attributes
    ----------
    gap, lower, upper : float
        Over the last year (``valid_for`` months), with the bounds that refute and certify.
    month : tuple of float
        Gap of this month alone, and the limits at one standard error.
    refuted, certified : bool
    doubtful : bool
        Whether the gap of the last year is above the tolerance by more than its standard error.
    """

    gap: Float
    lower: Float
    upper: Float
    month: tuple[Float, Float, Float]
    refuted: Bool
    certified: Bool
    doubtful: Bool


@dataclass(frozen=True)
class Standing:
    """Where a watched model stands.

    Attributes
    ----------
    verdict : str
        ``"certified"`` (still), ``"undecided"`` (it cannot be told any more), ``"refuted"``.
    since : str or None
        Month of the last certificate, or from which on the gap was above the tolerance.
    gap, lower, upper : float
        Of the last year, with its bounds; no gap (None) while there are no labels.
    months : tuple of str
        First and last month of that year.
    labels, labels_needed : int, int or None
        Labels told in all, and further ones that would likely certify; None where none would.
    known : int
        Outcomes that were known at once.
    doubt : bool
        Whether labels raised doubt about a certificate that would still hold.
    """

    verdict: Verdict
    since: str | None
    gap: float | None
    lower: float
    upper: float
    months: tuple[str, str] | None
    labels: int
    labels_needed: int | None
    tolerance: float
    metric: str
    known: int = 0
    doubt: bool = False

    def headline(self, *, in_points: bool = False) -> str:
        """Return the state in one sentence; in points for a difference of rates."""
        allowed = words.points(self.tolerance) if in_points else f"{self.tolerance:g}"
        return words.standing_sentence(self.verdict, self.since, allowed, self.labels_needed, self.doubt)

    def details(self, *, in_points: bool = False) -> str:
        """Return what it rests on."""
        bounds = (self.gap, self.lower, self.upper)
        return words.standing_details(
            bounds, self.months, self.labels, self.metric, self.tolerance, in_points, self.known
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**dataclasses.asdict(self), "months": list(self.months or ())}


@dataclass(frozen=True)
class ScoreBins:
    """Where the scores of the first month are cut.

    Attributes
    ----------
    edges : list of list of float
        By group and decision, the limits between bins.
    prior : list of float or None
        Mean score of each bin, if scores are from 0 to 1.
    tenths : list of float
        Limits between tenths of all scores.
    bins : int
        Most bins of a group and decision.
    """

    edges: list[list[float]]
    prior: list[float] | None
    tenths: list[float]
    bins: int

    @classmethod
    def of(cls, score: Float, parent: Int, parents: int, bins: int) -> Self:
        """Cut scores within each group and decision, as an audit does."""
        good = ~np.isnan(score)
        chance = bool(score[good].min() >= 0 and score[good].max() <= 1)
        edges = [bin_edges(score[good & (parent == p)], bins, chance=chance).tolist() for p in range(parents)]
        found = cls(edges, None, np.unique(np.quantile(score[good], np.arange(1, 10) / 10)).tolist(), bins)
        if not chance:
            return found
        cell, n = found.cell(score, parent)[good], parents * bins
        total, count = np.bincount(cell, score[good], n), np.bincount(cell, minlength=n)
        prior = np.where(count > 0, total / np.maximum(count, 1), 0.5)
        return dataclasses.replace(found, prior=prior.tolist())

    def cell(self, score: Float, parent: Int) -> Int:
        """``parent * bins + bin`` of each row; rows without a score are in the first bin."""
        found = parent * self.bins
        for p, edges in enumerate(self.edges):
            mine = (parent == p) & ~np.isnan(score)
            found[mine] += np.searchsorted(edges, score[mine], side="right")
        return found


def together(counts: Counts, firsts: Sequence[int]) -> Counts:
    """Months from each of these to the last as one pool: axes (months, strata) become (windows, strata).

    Strata may have been sampled more in one month than in another: each label counts for the rows that it
    stands for, and the labels of a stratum are as many as would tell as much without such weights.

    Examples
    --------
    >>> rows, ones, zeros = np.array([[100.0], [300.0]]), np.array([[10.0], [0.0]]), np.array([[0.0], [30.0]])
    >>> found = together(Counts(rows, ones, zeros, 0 * ones), [0, 1])
    >>> found.size.tolist(), found.ones.tolist(), found.labels.tolist()
    ([[400.0], [300.0]], [[10.0], [0.0]], [[40.0], [30.0]])
    """

    def total(values: Float) -> Float:
        return np.asarray(np.flip(np.cumsum(np.flip(values, -2), axis=-2), -2)[..., list(firsts), :])

    labels = counts.labels
    weight = counts.size / np.maximum(labels, 1.0)
    seen, square = total(weight * labels), total(weight**2 * labels)
    each = seen / np.maximum(square, 1e-300)
    return Counts(
        total(counts.size), *(each * total(weight * v) for v in (counts.ones, counts.zeros, counts.skipped))
    )


class Watch:
    """Follow a model that decides, by a few labels each month.

    Parameters
    ----------
    groups : sequence
        Names of the groups.
    metric : str
        Any of an audit's; ``"dp"`` and ``"selection-ratio"`` need no labels.
    tolerance, delta : float
    certified : str, optional
        The month (YYYY-MM) in which an audit certified the model.
    labels : int
        Labels per month.
    valid_for : int
        Months for which a certificate holds unless it is refuted, and months that a new one is about.
    horizon : int
        Months for which the watch is planned: ``delta`` is the error of all of them together.
    compare : {"pairs", "rest"}
        All pairs of groups, or each group with all others together.
    noise : float or mapping
        Probability of a wrong label, as an audit takes it.
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
        compare: str = "pairs",
        noise: Noise = 0.0,
        random_state: int = 0,
    ) -> None:
        self.groups = [str(g) for g in groups]
        if len(set(self.groups)) < 2:
            raise ValueError(f"groups={list(groups)!r} must name at least two different groups")
        self.claim = Claim(check_question(metric), check_share(tolerance, "tolerance"))
        self.delta = check_share(delta, "delta")
        self.certified = None if certified is None else check_month(certified, "certified")
        self.labels = check_count(labels, "labels", least=2 * len(self.groups))
        self.valid_for = check_count(valid_for, "valid_for")
        self.horizon = check_count(horizon, "horizon")
        self.compare = check_choice(compare, "compare", COMPARISONS)
        self.noise, self.doubt = noise_table(noise, self.groups)
        self.random_state = check_seed(random_state)
        self.months: list[Month] = []
        self.bins: ScoreBins | None = None
        self._looks: list[Look] = []

    @property
    def needs_labels(self) -> bool:
        """Whether the metric is about rows with a label."""
        return bool(self.claim.question.labels)

    @functools.cached_property
    def layout(self) -> Layout:
        """The strata: by group (the last are rows of unknown group), decision and bin; then known ones."""
        parents, bins = self._parents, 1 if self.bins is None else self.bins.bins
        parent = np.concatenate([np.repeat(np.arange(parents), bins), np.arange(parents)])
        known = np.arange(len(parent)) >= parents * bins
        prior = None
        if self.bins is not None and self.bins.prior is not None:
            prior = np.concatenate([self.bins.prior, np.full(parents, 0.5)])
        return Layout(
            parent // 2, (parent % 2)[None, :], len(self.groups), parent, known, np.ones(len(parent)),
            prior=prior, rest=self.compare == "rest",
            noise=self.noise * self.needs_labels, doubt=self.doubt * self.needs_labels,
        )  # fmt: skip

    @property
    def _parents(self) -> int:
        """Groups, rows of unknown group among them, times decisions."""
        return 2 * (len(self.groups) + 1)

    # -- months -----------------------------------------------------------------------------------

    def add(
        self,
        month: str,
        pred: ArrayLike,
        groups: ArrayLike,
        score: ArrayLike | None = None,
        *,
        known: Mapping[int, object] | None = None,
        labels: int | None = None,
    ) -> Int:
        """Take the decisions of a month; return the rows to label.

        Parameters
        ----------
        month : str
            ``YYYY-MM``, after all months before.
        pred, groups : array-like
            Decision and group of every new row.
        score : array-like, optional
            A number per row that may tell labels 1 from 0, in every month or in none. Its shifts are
            reported.
        known : mapping, optional
            Labels that exist already, by row; None where nobody can tell. None of these rows is asked for.
        labels : int, optional
            Labels from this month on.

        Examples
        --------
        >>> watch = Watch(["f", "m"], labels=20)
        >>> len(watch.add("2026-02", [0, 1] * 50, ["f", "m"] * 50))
        20
        """
        codes = known_codes(known, None)
        rows = PoolRows.of_arrays(pred, groups, score=score, known=codes, seed=self.random_state)
        return self.add_rows(month, rows, labels=labels)

    def add_rows(self, month: str, rows: PoolRows, *, labels: int | None = None, source: str = "") -> Int:
        """Take the rows of a month as an audit sees them, with the digest of their table."""
        self._check_next(month, rows, source)
        if labels is not None:
            self.labels = check_count(labels, "labels", least=2 * len(self.groups))
        assert rows.cell is not None
        code = np.array([*(self.groups.index(str(g)) for g in rows.names), len(self.groups)])
        parent = (2 * code[rows.group] + rows.decision[0])[rows.cell]
        label = rows.label[rows.cell]
        if not self.needs_labels:
            label = np.where(label == OUT, OUT, UNTOLD)
        cell, inside = parent, label != OUT
        if rows.score is not None:
            if self.bins is None:
                bins = bins_for(self.labels, 2 * len(self.groups), _BINS)
                self.bins = ScoreBins.of(rows.score, parent, self._parents, bins)
                self.__dict__.pop("layout", None)
            cell = self.bins.cell(rows.score, parent)
        layout = self.layout
        stratum = np.where(label == UNTOLD, cell, parent + int((~layout.known).sum()))
        sizes = np.bincount(stratum[inside], minlength=len(layout.known))
        taken = np.zeros(len(layout.known), dtype=np.int64)
        if self.needs_labels:
            found = self._window() if self.months else None
            taken = self.place(sizes[None], self.labels, found)[0]
        rng = np.random.default_rng([self.random_state, len(self.months)])
        drawn = [
            rng.choice(np.flatnonzero(inside & (stratum == s)), taken[s], replace=False)
            for s in np.flatnonzero(taken)
        ]
        asked = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *drawn]))
        scores: list[int] = []
        if self.bins is not None and rows.score is not None:
            tenth = np.searchsorted(self.bins.tenths, rows.score[inside & ~np.isnan(rows.score)])
            scores = np.bincount(tenth, minlength=len(self.bins.tenths) + 1).tolist()
        self.months.append(
            Month(
                month,
                sizes=sizes.tolist(),
                known=[np.bincount(stratum[label == v], minlength=len(sizes)).tolist() for v in (0, 1, -1)],
                asked=asked.tolist(),
                stratum=stratum[asked].tolist(),
                labels=[None] * len(asked),
                scores=scores,
                source=source,
            )
        )
        return asked

    def _check_next(self, month: str, rows: PoolRows, source: str) -> None:
        """Raise UserError unless these rows can be those of the next month."""
        check_month(month)
        last = self.months[-1] if self.months else None
        if last is not None and month <= last.name:
            given = "was added before" if month in {m.name for m in self.months} else "is in the past"
            raise UserError(
                f"{month} {given}: the last month of the watch is {last.name}",
                "Add months in their order, each once",
            )
        if self.certified is not None and month < self.certified:
            raise UserError(
                f"{month} is before the certificate of {self.certified}", "Add months from then on"
            )
        if len(self.months) == self.horizon:
            raise UserError(
                f"the watch was planned for {self.horizon} months, and they are over",
                "Begin another with a new audit: its error is its own",
            )
        if last is not None and last.awaited:
            raise UserError(
                f"{len(last.awaited):,} rows of {last.name} wait for a label",
                "Tell their labels first (or that nobody can label them)",
            )
        if source and (same := [m.name for m in self.months if m.source == source]):
            raise UserError(
                f"the rows of {month} are those of {same[0]}",
                "Add the new rows of each month, and no row twice",
            )
        if strange := [str(g) for g in rows.names if str(g) not in self.groups]:
            raise UserError(
                f"{month} has the group {strange[0]!r}, which the certificate does not know",
                f"Its groups are {', '.join(map(repr, self.groups))}",
            )
        if last is not None and (rows.score is None) != (self.bins is None):
            has, had = ("no", "a") if rows.score is None else ("a", "no")
            raise UserError(
                f"{month} has {has} score, and the months before had {had} score",
                "Give the score of every month, or of none",
            )

    def place(self, sizes: Int, labels: int, found: Counts | None = None) -> Int:
        """Place the labels of a month, one in each stratum at least; the leading axis is of watches.

        Without what was ``found`` before, groups and decisions get as many each.
        """
        schedule, layout = Schedule((self.claim,), self.delta, (labels,)), self.layout
        size = np.asarray(sizes, dtype=np.float64)
        least = np.where(layout.known, 0.0, np.minimum(size, 1.0))
        return schedule.place(size, least, layout, labels, found)

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
                raise ValueError(f"labels has {plain(label)!r} for row {row}; expected 0, 1 or None")
        if month is not None:
            for row, label in zip(given, told, strict=True):
                month.labels[places[row]] = -1 if label is None else int(label == 1)
            del self._looks[len(self.months) - 1 :]

    # -- looking ----------------------------------------------------------------------------------

    def _told(self) -> list[Month]:
        """The months whose labels are all told."""
        return [m for m in self.months if not m.awaited]

    def _counts(self, months: Sequence[Month]) -> Counts:
        """Labels of months, of shape (months, strata); parity is the rate of rows whose labels are all 1."""
        size = np.array([m.sizes for m in months], dtype=np.float64)
        if not self.needs_labels:
            return Counts(size, size, 0 * size, 0 * size)
        zeros, ones, skipped = np.array([m.told() for m in months], dtype=np.float64).transpose(1, 0, 2)
        return Counts(size, ones, zeros, skipped)

    def _first(self, names: Sequence[str], months: float) -> int:
        """Number of the first of the last months, up to so many before the end."""
        return next(i for i, name in enumerate(names) if months_between(name, names[-1]) < months)

    def _window(self) -> Counts:
        """The labels of the last year as one pool, with an axis of one watch."""
        told = self._told()
        return together(self._counts(told[self._first([m.name for m in told], self.valid_for) :]), [0])

    def _windows(self, names: Sequence[str]) -> tuple[int, ...]:
        """First months of the windows that end with the last: half a year's, a year's, two, ..., all."""
        lengths = (max(self.valid_for * 2.0**k, 1.0) for k in range(-1, 10))
        return tuple(sorted({0, *(self._first(names, length) for length in lengths)}))

    def levels(self, names: Sequence[str]) -> list[tuple[float, float]]:
        """Standard errors kept by the bounds that certify and refute, after each of these months."""
        until = [names[: n + 1] for n in range(len(names))]
        year = tuple((self._first(part, self.valid_for),) for part in until)
        windows = tuple(self._windows(part) for part in until)
        # As in an audit: certifying needs every pair of groups, refuting any one, which share the error.
        family = max(len(self.claim.question.labels), 1) * len(self.layout.pairs[0])
        spend = self.delta / self.horizon
        return [*zip(window_boundaries(year, spend), window_boundaries(windows, spend / family), strict=True)]

    def _bounds(self, counts: Counts, z_upper: float, z_lower: float) -> Bounds:
        """Bounds on the gap of the population; strata without rows are left out."""
        kept = counts.size.any(axis=tuple(range(counts.size.ndim - 1)))
        whole = self.layout
        layout = dataclasses.replace(
            whole, group=whole.group[kept], decision=whole.decision[:, kept], parent=whole.parent[kept],
            known=whole.known[kept], cost=whole.cost[kept], prior=None,
        )  # fmt: skip
        part = Counts(*(v[..., kept] for v in (counts.size, counts.ones, counts.zeros, counts.skipped)))
        return bounds_at(self.claim, part, layout, z_upper, z_lower, population=True)

    def look(self, names: Sequence[str], counts: Counts, levels: tuple[float, float]) -> Look:
        """Look at the labels of months, whose axes are (months, strata), or (watches, months, strata)."""
        firsts, tolerance = self._windows(names), self.claim.tolerance + ROUNDING
        year = firsts.index(self._first(names, self.valid_for))
        found = self._bounds(together(counts, firsts), *levels)
        one = self._bounds(together(counts, [firsts[year], len(names) - 1]), 1.0, 1.0)
        return Look(
            gap=found.estimate[..., year],
            lower=found.lower[..., year],
            upper=found.upper[..., year],
            month=(one.estimate[..., 1], one.lower[..., 1], one.upper[..., 1]),
            refuted=np.asarray((found.lower > tolerance).any(axis=-1)),
            certified=found.upper[..., year] <= tolerance,
            doubtful=one.lower[..., 0] > tolerance,
        )

    @property
    def looks(self) -> list[Look]:
        """One look for each month whose labels are told."""
        told = self._told()
        if len(self._looks) < len(told):
            names = [m.name for m in told]
            for n, levels in enumerate(self.levels(names)[len(self._looks) :], len(self._looks) + 1):
                self._looks.append(self.look(names[:n], self._counts(told[:n]), levels))
        return self._looks

    def _since(self, look: int) -> str:
        """The month from which on the gap speaks most against the model, as seen at a look."""
        z = self.levels([m.name for m in self._told()])[look][1]
        counts = together(self._counts(self.months[: look + 1]), range(look + 1))
        return self.months[int(np.argmax(self._bounds(counts, z, z).lower))].name

    def standing(self) -> Standing:
        """Say where the model stands after the labels told so far."""
        looks, told = self.looks, self._told()
        refuted = next((n for n, look in enumerate(looks) if look.refuted), None)
        renewed = [m.name for m, look in zip(told, looks, strict=True) if look.certified]
        since = max([*([] if self.certified is None else [self.certified]), *renewed], default=None)
        verdict: Verdict = "undecided"
        doubt = False
        if refuted is not None:
            verdict, since = "refuted", self._since(refuted)
        elif since is not None:
            age = months_between(since, self.months[-1].name) if self.months else 0
            doubt = age < self.valid_for and bool(looks and looks[-1].doubtful)
            if age < self.valid_for and not doubt:
                verdict = "certified"
        gap, lower, upper = np.nan, 0.0, 1.0
        if looks:
            gap, lower, upper = map(float, (looks[-1].gap, looks[-1].lower, looks[-1].upper))
        names = [m.name for m in told]
        return Standing(
            verdict=verdict,
            since=since,
            gap=None if np.isnan(gap) else gap,
            lower=lower,
            upper=upper,
            months=(names[self._first(names, self.valid_for)], names[-1]) if names else None,
            labels=sum(label is not None for m in self.months for label in m.labels),
            labels_needed=self._labels_needed() if verdict == "undecided" and self.needs_labels else None,
            tolerance=self.claim.tolerance,
            metric=self.claim.metric,
            known=sum(sum(told) for m in self.months for told in m.known[:2]),
            doubt=doubt,
        )

    def _labels_needed(self) -> int | None:
        """Further labels like those of the last year that would certify, if the rates are what they seem."""
        told = self._told()
        if not told:
            return None
        found = self._window()
        names = [m.name for m in told]
        labels = sum(len(m.asked) for m in told[self._first(names, self.valid_for) :])
        more = Counts(found.size, *(_TIMES[:, None] * v for v in (found.ones, found.zeros, found.skipped)))
        enough = self._bounds(more, self.levels(names)[-1][0], 1.0).upper <= self.claim.tolerance + ROUNDING
        return int(np.ceil((_TIMES[np.argmax(enough)] - 1) * labels)) if enough.any() else None

    def shift(self) -> dict[str, Any]:
        """Compare the last month with the first, without labels: shares of groups, decisions, scores.

        ``psi`` is the population stability index of the scores over tenths of the first month's: above 0.25
        is commonly called a large shift.
        """
        if len(self.months) < 2:
            return {}
        ends, layout = (self.months[0], self.months[-1]), self.layout
        rows = [np.bincount(layout.group, weights=m.sizes, minlength=len(self.groups)) for m in ends]
        said = [np.bincount(layout.group, weights=layout.decision[0] * m.sizes) for m in ends]
        found: dict[str, Any] = {"months": [m.name for m in ends], "groups": {}}
        for g, name in enumerate(self.groups):
            found["groups"][name] = {
                "share": [float(n[g] / n.sum()) for n in rows],
                "selected": [float(s[g] / max(n[g], 1)) for s, n in zip(said, rows, strict=True)],
            }
        if self.bins is not None:
            p, q = ((np.array(m.scores) + 0.5) / (sum(m.scores) + 0.5 * len(m.scores)) for m in ends)
            found["psi"] = float(((q - p) * np.log(q / p)).sum())
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the watch as plain values.

        Examples
        --------
        >>> watch = Watch(["f", "m"], certified="2026-01")
        >>> Watch.from_dict(watch.to_dict()).to_dict() == watch.to_dict()
        True
        """
        names = ("groups", "delta", "certified", "labels", "valid_for", "horizon", "compare",
                 "random_state")  # fmt: skip
        own = {"metric": self.claim.metric, "tolerance": self.claim.tolerance}
        return {
            "format": _FORMAT,
            "settings": {name: getattr(self, name) for name in names} | own,
            "noise": [self.noise.tolist(), self.doubt.tolist()],
            "bins": None if self.bins is None else dataclasses.asdict(self.bins),
            "months": [dataclasses.asdict(m) for m in self.months],
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Make the watch that :meth:`to_dict` wrote."""
        if state["format"] != _FORMAT:
            raise ValueError(f"a watch of format {state['format']!r}; this version reads format {_FORMAT}")
        watch = cls(**state["settings"])
        watch.noise, watch.doubt = map(np.array, state["noise"])
        watch.bins = None if state["bins"] is None else ScoreBins(**state["bins"])
        watch.months = [Month(**m) for m in state["months"]]
        return watch


def check_month(value: object, name: str = "month") -> str:
    """Return a month, written as YYYY-MM.

    Examples
    --------
    >>> check_month("2026-13")
    Traceback (most recent call last):
        ...
    ValueError: month='2026-13' must be written as YYYY-MM, such as 2026-03
    """
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", value):
        raise ValueError(f"{name}={value!r} must be written as YYYY-MM, such as 2026-03")
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
