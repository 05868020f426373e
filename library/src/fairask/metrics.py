"""Weighted group rates and fairness gaps, for any number of groups.

The four metrics compare, across groups, the probability of predicting 1 given a condition on the
true label: y = 1 (``tprp``), y = 0 (``fprp``), both (``eo``), or none (``dp``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairask.checks import check_choice, check_lengths, check_tolerance, plain

if TYPE_CHECKING:
    from sklearn.utils.metadata_routing import MetadataRequest

__all__ = ["accuracy_scorer", "gap_scorer", "group_gap", "group_rates"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
#: Features of rows: an array, or a data frame of any library. What they have in common cannot be typed.
Matrix: TypeAlias = Any
#: What must be alike between groups: true positive rates, false positive rates, both, or selection rates.
Metric = Literal["tprp", "fprp", "eo", "dp"]

#: Metric name -> the label values on which its rates are conditioned (``None``: unconditional).
METRICS: dict[str, tuple[int | None, ...]] = {
    "tprp": (1,),
    "fprp": (0,),
    "eo": (1, 0),
    "dp": (None,),
}
#: The same conditions in words, as the keys of an oracle's ``rates_`` have them.
CONDITION_NAMES: dict[int | None, str] = {1: "y=1", 0: "y=0", None: "all"}
#: Names of the rates, by the same conditions.
RATES: dict[int | None, str] = {1: "tpr", 0: "fpr", None: "selection_rate"}


def in_condition(label: int | None, p: Float) -> Float:
    """Weight of rows in a condition, where ``p`` is the probability that a row's label is 1.

    >>> in_condition(0, np.array([0.2])), in_condition(None, np.array([0.2]))
    (array([0.8]), array([1.]))
    """
    return {1: p, 0: 1.0 - p, None: np.ones_like(p)}[label]


@dataclass(frozen=True)
class GroupRates:
    """Rates of predicting 1, one entry per group; NaN where a group has no weight in the condition.

    Attributes
    ----------
    groups : list
        The group values, sorted.
    tpr, fpr, selection_rate : ndarray
        P(h=1 | y=1, g), P(h=1 | y=0, g) and P(h=1 | g).
    positive_weight, negative_weight : ndarray
        The weight of rows with y = 1 and y = 0 in each group.
    """

    groups: list[Any]
    tpr: Float
    fpr: Float
    selection_rate: Float
    positive_weight: Float
    negative_weight: Float

    def conditioned(self, label: int | None) -> Float:
        """Return the rates given y = ``label`` (``None``: all rows)."""
        rates: Float = vars(self)[RATES[label]]
        return rates

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns that any data-frame library reads.

        Examples
        --------
        >>> group_rates([1, 0], [1, 0], ["a", "b"]).to_dict()["group"]
        ['a', 'b']
        """
        return {
            "group": list(self.groups),
            "tpr": self.tpr.tolist(),
            "fpr": self.fpr.tolist(),
            "selection_rate": self.selection_rate.tolist(),
            "positive_weight": self.positive_weight.tolist(),
            "negative_weight": self.negative_weight.tolist(),
        }


def check_metric(metric: object) -> Metric:
    """Return ``metric`` if it is known, or raise naming the known ones.

    Examples
    --------
    >>> check_metric("eo")
    'eo'
    >>> check_metric("tpr")
    Traceback (most recent call last):
        ...
    ValueError: metric='tpr' is unknown; did you mean 'tprp'?
    """
    return cast(Metric, check_choice(metric, "metric", METRICS))


def _missing(name: str, gaps: ArrayLike) -> str:
    rows = np.flatnonzero(gaps)
    return (
        f"{name} has missing values in {len(rows):,} rows, the first is {rows[0]:,} (from 0); give them "
        "a group of their own or drop the rows"
    )


