"""FairActiveLearner: ask for rows, tell their labels, read off a fair model."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from os import PathLike
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fairask.audit import Audit
from fairask.checks import check_count, check_lengths
from fairask.errors import FairaskWarning, UserError
from fairask.learner.card import learner_card
from fairask.learner.config import Estimator, LearnerConfig, LearnerSettings
from fairask.learner.given import as_pool
from fairask.learner.proving import LearnerProof
from fairask.learner.state import DrawLog, HistoryRow, LearnerState, Query
from fairask.metrics import Int, Matrix
from fairask.oracle import FairFit, FairOracle, Labelled, PoolSample
from fairask.pools import Pool
from fairask.sampling import draw
from fairask.stopping import AnyOf, Budget, StoppingRule
from fairask.strategies import uniform_proposal
from fairask.tables.groups import check_group_count

#: Streams of random numbers beside those of the batches, which are numbered from 0: the last two numbers
#: that a seed sequence takes as one word, so that no batch reaches them.
ORACLE_STREAM, SAMPLE_STREAM = 2**32 - 1, 2**32 - 2


class FairActiveLearner(LearnerProof):
    """Fair active learning by ask and tell.

    Parameters
    ----------
    X : array-like or sparse CSR matrix of shape (rows, features), a data frame, or a pool
        The pool of unlabelled rows; :func:`fairask.pools.open_pool` makes one that need not fit in memory.
        A data frame of pandas, polars or pyarrow may hold texts, categories, dates and gaps: without an
        ``estimator`` they are encoded by :class:`fairask.tables.Encoder`.
    sensitive_features : array-like of shape (rows,), str or list of str
        Protected attribute of each row, two or more groups; or columns of the frame ``X``, which are then
        no features: ``"sex"``, ``["sex", "age:30,50"]``. A pool knows its own.
    config : LearnerConfig, optional
        All settings in one object.
    estimator : classifier or "linear", optional
        Base learner of the oracle, with ``predict_proba`` for the calibrated one. None is the average of a
        ridge logistic regression and a random forest or, in the paper's profile, logistic regression without
        penalty. "linear" is logistic regression alone. Only cuts on a linear score are found in all rows of a
        large pool; other models choose from a uniform sub-pool of it, drawn anew for each batch.
    oracle : FairOracle, optional
        A fair oracle to use as a template instead of the profile's.
    **settings
        Fields of :class:`fairask.learner.LearnerConfig` by keyword: ``strategy``, ``metric``, ``tolerance``,
        ``profile``, ``batch_size``, ``random_state`` and the others. They replace those of ``config``.

    Attributes
    ----------
    state : LearnerState
        What was asked and answered so far; see :meth:`with_state`.
    pool : Pool
    template : FairOracle
        The oracle with its settings, not fitted.
    columns_ : FrameColumns or None
        How the data frame became features; ``model_`` takes such frames, with columns in any order.

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
        X: Matrix | Pool,
        sensitive_features: ArrayLike | str | None = None,
        config: LearnerConfig | None = None,
        *,
        estimator: Estimator = None,
        oracle: FairOracle | None = None,
        **settings: Unpack[LearnerSettings],
    ) -> None:
        self.config = config = (config or LearnerConfig()).changed(settings)
        parts = config.parts(oracle=oracle, estimator=estimator)
        self.estimator, self.oracle, self.template = estimator, oracle, parts.oracle
        self.strategy, self.margin, self.risk_weights = parts.strategy, parts.margin, parts.risk_weights
        self.profile, self.level, self.blind = config.profile, config.level, config.blind
        self.metric, self.tolerance = config.metric, float(config.tolerance)
        self.fairness_weights, self.batch_size = config.fairness_weights, config.batch_size
        self.budget, self.audit_share = config.budget, float(config.audit_share)
        self.stopping = config.stopping_rule()
        self.classes = (config.classes[0], config.classes[1])
        self.random_state = config.seed()
        self.pool, self.columns_ = as_pool(X, sensitive_features, self.template)
        self.pool_given = isinstance(X, Pool)
        self.X = self.pool.X if isinstance(self.pool, Pool) else self.pool
        self.groups_ = self.pool.group_values
        check_group_count(self.groups_)
        self._background: PoolSample | None = None
        self._begin(LearnerState(DrawLog(len(self.pool))))

    def _begin(self, state: LearnerState) -> None:
        self.state = state
        self._fitted: tuple[int, FairOracle] | None = None
        self._caught: list[warnings.WarningMessage] = []
        self._audit: tuple[int, Audit] | None = None  # the version of the labels, and its audit

    def with_state(
        self, state: LearnerState, *, background: tuple[Matrix, Int] | None = None
    ) -> FairActiveLearner:
        """Return a learner with the same settings and pool that goes on from ``state``.

        Neither learner changes the other. ``background`` are rows of the pool and their group codes for an
        oracle that looks at the pool, where they are known already; see :meth:`background`.
        """
        other = copy.copy(self)
        other._begin(state.copy())
        if background is not None:
            other._background = PoolSample(*background)
        return other

    def on_device(self, device: str) -> FairActiveLearner:
        """Return the same learner, whose pool is held and counted on a device; see :meth:`Pool.on_device`."""
        other = self.with_state(self.state)
        other.pool = self.pool.on_device(device)
        return other

    # -- asking ---------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Query:
        """Choose ``n`` rows (default ``batch_size``) to label next.

        Rows asked for and not answered yet are not asked again; the strategy sees the labels so far.
        """
        n = self.batch_size if n is None else check_count(n, "n")
        pool = self.pool.excluding(self.state.log.rows())
        if n > len(pool):
            raise ValueError(f"n={n} rows were asked for, but the pool has {len(pool)} left")
        batch = self.state.batches
        # One stream per batch: no generator state to keep, and any batch can be replayed.
        rng = np.random.default_rng([self.random_state, batch])
        if self.state.log.labelled():
            draws = draw(self.strategy.propose(self.labelled(), pool, self.fair_fit(), rng), n, rng)
        else:
            draws = draw(uniform_proposal(pool), n, rng)
        self.state.batches += 1
        self.state.log.add(draws, batch)
        return Query(batch, draws.indices, draws.propensities, draws.components)

    # -- telling --------------------------------------------------------------------------------

    def tell(self, indices: ArrayLike, labels: ArrayLike) -> None:
        """Give labels of rows that were asked for, all or some, in any order.

        Raises and changes nothing when a row was not asked for, is told twice, or a label is not one
        of ``classes``.
        """
        rows, codes = self._checked(indices, labels)
        self._close(self.state.log.label(rows, codes))

    def correct(self, index: int, label: object) -> None:
        """Replace the label of a labelled row."""
        (row,), (code,) = self._checked([index], [label])
        self.state.log.correct(row, code)

    def skip(self, indices: ArrayLike) -> None:
        """Set aside rows that were asked for and cannot be labelled; they are not asked again."""
        self._close(self.state.log.skip(_row_numbers(indices)))

    def _close(self, batches: set[int]) -> None:
        """Record a round when a batch is answered in full."""
        log = self.state.log
        if any(not log.open_rows(batch) for batch in batches) and log.labelled():
            try:
                self.record_round()
            except Exception as error:
                raise RuntimeError(f"labels are saved; the fit failed: {error}") from error

    def _checked(self, indices: ArrayLike, labels: Any) -> tuple[list[int], list[int]]:
        rows = _row_numbers(indices)
        values = np.atleast_1d(np.asarray(labels)).tolist()
        check_lengths(indices=len(rows), labels=len(values))
        index = {self.classes[0]: 0, self.classes[1]: 1}
        for row, value in zip(rows, values, strict=True):
            if value not in index:
                raise UserError(
                    f"label {value!r} of row {row} is not one of the classes {self.classes!r}",
                    "name both when the learner is made, the positive one last: classes=('bad', 'good')",
                )
        return rows, [index[value] for value in values]

    # -- fitting --------------------------------------------------------------------------------

    @property
    def effective_tolerance_(self) -> float:
        """Tolerance at which the oracle is fitted now: the target less the margin, at least 0."""
        n = len(self.state.log.labelled())
        if self.margin is None or self.margin == "evidence" or n == 0:
            return self.tolerance  # the margin from evidence is the oracle's own
        margin = n**-0.5 if self.margin == "sqrt_n" else float(self.margin)
        return max(self.tolerance - margin, 0.0)

    def labelled(self) -> Labelled:
        """The labelled rows, in draw order."""
        log = self.state.log
        indices, labels, _, _ = log.arrays()
        return Labelled(
            X=self.pool.take(indices),
            y=labels,
            groups=self.pool.groups_of(indices),
            risk_weights=log.weights(self.risk_weights),
            fairness_weights=log.weights(self.fairness_weights),
            indices=indices,
            group_values=self.groups_,
            classes=self.classes,
        )

    def background(self) -> PoolSample | None:
        """Rows of the pool for an oracle that looks at it: all, or a sample that is drawn once."""
        most = self.template.pool_rows
        if most and self._background is None:
            n = self.pool.n_rows
            rng = np.random.default_rng([self.random_state, SAMPLE_STREAM])
            rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
            self._background = PoolSample(self.pool.take(rows), self.pool.groups_of(rows))
        return self._background

    def fit_on(self, rows: Labelled) -> FairOracle:
        """Fit a new oracle on these rows, at the tolerance of the current number of labels."""
        seed = int(np.random.default_rng([self.random_state, ORACLE_STREAM]).integers(2**31))
        oracle: FairOracle = clone(self.template)
        oracle.set_params(tolerance=self.effective_tolerance_, random_state=seed)
        oracle = oracle.fit_labelled(rows, self.background())
        return oracle if self.columns_ is None else oracle.fitted_on(self.columns_)

    def fair_fit(self) -> FairFit:
        """What a strategy may fit on the labels so far."""
        return FairFit(self.labelled(), self.current_model)

    def current_model(self) -> FairOracle:
        """The fair model fitted on all labels so far, without its warnings (the history has the facts)."""
        version = self.state.log.version
        if not self.state.log.labelled():
            raise NotFittedError("no labels yet: ask() for rows and tell() their labels first")
        if self._fitted is None or self._fitted[0] != version:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", FairaskWarning)
                self._fitted = (version, self.fit_on(self.labelled()))
            self._caught = list(caught)
        return self._fitted[1]

    @property
    def model_(self) -> FairOracle:
        """The fair model fitted on all labels so far; warns when it should not be trusted."""
        model = self.current_model()
        caught, self._caught = self._caught, []
        for warning in caught:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        return model

    # -- stopping -------------------------------------------------------------------------------

    @property
    def stop_reason_(self) -> str | None:
        """Why to stop asking now (``budget`` or ``stopping``), None to go on."""
        rules: list[StoppingRule] = [] if self.stopping is None else [self.stopping]
        if self.budget is not None:
            rules.append(Budget(self.budget - self.audit_budget_))
        return AnyOf(tuple(rules)).reason(self)

    # -- what happened --------------------------------------------------------------------------

    def record_round(self) -> HistoryRow:
        """Fit the model and add its facts to the history."""
        model, rows = self.current_model(), self.labelled()
        entry: HistoryRow = {
            "round": len(self.state.history),
            "labels": len(rows),
            "tolerance": max(self.effective_tolerance_ - model.margin_, 0.0),
            "error": model.error_,
            "violation": model.violation_,
            "feasible": model.feasible_,
            "interpolates": model.interpolates_,
            "members": len(model.members_),
            **model.safety(),
        }
        for code, group in enumerate(self.groups_):
            entry[f"labels[{group}]"] = int((rows.groups == code).sum())
        self.state.history.append(entry)
        return entry

    def __repr__(self) -> str:
        return (
            f"<FairActiveLearner {self.strategy.name}, {self.metric} <= {self.tolerance}: "
            f"{len(self.state.log.labelled())} labels of {len(self.pool)} rows>"
        )

    def _repr_html_(self) -> str:
        return learner_card(self)

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


def _row_numbers(indices: ArrayLike) -> list[int]:
    array = np.atleast_1d(np.asarray(indices))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"indices must be whole numbers, got {indices!r}")
    rows: list[int] = array.tolist()
    repeated = [row for row, times in Counter(rows).items() if times > 1]
    if repeated:
        raise ValueError(f"indices name row {repeated[0]} more than once")
    return rows
