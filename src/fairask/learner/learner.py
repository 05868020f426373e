"""FairActiveLearner: ask for rows, tell their labels, read off a fair model."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fairask.certify import Certificate
from fairask.errors import FairaskWarning
from fairask.learner._arguments import as_pool, check_count, check_weights
from fairask.learner._profiles import assemble
from fairask.learner._record import LearnerRecord
from fairask.learner.audit import ModelAudit
from fairask.learner.fit import Fit
from fairask.learner.log import LABELLED, SKIPPED, DrawLog
from fairask.metrics import Float, Int, Metric, check_metric
from fairask.oracle.empirical import check_tolerance
from fairask.oracle.learners import fast_ridge
from fairask.pools import MemoryPool, Pool
from fairask.sampling import draw
from fairask.stopping import AnyOf, Budget, StoppingRule, make_rule
from fairask.strategies import Labelled, Strategy, uniform_proposal

__all__ = ["FairActiveLearner", "Query"]


@dataclass(frozen=True)
class Query:
    """Rows to label: ``indices`` into the pool, with the probability and component of each draw."""

    batch_id: int
    indices: Int
    propensities: Float
    components: list[str]

    def __len__(self) -> int:
        return len(self.indices)


class FairActiveLearner(LearnerRecord):
    """Fair active learning by ask and tell.

    Parameters
    ----------
    X : array-like of shape (rows, features), a data frame for an ``estimator`` that takes one, or a pool
        The pool of unlabelled rows; :func:`fairask.pools.open_pool` makes one that need not fit in memory.
    sensitive_features : array-like of shape (rows,)
        Protected attribute of each row, two or more groups. A pool knows its own.
    strategy : str or Strategy
        A name of ``fairask.strategies.STRATEGIES`` (``"fare"``, ``"passive"``, ``"group_balanced"``,
        ``"uncertainty"``, ``"fal"``, ...), or an object with ``propose``.
    strategy_params : dict, optional
        Settings for a strategy given by name, e.g. ``{"k": 10, "diff_share": 1.0}``.
    profile : {"calibrated", "paper"}
        What the learner is made of where nothing else is said. "calibrated": thresholds on calibrated
        probabilities, a margin from evidence, unweighted risk, and FARE with bootstrap perturbations and
        shares that adapt. "paper": the empirical fair oracle of the paper, its 1/sqrt(n) margin,
        importance weights, and FARE as in its Algorithm 1.
    metric : {"tprp", "fprp", "eo", "dp"}
    tolerance : float in [0, 1]
        The violation to stay within on the population (the paper's alpha).
    margin : "auto", "evidence", "sqrt_n", float or None
        What is subtracted from the tolerance when fitting on n labels: what the standard error of the
        estimated gap asks for at ``level``, 1/sqrt(n) as in the paper, a number, or nothing. "auto" is
        "evidence" for the calibrated oracle and "sqrt_n" for the paper's.
    level : float in [0.5, 1), optional
        One-sided level of the margin from evidence; default that of :class:`CalibratedFairOracle`.
    blind : bool
        Whether the model must decide without the protected attribute (``profile="calibrated"``); leave
        its column out of ``X`` as well.
    estimator : classifier, optional
        Base learner of the oracle, with ``predict_proba`` for the calibrated one; None is logistic
        regression, with a ridge chosen out of fold or, in the paper's profile, without penalty.
    oracle : estimator, optional
        A fair oracle to use as a template instead of the profile's.
    risk_weights : {"ips", "lure", "none"}, optional
        Importance weights of the labelled rows in the error; default "none" with the calibrated oracle,
        "ips" with the paper's.
    fairness_weights : {"ips", "lure", "none"}
        The same in the rates.
    batch_size : int
        Rows a batch when ``ask`` is not told.
    classes : pair
        The two labels; the second is the positive one.
    budget : int, optional
        Labels in all; ``stop_reason_`` says when they are spent.
    audit_share : float in [0, 1)
        Share of the budget kept to audit the final model.
    stopping : StoppingRule or str, optional
        A rule of :mod:`fairask.stopping`, or its name (``"plateau:5"``); ``stop_reason_`` reports it.
    random_state : int, optional
        The same seed gives the same answers.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("german")
    >>> learner = FairActiveLearner(data.X, data.groups, batch_size=50, random_state=0)
    >>> for _ in range(3):
    ...     query = learner.ask()
    ...     learner.tell(query.indices, data.y[query.indices])
    >>> learner.model_.predict(data.X[:3], sensitive_features=data.groups[:3]).shape
    (3,)
    >>> learner.history_["labels"].tolist()
    [50, 100, 150]
    """

    def __init__(
        self,
        X: Any,
        sensitive_features: ArrayLike | None = None,
        *,
        strategy: str | Strategy = "fare",
        strategy_params: dict[str, Any] | None = None,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        profile: str = "calibrated",
        margin: str | float | None = "auto",
        level: float | None = None,
        blind: bool = False,
        estimator: Any = None,
        oracle: Any = None,
        risk_weights: str | None = None,
        fairness_weights: str = "ips",
        batch_size: int = 25,
        classes: tuple[Any, Any] = (0, 1),
        budget: int | None = None,
        audit_share: float = 0.0,
        stopping: StoppingRule | str | None = None,
        random_state: int | None = None,
    ) -> None:
        check_metric(metric)
        parts = assemble(
            profile,
            oracle=oracle,
            estimator=estimator,
            strategy=strategy,
            strategy_params=strategy_params,
            margin=margin,
            level=level,
            blind=blind,
            risk_weights=risk_weights,
        )
        self.strategy, self.margin, self.risk_weights = parts.strategy, parts.margin, parts.risk_weights
        self.profile, self.level, self.blind = profile, level, bool(blind)
        self.metric = metric
        self.tolerance = check_tolerance(tolerance)
        self.fairness_weights = check_weights(fairness_weights, "fairness_weights")
        self.batch_size = check_count(batch_size, "batch_size")
        self.budget = None if budget is None else check_count(budget, "budget")
        if not 0 <= audit_share < 1:
            raise ValueError(f"audit_share={audit_share!r} must be in [0, 1)")
        self.audit_share = float(audit_share)
        self.stopping = make_rule(stopping) if isinstance(stopping, str) else stopping
        if len(classes) != 2 or classes[0] == classes[1]:
            raise ValueError(f"classes={classes!r} must be two different labels, the positive one second")
        self.classes = (classes[0], classes[1])
        if random_state is not None and (not isinstance(random_state, (int, np.integer)) or random_state < 0):
            raise ValueError(f"random_state={random_state!r} must be None or a whole number, 0 or more")
        self.random_state = (
            int(np.random.SeedSequence().generate_state(1)[0]) if random_state is None else random_state
        )
        self.estimator, self.oracle = estimator, oracle
        self._template = parts.oracle.set_params(metric=metric)
        fast = fast_ridge(self._template.get_params().get("estimator"), 1) is not None
        self._pool, self._pool_given = as_pool(X, sensitive_features, fast), isinstance(X, Pool)
        if getattr(self.strategy, "in_memory", False) and not isinstance(self._pool, MemoryPool):
            raise TypeError(
                f"strategy {self.strategy.name!r} must see all rows at once, and the pool is streamed: take "
                "another strategy, or pool.in_memory() if it fits (fairask new --copy)"
            )
        self.X = self._pool.X if isinstance(self._pool, MemoryPool) else self._pool
        self.groups_ = self._pool.group_values
        if len(self.groups_) < 2:
            raise ValueError(
                f"sensitive_features has one group only ({self.groups_[0]!r}); two or more are needed"
            )
        self._log = DrawLog(len(self._pool))
        self._batches = 0
        self._history: list[dict[str, Any]] = []
        self._fitted: tuple[int, Any] | None = None
        self._caught: list[warnings.WarningMessage] = []
        self._audit: ModelAudit | None = None
        self._sample: tuple[Any, NDArray[Any]] | None = None

    # -- asking ---------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Query:
        """Choose ``n`` rows (default ``batch_size``) to label next.

        Rows asked for and not answered yet are not asked again; the strategy sees the labels so far.
        """
        n = self.batch_size if n is None else check_count(n, "n")
        pool = self._pool.excluding(np.array(list(self._log.position), dtype=np.int64))
        if n > len(pool):
            raise ValueError(f"n={n} rows were asked for, but the pool has {len(pool)} left")
        # One stream a batch: no generator state to keep, and any batch can be replayed.
        rng = np.random.default_rng([self.random_state, self._batches])
        if self._log.labelled():
            proposal = self.strategy.propose(self._labelled(), pool, Fit(self), rng)
        else:
            proposal = uniform_proposal(pool)
        draws = draw(proposal, n, rng)
        batch, self._batches = self._batches, self._batches + 1
        self._log.add(draws, batch)
        return Query(batch, draws.indices, draws.propensities, draws.components)

    # -- telling --------------------------------------------------------------------------------

    def tell(self, indices: ArrayLike, labels: ArrayLike) -> None:
        """Give labels of rows that were asked for, all or some, in any order.

        Raises and changes nothing when a row was not asked for, is told twice, or a label is not one
        of ``classes``.
        """
        rows, codes = self._checked(indices, labels)
        for row in rows:
            self._require(row, "asked")
        batches: dict[int, None] = {}
        for row, code in zip(rows, codes, strict=True):
            entry = self._log.entries[self._log.position[row]]
            entry.state, entry.label = LABELLED, code
            batches[entry.batch] = None
        self._log.version += 1
        self._close(batches)

    def correct(self, index: int, label: Any) -> None:
        """Replace the label of a labelled row."""
        (row,), (code,) = self._checked([index], [label])
        self._require(row, LABELLED)
        self._log.entries[self._log.position[row]].label = code
        self._log.version += 1

    def skip(self, indices: ArrayLike) -> None:
        """Set aside rows that were asked for and cannot be labelled; they are not asked again."""
        rows = self._rows(indices)
        for row in rows:
            self._require(row, "asked")
        batches: dict[int, None] = {}
        for row in rows:
            entry = self._log.entries[self._log.position[row]]
            entry.state = SKIPPED
            batches[entry.batch] = None
        self._close(batches)

    def _close(self, batches: dict[int, None]) -> None:
        """Fit and record when a batch is answered in full."""
        if any(not self._log.open_rows(batch) for batch in batches) and self._log.labelled():
            self._record()

    def _rows(self, indices: ArrayLike) -> list[int]:
        array = np.atleast_1d(np.asarray(indices))
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise ValueError(f"indices must be whole numbers, got {indices!r}")
        rows: list[int] = array.tolist()
        repeated = [row for row, times in Counter(rows).items() if times > 1]
        if repeated:
            raise ValueError(f"indices name row {repeated[0]} more than once")
        return rows

    def _checked(self, indices: ArrayLike, labels: ArrayLike) -> tuple[list[int], list[int]]:
        rows = self._rows(indices)
        values = np.atleast_1d(np.asarray(labels)).tolist()
        if len(values) != len(rows):
            raise ValueError(f"lengths disagree: {len(rows)} indices, {len(values)} labels")
        index = {self.classes[0]: 0, self.classes[1]: 1}
        for row, value in zip(rows, values, strict=True):
            if value not in index:
                raise ValueError(f"label {value!r} of row {row} is not one of the classes {self.classes!r}")
        return rows, [index[value] for value in values]

    def _require(self, row: int, state: str) -> None:
        entry = self._log.entry(row)
        if entry is None:
            raise ValueError(
                f"row {row} was never asked for" if 0 <= row < self._pool.n_rows else f"no row {row}"
            )
        if entry.state != state:
            hint = "; use correct() to change its label" if entry.state == LABELLED else ""
            raise ValueError(f"row {row} is {entry.state}, not {state}{hint}")

    # -- fitting --------------------------------------------------------------------------------

    @property
    def effective_tolerance_(self) -> float:
        """Tolerance at which the oracle is fitted now: the target less the margin, at least 0."""
        n = len(self._log.labelled())
        if self.margin in (None, "evidence") or n == 0:
            return self.tolerance  # the margin from evidence is the oracle's own
        margin = n**-0.5 if self.margin == "sqrt_n" else float(self.margin)
        return max(self.tolerance - margin, 0.0)

    @property
    def _codes(self) -> NDArray[Any]:
        if not isinstance(self._pool, MemoryPool):
            raise TypeError("the pool is streamed: its groups are not in memory")
        return self._pool.groups

    def _labelled(self) -> Labelled:
        indices, labels, _, _ = self._log.arrays()
        return Labelled(
            X=self._pool.take(indices),
            y=labels,
            groups=self._pool.groups_of(indices),
            risk_weights=self._log.weights(self.risk_weights),
            fairness_weights=self._log.weights(self.fairness_weights),
            indices=indices,
        )

    def _background(self) -> tuple[Any, NDArray[Any]] | None:
        """Rows of the pool for an oracle that looks at it: all, or a sample that is drawn once."""
        most = getattr(self._template, "pool_rows", 0)
        if most and self._sample is None:
            n = self._pool.n_rows
            rng = np.random.default_rng([self.random_state, 2**32 - 2])
            rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
            self._sample = (self._pool.take(rows), self._pool.groups_of(rows))
        return self._sample

    def _oracle(self) -> Any:
        seed = int(np.random.default_rng([self.random_state, 2**32 - 1]).integers(2**31))
        return clone(self._template).set_params(tolerance=self.effective_tolerance_, random_state=seed)

    def current_model(self) -> Any:
        """The fair model fitted on all labels so far, without its warnings (the history has the facts)."""
        if not self._log.labelled():
            raise NotFittedError("no labels yet: ask() for rows and tell() their labels first")
        if self._fitted is None or self._fitted[0] != self._log.version:
            rows, oracle = self._labelled(), self._oracle()
            oracle.classes_ = np.array(self.classes)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", FairaskWarning)
                oracle.fit_codes(
                    rows.X,
                    rows.y,
                    rows.groups,
                    self.groups_,
                    rows.risk_weights,
                    rows.fairness_weights,
                    pool=self._background(),
                )
            self._fitted = (self._log.version, oracle)
            self._caught = list(caught)
        return self._fitted[1]

    @property
    def model_(self) -> Any:
        """The fair model fitted on all labels so far; warns when it deserves no trust."""
        model = self.current_model()
        caught, self._caught = self._caught, []
        for warning in caught:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        return model

    # -- proving --------------------------------------------------------------------------------

    def audit(self, budget: int | None = None, *, delta: float = 0.05, looks: int = 5) -> ModelAudit:
        """Start to audit the current model with fresh labels from the rest of the pool.

        Parameters
        ----------
        budget : int, optional
            Most labels to spend; default the ``audit_share`` of the learner's ``budget``.
        delta : float
            Probability of a wrong verdict.
        looks : int
            Batches in which the labels are asked for.

        Examples
        --------
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
        if budget is None:
            if self.audit_budget_ == 0:
                raise ValueError(
                    "budget is missing: give it, or make the learner with budget= and audit_share="
                )
            budget = self.audit_budget_
        self._audit = ModelAudit(self, check_count(budget, "budget"), delta, looks)
        return self._audit

    def certify(self, target: str | None = None) -> Certificate:
        """Certificate of the current model from its audit.

        Refused without one: labels that trained a model, or chose among models, say too little about
        its violation on others.
        """
        certificate = self._certificate(target)
        if certificate is None:
            raise ValueError(
                "the current model has not been audited: the labels that trained it cannot certify it. "
                "Call audit(budget), label the rows it asks for, then certify()"
            )
        return certificate

    def _certificate(self, target: str | None = None) -> Certificate | None:
        if self._audit is None or self._audit.version != self._log.version or not self._audit.n_labels:
            return None
        return self._audit.certificate(target)

    @property
    def certificate_(self) -> Certificate | None:
        """Certificate of the current model, None while it has none."""
        return self._certificate()

    @property
    def audit_budget_(self) -> int:
        """Labels of the budget that are kept for the audit."""
        return 0 if self.budget is None else round(self.audit_share * self.budget)

    @property
    def stop_reason_(self) -> str | None:
        """Why to stop asking now (``budget`` or ``stopping``), None to go on."""
        rules: list[StoppingRule] = [] if self.stopping is None else [self.stopping]
        if self.budget is not None:
            rules.append(Budget(self.budget - self.audit_budget_))
        return AnyOf(tuple(rules)).reason(self)

    # -- what happened --------------------------------------------------------------------------

    def _record(self) -> None:
        model, rows = self.current_model(), self._labelled()
        entry = {
            "round": len(self._history),
            "labels": len(rows),
            "tolerance": self.effective_tolerance_ - getattr(model, "margin_", 0.0),
            "error": model.error_,
            "violation": model.violation_,
            "feasible": model.feasible_,
            "interpolates": model.interpolates_,
            "members": len(model.members_),
        }
        for code, group in enumerate(self.groups_):
            entry[f"labels[{group}]"] = int((rows.groups == code).sum())
        self._history.append(entry)

    def __repr__(self) -> str:
        return (
            f"<FairActiveLearner {self.strategy.name}, {self.metric} <= {self.tolerance}: "
            f"{len(self._log.labelled())} labels of {len(self._pool)} rows>"
        )

    # -- keeping --------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learner to one file, without pickle; see :func:`fairask.learner.load`."""
        from fairask.learner.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], **given: Any) -> FairActiveLearner:
        """Read a learner back; pass again what a file cannot hold (``estimator``, a custom strategy)."""
        from fairask.learner.storage import load

        return load(path, **given)