def encode_groups(groups: ArrayLike, name: str = "groups") -> tuple[list[Any], Int]:
    """Return the distinct group values, sorted, and an integer code for each row.

    Any hashable values serve; those that cannot be ordered among each other are ordered by
    their type and text, so that codes do not depend on the order of the rows.

    Examples
    --------
    >>> encode_groups(["m", "f", "m"])
    (['f', 'm'], array([1, 0, 1]))
    """
    # Arrays and series of any library have tolist(), which gives plain Python values.
    values: list[Any] = groups.tolist() if hasattr(groups, "tolist") else list(groups)  # type: ignore[arg-type]
    if any(isinstance(v, list) for v in values) or (
        not isinstance(groups, list | tuple | np.ndarray) and np.ndim(groups) > 1
    ):
        raise ValueError(
            f"{name} must be one-dimensional, got shape {np.shape(groups)}; combine several columns first: "
            "list(zip(first, second))"
        )
    if not isinstance(groups, np.ndarray):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    else:
        array = groups
    if array.dtype != object and array.ndim == 1:
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(_missing(name, np.isnan(array)))
        unique, codes = np.unique(array, return_inverse=True)
        return unique.tolist(), codes.astype(np.int64)
    if any(map(is_gap, values)):
        raise ValueError(_missing(name, [is_gap(value) for value in values]))
    distinct: set[Any] = set(values)
    try:
        ordered: list[Any] = sorted(distinct)
    except TypeError:
        ordered = sorted(distinct, key=lambda v: (type(v).__name__, repr(v)))
    index = {v: i for i, v in enumerate(ordered)}
    return list(map(plain, ordered)), np.array([index[v] for v in values], dtype=np.int64)


