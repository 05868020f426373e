"""The audit: certify a frozen model over an unlabelled pool with the fewest labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.certify._card import audit_card
from fairask.certify.audit.calibrate import worst_error
from fairask.certify.audit.draws import SKIPPED, AuditDraws, AuditQuery
from fairask.certify.audit.found import LookFound
from fairask.certify.audit.inputs import AuditInputs, Noise, known_codes
from fairask.certify.audit.parity import parity
from fairask.certify.audit.plan import TARGETS, AuditPlan, PlanSettings
from fairask.certify.audit.saved import AuditState, check_format, replay, state_of
from fairask.certify.audit.strata import Strata, split_groups
from fairask.certify.certificate import Certificate
from fairask.certify.signature import digest_of_settings
from fairask.checks import check_choice, check_lengths
from fairask.errors import UserError
from fairask.metrics import binary_labels
from fairask.pools import Pool
from fairask.pools.rows import row_set

__all__ = ["Audit"]


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
    cost : array-like, optional
        Cost of a label of each row; the budget is then a cost.
    noise : float or mapping, optional
        Probability that a label told is wrong: one number, or by group a number or (least, largest).
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
        pos_label: object = None,
        classes: Sequence[object] | None = None,
        **settings: Unpack[PlanSettings],
    ) -> None:
        plan = AuditPlan.of(plan, settings)
        bins = 1 if score is None else plan.score_bins(len(split_groups(groups)[0]), np.asarray(pred).ndim)
        codes = known_codes(known, classes)
        strata = Strata.of_rows(
            pred, groups, trained_on, pos_label, plan.random_state, codes, score, bins, cost
        )
        self._begin(strata.with_noise(noise), plan, classes)

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
        plan, trained_on, known, noise, classes, **settings
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
        plan = AuditPlan.of(plan, settings)  # checked before the pass over the pool
        none = np.zeros(0, dtype=np.int64)
        trained = none if trained_on is None else row_set(trained_on, pool.n_rows)
        codes = known_codes(known, classes)
        left_out = np.setdiff1d(np.union1d(pool.excluded, trained), row_set(list(codes), pool.n_rows))
        strata = Strata.of_pool(pool, model, left_out, plan.budget, plan.random_state, codes)
        return cls.of_strata(strata.with_noise(noise), plan, classes)

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
                    "the violation is known: fairask.violation(y, predictions, groups) computes it",
                )
            raise ValueError("the pool is empty: every row trained the model")
        cheapest = layout.cost[~layout.known & (strata.sizes > 0)].min()
        if cheapest > plan.budget:
            raise UserError(f"budget={plan.budget} buys no label", f"the cheapest one costs {cheapest:g}")
        self.plan, self.groups = plan, strata.groups
        self.classes = None if classes is None else list(classes)
        left = strata.sizes[~layout.known] @ layout.cost[~layout.known]
        self.schedule = plan.schedule(int(left), len(layout.decision))
        self._layout = dataclasses.replace(layout, rest=plan.compare == "rest")
        self._draws = AuditDraws(strata)
        self._found = self._at(0, None)

    def _at(self, look: int, before: LookFound | None) -> LookFound:
        return LookFound.at(look, self._draws, self.schedule, self._layout, before)

    @property
    def pool_size(self) -> int:
        """Rows of the audited pool."""
        return self._draws.pool_size

    @property
    def n_labels(self) -> int:
        """Labels told so far."""
        return len(self._draws.answers) - self._draws.asked_skipped

    @property
    def look(self) -> int:
        """Looks that are complete: what :meth:`certificate` is from."""
        return self._found.number

    @property
    def answered(self) -> Collection[int]:
        """Rows that were told or skipped."""
        return self._draws.answers.keys()

    @property
    def ready(self) -> bool:
        """Whether :meth:`ask` draws rows now: for the next look, or in place of skipped ones."""
        return not self.done and (not self._draws.waiting or self._draws.short)

    @property
    def done(self) -> bool:
        """Whether the audit is decided or its budget spent."""
        if not self.schedule.claims:
            return True
        last = self._draws.looks == len(self.schedule.totals)
        return self._draws.complete and (last or self._found.decides(self.plan))

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
        return self._draws.query()

    def _draw(self) -> None:
        """Draw the rows that are due: for the open look, or for the next one."""
        self._draws.replace_skipped()
        while not self._draws.waiting and not self.done:
            self._draws.open_look(self.schedule)
            self._look()

    def record(self, look: int, rows: Sequence[int]) -> None:
        """Take note that these rows were asked for before a look, as :meth:`ask` answered at the time.

        For an audit that is replayed from a log: later corrections of labels do not change what was drawn.
        """
        self._draws.record(look, rows)
        self._look()

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
        self._draws.withdraw(int(index))
        if codes is not None:
            self._draws.answer([int(index)], codes)
        self._look()

    def _codes(self, labels: Any) -> list[int]:
        if self.classes is None:
            return [int(value) for value in binary_labels(labels)]
        for value in labels.tolist():
            if value not in self.classes:
                raise ValueError(f"label {value!r} is not one of the classes {tuple(self.classes)!r}")
        return [int(value == self.classes[1]) for value in labels.tolist()]

    def _answer(self, rows: list[int], codes: list[int]) -> None:
        if any(row not in self._draws.waiting for row in rows):
            self._draw()
        self._draws.answer(rows, codes)
        # With many rows still waiting, nothing has changed unless a row of an earlier look was told again.
        if not self._draws.waiting or self._found.number < self._draws.looks - 1:
            self._look()

    def _look(self) -> None:
        """Compute the bounds at the last complete look."""
        complete = self._draws.complete_looks()
        self._found = self._at(complete, self._found)

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
        if not asked.question.labels:
            delta = self.plan.delta / (1 if which == "pool" else len(claims))
            sizes = self._draws.strata.by_decision(asked.model)
            made = parity(self.groups, sizes, which, asked.tolerance, delta, asked.metric)
        else:
            number = self.schedule.claims.index(asked)
            made = self._found.certificate(which, number, self.schedule, self._draws, self._layout)
        digests = {
            "pool": self._draws.strata.fingerprint,
            "settings": digest_of_settings(self.plan.to_dict()),
        }
        return dataclasses.replace(made, digests=digests)

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
        return audit_card(self)

    def calibration(self, n_audits: int = 1000, random_state: int = 0) -> float:
        """Return the error of this very audit, simulated at the worst pools it cannot rule out.

        The bounds are asymptotic; this checks them where they are used. The whole audit (pilot,
        allocation, looks) is replayed on pools with this one's predictions whose violation is exactly
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
        if not self._found.number:
            raise ValueError("no look is complete yet: there is nothing to calibrate against")
        rng = np.random.default_rng(random_state)
        return worst_error(self.schedule, self._found.counts, self._layout, n_audits, rng)

    # -- saving ---------------------------------------------------------------------------------

    def to_dict(self, *, whole: bool = False) -> AuditState:
        """Return the audit as plain values for JSON.

        Parameters
        ----------
        whole : bool
            Whether the strata are in it too. :meth:`from_dict` then needs neither the pool nor the model.

        Examples
        --------
        >>> audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40)
        >>> audit.to_dict()["settings"]["budget"]
        40
        """
        return state_of(self.plan, self._draws, self.classes, whole)

    @classmethod
    def from_dict(
        cls,
        state: AuditState,
        pred: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        pos_label: object = None,
        **more: Unpack[AuditInputs],
    ) -> Self:
        """Rebuild an audit from its state, and from the same pool unless the state is whole.

        ``more`` are ``known``, ``score``, ``cost`` and ``noise`` as they were given at the beginning.

        Examples
        --------
        >>> pool = [0, 1] * 50, [0] * 50 + [1] * 50
        >>> audit = Audit(*pool, budget=40, looks=2)
        >>> audit.tell(audit.ask().indices, [1] * 20)
        >>> rows = audit.ask().indices.tolist()
        >>> Audit.from_dict(audit.to_dict(), *pool).ask().indices.tolist() == rows
        True
        >>> Audit.from_dict(audit.to_dict(whole=True)).ask().indices.tolist() == rows
        True
        """
        check_format(state)
        plan = AuditPlan.from_dict(state["settings"])
        if pred is None or groups is None:
            strata = Strata.from_dict(state["strata"], state["trained_on"], state["fingerprint"])
            return cls.of_strata(strata, plan, state["classes"]).resume(state)
        trained_on = state["trained_on"] or None
        return cls(pred, groups, plan, trained_on=trained_on, pos_label=pos_label, **more).resume(state)

    def resume(self, state: AuditState) -> Self:
        """Tell a fresh audit of the same pool, with the same plan, what an earlier one was told.

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
        check_format(state)
        if self._draws.strata.fingerprint != state["fingerprint"] or self.plan != AuditPlan.from_dict(
            state["settings"]
        ):
            raise ValueError(
                "the pool differs from the one this audit was started on (predictions, groups or order), "
                "or the settings do"
            )
        replay(self, self._draws, state)
        return self
