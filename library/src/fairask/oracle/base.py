"""The contract of a fair oracle: what it is fitted on, what it answers, and what all of them share."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    check_random_state,
    check_X_y,
    validate_data,
)

from fairask.checks import check_lengths, check_tolerance, plain
from fairask.classifiers import Classifier
from fairask.errors import ConstantWarning, UserError
from fairask.matrix import row_count, row_uniforms, take_rows
from fairask.metrics import (
    CONDITION_NAMES,
    METRICS,
    Bool,
    Float,
    Int,
    Matrix,
    Metric,
    check_metric,
    encode_groups,
    is_gap,
)
from fairask.oracle.group_model import GroupModel, fit_group_model, settings_key
from fairask.oracle.logistic import fast_ridge
from fairask.report import words
from fairask.rules import Rule, RuleMixture, decide
from fairask.tables.arrow import column_names
from fairask.tables.frames import FrameColumns, arranged, refuse_texts, split_column
from fairask.tables.groups import check_group_count

#: What ``random_state`` may be.
Seed = int | np.random.RandomState | np.random.Generator | None


@dataclass(frozen=True)
class Labelled:
    """Labelled rows, in draw order.

    Attributes
    ----------
    X : array or data frame of shape (n, d)
    y : ndarray of 0.0 and 1.0
    groups : ndarray of group codes
    risk_weights, fairness_weights : ndarray
        Importance weights in the error and in the rates.
    indices : ndarray
        Their rows in the pool.
    group_values : sequence
        The group with code i, as the user knows it. Some may have no labelled row yet.
    classes : pair
        The labels 0 and 1, as the user knows them. One of them may have no labelled row yet.
    """

    X: Matrix
    y: Float
    groups: Int
    risk_weights: Float
    fairness_weights: Float
    indices: Int
    group_values: Sequence[object]
    classes: tuple[object, object] = (0, 1)

    @classmethod
    def of(
        cls,
        X: Matrix,
        y: Float,
        groups: Int,
        group_values: Sequence[object],
        risk_weights: Float | None = None,
        fairness_weights: Float | None = None,
    ) -> Labelled:
        """Rows that are numbered from 0; weights are 1 by default, those of the rates the risk's.

        Examples
        --------
        >>> len(Labelled.of(np.eye(2), np.array([0.0, 1.0]), np.array([0, 1]), ["a", "b"]))
        2
        """
        risk = np.ones(len(y)) if risk_weights is None else risk_weights
        fairness = risk if fairness_weights is None else fairness_weights
        return cls(X, y, groups, risk, fairness, np.arange(len(y)), group_values)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_groups(self) -> int:
        """Groups of the population."""
        return len(self.group_values)

    def where(self, mask: Bool) -> Labelled:
        """The labelled rows for which ``mask`` is true."""
        return Labelled(
            take_rows(self.X, mask),
            self.y[mask],
            self.groups[mask],
            self.risk_weights[mask],
            self.fairness_weights[mask],
            self.indices[mask],
            self.group_values,
            self.classes,
        )


@dataclass(frozen=True, eq=False)
class PoolSample:
    """Unlabelled rows that stand for the population: features and group codes.

    All rounds of a learner fit on one sample, so the model of its groups is fitted once.
    """

    X: Matrix
    groups: Int
    _known: dict[str, GroupModel] = field(default_factory=dict, init=False, repr=False)

    def group_model(self, estimator: Classifier | None) -> GroupModel:
        """Return the probabilities of the groups given the features."""
        key = settings_key(estimator)
        found = None if key is None else self._known.get(key)
        if found is None:
            found = fit_group_model(self.X, self.groups, estimator)
            if key is not None:
                self._known[key] = found
        return found


@dataclass(frozen=True)
class PerturbedModel(RuleMixture):
    """A model fitted on perturbed labels or weights: a mixture of rules, and its error.

    ``error`` is that on the perturbed sample or, from an oracle that looks at the pool, on the pool.
    """

    members_: Sequence[Rule]
    weights_: Float
    error: float

    def sample(self, rng: np.random.Generator) -> Rule:
        """Draw one rule of the mixture."""
        return self.members_[rng.choice(len(self.members_), p=self.weights_ / self.weights_.sum())]


class FairOracle(RuleMixture, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that is as accurate as it can be within a fairness tolerance.

    The learner, strategies, audits and reports ask of an oracle what is written here and nothing else. It is
    a scikit-learn classifier of two classes: settings are the arguments of ``__init__``, and ``clone`` works.

    A subclass implements

    * :meth:`fit_labelled`, which fits on rows that :meth:`fit` or the learner checked before. Some groups and
      one of the classes may have no labelled row. It sets the attributes below, and gives the same result for
      the same rows, settings and ``random_state``;
    * :meth:`perturbed`: fits models on other labels or weights of the same rows, without changing the oracle.

    What an oracle can do is said by attributes, which have these defaults:

    ``pool_rows = 0``
        Rows of the pool that it wants as ``background``; 0 if it looks at labelled rows alone.
    ``estimates_margin = False``
        Whether it reduces the tolerance by a margin of its own, which it estimates when it is fitted:
        ``margin_``, and ``price_``, the error that a unit of tolerance costs. Both are 0.0 otherwise.
    ``estimator = None``
        The base learner; None is logistic regression.
    ``without_groups = False``
        Whether it is fitted without groups, and so without a constraint.

    Attributes
    ----------
    members_, weights_ : list of Rule, ndarray
        The mixture of rules. ``needs_groups`` says whether one of them reads the group.
    error_, gap_ : float
        Error and gap of the mixture, as far as the oracle can tell.
    rates_ : dict
        Rate of predicting the positive class by (condition, group).
    feasible_ : bool
        Whether the tolerance was met.
    constant_ : object
        The class that the model predicts for everybody; None where its answers differ, as they should.
    by_lot_ : float
        Share of rows whose answer is drawn by lot between the members of the mixture.
    interpolates_ : bool
        Whether the model reproduces its sample, so that ``error_`` says nothing.
    n_fits_ : int
    groups_, classes_ : ndarray
    feature_names_in_ : ndarray
        Columns of the data frame it was fitted on, if it was one.
    columns_ : FrameColumns or None
        How such a frame becomes features. Texts, categories, dates and gaps are encoded by
        :class:`fairask.tables.Encoder` unless an ``estimator`` takes the frame. An array has the features.
    """

    pool_rows: int = 0
    estimates_margin: ClassVar[bool] = False
    margin_: float = 0.0
    price_: float = 0.0

    estimator: Any = None
    metric: Metric
    tolerance: float
    random_state: Seed
    sensitive_features: str | int | None = None
    without_groups: bool = False

    members_: Sequence[Rule]
    weights_: Float
    error_: float
    gap_: float
    rates_: dict[tuple[str, object], float]
    feasible_: bool
    constant_: object = None
    by_lot_: float = 0.0
    interpolates_: bool
    n_fits_: int
    groups_: NDArray[np.object_]
    classes_: NDArray[Any]
    columns_: FrameColumns | None = None

    def fit(
        self,
        X: Matrix,
        y: ArrayLike,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        fairness_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Two classes; the larger value in sorted order is the positive one. Rows whose label is missing,
            such as the outcomes of people who were not accepted, are left out if there is a ``sample_weight``
            that makes up for them, and refused otherwise.
        sensitive_features : array-like of shape (n,), optional
            Group of each row. A fit without groups is refused unless ``without_groups`` is set.
        sample_weight : array-like of shape (n,), optional
            Importance weights of the rows in the error: one over the probability that a label is known.
        fairness_weight : array-like of shape (n,), optional
            Importance weights of the rows in the rates; by default those in the error.
        """
        self.check_settings()
        X, y, sensitive_features, sample_weight, fairness_weight = with_labels(
            X, y, sensitive_features, sample_weight, fairness_weight
        )
        X, labels, classes, sensitive_features = self._training_rows(X, y, sensitive_features)
        names, codes = self._training_groups(sensitive_features, len(labels))
        self.fit_labelled(weighted_rows(X, labels, codes, names, sample_weight, fairness_weight))
        self.classes_ = classes
        return self

    @abstractmethod
    def fit_labelled(self, labelled: Labelled, background: PoolSample | None = None) -> Self:
        """Fit on labelled rows that were checked before; see the class."""

    @abstractmethod
    def perturbed(
        self, labelled: Labelled, labels: Float | None = None, weights: Float | None = None
    ) -> list[PerturbedModel]:
        """Fit models on perturbed copies of the rows that this oracle was fitted on.

        Parameters
        ----------
        labelled : Labelled
        labels : ndarray of shape (k, n), optional
            0/1 labels of each copy, e.g. flipped ones; the rows' own by default.
        weights : ndarray of shape (k, n), optional
            Factors of the rows' weights in each copy.
        """

    def check_settings(self) -> None:
        """Raise ValueError naming a setting that makes no sense."""
        check_metric(self.metric)
        check_tolerance(self.tolerance)
        column = self.sensitive_features
        if column is not None and (isinstance(column, bool) or not isinstance(column, str | Integral)):
            raise TypeError(
                "sensitive_features, when it is a setting, must be the name or the position of "
                f"a column of X, not a {type(column).__name__}; give the values themselves to "
                "fit(X, y, sensitive_features=...)"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self.needs_numbers
        return tags

    @property
    def needs_numbers(self) -> bool:
        """Whether features must be an array of numbers; any other table is left to the ``estimator``."""
        return fast_ridge(self.estimator, 1) is not None

    @property
    def needs_groups(self) -> bool:
        """Whether predictions need ``sensitive_features``."""
        return any(rule.aware for rule in self.members_)

    def safety(self) -> dict[str, float]:
        """Return how safe the fitted model is, for a history; nothing where the oracle does not know."""
        return {}

    def bare(self) -> Self:
        """Return the fitted model without what only warm-starts a later fit or comes from the pool's rows."""
        model = copy.copy(self)
        model.members_ = [rule.bare() for rule in self.members_]
        return model

    def decision_probability(self, X: Matrix, groups: ArrayLike | None) -> Float:
        """Probability that each row is predicted positive, given its group."""
        return np.asarray(self.predict_proba(X, sensitive_features=groups)[:, 1])

    def predict_proba(self, X: Matrix, sensitive_features: ArrayLike | None = None) -> Float:
        """Probability that the randomised classifier predicts each class, not a score of the label.

        ``sensitive_features`` are only read by an oracle that ``needs_groups``.
        """
        positive = self._positive(*self._rows_and_codes(X, sensitive_features))
        return np.stack([1.0 - positive, positive], axis=1)

    def _positive(self, rows: Matrix, codes: Int | None) -> Float:
        return np.clip(self.weights_ @ decide(self.members_, rows, codes).astype(np.float64), 0.0, 1.0)

    def predict(
        self, X: Matrix, sensitive_features: ArrayLike | None = None, random_state: Seed = None
    ) -> NDArray[Any]:
        """Predict classes; a mixture draws its member for each row.

        The draw depends on the row's values and the seed alone, not on its neighbours or order: the
        same row gets the same answer in every call with the same ``random_state``.
        """
        rows, codes = self._rows_and_codes(X, sensitive_features)
        positive = self._positive(rows, codes)
        if len(self.members_) == 1:
            return np.asarray(self.classes_[(positive > 0.5).astype(int)])
        seed = self.random_state if random_state is None else random_state
        drawn_on = arranged(X, self._feature_names()) if self.columns_ is None else rows
        draws = row_uniforms(drawn_on, drawn_seed(seed))
        return np.asarray(self.classes_[(draws < positive).astype(int)])

    def label_proba(self, X: Matrix, sensitive_features: ArrayLike | None = None) -> Float:
        """Estimated probabilities (rows, 2) that the label is each class: a score for ROC curves.

        Unlike :meth:`predict_proba`, which says how the fair classifier decides, this says what the label
        probably is. It is the mean over the members of the mixture.
        """
        positive = np.clip(self._label_scores(*self._rows_and_codes(X, sensitive_features)), 0.0, 1.0)
        return np.stack([1.0 - positive, positive], axis=1)

    def _label_scores(self, rows: Matrix, codes: Int | None) -> Float:
        return np.asarray(self.weights_ @ np.array([rule.proba(rows, codes) for rule in self.members_]))

    def score(
        self,
        X: Matrix,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sensitive_features: ArrayLike | None = None,
    ) -> float:
        """Accuracy of :meth:`predict`."""
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def groups_in(self, X: Matrix) -> NDArray[Any]:
        """Return the protected column of ``X`` that the setting ``sensitive_features`` names."""
        if self.sensitive_features is None:
            raise TypeError(
                "sensitive_features is missing: give the groups, or name a column in the settings"
            )
        return split_column(X, self.sensitive_features)[1]

    def fitted_on(self, columns: FrameColumns) -> Self:
        """Note which columns of a data frame the features were made of; return the oracle."""
        self.columns_, self.n_features_in_ = columns, len(columns.names)
        self.feature_names_in_ = np.array(columns.names, dtype=object)
        return self

    def _feature_names(self) -> list[str] | None:
        names = vars(self).get("feature_names_in_")
        return None if names is None else [str(name) for name in names]

    def _training_rows(
        self, X: Matrix, y: ArrayLike, sensitive_features: ArrayLike | None, pool: Matrix = None
    ) -> tuple[Matrix, Float, NDArray[Any], ArrayLike | None]:
        """Check what ``fit`` was given; return features, labels 0 and 1, the classes, and the groups.

        The columns of a data frame are encoded as those of the ``pool`` are, where there is one.
        """
        self.__dict__.pop("columns_", None)
        given = column_names(X)  # refuses two columns of one name
        if self.needs_numbers and self.sensitive_features is None and given is None:
            refuse_texts(X)
            X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        else:
            # A pipeline may take strings or missing values: leave the table to it.
            _, y = validate_data(self, X, y, skip_check_array=True)
            if self.sensitive_features is not None:
                X, column = split_column(X, self.sensitive_features)
                sensitive_features = column if sensitive_features is None else sensitive_features
            if self.needs_numbers:
                if (names := column_names(X)) is not None:
                    known = None if pool is None else column_names(pool)
                    self.columns_ = FrameColumns.of(X if known is None else arranged(pool, names))
                    X = self.columns_.features(X)
                refuse_texts(X)
                X, y = check_X_y(X, y, dtype=np.float64, accept_sparse="csr", estimator=self)
            y = np.asarray(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind == "continuous":
            numbers = np.asarray(y, dtype=np.float64)
            raise UserError(
                f"Unknown label type: continuous: y holds {len(np.unique(numbers))} different numbers",
                f"a label says yes or no: make one of it, such as y > {np.median(numbers):.3g}",
            )
        check_classification_targets(y)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only ({plain(classes[0])!r}); Classifier can't train with one class"
            )
        return X, codes.astype(np.float64), classes, sensitive_features

    def _training_groups(self, sensitive_features: ArrayLike | None, n: int) -> tuple[list[Any], Int]:
        """Group values and the code of each of the ``n`` rows to fit on; one group where none is wanted."""
        if self.without_groups:
            if sensitive_features is not None:
                raise UserError("groups were given, and without_groups=True", "leave one of them out")
            return [None], np.zeros(n, dtype=np.int64)
        if sensitive_features is None:
            raise missing_groups()
        names, codes = encode_groups(sensitive_features, "sensitive_features")
        check_lengths(X=n, sensitive_features=len(codes))
        check_group_count(names)
        return names, codes

    def _rows_and_codes(self, X: Matrix, sensitive_features: ArrayLike | None) -> tuple[Matrix, Int | None]:
        """Check rows to predict; return their features, and their group codes if these are read."""
        check_is_fitted(self)
        rows, groups = self._checked_rows(X, sensitive_features)
        if not self.needs_groups:
            return rows, None
        if groups is None and self.columns_ is not None and column_names(X) is not None:
            groups = self.columns_.groups_of(X)
        return rows, self._group_codes(groups, row_count(rows))

    def _checked_rows(
        self, X: Matrix, sensitive_features: ArrayLike | None
    ) -> tuple[Matrix, ArrayLike | None]:
        """Check rows to predict; return their features as they were in the fit, and their groups."""
        if column_names(X) is None and self.columns_ is not None and self.needs_numbers:
            # An array has the features themselves.
            rows = check_array(X, dtype=np.float64, accept_sparse="csr", estimator=self)
            encoder = self.columns_.encoder
            wanted = self.n_features_in_ if encoder is None else len(encoder.feature_names_out)
            if rows.shape[1] != wanted:
                raise ValueError(
                    f"X has {rows.shape[1]} features, the model has {wanted}; give a data frame with the "
                    "columns it was fitted on"
                )
            return rows, sensitive_features
        X = arranged(X, self._feature_names())
        if self.needs_numbers and self.sensitive_features is None and self.columns_ is None:
            return validate_data(
                self, X, reset=False, dtype=np.float64, accept_sparse="csr"
            ), sensitive_features
        validate_data(self, X, reset=False, skip_check_array=True)
        if self.sensitive_features is not None:
            X, column = split_column(X, self.sensitive_features)
            sensitive_features = column if sensitive_features is None else sensitive_features
        if self.columns_ is not None:
            X = self.columns_.features(X)
        if self.needs_numbers:
            X = check_array(X, dtype=np.float64, accept_sparse="csr", estimator=self)
        return X, sensitive_features

    def _group_codes(self, sensitive_features: ArrayLike | None, n: int) -> Int:
        if len(self.groups_) == 1:  # fitted without groups: nothing was constrained
            return np.zeros(n, dtype=np.int64)
        if sensitive_features is None:
            raise ValueError(
                "sensitive_features are needed to predict: thresholds differ by group (or set blind=True)"
            )
        index = {g: i for i, g in enumerate(self.groups_)}
        given = sensitive_features  # a list may hold tuples, of which an array would make columns
        values = list(given) if isinstance(given, list) else np.asarray(given, dtype=object).tolist()
        unknown = [v for v in values if v not in index]
        if unknown:
            raise ValueError(
                f"sensitive_features has {plain(unknown[0])!r}, known groups: {list(self.groups_)}"
            )
        return np.array([index[v] for v in values], dtype=np.int64)

    def _name(self, labelled: Labelled) -> None:
        """Set the names of classes and groups, and the number of features where ``fit`` did not."""
        if "n_features_in_" not in vars(self):
            self.n_features_in_ = labelled.X.shape[1]
        self.classes_ = np.array(labelled.classes)
        self.groups_ = np.array([*labelled.group_values, None], dtype=object)[:-1]  # tuples stay whole

    def _named_rates(self, rates: Float) -> dict[tuple[str, object], float]:
        names = [(CONDITION_NAMES[z], group) for z in METRICS[self.metric] for group in self.groups_]
        return dict(zip(names, np.asarray(rates, dtype=np.float64).tolist(), strict=True))

    def _note_decisions(self, positive: Float, needed: tuple[int, int] | None) -> None:
        """Set ``constant_`` and ``by_lot_``, and warn of a constant answer.

        ``positive`` are the probabilities of predicting 1 on all rows. ``needed`` labels would help, as far
        as the oracle can tell.
        """
        self.by_lot_ = share_by_lot(positive)
        same = positive.min() == positive.max() and positive[0] in (0.0, 1.0)
        self.constant_ = self.classes_[int(positive[0])] if same else None
        if same and len(self.groups_) > 1:
            warnings.warn(words.constant(self.constant_, needed), ConstantWarning, stacklevel=4)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(drawn_seed(self.random_state))


@dataclass(frozen=True)
class FairFit:
    """How a strategy fits fair models: as the learner does, with its oracle, tolerance, margin and weights.

    Attributes
    ----------
    labelled : Labelled
    current : callable
        Returns the fair model of these rows, fitting it when it is asked for first.
    """

    labelled: Labelled
    current: Callable[[], FairOracle]

    @property
    def model(self) -> FairOracle:
        """The current fair model."""
        return self.current()

    def __call__(self, labels: Float | None = None, weights: Float | None = None) -> list[PerturbedModel]:
        """Fit on the labelled rows with other labels (k, n) or with weights (k, n) times their own."""
        return self.model.perturbed(self.labelled, labels, weights)


def missing_groups() -> UserError:
    """Return the error of a fit without groups: such a model would look fair, and nothing was constrained."""
    return UserError(
        "sensitive_features is missing: without groups nothing is constrained",
        "give fit(X, y, sensitive_features=...), name a column of X in the setting sensitive_features "
        "(in a pipeline too), or set without_groups=True",
    )


def with_labels(
    X: Matrix, y: ArrayLike, *per_row: ArrayLike | None
) -> tuple[Matrix, ArrayLike, ArrayLike | None, ArrayLike | None, ArrayLike | None]:
    """Leave out rows whose label is missing; refuse them where no weights make up for them.

    ``per_row`` has the groups, the weights in the error and those in the rates.

    Examples
    --------
    >>> X, y, *_ = with_labels(np.eye(3), [1, None, 0], ["a", "b", "b"], [2.0, 1.0, 1.0], None)
    >>> X.shape, np.asarray(y).tolist()
    ((2, 3), [1, 0])
    >>> with_labels(np.eye(3), [1, None, 0], ["a", "b", "b"], None, None)
    Traceback (most recent call last):
    fairask.errors.UserError: 1 of 3 rows have no label, and all others would count alike...
    """
    groups, weights, rates = per_row
    values = np.asarray(y)
    gaps = np.zeros(len(values) if values.ndim else 0, dtype=bool)
    if values.ndim == 1 and values.dtype.kind in "fO":
        gaps = np.array([is_gap(value) for value in values.tolist()], dtype=bool)
    if not gaps.any() or gaps.all():
        return X, y, groups, weights, rates
    if weights is None:
        raise UserError(
            f"{int(gaps.sum()):,} of {len(gaps):,} rows have no label, and all others would count alike",
            "if labels are known for accepted rows only, a model learns from them who was accepted: give "
            "sample_weight, one over the probability that each row's label is known, or have random rows "
            "labelled; if labels are missing at random, leave these rows out",
        )
    kept = np.flatnonzero(~gaps)

    def of(given: ArrayLike | None) -> ArrayLike | None:
        return given if given is None else np.asarray(given)[kept]

    return take_rows(X, kept), np.array(values[kept].tolist()), of(groups), of(weights), of(rates)


def weighted_rows(
    X: Matrix,
    y: Float,
    codes: Int,
    names: Sequence[object],
    sample_weight: ArrayLike | None,
    fairness_weight: ArrayLike | None,
) -> Labelled:
    """Labelled rows with the weights that ``fit`` was given."""
    risk, fairness = (
        None if weight is None else _checked_weight(weight, len(y), name)
        for weight, name in ((sample_weight, "sample_weight"), (fairness_weight, "fairness_weight"))
    )
    return Labelled.of(X, y, codes, names, risk, fairness)


def _checked_weight(weight: ArrayLike, n: int, name: str) -> Float:
    array = np.asarray(weight, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}, expected ({n},)")
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError(f"{name} must be finite, not negative and not all zero")
    return array


def drawn_seed(random_state: Seed) -> int:
    """Return one seed from a seed, a RandomState or a Generator; the last two are advanced by it.

    Examples
    --------
    >>> drawn_seed(np.random.default_rng(0)) == drawn_seed(np.random.default_rng(0))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))


def share_by_lot(positive: Float) -> float:
    """Share of rows for which neither class is certain, given the probabilities of predicting 1.

    Examples
    --------
    >>> share_by_lot(np.array([0.0, 0.3, 1.0, 1.0]))
    0.25
    """
    return float(np.mean((positive > 1e-9) & (positive < 1.0 - 1e-9)))


def decision_probability(model: Any, X: Matrix, groups: ArrayLike | None) -> Float:
    """Probability that ``model`` predicts the positive class: a fair oracle, or any scikit-learn classifier.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="uniform").fit([[0], [0]], [0, 1])
    >>> decision_probability(model, [[0], [0]], ["a", "b"]).tolist()
    [0.5, 0.5]
    """
    if isinstance(model, FairOracle):
        return model.decision_probability(X, groups)
    return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