def is_gap(value: object) -> bool:
    """Whether a value stands for a missing one: None, NaN, or what pandas has for it.

    Examples
    --------
    >>> is_gap(None), is_gap(float("nan")), is_gap("")
    (True, True, False)
    """
    # pandas is no dependency, and its NA is neither equal nor unequal to itself.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def binary_labels(y: ArrayLike, pos_label: object = None) -> Float:
    """Return labels as 0.0 and 1.0; ``pos_label`` is the value that counts as 1."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}")
    if pos_label is not None:
        return np.asarray(y == pos_label, dtype=np.float64)
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        bad = sorted({repr(v) for v in y.tolist() if v not in (0, 1)})[:3]
        raise ValueError(
            f"y must hold 0 and 1, got {', '.join(bad)}; name the positive class with pos_label="
        )
    return y.astype(np.float64)


def soft_predictions(pred: ArrayLike, pos_label: object = None) -> Float:
    """Return predictions as numbers in [0, 1]; ``pos_label`` is the class that counts as 1."""
    pred = np.asarray(pred)
    if pred.ndim != 1:
        raise ValueError(f"pred must be one-dimensional, got shape {pred.shape}")
    if pos_label is not None and (pred.dtype.kind not in "bf" or (pred == pos_label).any()):
        return np.asarray(pred == pos_label, dtype=np.float64)
    if pred.dtype.kind not in "biuf":
        raise ValueError(
            "pred must hold 0/1 predictions or probabilities; name the positive class with pos_label="
        )
    pred = pred.astype(np.float64)
    # A mixture's weights add up to 1 only within rounding.
    if not ((pred >= -1e-9) & (pred <= 1 + 1e-9)).all():
        raise ValueError(f"pred must lie in [0, 1], got values from {pred.min()} to {pred.max()}")
    return np.asarray(np.clip(pred, 0.0, 1.0))


def group_rates(
    y: ArrayLike,
    pred: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> GroupRates:
    """Weighted rates of predicting 1 by group.

    Parameters
    ----------
    y : array-like of 0 and 1
        True labels (or any labels, with ``pos_label``).
    pred : array-like
        Predictions; soft values are a randomised classifier's P(h=1).
    groups : array-like
        Protected attribute, any hashable values.
    sample_weight : array-like, optional
        Non-negative weights.
    pos_label : optional
        The value of ``y`` that counts as 1.

    Examples
    --------
    >>> rates = group_rates([1, 1, 0, 1], [1, 0, 0, 1], ["a", "a", "b", "b"])
    >>> rates.groups, rates.tpr.tolist()
    (['a', 'b'], [0.5, 1.0])
    """
    truth, soft = binary_labels(y, pos_label), soft_predictions(pred, pos_label)
    names, codes = encode_groups(groups)
    weight = np.ones_like(truth) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not check_lengths(y=len(truth), pred=len(soft), groups=len(codes), sample_weight=len(weight)):
        raise ValueError("y is empty")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and not negative")

    def sums(values: Float) -> Float:
        return np.bincount(codes, weights=values, minlength=len(names)).astype(np.float64)

    positive, negative = sums(weight * truth), sums(weight * (1 - truth))
    hit, false = sums(weight * truth * soft), sums(weight * (1 - truth) * soft)
    with np.errstate(invalid="ignore", divide="ignore"):
        return GroupRates(
            groups=names,
            tpr=hit / positive,
            fpr=false / negative,
            selection_rate=(hit + false) / (positive + negative),
            positive_weight=positive,
            negative_weight=negative,
        )


def group_gap(
    y: ArrayLike,
    pred: ArrayLike,
    groups: ArrayLike,
    metric: Metric = "tprp",
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
) -> float:
    """Largest pairwise difference between groups in the rates of ``metric``.

    ``"tprp"`` is the paper's L^TP, ``"eo"`` its L^EO (the larger of the true- and false-positive
    differences), ``"fprp"`` and ``"dp"`` likewise for false positives and selection.
    NaN when a group has no weight in a condition: the rate is unknown, not zero.

    Examples
    --------
    >>> group_gap([1, 1, 0, 1], [1, 0, 0, 1], ["a", "a", "b", "b"])
    0.5
    """
    conditions = METRICS[check_metric(metric)]
    rates = group_rates(y, pred, groups, sample_weight=sample_weight, pos_label=pos_label)
    return float(np.max([np.ptp(rates.conditioned(label)) for label in conditions]))


@runtime_checkable
class _FairModel(Protocol):
    """What a scorer asks of a fair model."""

    classes_: NDArray[np.generic]

    def predict_proba(self, X: Matrix, sensitive_features: ArrayLike | None = None) -> Float: ...

    def groups_in(self, X: Matrix) -> NDArray[np.generic]: ...


@dataclass(frozen=True)
class FairScorer:
    """A scorer for scikit-learn's tools; see :func:`gap_scorer` and :func:`accuracy_scorer`.

    Under metadata routing, ``set_score_request(sensitive_features=True)`` asks for the groups.
    """

    metric: Metric
    tolerance: float | None
    routed: bool | str | None = None  #: whether, or under which name, groups are routed to the scorer

    def set_score_request(self, *, sensitive_features: bool | str | None) -> FairScorer:
        """Return the scorer that asks for the groups under metadata routing."""
        return replace(self, routed=sensitive_features)

    def get_metadata_routing(self) -> MetadataRequest:
        """Say what scikit-learn should route to this scorer."""
        from sklearn.utils.metadata_routing import MetadataRequest  # rates and tables need no scikit-learn

        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sensitive_features", alias=self.routed)
        return request

    def __call__(
        self, model: object, X: Matrix, y: ArrayLike, sensitive_features: ArrayLike | None = None
    ) -> float:
        """Score a fitted fair model on rows; the groups are the column that the model names, or given.

        Of a pipeline, the last step is scored on what the other steps make of the rows.
        """
        from sklearn.pipeline import Pipeline

        if isinstance(model, Pipeline):
            X, model = (model[:-1].transform(X) if len(model) > 1 else X), model[-1]
        if not isinstance(model, _FairModel):
            raise TypeError(f"{type(model).__name__} is no fair model: it names no protected column")
        groups = model.groups_in(X) if sensitive_features is None else sensitive_features
        positive = model.predict_proba(X, sensitive_features=groups)[:, 1]
        truth = binary_labels(y, model.classes_[1])
        gap = group_gap(truth, positive, groups, self.metric)
        if self.tolerance is None:
            return -gap
        accuracy = float(1.0 - np.abs(truth - positive).mean())
        return accuracy if gap <= self.tolerance else -gap


def gap_scorer(metric: Metric = "tprp") -> FairScorer:
    """Return a scorer for ``GridSearchCV`` and its like: less the gap, so that larger is better.

    The model tells the groups by its setting ``sensitive_features``.

    Examples
    --------
    >>> gap_scorer("eo").metric
    'eo'
    """
    return FairScorer(check_metric(metric), None)


def accuracy_scorer(tolerance: float = 0.1, metric: Metric = "tprp") -> FairScorer:
    """Return a scorer: the accuracy of models within the tolerance, less the gap of others.

    Every model within the tolerance is ahead of every other one.

    Examples
    --------
    >>> accuracy_scorer(0.05).tolerance
    0.05
    """
    return FairScorer(check_metric(metric), check_tolerance(tolerance))
