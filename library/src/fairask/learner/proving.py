"""What a learner can prove of its model: an audit with fresh labels, and the certificate it ends in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from fairask.audit import Audit, AuditPlan, Certificate
from fairask.audit.simulation import BUDGETS, BudgetTable, plan_strata
from fairask.audit.strata import Strata
from fairask.learner.state import LearnerRecord
from fairask.metrics import Metric
from fairask.oracle import FairOracle
from fairask.pools import Pool


class LearnerProof(LearnerRecord, ABC):
    """A learner whose model can be audited."""

    pool: Pool
    metric: Metric
    tolerance: float
    random_state: int
    budget: int | None
    audit_share: float
    _audit: tuple[int, Audit] | None  # the version of the labels, and its audit

    @abstractmethod
    def current_model(self) -> FairOracle:
        """Return the fair model fitted on all labels so far."""

    def audit(
        self, budget: int | None = None, *, delta: float = 0.05, looks: int = 5, target: str = "pool"
    ) -> Audit:
        """Start to audit the current model over the whole pool, with fresh labels from the rest of it.

        The labels that trained the model are known, so the rows they belong to are counted whole; rows that
        were skipped or still wait for a label are taken at their worst. The audit is told labels of the
        learner's ``classes``. It is void once the model changes.

        Parameters
        ----------
        budget : int, optional
            Most labels to spend; default the ``audit_share`` of the learner's ``budget``.
        delta : float
            Probability of a wrong verdict.
        looks : int
            Batches in which the labels are asked for.
        target : {"pool"}
            Whose violation is to be decided. "population" is refused: the model fits the rows that trained it
            better than others, so this pool is no random sample of the population for it. Audit the model on
            fresh rows instead, with :class:`fairask.audit.Audit`.

        Examples
        --------
        >>> from fairask import FairActiveLearner
        >>> from fairask.datasets import load
        >>> data = load("german")
        >>> learner = FairActiveLearner(data.X, data.groups, batch_size=100, random_state=0)
        >>> query = learner.ask()
        >>> learner.tell(query.indices, data.y[query.indices])
        >>> audit = learner.audit(200)
        >>> while not audit.done:
        ...     query = audit.ask()
        ...     audit.tell(query.indices, data.y[query.indices])
        >>> learner.certify().verdict in ("certified", "refuted", "undecided")
        True
        """
        _refuse_population(target)
        if budget is None:
            if self.audit_budget_ == 0:
                raise ValueError(
                    "budget is missing: give it, or make the learner with budget= and audit_share="
                )
            budget = self.audit_budget_
        plan = AuditPlan(
            self.metric, self.tolerance, delta, budget, looks, target, random_state=self.random_state
        )
        known = {
            entry.index: None if entry.label is None else self.classes[entry.label]
            for entry in self.state.log.entries
        }
        audit = Audit.of_pool(self.pool, self.current_model(), plan, known=known, classes=self.classes)
        self._audit = (self.state.log.version, audit)
        return audit

    def plan_audit(
        self, budgets: Sequence[int] = BUDGETS, *, delta: float = 0.05, looks: int = 5, n_audits: int = 300
    ) -> BudgetTable:
        """Simulate what each budget would buy in an audit of the current model, before any label is paid for.

        Examples
        --------
        >>> from fairask import FairActiveLearner
        >>> from fairask.datasets import load
        >>> data = load("german")
        >>> learner = FairActiveLearner(data.X, data.groups, batch_size=100, random_state=0)
        >>> query = learner.ask()
        >>> learner.tell(query.indices, data.y[query.indices])
        >>> few, many = learner.plan_audit([50, 400], n_audits=50).rows
        >>> few.certify_alike < many.certify_alike
        True
        """
        plan = AuditPlan(self.metric, self.tolerance, delta, looks=looks, random_state=self.random_state)
        known = {entry.index: entry.label for entry in self.state.log.entries}
        left_out = np.setdiff1d(self.pool.excluded, list(known))
        strata = Strata.of_pool(self.pool, self.current_model(), left_out, 1, plan.random_state, known)
        return plan_strata(strata, plan, budgets, n_audits)

    def certify(self, target: str | None = None) -> Certificate:
        """Certificate of the current model from its audit.

        Refused without one: labels that trained a model, or chose among models, say too little about
        its violation on others.
        """
        _refuse_population(target)
        certificate = self._certificate(target)
        if certificate is None:
            raise ValueError(
                "the current model has not been audited: the labels that trained it cannot certify it. "
                "Call audit(budget), label the rows it asks for, then certify()"
            )
        return certificate

    def _certificate(self, target: str | None = None) -> Certificate | None:
        if self._audit is None:
            return None
        version, audit = self._audit
        return audit.certificate(target) if version == self.state.log.version and audit.n_labels else None

    @property
    def certificate_(self) -> Certificate | None:
        """Certificate of the current model, None while it has none."""
        return self._certificate()

    @property
    def audit_budget_(self) -> int:
        """Labels of the budget that are kept for the audit."""
        return 0 if self.budget is None else round(self.audit_share * self.budget)


def _refuse_population(target: str | None) -> None:
    """Refuse to certify the population from the pool whose rows trained the model."""
    if target == "population":
        raise ValueError(
            "target='population' cannot be certified with rows of the pool that trained the model: take "
            "target='pool', or audit the model on fresh rows with fairask.audit.Audit"
        )
