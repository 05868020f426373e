"""The audit: certify a frozen model over an unlabelled pool with the fewest labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from fairask.audit._card import audit_card
from fairask.audit.calibrate import worst_error
from fairask.audit.certificate import Certificate
from fairask.audit.inputs import AuditInputs, Noise, known_codes
from fairask.audit.parity import parity
from fairask.audit.plan import TARGETS, AuditPlan, PlanSettings
from fairask.audit.saved import AuditState, check_format, replay, state_of
from fairask.audit.sequence import AuditSequence
from fairask.audit.signature import digest_of_settings
from fairask.audit.strata import Strata, split_groups
from fairask.checks import check_choice
from fairask.matrix import row_set
from fairask.pools import Pool


class Audit(AuditSequence):
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
        >>> from fairask.pools import Pool
        >>> from fairask.rules import LinearRule
        >>> rows, model = np.arange(40.0)[:, None], LinearRule(np.array([1.0, -9.0]))
        >>> pool = Pool(rows, np.arange(40) % 2, 2)
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
