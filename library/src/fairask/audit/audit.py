"""The audit: certify a frozen model over an unlabelled pool with the fewest labels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit.certificate import Certificate, GroupComparison, digest_of_settings, verdict_of
from fairask.audit.labelled_rows import accuracy_limits, parity
from fairask.audit.layout import FEWEST, Counts, JudgeTrial
from fairask.audit.plan import TARGETS, AuditPlan, Bounds, Claim, PlanSettings
from fairask.audit.rows import PoolRows, known_codes
from fairask.audit.simulation import worst_error
from fairask.audit.strata import Noise, Strata, queue_length
from fairask.cards import card
from fairask.checks import check_choice, check_lengths, plain
from fairask.errors import UserError
from fairask.matrix import row_set
from fairask.metrics import RATES, Float, Int, binary_labels, is_gap
from fairask.pools import Pool
from fairask.report.words import (
    DRAWN_ONCE,
    judge_sentence,
    learned_noise_sentence,
    observed_sentences,
    unknown_groups_sentence,
)

#: Code of a row that cannot be labelled.
SKIPPED = -1
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class AuditQuery:
    """Rows to label before the next look.

    Attributes
    ----------
    look : int
        The look these rows lead to, from 1.
    indices : ndarray
        Row numbers in the pool, ascending (nothing in their order hints at a prediction).
    propensities : ndarray
        Probability of each row at its draw: the share of its stratum in the look's labels over the rows left
        in the stratum.
    """

    look: int
    indices: Int
    propensities: Float


class AuditState(TypedDict):
    """An audit as plain values."""

    format: int
    settings: dict[str, Any]  #: the plan
    fingerprint: str  #: of the strata
    trained_on: list[int]
    rows: list[int]
    labels: list[int]
    skipped: list[int]  #: rows that could not be labelled
    corrected: list[list[int]]  #: rows changed after a look, and what the look had used
    asked: list[list[Any]]  #: the look each draw was made for, and its rows
    strata: dict[str, Any]
    classes: list[Any] | None


@dataclasses.dataclass(frozen=True)
class _Look:
    """Counts by stratum at a look; by target, verdicts and bounds of all claims. Look 0 knows nothing."""

    number: int
    counts: Counts
    codes: dict[str, Int]
    bounds: dict[str, list[Bounds]]


class Audit:
    """Ask for labels, tell them, and stop as soon as the model is certified or refuted.

    Predictions are known on the whole pool, so labels are drawn by stratum (group, prediction): first
    equally, then where they narrow the bound most (Neyman allocation). The bounds are looked at after
    each batch, on a schedule fixed beforehand, and the error is spent over the looks, so that stopping
    early costs no validity.

    Parameters
    ----------
    pred : array-like
        The model's predictions on every row of the pool; soft values are a randomised classifier's P(h=1).
    groups : array-like
        Protected attribute of every row.
    plan : AuditPlan, optional
        What is asked for; or give its fields as keywords: ``metric``, ``tolerance``, ``delta``, ``budget``,
        ``looks``, ``target``, ``random_state``.
    trained_on : array-like of int, optional
        Rows that trained the model and whose labels are not given in ``known``: they are left out, and the
        certificate is about the other rows only.
    known : mapping, optional
        Labels known before the audit, by row, such as those that trained the model; None where nobody can
        tell. They cost nothing, and the certificate is about the whole pool.
    score : array-like, optional
        A number per row that may tell labels 1 from 0: the model's own score, or any other. Rows are then
        drawn by bins of it too. A useless score does no harm.
    judge : array-like, optional
        What a judge says of each row, such as a language model or last year's model: 0 or 1, or the
        probability of 1; several judges in columns. A pilot of people's labels says how far he is right
        (:attr:`trial`); where he would save nothing, he is not heeded. Only labels of people are counted.
    cost : array-like, optional
        Cost of a label of each row; the budget is then a cost.
    noise : float or mapping, optional
        Probability that a label told is wrong: one number, or by group a number, (least, largest), or what
        was learned from answers of people (:meth:`fairask.people.People.label_errors`).
    observed : array-like, optional
        The outcome of each row that has one because it was accepted, None or NaN elsewhere. Outcomes of rows
        that the model accepts cost nothing, and no more of them are asked for: labels are bought among the
        others only.
    missing : {"worst", "random"}
        What is assumed of accepted rows without an ``observed`` outcome: the bounds hold whatever it is, or
        it is missing at random within the group.
    pos_label : optional
        The prediction that counts as 1.
    classes : sequence of two, optional
        The labels that are told, the positive one last; default 0 and 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 2, 5000), rng.integers(0, 2, 5000)
    >>> pred = np.where(rng.random(5000) < 0.9, y, 1 - y)
    >>> audit = Audit(pred, groups, budget=600, random_state=1)
    >>> while not audit.done:
    ...     query = audit.ask()
    ...     audit.tell(query.indices, y[query.indices])
    >>> certificate = audit.certificate()
    >>> certificate.verdict, certificate.n_labels
    ('certified', 360)
    """

    def __init__(
        self,
        pred: ArrayLike,
        groups: ArrayLike,
        plan: AuditPlan | None = None,
        *,
        trained_on: ArrayLike | None = None,
        known: Mapping[int, object] | None = None,
        score: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        noise: Noise = 0.0,
        observed: ArrayLike | None = None,
        missing: str = "worst",
        judge: ArrayLike | None = None,
        pos_label: object = None,
        classes: Sequence[object] | None = None,
        **settings: Unpack[PlanSettings],
    ) -> None:
        plan = AuditPlan.of(plan, settings)
        rows = PoolRows.of_arrays(
            pred, groups, trained_on=trained_on, pos_label=pos_label, seed=plan.random_state,
            known=known_codes(known, classes), score=score, cost=cost,
            observed=None if observed is None else known_codes(_given(observed, groups), classes, "observed"),
            missing=missing, judge=judge,
        )  # fmt: skip
        self._begin(_strata(rows, plan, noise), plan, classes)

    @classmethod
    def of_pool(
        cls,
        pool: Pool,
        model: Any,
        plan: AuditPlan | None = None,
        *,
        trained_on: ArrayLike | None = None,
        known: Mapping[int, object] | None = None,
        noise: Noise = 0.0,
        classes: Sequence[object] | None = None,
        **settings: Unpack[PlanSettings],
    ) -> Self:
        """Audit a model over a pool; the same rows are asked for as if its decisions were given.

        Parameters
        ----------
        pool : pool
            Rows it excludes are left out of the audit.
        model : fair oracle, or object with ``decide`` or ``predict``
            Its decision on each row; a randomised one's is drawn once, with the seed.
        plan, trained_on, known, noise, classes, **settings
            As in :class:`Audit`.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from fairask.pools import Pool
        >>> rng = np.random.default_rng(0)
        >>> X, groups = rng.normal(size=(4000, 2)), rng.integers(0, 2, 4000)
        >>> y = (X[:, 0] + 0.3 * rng.normal(size=4000) > 0).astype(int)
        >>> model = LogisticRegression().fit(X[:100], y[:100])
        >>> audit = Audit.of_pool(Pool(X, groups, 2), model, budget=800, trained_on=np.arange(100))
        >>> while not audit.done:
        ...     query = audit.ask()
        ...     audit.tell(query.indices, y[query.indices])
        >>> audit.certificate().verdict
        'certified'
        """
        plan = AuditPlan.of(plan, settings)
        none = np.zeros(0, dtype=np.int64)
        trained = none if trained_on is None else row_set(trained_on, pool.n_rows)
        codes = known_codes(known, classes)
        left_out = np.setdiff1d(np.union1d(pool.excluded, trained), row_set(list(codes), pool.n_rows))
        rows = PoolRows.of_pool(pool, model, left_out, plan.random_state, codes)
        return cls.of_rows(rows, plan, noise=noise, classes=classes)

    @classmethod
    def of_rows(
        cls, rows: PoolRows, plan: AuditPlan, *, noise: Noise = 0.0, classes: Sequence[object] | None = None
    ) -> Self:
        """Audit rows that were sorted into cells before."""
        return cls.of_strata(_strata(rows, plan, noise), plan, classes)

    @classmethod
    def of_strata(cls, strata: Strata, plan: AuditPlan, classes: Sequence[object] | None = None) -> Self:
        """Audit strata that were counted before."""
        audit = cls.__new__(cls)
        audit._begin(strata, plan, classes)
        return audit

    def _begin(self, strata: Strata, plan: AuditPlan, classes: Sequence[object] | None) -> None:
        if len(strata.groups) < 2:
            raise ValueError(f"groups must hold at least two groups, got {strata.groups}")
        layout = strata.layout
        if not strata.sizes[~layout.known].sum():
            if layout.known.any():
                raise UserError(
                    "every row of the pool has a label already, so that nothing is left to ask for",
                    "the gap is known: fairask.group_gap(y, predictions, groups) computes it",
                )
            raise ValueError("the pool is empty: every row trained the model")
        cheapest = layout.cost[~layout.known & (strata.sizes > 0)].min()
        if cheapest > plan.budget:
            raise UserError(f"budget={plan.budget} buys no label", f"the cheapest one costs {cheapest:g}")
        self.plan, self.groups = plan, strata.groups
        self.classes = None if classes is None else list(map(plain, classes))
        left = strata.sizes[~layout.known] @ layout.cost[~layout.known]
        self.schedule = plan.schedule(int(left), len(layout.decision), pilot=layout.pilot)
        self._strata = strata
        self._layout = dataclasses.replace(layout, rest=plan.compare == "rest")
        # What was drawn: the look of each draw, from 1, with its rows; rows of each stratum.
        self._asked: list[tuple[int, list[int]]] = []
        self._opened = 0
        self._queued = np.array([len(queue) for queue in strata.queues], dtype=np.int64)
        self._taken, self._skipped, self._goal = (np.zeros_like(self._queued) for _ in range(3))
        self._chance = np.zeros(len(self._queued))
        # What was told: labels 0 or 1 and SKIPPED; rows without an answer with their propensities; and the
        # first answers of rows that were changed after a look had used them.
        self._answers: dict[int, int] = {}
        self._waiting: dict[int, float] = {}
        self._looked_at: dict[int, int] = {}
        self._found: _Look | None = None
        self._look()

    @property
    def pool_size(self) -> int:
        """Rows of the audited pool."""
        return int(self._strata.sizes.sum())

    @property
    def n_labels(self) -> int:
        """Labels told so far."""
        return len(self._answers) - int(self._skipped.sum())

    @property
    def look(self) -> int:
        """Looks that are complete: what :meth:`certificate` is from."""
        return self._last.number

    @property
    def trial(self) -> JudgeTrial | None:
        """How far the judge agrees with people's labels at the last look; None without a judge or labels.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> y, groups = rng.integers(0, 2, 4000), np.repeat(["men", "women"], 2000)
        >>> pred, judge = (np.where(rng.random(4000) < right, y, 1 - y) for right in (0.8, 0.9))
        >>> audit = Audit(pred, groups, judge=judge)
        >>> rows = audit.ask().indices
        >>> audit.tell(rows, y[rows])
        >>> audit.trial.labels, audit.trial.heeded
        (60, True)
        """
        if not self._layout.pilot or not self.look:
            return None
        names = [*map(str, self.groups)]
        return JudgeTrial.of(self._layout, self._last.counts, _told(self._counts(1)), names)

    @property
    def answered(self) -> Collection[int]:
        """Rows that were told or skipped."""
        return self._answers.keys()

    @property
    def ready(self) -> bool:
        """Whether :meth:`ask` draws rows now: for the next look, or in place of skipped ones."""
        return not self.done and (not self._waiting or self._short)

    @property
    def done(self) -> bool:
        """Whether the audit is decided or its budget spent."""
        if not self.schedule.claims:
            return True
        if not self._opened or self._waiting or self._short:
            return False
        decided = self.look > 0 and bool((self._last.codes[self.plan.target] > 0).all())
        return decided or self._opened == len(self.schedule.totals)

    # -- asking and telling ---------------------------------------------------------------------

    def ask(self) -> AuditQuery:
        """Return the rows still to be labelled before the next look; the same ones until they are told.

        Examples
        --------
        >>> len(Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2).ask().indices)
        20
        """
        if self.done:
            raise ValueError("the audit is over: read certificate()")
        self._draw()
        waiting = sorted(self._waiting.items())
        rows = np.array([row for row, _ in waiting], dtype=np.int64)
        return AuditQuery(self._opened, rows, np.array([chance for _, chance in waiting]))

    def tell(self, indices: ArrayLike, labels: ArrayLike) -> None:
        """Record labels of rows that were asked for, all at once or in parts.

        A row nobody asked for, told twice, or a label that is not one of the classes raises and changes
        nothing.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 20)
        >>> audit.n_labels
        20
        """
        if self.done:
            raise ValueError("the audit is over: no label is awaited")
        rows, codes = np.atleast_1d(np.asarray(indices)).tolist(), self._codes(np.atleast_1d(labels))
        check_lengths(indices=len(rows), labels=len(codes))
        self._answer(rows, codes)

    def skip(self, indices: ArrayLike) -> None:
        """Say that rows cannot be labelled; others of their strata are asked for in their place.

        They stay in the pool: the bounds hold whatever their labels are, and the certificate names their
        number.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2)
        >>> row = audit.ask().indices[0]
        >>> audit.skip(row)
        >>> len(audit.ask().indices), row in audit.ask().indices
        (20, False)
        """
        rows = np.atleast_1d(np.asarray(indices)).tolist()
        self._answer(rows, [SKIPPED] * len(rows))

    def revise(self, index: int, label: object = None) -> None:
        """Change the label of a row that was told or skipped; without a label the row is awaited again.

        Rows that were drawn stay drawn. The bounds of the last look are computed again, and the certificate
        says how many labels were changed after a look had used them.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=1)
        >>> rows = audit.ask().indices
        >>> audit.tell(rows, [1] * 40)
        >>> audit.revise(rows[0], 0)
        >>> sum(audit.certificate().negatives)
        1
        """
        codes = None if label is None else self._codes(np.atleast_1d(np.asarray(label)))
        row = int(index)
        if row not in self._answers:
            raise ValueError(f"row {row} was not told, so there is nothing to revise")
        if any(look <= self._complete_looks() for look, rows in self._asked if row in rows):
            self._looked_at.setdefault(row, self._answers[row])
        stratum = self._strata.of([row])[0]
        if self._answers.pop(row) == SKIPPED:
            self._skipped[stratum] -= 1
        self._waiting[row] = float(self._chance[stratum])
        if codes is not None:
            self._record_answers([row], codes)
        self._look()

    def record(self, look: int, rows: Sequence[int]) -> None:
        """Take note that these rows were asked for before a look, as :meth:`ask` answered at the time.

        For an audit that is replayed from a log: later corrections of labels do not change what was drawn.
        """
        counts = np.bincount(self._strata.of(rows), minlength=len(self._taken))
        queues = zip(self._strata.queues, self._taken, counts, strict=True)
        if {row for q, t, c in queues for row in q[t : t + c].tolist()} != set(rows):
            raise ValueError(f"the rows of look {look} were never asked for by this audit")
        if look > self._opened:
            self._open(counts)
        else:
            self._take(counts)
        self._look()

    def _codes(self, labels: Any) -> list[int]:
        if self.classes is None:
            return [int(value) for value in binary_labels(labels)]
        for value in labels.tolist():
            if value not in self.classes:
                raise ValueError(f"label {plain(value)!r} is not one of the classes {tuple(self.classes)!r}")
        return [int(value == self.classes[1]) for value in labels.tolist()]

    def _answer(self, rows: list[int], codes: list[int]) -> None:
        if any(row not in self._waiting for row in rows):
            self._draw()
        self._record_answers(rows, codes)
        # With many rows still waiting, nothing has changed unless a row of an earlier look was told again.
        if not self._waiting or self.look < self._opened - 1:
            self._look()

    def _record_answers(self, rows: list[int], codes: list[int]) -> None:
        """Take the answers of rows that wait for one: all of them, or none and an error."""
        new = dict(zip(rows, codes, strict=True))
        for row in rows:
            if row not in self._waiting or len(new) < len(rows):
                twice = row in self._answers or row in self._waiting
                raise ValueError(f"row {row} {'was told already' if twice else 'was not asked for'}")
        for row, code in new.items():
            del self._waiting[row]
            self._answers[row] = code
            if code == SKIPPED:
                self._skipped[self._strata.of([row])] += 1

    # -- drawing --------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Draw the rows that are due: for the open look, or for the next one."""
        if self._short:
            self._take(self._due())
        while not self._waiting and not self.done:
            told, pilot = _told(self._counts()), _told(self._counts(1)) if self._opened else None
            goal = self.schedule.next_counts(told, self._strata.layout, self._opened, pilot)[0]
            have = np.where(self._layout.known, 0, told.labels[0]).astype(np.int64)
            self._open(np.minimum(goal - have, self._queued - self._taken))
            self._look()

    def _due(self) -> Int:
        """Rows of each stratum still to be drawn for the open look, in place of skipped ones."""
        missing = np.maximum(self._goal - (self._taken - self._skipped), 0)
        return np.asarray(np.minimum(missing, self._queued - self._taken))

    @property
    def _short(self) -> bool:
        """Whether skipped rows are still to be replaced."""
        return bool(self._due().any())

    def _open(self, counts: Int) -> None:
        self._opened += 1
        self._goal = self._taken - self._skipped + counts
        left = np.maximum(self._strata.sizes - self._taken, 1)
        self._chance = counts / max(int(counts.sum()), 1) / left
        self._take(self._due())

    def _take(self, counts: Int) -> None:
        drawn: list[int] = []
        for s in np.flatnonzero(counts):
            rows = self._strata.queues[s][self._taken[s] : self._taken[s] + counts[s]].tolist()
            self._waiting |= dict.fromkeys(rows, float(self._chance[s]))
            drawn += rows
        self._taken += counts
        self._asked.append((self._opened, drawn))

    # -- looking --------------------------------------------------------------------------------

    def _counts(self, looks: int | None = None) -> Counts:
        """What is known of the strata; with ``looks``, from labels of the first looks only."""
        rows = list(self._answers)
        if looks is not None:
            drawn = (row for look, asked in self._asked if look <= looks for row in asked)
            rows = [row for row in drawn if row in self._answers]
        stratum, k = self._strata.of(rows), len(self._taken)
        codes = np.array([self._answers[row] for row in rows], dtype=np.int64)
        zeros, ones, skipped = (
            (np.bincount(stratum[codes == v], minlength=k) + known).astype(np.float64)[None, :]
            for v, known in zip((0, 1, SKIPPED), self._strata.known, strict=True)
        )
        return Counts(self._strata.sizes.astype(np.float64)[None, :], ones, zeros, skipped)

    def _complete_looks(self) -> int:
        """Looks, from the first, whose rows all have labels."""
        waiting = [look for look, rows in self._asked if any(row in self._waiting for row in rows)]
        return min([self._opened - self._short, *(look - 1 for look in waiting)])

    @property
    def _last(self) -> _Look:
        assert self._found is not None
        return self._found

    def _look(self) -> None:
        """Compute the bounds at the last complete look, unless nothing has changed since."""
        number, before = self._complete_looks(), self._found
        counts = self._counts(number)
        if before is not None and before.number == number:
            both = zip(vars(before.counts).values(), vars(counts).values(), strict=True)
            if all(np.array_equal(old, new) for old, new in both):
                return
        codes: dict[str, Int] = {}
        bounds: dict[str, list[Bounds]] = {}
        n, nothing = len(self.schedule.claims), np.full(1, math.nan)
        for target in TARGETS:
            earlier = np.zeros((1, n), dtype=np.int64)
            if before is not None and 0 < before.number < number and n > 1:
                earlier = before.codes[target]
            codes[target] = earlier
            bounds[target] = [Bounds(nothing, np.zeros(1), np.ones(1), (nothing, nothing, nothing))] * n
            if number and n:
                asked = dataclasses.replace(self.schedule, population=target == "population")
                codes[target], now = asked.verdicts(counts, self._layout, number - 1, earlier)
                kept = before.bounds[target] if before is not None and earlier.any() else now
                bounds[target] = [k if e else b for k, e, b in zip(kept, earlier[0], now, strict=True)]
        self._found = _Look(number, counts, codes, bounds)

    # -- answers --------------------------------------------------------------------------------

    def certificate(self, target: str | None = None, claim: int = 0) -> Certificate:
        """Return the certificate at the last completed look, for the pool or the population.

        Each of the two holds with probability 1 - delta by itself. Before the first look is complete
        nothing is known, and the certificate says so. Of several claims, ``claim`` is the number: the metrics
        of the first model come first.

        Examples
        --------
        >>> Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40).certificate().verdict
        'undecided'
        """
        which = check_choice(self.plan.target if target is None else target, "target", TARGETS)
        claims = self.plan.claims(len(self._layout.decision))
        asked = claims[claim]
        if asked.question.labels:
            made = self._certificate(which, asked)
        else:
            delta = self.plan.delta / (1 if which == "pool" else len(claims))
            *sizes, no, yes = self._strata.by_decision(asked.model).tolist()
            made = parity(
                self.groups, np.array(sizes), which, asked.tolerance, delta, asked.metric,
                unknown=(no, yes), drawn=self._strata.drawn,
            )  # fmt: skip
        settings = digest_of_settings(self.plan.to_dict())
        return dataclasses.replace(made, digests={"pool": self._strata.fingerprint, "settings": settings})

    def _certificate(self, target: str, asked: Claim) -> Certificate:
        """Return the certificate of a claim that needs labels."""
        layout, counts, strata = self._layout, self._last.counts, self._strata
        found = self._last.bounds[target][self.schedule.claims.index(asked)]
        names = [*map(str, self.groups)]
        own = layout.members[: layout.n_groups]
        labels = asked.question.labels
        told = int((counts.ones + counts.zeros - strata.known[:2].sum(axis=0)).sum())
        ones, zeros = (own @ v[0] for v in (counts.ones, counts.zeros))
        rates = {}
        for label in labels:
            limits = layout.limits(counts, asked.model, label, 1.0, population=False)
            rates[RATES[label]] = tuple(map(float, limits.rate[0, : layout.n_groups]))
        few = [ones if label == 1 else zeros for label in labels]
        finished = own @ (counts.size - counts.labels)[0] == 0
        unclear = [
            name
            for g, name in enumerate(names)
            if any(v[g] == 0 or (v[g] < FEWEST and not (finished[g] and target == "pool")) for v in few)
        ]
        shown = [*names, *(f"all but {name}" for name in names)] if layout.rest else names
        compared = zip(*layout.pairs, *(v[0] for v in found.by_pair), strict=True) if self.look else ()
        comparisons = tuple(
            GroupComparison(
                shown[a],
                shown[b],
                max(float(e), -1.0),  # a ratio to a rate of zero has no bound
                max(float(low), -1.0),
                float(up),
                verdict_of(low, up, asked.tolerance),
            )
            for a, b, e, low, up in compared
        )
        return Certificate.of(
            (float(found.estimate[0]), float(found.lower[0]), float(found.upper[0])),
            metric=asked.metric,
            tolerance=asked.tolerance,
            delta=self.schedule.delta,
            method="stratified",
            valid="asymptotic",
            assumptions=self._assumptions(target),
            target=TARGETS[target].format(size=self.pool_size),
            n_labels=told,
            groups=tuple(self.groups),
            positives=tuple(int(v) for v in ones),
            negatives=tuple(int(v) for v in zeros),
            rates=rates,
            most=self.pool_size - told if target == "pool" else None,
            comparisons=comparisons,
            unclear=tuple(unclear),
            skipped=self._unlabelled,
            corrected=len(self._corrected),
            unknown_groups=self._unknown_groups,
            model=asked.model,
        )

    @property
    def _unlabelled(self) -> int:
        """Rows that could not be labelled, those known before the audit included."""
        seen = self._strata.observed
        stated = seen.missing if seen is not None else 0  # the certificate speaks of these on their own
        return int(self._skipped.sum() + max(int(self._strata.known[2].sum()) - stated, 0))

    @property
    def _unknown_groups(self) -> int:
        return int(self._strata.sizes[self._layout.group == self._layout.n_groups].sum())

    @property
    def _corrected(self) -> list[int]:
        """Rows whose label is not the one that a look had used."""
        return [row for row, code in self._looked_at.items() if self._answers.get(row, code) != code]

    def accuracy(self, delta: float = 0.05) -> tuple[float, float, float]:
        """Return the accuracy on the pool and limits that hold with probability 1 - ``delta`` at any look.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=100, looks=1)
        >>> rows = audit.ask().indices
        >>> audit.tell(rows, rows % 2)
        >>> audit.accuracy()
        (1.0, 1.0, 1.0)
        """
        counts, decided = self._last.counts, self._layout.decision[0]
        right, wrong = (np.where(decided == d, counts.ones[0], counts.zeros[0]) for d in (1, 0))
        level = delta / max(len(self.schedule.totals), 1)
        return accuracy_limits(counts.size[0], right, wrong, counts.skipped[0], level)

    def _assumptions(self, target: str) -> tuple[str, ...]:
        """What a certificate rests on, in words."""
        strata, layout, lost = self._strata, self._layout, self._unlabelled
        right = "The labels told are right, and every row asked for was labelled."
        if layout.doubt.any():
            right = learned_noise_sentence([*map(str, self.groups)], layout.noise[0], layout.doubt)
        elif layout.noise.any():
            low, high = layout.noise[0].min(axis=0), layout.noise[1].max(axis=0)
            shares = "; ".join(
                f"{name} {a:.1%}" if a == b else f"{name} {a:.1%} to {b:.1%}"
                for name, a, b in zip(self.groups, low, high, strict=False)
            )
            right = (
                f"Labels told are wrong with the stated probability, whatever the decision: {shares}. The "
                "bounds are widened for it."
            )
        elif lost:
            right = "The labels told are right."
        binned = len(np.unique(layout.parent[~layout.known])) < (~layout.known).sum()
        cell = "group, prediction"
        if layout.prior is not None or binned:
            cell = "group, prediction, bin of the score"
        found = [
            "The model was fixed before the audit began, and no row that was asked for trained it.",
            right,
            f"Rows were drawn by the audit, uniformly within each ({cell}), and looked at on schedule.",
        ]
        if strata.drawn:
            found.append(DRAWN_ONCE)
        if target == "population":
            found.append("The pool is a random sample of the population.")
        if strata.observed is not None:
            found += observed_sentences(**dataclasses.asdict(strata.observed), bought=self.n_labels)
        elif known := int(strata.known.sum()):
            flatters = " If the model fits its training rows better than others, that flatters it."
            found.append(
                f"{known:,} rows had labels before the audit, those that trained the model among them: they "
                "are counted whole, with the model's decisions as they are."
                + (flatters if target == "population" else "")
            )
        if (trial := self.trial) is not None:
            found.append(judge_sentence(trial.labels, trial.saving, trial.heeded))
        elif layout.judged and not layout.pilot:
            found.append("A judge was given and not tried: the batches are too small to cut strata by him.")
        if left_out := len(strata.left_out):
            found.append(f"{left_out:,} rows that trained the model were left out.")
        if lost:
            found.append(f"{lost:,} rows could not be labelled: the bounds hold whatever their labels are.")
        if n := len(self._corrected):
            found.append(
                f"{n:,} labels were changed after a look had used them, because they were wrong, whatever "
                "the verdict."
            )
        if n := self._unknown_groups:
            found.append(unknown_groups_sentence(n, self.pool_size))
        if (n := len(self.schedule.claims)) > 1:
            found.append(f"{n} claims share the error: all verdicts hold together (Holm).")
        return tuple(found)

    def certificates(self, target: str | None = None) -> list[Certificate]:
        """Return the certificates of all claims: every metric of every model.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, also=["fprp"])
        >>> [c.metric for c in audit.certificates()]
        ['tprp', 'fprp']
        """
        return [self.certificate(target, c) for c in range(len(self.plan.claims(len(self._layout.decision))))]

    def report(self) -> str:
        """Return the pool's certificate and the population's, as text.

        Examples
        --------
        >>> print(Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40).report().splitlines()[0])
        Undecided: the difference in true positive rates may lie on either side of 0.1 (95% confidence:
        between 0 and 1).
        """
        return "\n\n".join(str(self.certificate(target)) for target in TARGETS)

    def _repr_html_(self) -> str:
        plan, n = self.plan, self.n_labels
        state = "done" if self.done else "not done yet"
        words = f"{n:,} labels of {plan.budget:,}, in {plan.looks} looks; {state}"
        if not self.schedule.claims:
            words = "selection rates need no labels; done"
        facts = {"goal": f"{plan.metric} at most {plan.tolerance:g}", "pool": f"{self.pool_size:,} rows"}
        return card("Audit", words, facts | ({"so far": self.certificate().headline()} if n else {}))

    def calibration(self, n_audits: int = 1000, random_state: int = 0) -> float:
        """Return the error of this very audit, simulated at the worst pools it cannot rule out.

        The bounds are asymptotic; this checks them where they are used. The whole audit (pilot,
        allocation, looks) is replayed on pools with this one's predictions whose gap is exactly
        ``tolerance``, over the levels of the rates and base rates within two standard errors of those found.
        The largest share that certifies should be at most ``delta``, up to the simulation's error.

        Examples
        --------
        >>> y, groups, pred = [0, 1, 1, 1] * 100, [0, 1] * 200, [0, 1, 1, 0] * 100
        >>> audit = Audit(pred, groups, budget=100, looks=1)
        >>> rows = audit.ask().indices
        >>> audit.tell(rows, [y[row] for row in rows])
        >>> audit.calibration(n_audits=100) <= 0.1
        True
        """
        if not self.schedule.claims:
            return 0.0
        if not self.look:
            raise ValueError("no look is complete yet: there is nothing to calibrate against")
        rng = np.random.default_rng(random_state)
        return worst_error(self.schedule, self._last.counts, self._layout, n_audits, rng)

    # -- saving ---------------------------------------------------------------------------------

    def to_dict(self) -> AuditState:
        """Return the audit as plain values for JSON, with its strata: :meth:`from_dict` needs no more.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40)
        >>> audit.to_dict()["settings"]["budget"]
        40
        """
        told = {row: code for row, code in self._answers.items() if code != SKIPPED}
        return {
            "format": _FORMAT,
            "settings": self.plan.to_dict(),
            "fingerprint": self._strata.fingerprint,
            "trained_on": self._strata.left_out.tolist(),
            "rows": list(told),
            "labels": list(told.values()),
            "skipped": [row for row in self._answers if row not in told],
            "asked": [[look, sorted(rows)] for look, rows in self._asked],
            "corrected": [[row, self._looked_at[row]] for row in self._corrected],
            "strata": self._strata.to_dict(),
            "classes": self.classes,
        }

    @classmethod
    def from_dict(cls, state: AuditState) -> Self:
        """Rebuild an audit from its state; it needs neither the pool nor the model.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 20)
        >>> rows = audit.ask().indices.tolist()
        >>> Audit.from_dict(audit.to_dict()).ask().indices.tolist() == rows
        True
        """
        if state.get("format") != _FORMAT:
            raise ValueError(f"state has format {state.get('format')!r}; this version reads format {_FORMAT}")
        strata = Strata.from_dict(state["strata"], state["trained_on"], state["fingerprint"])
        audit = cls.of_strata(strata, AuditPlan(**state["settings"]), state["classes"])
        audit._replay(state)
        return audit

    def _replay(self, state: AuditState) -> None:
        """Tell what an earlier audit of the same strata was told."""
        self._looked_at.update((row, code) for row, code in state["corrected"])
        names: list[Any] = list(self.classes or [0, 1])
        labels = {row: names[code] for row, code in zip(state["rows"], state["labels"], strict=True)}
        skipped = set(state["skipped"])
        for look, rows in state["asked"]:
            self.record(look, rows)
            self.skip([row for row in rows if row in skipped])
            if told := [row for row in rows if row in labels]:
                self.tell(told, [labels.pop(row) for row in told])
        if labels:
            raise ValueError(f"state holds labels of {len(labels)} rows that this audit never asked for")


def _told(counts: Counts) -> Counts:
    """Skipped rows cost no label: the totals of the schedule are about labels told."""
    return dataclasses.replace(counts, skipped=np.zeros_like(counts.skipped))


def _given(observed: ArrayLike, groups: ArrayLike) -> dict[int, object]:
    """The outcomes that are there, by row."""
    values = np.asarray(observed, dtype=object).tolist()
    check_lengths(observed=len(values), groups=len(np.asarray(groups)))
    return {row: value for row, value in enumerate(values) if not is_gap(value)}


def _strata(rows: PoolRows, plan: AuditPlan, noise: Noise) -> Strata:
    """Strata for a plan, with the rows that it may ask for."""
    bins = 1 if rows.score is None else plan.score_bins(len(rows.names), len(rows.decision))
    cheapest = 1.0 if rows.cost is None else float(rows.cost.min())
    most = queue_length(plan.budget, cheapest)
    return Strata.of_rows(rows, seed=plan.random_state, bins=bins, most=most, noise=noise)
