"""The audit: certify a frozen model over an unlabelled pool with the fewest labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.certify._api import labels_needed
from fairask.certify._calibrate import worst_error
from fairask.certify._certificate import Certificate, verdict_of
from fairask.certify._design import Plan
from fairask.certify._frame import Frame, frame_of_pool, frame_of_rows
from fairask.certify._parity import parity
from fairask.certify._sample import binary_labels
from fairask.certify._strata import rates
from fairask.certify.schedule import TARGETS, make_plan
from fairask.errors import suggest
from fairask.pools import Pool
from fairask.pools.rows import row_set

Float = NDArray[np.float64]
Int = NDArray[np.int64]

__all__ = ["Audit", "AuditQuery"]

_FORMAT = 1
_ASSUMPTIONS = (
    "The model was fixed before the audit began, and no row of the audited pool trained it.",
    "The labels told are right, and every row asked for was labelled.",
    "Rows were drawn by the audit, uniformly within each (group, prediction), and looked at on schedule.",
)
_DRAWN = "The classifier is randomised: each decision was drawn once with a fixed seed; those are audited."


@dataclass(frozen=True)
class AuditQuery:
    """Rows to label before the next look.

    Attributes
    ----------
    look : int
        The look these rows lead to, from 1.
    indices : ndarray
        Row numbers in the pool, ascending (nothing in their order hints at a prediction).
    """

    look: int
    indices: Int


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
    metric, alpha, delta : str, float, float
        Violation, tolerance and probability of error.
    budget : int
        Most labels the audit may ask for.
    looks : int
        Batches the budget is cut into; the first is the pilot.
    target : {"pool", "population"}
        Whose violation decides when to stop. Both are reported.
    trained_on : array-like of int, optional
        Rows that trained the model; they are left out of the audit.
    pos_label : optional
        The prediction and label that count as 1.
    random_state : int
        Seed of the draws.

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
        *,
        metric: str = "tprp",
        alpha: float = 0.1,
        delta: float = 0.05,
        budget: int = 1000,
        looks: int = 5,
        target: str = "pool",
        trained_on: ArrayLike | None = None,
        pos_label: Any = None,
        random_state: int = 0,
    ) -> None:
        settings = _settings(metric, alpha, delta, budget, looks, target, random_state)
        self._begin(frame_of_rows(pred, groups, trained_on, pos_label, random_state), settings)

    @classmethod
    def of_pool(
        cls,
        pool: Pool,
        model: Any,
        *,
        metric: str = "tprp",
        alpha: float = 0.1,
        delta: float = 0.05,
        budget: int = 1000,
        looks: int = 5,
        target: str = "pool",
        trained_on: ArrayLike | None = None,
        random_state: int = 0,
    ) -> Self:
        """Audit a model over a pool that may be larger than memory: see :func:`fairask.pools.open_pool`.

        The model's decisions are counted where the rows are, and only rows that may be asked for are found.
        The same rows, model and seed ask for the same labels whatever kind of pool holds them. The order
        differs from that of an audit of given predictions, which shuffles all rows.

        Parameters
        ----------
        pool : pool
            Rows it excludes are left out of the audit.
        model : fair oracle, or object with ``decide`` or ``predict``
            Its decision on each row; a randomised one's is drawn once, with the seed.
        metric, alpha, delta, budget, looks, target, trained_on, random_state
            As in :class:`Audit`.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from fairask.pools import MemoryPool
        >>> rng = np.random.default_rng(0)
        >>> X, groups = rng.normal(size=(4000, 2)), rng.integers(0, 2, 4000)
        >>> y = (X[:, 0] + 0.3 * rng.normal(size=4000) > 0).astype(int)
        >>> model = LogisticRegression().fit(X[:100], y[:100])
        >>> audit = Audit.of_pool(MemoryPool(X, groups, 2), model, budget=800, trained_on=np.arange(100))
        >>> while not audit.done:
        ...     query = audit.ask()
        ...     audit.tell(query.indices, y[query.indices])
        >>> audit.certificate().verdict
        'certified'
        """
        audit = cls.__new__(cls)
        settings = _settings(metric, alpha, delta, budget, looks, target, random_state)
        none = np.zeros(0, dtype=np.int64)
        left_out = np.union1d(
            getattr(pool, "excluded", none), none if trained_on is None else row_set(trained_on, pool.n_rows)
        )
        # Settings are checked before the pass over the pool, not after it.
        make_plan(metric, alpha, delta, budget, looks, target, pool.n_rows)
        audit._begin(frame_of_pool(pool, model, left_out, int(budget), random_state), settings)
        return audit

    def _begin(self, frame: Frame, settings: dict[str, Any]) -> None:
        if len(frame.groups) < 2:
            raise ValueError(f"groups must hold at least two groups, got {frame.groups}")
        self._frame, self.groups, self.metric = frame, frame.groups, settings["metric"]
        self.pool_size = int(frame.sizes.sum())
        if not self.pool_size:
            raise ValueError("the pool is empty: every row trained the model")
        fixed = {name: value for name, value in settings.items() if name != "random_state"}
        self.plan = make_plan(**fixed, pool_size=self.pool_size)
        self._settings = {
            **settings,
            **{name: float(settings[name]) for name in ("alpha", "delta")},
            **{name: int(settings[name]) for name in ("budget", "looks", "random_state")},
        }
        self._size = frame.sizes.reshape(1, -1, 2).astype(np.float64)
        self._ones, self._labels = np.zeros_like(self._size), np.zeros_like(self._size)
        self._asked: Int = np.empty(0, dtype=np.int64)
        self._told: dict[int, int] = {}
        self._look = -1
        self._bounds: dict[str, tuple[float, float, float]] = {}
        if self.metric != "dp":
            self._open_look()

    @property
    def done(self) -> bool:
        """Whether the audit is decided or its budget spent."""
        if self.metric == "dp" or (self._look == len(self.plan.totals) - 1 and not self._waiting()):
            return True
        if not self._bounds:
            return False
        _, lower, upper = self._bounds[self._settings_target]
        return verdict_of(lower, upper, self.plan.alpha) != "undecided"

    @property
    def n_labels(self) -> int:
        """Labels told so far."""
        return len(self._told)

    @property
    def _settings_target(self) -> str:
        return str(self._settings["target"])

    def _waiting(self) -> list[int]:
        return [row for row in self._asked.tolist() if row not in self._told]

    def _open_look(self) -> None:
        """Draw the rows of the next look."""
        self._look += 1
        counts = self.plan.next_counts(self._size, self._ones, self._labels, self._look)[0].ravel()
        before = self._labels[0].ravel().astype(np.int64)
        drawn = [q[a:b] for q, a, b in zip(self._frame.queues, before, counts, strict=True)]
        self._asked = np.sort(np.concatenate(drawn))

    def ask(self) -> AuditQuery:
        """Return the rows still to be labelled before the next look; the same ones until they are told.

        Examples
        --------
        >>> len(Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2).ask().indices)
        20
        """
        if self.done:
            raise ValueError("the audit is over: read certificate()")
        return AuditQuery(self._look + 1, np.array(self._waiting(), dtype=np.int64))

    def tell(self, indices: ArrayLike, labels: ArrayLike) -> None:
        """Record labels of rows that were asked for, all at once or in parts.

        A row nobody asked for, told twice, or a label other than 0 and 1 raises and changes nothing.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 20)
        >>> audit.n_labels
        20
        """
        if self.done:
            raise ValueError("the audit is over: no label is awaited")
        rows, values = np.atleast_1d(np.asarray(indices)).tolist(), binary_labels(np.atleast_1d(labels))
        if len(rows) != len(values):
            raise ValueError(f"lengths disagree: indices has {len(rows)}, labels has {len(values)}")
        waiting = set(self._waiting())
        for row in rows:
            if row not in waiting:
                why = "was told already" if row in self._told else "was not asked for"
                raise ValueError(f"row {row} {why}")
            waiting.discard(row)
        self._told.update(zip(rows, values.astype(int).tolist(), strict=True))
        if not waiting:
            self._close_look()

    def _close_look(self) -> None:
        """Count the labels, look at the bounds, and go on unless decided."""
        told = self._asked
        values = np.array([self._told[row] for row in told.tolist()], dtype=np.float64)
        k, stratum = self._size.size, self._frame.stratum_of(told)
        self._labels += np.bincount(stratum, minlength=k).reshape(self._size.shape)
        self._ones += np.bincount(stratum, weights=values, minlength=k).reshape(self._size.shape)
        for target in TARGETS:
            plan = Plan(
                self.plan.conditions,
                self.plan.alpha,
                self.plan.delta,
                self.plan.totals,
                target == "population",
            )
            found = plan.bounds(self._size, self._ones, self._labels, self._look)
            self._bounds[target] = (float(found.estimate[0]), float(found.lower[0]), float(found.upper[0]))
        if not self.done:
            self._open_look()

    def certificate(self, target: str | None = None) -> Certificate:
        """Return the certificate at the last completed look, for the pool or the population.

        Each of the two holds with probability 1 - delta by itself. Before the first look is complete
        nothing is known, and the certificate says so.

        Examples
        --------
        >>> Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40).certificate().verdict
        'undecided'
        """
        which = self._settings_target if target is None else target
        if which not in TARGETS:
            raise ValueError(f"target={which!r} is unknown; {suggest(which, TARGETS)}")
        if self.metric == "dp":
            return parity(self.groups, self._frame.sizes, which, self.plan.alpha, self.plan.delta)
        estimate, lower, upper = self._bounds.get(which, (math.nan, 0.0, 1.0))
        n = int(self._labels.sum())
        found = {
            name: rates(self._size, hits, self._labels)[0]
            for name, label, hits in (("tpr", 1, self._ones), ("fpr", 0, self._labels - self._ones))
            if label in self.plan.conditions
        }
        more = labels_needed(estimate, lower, upper, self.plan.alpha, self.plan.delta, n) if n else None
        if more and which == "pool":
            more = min(more, self.pool_size - n)
        assumptions = (*_ASSUMPTIONS, _DRAWN) if self._frame.drawn else _ASSUMPTIONS
        if which == "population":
            assumptions = (*assumptions, "The pool is a random sample of the population.")
        if left_out := len(self._frame.left_out):
            assumptions = (*assumptions, f"{left_out:,} rows that trained the model were left out.")
        return Certificate(
            estimate=estimate,
            lower=lower,
            upper=upper,
            verdict=verdict_of(lower, upper, self.plan.alpha),
            metric=self.metric,
            alpha=self.plan.alpha,
            delta=self.plan.delta,
            method="stratified",
            valid="asymptotic",
            assumptions=assumptions,
            target=TARGETS[which].format(size=self.pool_size),
            n_labels=n,
            groups=tuple(self.groups),
            positives=tuple(int(v) for v in self._ones[0].sum(axis=1)),
            negatives=tuple(int(v) for v in (self._labels - self._ones)[0].sum(axis=1)),
            rates={name: tuple(float(v) for v in values) for name, values in found.items()},
            more_labels=more,
        )

    def report(self) -> str:
        """Return the pool's certificate and the population's, as text.

        Examples
        --------
        >>> print(Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40).report().splitlines()[0])
        Undecided: the difference in true positive rates may lie on either side of 0.1 (95% confidence:
        between 0 and 1).
        """
        return "\n\n".join(str(self.certificate(target)) for target in TARGETS)

    def calibration(self, n_audits: int = 1000, random_state: int = 0) -> float:
        """Return the error of this very audit, simulated at the worst pools it cannot rule out.

        The bounds are asymptotic; this checks them where they are used. The whole audit (pilot,
        allocation, looks) is replayed on pools with this one's predictions whose violation is exactly
        ``alpha``, over the levels of the rates and base rates within two standard errors of those found. The
        largest share that certifies should be at most ``delta``, up to the simulation's error.

        Examples
        --------
        >>> y, groups, pred = [0, 1, 1, 1] * 100, [0, 1] * 200, [0, 1, 1, 0] * 100
        >>> audit = Audit(pred, groups, budget=100, looks=1)
        >>> rows = audit.ask().indices
        >>> audit.tell(rows, [y[row] for row in rows])
        >>> audit.calibration(n_audits=100) <= 0.1
        True
        """
        if self.metric == "dp":
            return 0.0
        if not self._bounds:
            raise ValueError("no look is complete yet: there is nothing to calibrate against")
        rng = np.random.default_rng(random_state)
        return worst_error(self.plan, self._size[0], self._ones[0], self._labels[0], n_audits, rng)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit's state as plain values for JSON; the pool itself is not in it.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40)
        >>> audit.to_dict()["settings"]["budget"]
        40
        """
        rows = list(self._told)
        return {
            "format": _FORMAT,
            "settings": dict(self._settings),
            "fingerprint": self._frame.fingerprint,
            "trained_on": self._frame.left_out.tolist(),
            "rows": rows,
            "labels": [self._told[row] for row in rows],
        }

    @classmethod
    def from_dict(
        cls, state: dict[str, Any], pred: ArrayLike, groups: ArrayLike, *, pos_label: Any = None
    ) -> Audit:
        """Rebuild an audit from its state and the same pool, by asking and telling again.

        Examples
        --------
        >>> pool = [0, 1] * 50, [0] * 50 + [1] * 50
        >>> audit = Audit(*pool, budget=40, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 20)
        >>> Audit.from_dict(audit.to_dict(), *pool).ask().indices.tolist() == audit.ask().indices.tolist()
        True
        """
        _check_format(state)
        return cls(
            pred, groups, trained_on=state["trained_on"] or None, pos_label=pos_label, **state["settings"]
        ).resume(state)

    def resume(self, state: dict[str, Any]) -> Self:
        """Tell a fresh audit of the same pool, with the same settings, what an earlier one was told.

        Examples
        --------
        >>> from fairask.pools import MemoryPool
        >>> from fairask.rules import LinearRule
        >>> rows, model = np.arange(40.0)[:, None], LinearRule(np.array([1.0, -9.0]))
        >>> pool = MemoryPool(rows, np.arange(40) % 2, 2)
        >>> audit = Audit.of_pool(pool, model, budget=20, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 10)
        >>> state = audit.to_dict()
        >>> Audit.of_pool(pool, model, **state["settings"]).resume(state).n_labels
        10
        """
        _check_format(state)
        if self._frame.fingerprint != state["fingerprint"] or self._settings != state["settings"]:
            raise ValueError(
                "the pool differs from the one this audit was started on (predictions, groups or order), "
                "or the settings do"
            )
        labels = dict(zip(state["rows"], state["labels"], strict=True))
        while labels and not self.done:
            rows = [row for row in self._waiting() if row in labels]
            if not rows:
                break
            self.tell(rows, [labels.pop(row) for row in rows])
        if labels:
            raise ValueError(f"state holds labels of {len(labels)} rows that this audit never asked for")
        return self


def _settings(
    metric: str, alpha: float, delta: float, budget: int, looks: int, target: str, random_state: int
) -> dict[str, Any]:
    return {
        "metric": metric, "alpha": alpha, "delta": delta, "budget": budget,
        "looks": looks, "target": target, "random_state": random_state,
    }  # fmt: skip


def _check_format(state: dict[str, Any]) -> None:
    if state.get("format") != _FORMAT:
        raise ValueError(f"state has format {state.get('format')!r}; this version reads format {_FORMAT}")
