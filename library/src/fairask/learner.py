"""FairActiveLearner: ask for rows, tell their labels, read off a fair model, and prove what it does."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse, load_npz, save_npz
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from fairask.audit import Audit, Certificate
from fairask.audit.plan import AuditPlan
from fairask.audit.rows import PoolRows
from fairask.audit.simulation import BUDGETS, BudgetTable, plan_strata
from fairask.audit.strata import Strata
from fairask.cards import card
from fairask.checks import (
    check_choice,
    check_count,
    check_lengths,
    check_number,
    check_seed,
    check_tolerance,
    plain,
)
from fairask.classifiers import Classifier, has_probabilities
from fairask.defaults import BATCH
from fairask.documents import check_archive, parse_json, reading
from fairask.errors import ColumnWarning, FairaskWarning, SampleWarning, UserError, suggest
from fairask.log import DrawLog, HistoryRow, LearnerState, Query
from fairask.matrix import row_count
from fairask.metrics import Float, Int, Matrix, Metric, check_metric, encode_groups
from fairask.oracle import (
    CalibratedFairOracle,
    DistributionFreeFairOracle,
    EmpiricalFairOracle,
    FairOracle,
    Labelled,
)
from fairask.oracle.base import FairFit, PoolSample, Seed, drawn_seed
from fairask.pools import Pool
from fairask.pools.sample import SAMPLE
from fairask.pools.source import warn_of_rare
from fairask.report import words
from fairask.sampling import WEIGHTS, draw
from fairask.stopping import AnyOf, Budget, StoppingRule, make_rule
from fairask.strategies import STRATEGIES, Strategy, make_strategy
from fairask.strategies.strategy import uniform_proposal
from fairask.tables.arrow import column_names
from fairask.tables.frames import FrameColumns, refuse_nameless, refuse_texts, series_name
from fairask.tables.groups import check_group_count
from fairask.tables.leaks import group_leaks
from fairask.tables.sheets import write_whole

Profile = Literal["calibrated", "paper"]
#: A base learner: a classifier, logistic regression by name, or the profile's own.
Estimator = Classifier | Literal["linear"] | None
PROFILES: tuple[Profile, ...] = get_args(Profile)
#: What the probability stands on with which a feasible model is within the tolerance.
Promise = Literal["prior", "distribution-free"]
PROMISES: tuple[Promise, ...] = get_args(Promise)
#: Margins by name.
MARGINS = ("auto", "evidence", "sqrt_n")
#: FARE's settings beside an oracle that estimates its own errors; beside the paper's, Algorithm 1's.
_EXPLORE: dict[str, dict[str, object]] = {
    "fare": {"perturbation": "bootstrap", "diff_share": "adaptive"},
}
#: Streams of random numbers beside those of the batches, which are numbered from 0: the last numbers that a
#: seed sequence takes as one word, so that no batch reaches them.
ORACLE_STREAM, BACKGROUND_STREAM, SAMPLE_STREAM = 2**32 - 1, 2**32 - 2, 2**32 - 3
#: Of a saved learner.
FORMAT = 4


class Parts(NamedTuple):
    """What a learner works with, with nothing left to be chosen."""

    oracle: FairOracle
    strategy: Strategy
    margin: str | float | None
    risk_weights: str


@dataclass(frozen=True)
class LearnerConfig:
    """All settings of a :class:`FairActiveLearner`, checked; see its parameters.

    A study keeps them as one value: ``FairActiveLearner(X, groups, **vars(config))``.

    Examples
    --------
    >>> LearnerConfig(tolerance=0.05).profile
    'calibrated'
    >>> LearnerConfig(profile="papper")
    Traceback (most recent call last):
        ...
    ValueError: profile='papper' is unknown; did you mean 'paper'?
    """

    strategy: str | Strategy = "fare"
    strategy_params: Mapping[str, object] | None = None
    metric: Metric = "tprp"
    tolerance: float = 0.1
    profile: Profile = "calibrated"
    promise: Promise = "prior"
    margin: str | float | None = "auto"
    level: float | None = None
    blind: bool = False
    randomized: bool = False
    risk_weights: str | None = None
    fairness_weights: str = "ips"
    batch_size: int = BATCH
    classes: tuple[object, object] = (0, 1)
    budget: int | None = None
    audit_share: float = 0.0
    stopping: StoppingRule | str | None = None
    random_state: Seed = None

    def __post_init__(self) -> None:
        check_metric(self.metric)
        check_choice(self.profile, "profile", PROFILES)
        check_choice(self.promise, "promise", PROMISES)
        make_strategy(self.strategy, **(self.strategy_params or {}))
        check_choice(self.fairness_weights, "fairness_weights", WEIGHTS)
        if self.risk_weights is not None:
            check_choice(self.risk_weights, "risk_weights", WEIGHTS)
        if self.profile == "paper":
            given = {
                "blind": self.blind,
                "level": self.level is not None,
                "promise": self.promise != "prior",
                "randomized": self.randomized,
            }
            for name in (name for name, value in given.items() if value):
                always = ", which always mixes" if name == "randomized" else ""
                raise ValueError(f"{name} is a setting of profile='calibrated', not of 'paper'{always}")
        if self.promise == "distribution-free":
            uniform = not isinstance(self.strategy, str) or self.strategy == "passive"
            if not uniform or self.blind or self.randomized:
                raise UserError(
                    "promise='distribution-free' needs uniform labels, a threshold for each group, and one "
                    f"answer per row; given: strategy={self.strategy!r}, blind={self.blind}, "
                    f"randomized={self.randomized}",
                    "give strategy='passive' and leave out blind and randomized; on the command line: "
                    "--strategy passive --use-protected",
                )
        if len(self.classes) != 2 or self.classes[0] == self.classes[1]:
            pair = tuple(map(plain, self.classes))
            raise ValueError(f"classes={pair!r} must be two different labels, the positive one second")
        if not 0 <= self.audit_share < 1:
            raise ValueError(f"audit_share={self.audit_share!r} must be in [0, 1)")
        if isinstance(self.stopping, str):
            make_rule(self.stopping)
        if self.budget is not None:
            check_count(self.budget, "budget")
        if isinstance(self.random_state, np.random.Generator | np.random.RandomState):
            object.__setattr__(self, "random_state", drawn_seed(self.random_state))
        elif self.random_state is not None:
            check_seed(self.random_state)
        check_count(self.batch_size, "batch_size")
        _check_margin(self.margin)
        check_tolerance(self.tolerance)

    def seed(self) -> int:
        """The seed; a new one from the system where none was given."""
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        return check_seed(self.random_state)

    def parts(self, *, oracle: FairOracle | None = None, estimator: Estimator = None) -> Parts:
        """Fill in what was not given: the profile chooses the oracle, and the rest follows from the oracle.

        Examples
        --------
        >>> parts = LearnerConfig().parts()
        >>> parts.margin, parts.risk_weights, parts.strategy.diff_share
        ('evidence', 'none', 'adaptive')
        >>> parts = LearnerConfig(profile="paper").parts()
        >>> parts.margin, parts.risk_weights, parts.strategy.diff_share
        ('sqrt_n', 'ips', 0.5)
        """
        template = self._template(oracle, estimator)
        calibrated = template.estimates_margin
        named = estimator is None or isinstance(estimator, str)
        if calibrated and not named and not has_probabilities(estimator):
            raise TypeError(
                f"estimator: {type(estimator).__name__} has no predict_proba, which thresholds need; take a "
                "classifier with probabilities (CalibratedClassifierCV makes one of any), or profile='paper'"
            )
        margin = self.margin
        if margin == "auto":
            margin = "evidence" if calibrated else "sqrt_n"
        elif margin == "evidence" and not calibrated:
            raise ValueError(
                "margin='evidence' needs an oracle that estimates its own error, such as "
                f"CalibratedFairOracle; got {type(template).__name__}"
            )
        elif margin != "evidence" and calibrated and oracle is None:
            # Another margin replaces the oracle's own. An oracle that was given keeps the level it was given.
            template.set_params(level=0.5)
        params = dict(self.strategy_params or {})
        if calibrated and isinstance(self.strategy, str):
            params = _EXPLORE.get(self.strategy, {}) | params
        template.set_params(metric=self.metric)
        template.check_settings()
        return Parts(
            oracle=template,
            strategy=make_strategy(self.strategy, **params),
            margin=margin,
            risk_weights=self.risk_weights or ("none" if calibrated else "ips"),
        )

    def _template(self, oracle: FairOracle | None, estimator: Estimator) -> FairOracle:
        if oracle is not None:
            given = {
                "promise": None if self.promise == "prior" else self.promise,
                "estimator": estimator,
                "level": self.level,
                "blind": self.blind or None,
                "randomized": self.randomized or None,
            }
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"{name} and oracle were both given; set the {name} in the oracle")
            if not isinstance(oracle, FairOracle):
                raise TypeError(f"oracle must be a FairOracle, got {type(oracle).__name__}")
            given_oracle: FairOracle = clone(oracle)
            return given_oracle
        if self.profile == "paper":
            # The plain reduction: thresholds stay where the fits put them.
            return EmpiricalFairOracle(
                None if isinstance(estimator, str) else estimator, shift_threshold=False
            )
        template = (
            CalibratedFairOracle(estimator, blind=self.blind, randomized=self.randomized)
            if self.promise == "prior"
            else DistributionFreeFairOracle(estimator)
        )
        template.level = template.level if self.level is None else self.level
        return template


class FairActiveLearner:
    """Fair active learning by ask and tell.

    Parameters
    ----------
    X : array-like or sparse CSR matrix of shape (rows, features), a data frame, or a pool
        The pool of unlabelled rows; :func:`fairask.pools.open_pool` makes one of a table of any size. Of a
        matrix or frame with more than 65,536 rows a uniform sample is asked for, drawn
        once; give a :class:`fairask.pools.Pool` to choose from all rows.
        A data frame of pandas, polars or pyarrow may hold texts, categories, dates and gaps: without an
        ``estimator`` they are encoded by :class:`fairask.tables.Encoder`.
    sensitive_features : array-like of shape (rows,), str or list of str
        Protected attribute of each row, two or more groups; or columns of the frame ``X``, which are then
        no features: ``"sex"``, ``["sex", "age:30,50"]``. A pool knows its own.
    estimator : classifier or "linear", optional
        Base learner of the oracle, with ``predict_proba`` for the calibrated one. None is the average of a
        ridge logistic regression and a random forest or, in the paper's profile, logistic regression without
        penalty. "linear" is logistic regression alone.
    oracle : FairOracle, optional
        A fair oracle to use as a template instead of the profile's.
    strategy : str or Strategy
        A name of ``fairask.strategies.STRATEGIES`` (``"fare"``, ``"passive"``, ``"group_balanced"``,
        ``"uncertainty"``, ``"fal"``, ...), or an object with ``propose``.
    strategy_params : dict, optional
        Settings for a strategy given by name, e.g. ``{"k": 10, "diff_share": 1.0}``.
    metric : {"tprp", "fprp", "eo", "dp"}
        What must be alike between groups.
    tolerance : float in [0, 1]
        Largest allowed difference of rates.
    profile : {"calibrated", "paper"}
        What the learner is made of where nothing else is said. "calibrated": thresholds on calibrated
        probabilities, a margin from evidence, unweighted risk, and FARE with bootstrap perturbations and
        an adaptive share. "paper": Algorithm 1 with the paper's oracle and margin, but for the details that
        docs/strategies/fare.md lists.
    promise : {"prior", "distribution-free"}
        What the probability stands on with which a feasible model of the calibrated profile is within the
        tolerance: curves of labels given scores and a prior on them, or ranks of labelled rows that do not
        train, which hold for any distribution and need ``strategy="passive"`` and more labels.
    margin : {"auto", "evidence", "sqrt_n"}, float or None
        What the tolerance is reduced by: "evidence" is the oracle's own margin, "sqrt_n" the paper's
        ``1 / sqrt(labels)``. "auto" is "evidence" if the oracle has a margin of its own, else "sqrt_n".
    level : float in [0.5, 1), optional
        Confidence level of the margin from evidence; the calibrated oracle's default if None.
    blind : bool
        Whether the calibrated model must not read the group; leave the protected column out of ``X`` as well.
    randomized : bool
        Whether the calibrated model may decide by lot between thresholds and a constant answer where
        thresholds alone are not safe. The paper's profile always may.
    risk_weights : {"ips", "lure", "none"}, optional
        Importance weights of the labelled rows in the error; default "none" with the calibrated oracle,
        "ips" with the paper's.
    fairness_weights : {"ips", "lure", "none"}
        The same in the rates.
    batch_size : int
        Rows per batch when ``ask`` is not told.
    classes : pair
        The two labels; the second is the positive one.
    budget : int, optional
        Labels in all; ``stop_reason_`` says when they are spent.
    audit_share : float in [0, 1)
        Share of the budget kept to audit the final model.
    stopping : StoppingRule or str, optional
        A rule of :mod:`fairask.stopping`, or its name (``"plateau:5"``); ``stop_reason_`` reports it.
    keep : list of str
        Columns of a data frame to learn from although they look like identifiers or have too many values.
    random_state : int, Generator or RandomState, optional
        The same seed gives the same answers. A generator is drawn from once; the field then holds the seed.

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
        *,
        estimator: Estimator = None,
        oracle: FairOracle | None = None,
        strategy: str | Strategy = "fare",
        strategy_params: Mapping[str, object] | None = None,
        metric: Metric = "tprp",
        tolerance: float = 0.1,
        profile: Profile = "calibrated",
        promise: Promise = "prior",
        margin: str | float | None = "auto",
        level: float | None = None,
        blind: bool = False,
        randomized: bool = False,
        risk_weights: str | None = None,
        fairness_weights: str = "ips",
        batch_size: int = BATCH,
        classes: tuple[object, object] = (0, 1),
        budget: int | None = None,
        audit_share: float = 0.0,
        stopping: StoppingRule | str | None = None,
        keep: Sequence[str] = (),
        random_state: Seed = None,
    ) -> None:
        self.config = config = LearnerConfig(
            strategy=strategy,
            strategy_params=strategy_params,
            metric=metric,
            tolerance=tolerance,
            profile=profile,
            promise=promise,
            margin=margin,
            level=level,
            blind=blind,
            randomized=randomized,
            risk_weights=risk_weights,
            fairness_weights=fairness_weights,
            batch_size=batch_size,
            classes=classes,
            budget=budget,
            audit_share=audit_share,
            stopping=stopping,
            random_state=random_state,
        )
        parts = config.parts(oracle=oracle, estimator=estimator)
        self.estimator, self.oracle, self.template = estimator, oracle, parts.oracle
        self.strategy, self.margin, self.risk_weights = parts.strategy, parts.margin, parts.risk_weights
        self.metric, self.tolerance, self.batch_size = metric, float(tolerance), batch_size
        self.fairness_weights, self.budget, self.audit_share = fairness_weights, budget, audit_share
        self.stopping = make_rule(stopping) if isinstance(stopping, str) else stopping
        self.classes = (plain(classes[0]), plain(classes[1]))
        self.random_state = config.seed()
        self._pool_given = isinstance(X, Pool)
        if isinstance(X, Pool):
            if sensitive_features is not None:
                raise ValueError("X is a pool, which knows its groups: leave sensitive_features out")
            self.pool, self.columns_ = X, X.columns
        else:
            self.pool, self.columns_ = _as_pool(X, sensitive_features, self.template, keep)
        if blind and self.columns_ is not None:
            _warn_of_leaks(self.pool, self.columns_)
        self.groups_ = self.pool.group_values
        check_group_count(self.groups_)
        self._drawn_from = self.pool if self._pool_given else self._sampled()
        self._background: PoolSample | None = None
        self._begin(LearnerState(DrawLog(len(self._drawn_from))))

    def _sampled(self) -> Pool:
        """The rows that may be asked for: all, or a uniform sample where a round would take too long."""
        pool, n = self.pool, self.pool.n_rows
        if n <= SAMPLE:
            return pool
        rng = np.random.default_rng([self.random_state, SAMPLE_STREAM])
        rows = np.sort(rng.choice(n, SAMPLE, replace=False, shuffle=False))
        warnings.warn(
            f"rows are asked for from a uniform sample of {SAMPLE:,} of the {n:,}; batches of "
            f"{self.batch_size} have {self.batch_size * (1.0 / SAMPLE - 1.0 / n):.2%} more variance",
            SampleWarning,
            stacklevel=4,
        )
        codes = pool.groups_of(rows)
        warn_of_rare(pool.group_values, codes, np.bincount(pool.groups, minlength=pool.n_groups))
        return Pool(pool.take(rows), codes, pool.n_groups, group_values=pool.group_values, keys=rows, of=n)

    def _begin(self, state: LearnerState) -> None:
        self.state = state
        self._fitted: tuple[int, FairOracle] | None = None
        self._caught: list[warnings.WarningMessage] = []
        self._audit: tuple[int, Audit] | None = None  # the version of the labels, and its audit

    def with_state(self, state: LearnerState) -> FairActiveLearner:
        """Return a learner with the same settings and pool that goes on from ``state``.

        Neither learner changes the other.
        """
        other = copy.copy(self)
        other._begin(state.copy())
        return other

    # -- asking ---------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Query:
        """Choose ``n`` rows (default ``batch_size``) to label next.

        Rows asked for and not answered yet are not asked again; the strategy sees the labels so far.
        """
        n = self.batch_size if n is None else check_count(n, "n")
        asked = self.state.log.rows()
        # Rows of a sample that the learner drew are known to the user by their numbers in the whole table.
        numbers = None if self._drawn_from is self.pool else self._drawn_from.keys
        if numbers is not None:  # rows beyond the sample may have been asked for, drawn uniformly
            asked = np.searchsorted(numbers, np.intersect1d(asked, numbers))
        pool = self._drawn_from.excluding(asked)
        if n > len(pool):
            raise ValueError(f"n={n} rows were asked for, but the pool has {len(pool)} left")
        batch = self.state.batches
        # One stream per batch: no generator state to keep, and any batch can be replayed.
        rng = np.random.default_rng([self.random_state, batch])
        if self.state.log.labelled():
            proposal = self.strategy.propose(self.labelled(), pool, self.fair_fit(), rng)
        else:
            proposal = uniform_proposal(pool)
        draws = draw(proposal, n, rng)
        if numbers is not None:
            draws = replace(draws, indices=numbers[draws.indices])
        self.state.batches += 1
        self.state.log.add(draws, batch)
        return Query(batch, draws.indices, draws.propensities, draws.components)

    # -- telling --------------------------------------------------------------------------------

    def tell(
        self, indices: ArrayLike, labels: ArrayLike, confidence: float | ArrayLike | None = None
    ) -> None:
        """Give labels of rows that were asked for, all or some, in any order.

        ``confidence`` is the probability that each label is right, from :meth:`fairask.people.People.weights`
        for example; fits weigh the row by it. Raises and changes nothing when a row was not asked for, is
        told twice, or a label is not one of ``classes``.
        """
        rows, codes = self._checked(indices, labels)
        sure = None
        if confidence is not None:
            sure = np.broadcast_to(np.asarray(confidence, dtype=np.float64), len(rows)).tolist()
            for row, chance in zip(rows, sure, strict=True):
                check_number(chance, f"confidence of row {row}", 0.0, 1.0)
        self._close(self.state.log.label(rows, codes, sure))

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
        if unknown := [row for row in rows if not 0 <= row < self.pool.n_rows]:
            raise ValueError(f"no row {unknown[0]}")
        values = np.atleast_1d(np.asarray(labels)).tolist()
        check_lengths(indices=len(rows), labels=len(values))
        index = {self.classes[0]: 0, self.classes[1]: 1}
        for row, value in zip(rows, values, strict=True):
            if value not in index:
                raise UserError(
                    f"label {plain(value)!r} of row {row} is not one of the classes {self.classes!r}",
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
        sure = log.confidence()
        return Labelled(
            X=self.pool.take(indices),
            y=labels,
            groups=self.pool.groups_of(indices),
            risk_weights=log.weights(self.risk_weights) * sure,
            fairness_weights=log.weights(self.fairness_weights) * sure,
            indices=indices,
            group_values=self.groups_,
            classes=self.classes,
        )

    def background(self) -> PoolSample | None:
        """Rows of the pool for an oracle that looks at it: all, or a sample that is drawn once."""
        most = self.template.pool_rows
        if most and self._background is None:
            n = self.pool.n_rows
            rng = np.random.default_rng([self.random_state, BACKGROUND_STREAM])
            rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
            self._background = PoolSample(self.pool.take(rows), self.pool.groups_of(rows))
        return self._background

    def fit_on(self, rows: Labelled) -> FairOracle:
        """Fit a new oracle on these rows, at the tolerance of the current number of labels."""
        seed = int(np.random.default_rng([self.random_state, ORACLE_STREAM]).integers(2**31))
        oracle: FairOracle = clone(self.template)
        oracle.set_params(tolerance=self.effective_tolerance_, random_state=seed)
        if isinstance(oracle, CalibratedFairOracle):
            past = (row for row in self.state.history if row["labels"] < len(rows))
            oracle.earlier_rounds = [(row["labels"], row["reach"]) for row in past]
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

    # -- proving --------------------------------------------------------------------------------

    def audit(self, budget: int | None = None, *, delta: float = 0.05, looks: int = 5) -> Audit:
        """Start to audit the current model over the whole pool, with fresh labels from the rest of it.

        The labels that trained the model are known, so the rows they belong to are counted whole; rows that
        were skipped or still wait for a label are taken at their worst. The audit is told labels of the
        learner's ``classes``. It is void once the model changes.

        The certificate is about this pool, and not about the population: the model fits the rows that trained
        it better than others. For the population, audit the model on fresh rows with
        :class:`fairask.audit.Audit`.

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
        if budget is None:
            if self.audit_budget_ == 0:
                raise ValueError(
                    "budget is missing: give it, or make the learner with budget= and audit_share="
                )
            budget = self.audit_budget_
        plan = AuditPlan(self.metric, self.tolerance, delta, budget, looks, random_state=self.random_state)
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
        rows = PoolRows.of_pool(self.pool, self.current_model(), left_out, plan.random_state, known)
        return plan_strata(Strata.of_rows(rows, most=0), plan, budgets, n_audits)

    def certify(self) -> Certificate:
        """Certificate of the current model from its audit.

        Refused without one: labels that trained a model, or chose among models, say too little about
        its gap on others.
        """
        if self.certificate_ is None:
            raise ValueError(
                "the current model has not been audited: the labels that trained it cannot certify it. "
                "Call audit(budget), label the rows it asks for, then certify()"
            )
        return self.certificate_

    @property
    def certificate_(self) -> Certificate | None:
        """Certificate of the current model, None while it has none."""
        if self._audit is None:
            return None
        version, audit = self._audit
        return audit.certificate() if version == self.state.log.version and audit.n_labels else None

    @property
    def audit_budget_(self) -> int:
        """Labels of the budget that are kept for the audit."""
        return 0 if self.budget is None else round(self.audit_share * self.budget)

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
            "gap": model.gap_,
            "feasible": model.feasible_,
            "interpolates": model.interpolates_,
            "members": len(model.members_),
            "constant": model.constant_ is not None,
            "by_lot": model.by_lot_,
            **model.safety(),
        }
        for code, group in enumerate(self.groups_):
            entry[f"labels[{group}]"] = int((rows.groups == code).sum())
        self.state.history.append(entry)
        return entry

    @property
    def history_(self) -> dict[str, NDArray[Any]]:
        """One entry for each answered batch, by column; any data-frame library reads it."""
        history = self.state.history
        return {name: np.array([row[name] for row in history]) for name in (history[0] if history else ())}

    @property
    def labelled_indices_(self) -> Int:
        """Labelled rows in draw order; the arrays below are aligned with it."""
        return self.state.log.arrays()[0]

    @property
    def labels_(self) -> NDArray[Any]:
        """Labels, as values of ``classes``."""
        return np.asarray(np.array(self.classes)[self.state.log.arrays()[1].astype(int)])

    @property
    def propensities_(self) -> Float:
        """Probability of each labelled row when it was drawn."""
        return self.state.log.arrays()[2]

    @property
    def components_(self) -> list[str]:
        """Component that drew each labelled row."""
        return [entry.component for entry in self.state.log.labelled()]

    @property
    def risk_weights_(self) -> Float:
        """Importance weights in the error."""
        return self.state.log.weights(self.risk_weights)

    @property
    def fairness_weights_(self) -> Float:
        """Importance weights in the rates."""
        return self.state.log.weights(self.fairness_weights)

    @property
    def pending_indices_(self) -> Int:
        """Rows asked for and not answered yet."""
        return np.array(self.state.log.open_rows(), dtype=np.int64)

    def __repr__(self) -> str:
        return (
            f"<FairActiveLearner {self.strategy.name}, {self.metric} <= {self.tolerance}: "
            f"{len(self.state.log.labelled())} labels of {len(self.pool)} rows>"
        )

    def _repr_html_(self) -> str:
        """What the learner has done: the gap by labels or, before the first round, its groups."""
        history = self.history_
        facts = {"goal": f"{self.metric} at most {self.tolerance:g}"}
        if history:
            last = self.state.history[-1]
            facts["accuracy, estimated"] = f"{1 - last['error']:.3f}"
            facts["gap, estimated"] = f"{last['gap']:.3f}"
            if "gap_low" in last:  # not every oracle estimates an interval
                low, high, level = (last[name] for name in ("gap_low", "gap_high", "level"))
                facts["gap, estimated"] += f" ({low:.3f} to {high:.3f}, level {level:g})"
            if (said := words.safety_sentence(last, self.tolerance, self.pool.n_rows)) is not None:
                facts["to know"] = said
            facts["labels by group"] = ", ".join(
                f"{group} {int(last[f'labels[{group}]']):,}" for group in self.groups_
            )
        else:
            rows = np.bincount(self.pool.groups, minlength=len(self.groups_))
            named = zip(self.groups_, rows, strict=True)
            facts["rows by group"] = ", ".join(f"{group} {count:,}" for group, count in named)
        if waiting := len(self.pending_indices_):
            facts["waiting for an answer"] = f"{waiting:,} rows"
        if (certificate := self.certificate_) is not None:
            facts["certificate"] = certificate.headline()
        if self.columns_ is not None:
            facts["columns"] = ", ".join(self.columns_.names)
        encoder = None if self.columns_ is None else self.columns_.encoder
        notes = [] if encoder is None else encoder.notes()
        about = (
            f"{len(self.state.log.labelled()):,} labels of {self.pool.n_rows:,} rows, "
            f"asked for by {self.strategy.name}"
        )
        return card("FairActiveLearner", about, facts, folded=("What was done to the columns", notes))

    # -- keeping --------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learner to one file of JSON and arrays, without pickle, so that it cannot run code.

        The file appears whole or not at all. Objects (an estimator, an oracle, a strategy or a stopping rule
        that is no name) and a pool that is no matrix of numbers are not in it: see :meth:`load`.
        """
        X = None if self._pool_given else self.pool.X
        stored = issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")
        by_name = type(self.strategy) is STRATEGIES.get(self.strategy.name)
        objects = {
            "estimator": not (self.estimator is None or isinstance(self.estimator, str)),
            "oracle": self.oracle is not None,
            "strategy": not by_name,
            "stopping": not (self.config.stopping is None or isinstance(self.config.stopping, str)),
        }
        settings = {
            **vars(self.config),
            "classes": [plain(c) for c in self.classes],
            "random_state": self.random_state,
            "estimator": self.estimator,
            "strategy": self.strategy.name,
            "strategy_params": asdict(self.strategy) if by_name else None,  # type: ignore[call-overload]
        }
        state = {
            "format": FORMAT,
            "settings": {name: None if objects.get(name) else value for name, value in settings.items()},
            "objects": {name: repr(getattr(self, name)) for name, given in objects.items() if given},
            "groups": [plain(g) for g in self.groups_],
            "batches": self.state.batches,
            "log": self.state.log.to_list(),
            "history": [{k: plain(v) for k, v in row.items()} for row in self.state.history],
            "pool": self._pool_given,
            "columns": None if self.columns_ is None else self.columns_.to_dict(),
            "digest": self.pool.fingerprint(),
        }
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("state.json", json.dumps(state))
            if not self._pool_given:
                archive.writestr("groups.npy", _npy(self.pool.groups))
            if issparse(X):
                buffer = io.BytesIO()
                save_npz(buffer, X)
                archive.writestr("X.npz", buffer.getvalue())
            elif stored:
                archive.writestr("X.npy", _npy(np.asarray(X)))
        write_whole(Path(path), packed.getvalue())

    @classmethod
    def load(cls, path: str | PathLike[str], *, X: Matrix | Pool = None, **objects: Any) -> FairActiveLearner:
        """Read a learner back.

        Parameters
        ----------
        path : path
        X : table or pool, optional
            The pool, when it was a pool or no matrix of numbers, and so is not in the file.
        **objects
            ``estimator``, ``oracle``, ``strategy`` and ``stopping``, where the learner was made with objects.

        Examples
        --------
        >>> import tempfile
        >>> learner = FairActiveLearner(np.eye(4), [0, 1, 0, 1], random_state=0)
        >>> query = learner.ask(2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.save(f"{folder}/learner.fairask")
        ...     again = FairActiveLearner.load(f"{folder}/learner.fairask")
        >>> again.pending_indices_.tolist() == query.indices.tolist()
        True
        """
        name = Path(path).name
        damaged = partial(reading, name, "Give a file that save() has written", UserError)
        with damaged():
            check_archive(name, Path(path), UserError)
            with zipfile.ZipFile(path) as archive:
                state = parse_json(archive.read("state.json"), f"{name}: state.json")
                inside = {n: io.BytesIO(archive.read(n)) for n in archive.namelist() if n != "state.json"}
            if state["format"] != FORMAT:
                raise UserError(
                    f"{name} has format {state['format']!r}, and this version reads {FORMAT}",
                    "read it with the version of fairask that wrote it",
                )
            codes = None if state["pool"] else np.load(inside["groups.npy"], allow_pickle=False)
            own = X is None
            if X is None and "X.npz" in inside:
                X = load_npz(inside["X.npz"])
            elif X is None and "X.npy" in inside:
                X = np.load(inside["X.npy"], allow_pickle=False)
            columns = FrameColumns.from_dict(state["columns"]) if state["columns"] else None
            groups = None if codes is None else [_hashable(state["groups"][code]) for code in codes]
            written = {**state["settings"], "classes": tuple(state["settings"]["classes"])}
            LearnerConfig(**{n: v for n, v in written.items() if v is not None and n != "estimator"})
            settings = {**written, **objects}
        if X is None:
            raise ValueError("X is not in the file (it was no matrix of numbers): pass it, load(path, X=...)")
        if codes is None and not isinstance(X, Pool):
            raise TypeError(f"this learner was made with a pool: X must be that pool, got {type(X).__name__}")
        for one in ("estimator", "oracle", "strategy", "stopping"):
            made, given = state["objects"].get(one), objects.get(one)
            if (made is None) != (given is None):
                raise ValueError(f"this learner was made with {one}={made}; load(path, {one}=...) must match")
        if groups is not None and columns is not None and column_names(X) is not None:
            X = columns.features(X)
        with damaged() if own else nullcontext():  # of a caller's table, what is wrong is said as it is
            learner = cls(X, groups, **settings)
        if learner.pool.fingerprint() != state["digest"]:
            raise UserError(
                f"X is not the table that the learner in {name} was made with",
                "give that table, or a whole file",
            )
        learner.columns_ = columns
        with damaged():
            log = DrawLog.from_list(len(learner._drawn_from), state["log"])
            return learner.with_state(LearnerState(log, state["batches"], state["history"]))


def _as_pool(
    X: Matrix, sensitive_features: ArrayLike | str | None, oracle: FairOracle, keep: Sequence[str]
) -> tuple[Pool, FrameColumns | None]:
    """Make a pool of a table and its groups; also return how it was made of a data frame's columns."""
    if sensitive_features is None:
        raise TypeError("sensitive_features is missing: give the protected attribute of each row of X")
    rows, columns = X, None
    groups: ArrayLike | None = sensitive_features
    if (names := column_names(X)) is not None:
        named = _named_columns(sensitive_features, names, row_count(X))
        own = [] if named is not None else _own_name(sensitive_features, names)
        columns = FrameColumns.of(
            X,
            protected=named or own or None,
            keep_protected=bool(own),
            encode=oracle.needs_numbers,
            keep=keep,
        )
        rows = columns.features(X)
        groups = columns.groups_of(X) if named is not None else sensitive_features
    elif isinstance(sensitive_features, str):
        refuse_nameless(X)
        raise UserError(
            f"sensitive_features={sensitive_features!r} names a column, but X has no column names",
            "give X as a data frame, or the group of each row",
        )
    if oracle.needs_numbers:
        refuse_texts(rows)
        rows = check_array(rows, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    assert groups is not None
    values, codes = encode_groups(groups, "sensitive_features")
    check_lengths(X=row_count(rows), sensitive_features=len(codes))
    return Pool(rows, codes, len(values), group_values=values), columns


def _warn_of_leaks(pool: Pool, columns: FrameColumns) -> None:
    """Name columns that tell the group to a model that must not know it."""
    X = pool.X
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
        return
    names = columns.names if columns.encoder is None else columns.encoder.feature_names_out
    for said in group_leaks(np.asarray(X, np.float64), pool.groups, names):
        warnings.warn(said, ColumnWarning, stacklevel=4)


def _named_columns(sensitive_features: object, names: list[str], n: int) -> list[str] | None:
    """The protected columns of a frame, where they were named; None where the groups themselves are given."""
    if isinstance(sensitive_features, str):
        return [sensitive_features]
    if isinstance(sensitive_features, list | tuple) and 0 < len(sensitive_features) < n:
        named = [spec for spec in sensitive_features if isinstance(spec, str)]
        known = [spec for spec in named if spec in names or spec.rpartition(":")[0] in names]
        if known and len(named) == len(sensitive_features):
            return named
    return None


def _own_name(sensitive_features: object, names: list[str]) -> list[str]:
    """The column that a series was taken from, so that predictions find it in a frame."""
    given = series_name(sensitive_features)
    return [] if given is None or given not in names else [given]


def _row_numbers(indices: ArrayLike) -> list[int]:
    array = np.atleast_1d(np.asarray(indices))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"indices must be whole numbers, got {indices!r}")
    rows: list[int] = array.tolist()
    repeated = [row for row, times in Counter(rows).items() if times > 1]
    if repeated:
        raise ValueError(f"indices name row {repeated[0]} more than once")
    return rows


def _check_margin(margin: object) -> str | float | None:
    """Return ``margin`` if it is a name of ``MARGINS``, a number in [0, 1] or None.

    Examples
    --------
    >>> _check_margin(3)
    Traceback (most recent call last):
        ...
    ValueError: margin=3 must be auto, evidence, sqrt_n, a number in [0, 1] or None
    """
    if margin is None:
        return None
    if isinstance(margin, str):
        if margin not in MARGINS:
            hint = suggest(margin, MARGINS)
            raise ValueError(f"margin={margin!r} is unknown; {hint}, or give a number or None")
        return margin
    try:
        return check_number(margin, "margin", 0, 1)
    except ValueError:
        message = f"margin={margin!r} must be {', '.join(MARGINS)}, a number in [0, 1] or None"
        raise ValueError(message) from None


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
