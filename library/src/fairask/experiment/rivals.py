"""What people have without a fair method, or would use instead.

A plain classifier on the same labels, a constant answer, and the plain classifier made fair afterwards by
tools that exist. Each takes the same labels and the same classifier as the default. Thresholds are fitted on
predictions of rows held out, because a forest knows the labels of its own rows; the tools' examples use rows
of the fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from fairask.classifiers import ProbabilityClassifier
from fairask.errors import suggest
from fairask.learner import FairActiveLearner
from fairask.metrics import METRICS, Float, Int, Matrix, Metric, in_condition
from fairask.oracle import Labelled, LinearForestClassifier
from fairask.oracle.base import PoolSample
from fairask.oracle.calibrated import PlugInLearner
from fairask.oracle.logistic import FEW_FEATURES
from fairask.oracle.probability import calibrate, folds_by_label

#: Returns the probability of a positive decision per row, from features and groups.
Decide = Callable[[Matrix, NDArray[np.generic]], Float]

#: Names of the metrics in fairlearn's ThresholdOptimizer and error-parity.
_PARITY = {
    "tprp": "true_positive_rate_parity",
    "fprp": "false_positive_rate_parity",
    "eo": "equalized_odds",
    "dp": "demographic_parity",
}
#: Unlabelled rows that a rival looks at, at most.
_POOL_ROWS = 5000
#: Predictions of a randomised classifier that gives no probabilities, to average.
_DRAWS = 256


def plain_classifier(X: Matrix, seed: int) -> ProbabilityClassifier:
    """Return the default's classifier, not fitted: no constraint, no group by itself.

    >>> type(plain_classifier(np.zeros((3, 2)), 0)).__name__
    'LinearForestClassifier'
    """
    linear = issparse(X) or X.shape[1] > FEW_FEATURES
    made: ProbabilityClassifier = (
        LogisticRegression(C=1.0, max_iter=1000) if linear else LinearForestClassifier(random_state=seed)
    )
    return made


def fit_plain(rows: Labelled, seed: int) -> ProbabilityClassifier:
    """Fit the plain classifier on labelled rows, each of which counts once.

    >>> rows = Labelled.of(np.eye(2), np.array([1.0, 1.0]), np.array([0, 1]), ["a", "b"])
    >>> fit_plain(rows, 0).predict(np.eye(2)).tolist()
    [1, 1]
    """
    y = rows.y.astype(np.int64)
    if len(np.unique(y)) < 2:
        constant: ProbabilityClassifier = DummyClassifier(strategy="constant", constant=int(y[0]))
        return constant.fit(rows.X, y)
    return plain_classifier(rows.X, seed).fit(rows.X, y)


def fit_held_out(rows: Labelled, seed: int) -> tuple[ProbabilityClassifier, Float]:
    """Fit the plain classifier; return also each row's probability by a classifier that did not see it.

    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, random_state=0)
    >>> _, positive = fit_held_out(Labelled.of(X, y.astype(float), np.zeros(60, dtype=int), ["a"]), 0)
    >>> positive.shape
    (60,)
    """
    fitted = fit_plain(rows, seed)
    if isinstance(fitted, LinearForestClassifier):
        return fitted, np.asarray(fitted.held_out_)
    y = rows.y.astype(np.int64)
    folds = min(5, int(np.bincount(y, minlength=2).min()))
    if folds < 2:  # a class has one row: nothing can be held out
        return fitted, np.full(len(y), float(y.mean()))
    found = cross_val_predict(plain_classifier(rows.X, seed), rows.X, y, cv=folds, method="predict_proba")
    return fitted, np.asarray(found[:, 1])


def majority(y: Float, weights: Float | None = None) -> tuple[bool, float]:
    """Return the more frequent answer (True is positive), and the share of rows for which it is right.

    >>> majority(np.array([1.0, 1.0, 0.0, 1.0]))
    (True, 0.75)
    """
    share = float(np.average(y, weights=weights))
    return share >= 0.5, max(share, 1.0 - share)


def decider(constraint: str, learner: FairActiveLearner, tolerance: float) -> Decide:
    """Fit a rival on the labels of a learner.

    Parameters
    ----------
    constraint : str
        A key of ``CONSTRAINTS``.
    learner : FairActiveLearner
        Its labels, pool and metric are used, its own model is not.
    tolerance : float

    Examples
    --------
    >>> from fairask.datasets import load
    >>> data = load("german")
    >>> learner = FairActiveLearner(data.X, data.groups, strategy="passive", batch_size=60, random_state=0)
    >>> rows = learner.ask().indices
    >>> learner.tell(rows, data.y[rows])
    >>> decide = decider("none", learner, 0.1)
    >>> sorted(set(decide(data.X, data.groups).tolist()))
    [0.0, 1.0]
    """
    if constraint not in CONSTRAINTS:
        raise ValueError(f"constraint={constraint!r} is unknown; {suggest(constraint, CONSTRAINTS)}")
    rows, seed = learner.labelled(), int(learner.random_state) % 2**31
    if not _every_group_has_both(rows):
        constraint = "none"  # the tools refuse a group that lacks a class
    some = np.arange(learner.pool.n_rows)
    if len(some) > _POOL_ROWS:
        some = np.sort(np.random.default_rng(seed).choice(len(some), _POOL_ROWS, replace=False))
    pool = PoolSample(learner.pool.take(some), learner.pool.groups_of(some))
    return CONSTRAINTS[constraint](rows, learner.metric, tolerance, seed, pool)


def _every_group_has_both(rows: Labelled) -> bool:
    counts = np.zeros((rows.n_groups, 2))
    np.add.at(counts, (rows.groups, rows.y.astype(np.int64)), 1)
    return bool(counts.all())


def _unconstrained(rows: Labelled, metric: Metric, tolerance: float, seed: int, pool: PoolSample) -> Decide:
    model = fit_plain(rows, seed)
    return lambda X, groups: np.asarray(model.predict(X), dtype=np.float64)


class _Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose features are its scores: for tools that ask for scores themselves."""

    classes_ = np.array([0, 1])

    def fit(self, X: Matrix, y: ArrayLike) -> _Scores:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Matrix) -> Float:
        positive = np.asarray(X, dtype=np.float64)[:, 0]
        return np.stack([1.0 - positive, positive], axis=1)


def _names(rows: Labelled) -> NDArray[np.str_]:
    return np.array([str(group) for group in rows.group_values])


def _threshold_optimizer(
    rows: Labelled, metric: Metric, tolerance: float, seed: int, pool: PoolSample
) -> Decide:
    try:
        from fairlearn.postprocessing import ThresholdOptimizer
    except ImportError as error:
        raise ImportError("threshold_optimizer needs fairlearn: pip install 'fairask[fairlearn]'") from error
    tool = ThresholdOptimizer(
        estimator=_Scores(),
        constraints=_PARITY[metric],
        prefit=True,
        predict_method="predict_proba",
        tol=None if metric == "eo" else tolerance,  # fairlearn has no tolerance for equalized odds
    )
    (model, positive), names = fit_held_out(rows, seed), _names(rows)
    tool.fit(positive[:, None], rows.y.astype(np.int64), sensitive_features=names[rows.groups])

    def decide(X: Matrix, groups: NDArray[np.generic]) -> Float:
        scores, of = np.asarray(model.predict_proba(X))[:, 1], np.asarray(groups).astype(str)
        decided = np.zeros(len(scores))
        for name, mixed in tool.interpolated_thresholder_.interpolation_dict.items():
            own = scores[of == name]
            part = mixed.p0 * mixed.operation0(own) + mixed.p1 * mixed.operation1(own)
            if "p_ignore" in mixed:
                part = mixed.p_ignore * mixed.prediction_constant + (1.0 - mixed.p_ignore) * part
            decided[of == name] = part
        return decided

    return decide


def _relaxed_thresholds(
    rows: Labelled, metric: Metric, tolerance: float, seed: int, pool: PoolSample
) -> Decide:
    try:
        from error_parity import RelaxedThresholdOptimizer
    except ImportError as error:
        raise ImportError(
            "relaxed_thresholds needs error-parity, which asks for NumPy 1 and runs with NumPy 2: "
            "pip install --no-deps error-parity ecos && pip install cvxpy"
        ) from error
    (model, positive), names = fit_held_out(rows, seed), _names(rows)
    tool = RelaxedThresholdOptimizer(
        predictor=lambda scores: scores, constraint=_PARITY[metric], tolerance=tolerance, seed=seed
    )
    tool.fit(positive, rows.y.astype(np.int64), group=rows.groups)
    code = {name: i for i, name in enumerate(names.tolist())}

    def decide(X: Matrix, groups: NDArray[np.generic]) -> Float:
        given = np.asarray(model.predict_proba(X))[:, 1]
        codes = np.array([code[str(group)] for group in groups])
        return np.asarray(np.mean([tool(given, group=codes) for _ in range(_DRAWS)], axis=0))

    return decide


def _exponentiated_gradient(
    rows: Labelled, metric: Metric, tolerance: float, seed: int, pool: PoolSample
) -> Decide:
    try:
        from fairlearn import reductions
    except ImportError as error:
        raise ImportError(
            "exponentiated_gradient needs fairlearn: pip install 'fairask[fairlearn]'"
        ) from error
    moments = {
        "tprp": reductions.TruePositiveRateParity,
        "fprp": reductions.FalsePositiveRateParity,
        "eo": reductions.EqualizedOdds,
        "dp": reductions.DemographicParity,
    }
    # fairlearn bounds distances from the mean rate, of which a difference of two is at most twice as large.
    tool = reductions.ExponentiatedGradient(
        plain_classifier(rows.X, seed), moments[metric](difference_bound=tolerance / 2)
    )
    y = rows.y.astype(np.int64)
    tool.fit(np.asarray(rows.X), y, sensitive_features=_names(rows)[rows.groups])
    members = list(zip(tool.weights_, tool.predictors_, strict=True))
    used = [(float(weight), member) for weight, member in members if weight > 0]
    return lambda X, groups: np.asarray(sum(w * np.asarray(m.predict(X), np.float64) for w, m in used))


def _linear_post(rows: Labelled, metric: Metric, tolerance: float, seed: int, pool: PoolSample) -> Decide:
    """Solve LinearPost's program (Xian and Zhao 2024) on unlabelled rows, and threshold by its dual.

    Who is predicted 1 is a fraction between 0 and 1 of each row; expected error and expected rates are linear
    in these fractions. The prices of the rates give each group a threshold. Probabilities are taken as they
    are: it does not allow for their being estimated from few labels.
    """
    estimator = plain_classifier(rows.X, seed)
    fold = folds_by_label(rows.groups, rows.y, 5, np.random.default_rng(seed))
    model = calibrate(rows, fold, estimator=estimator).model
    X, codes, n_groups = pool.X, pool.groups, rows.n_groups
    p = model.proba(X, codes)
    bounds, limits, n_ends = [], [], 2 * len(METRICS[metric])
    for z, condition in enumerate(METRICS[metric]):
        inside = in_condition(condition, p)
        for g in range(n_groups):
            share = inside * (codes == g) / max(float(inside[codes == g].sum()), 1e-12)
            # The rates of a condition lie between two unknowns that are at most the tolerance apart.
            for sign in (1.0, -1.0):
                ends = np.zeros(n_ends)
                ends[2 * z + (sign < 0)] = -sign
                bounds.append(np.r_[sign * share, ends])
                limits.append(0.0)
        apart = np.zeros(n_ends)
        apart[2 * z], apart[2 * z + 1] = 1.0, -1.0
        bounds.append(np.r_[np.zeros(len(p)), apart])
        limits.append(tolerance)
    solution = linprog(
        np.r_[(1.0 - 2.0 * p) / len(p), np.zeros(n_ends)],
        A_ub=np.array(bounds),
        b_ub=limits,
        bounds=[(0.0, 1.0)] * (len(p) + n_ends),
        method="highs",
    )
    if solution.x is None:
        raise RuntimeError(f"LinearPost's program failed: {solution.message}")
    prices = -solution.ineqlin.marginals.reshape(len(METRICS[metric]), -1)[:, : 2 * n_groups]
    rule = PlugInLearner(p, codes, (p, codes), n_groups, metric).rule(
        (prices[:, ::2] - prices[:, 1::2]).ravel()
    )
    index = {name: i for i, name in enumerate(rows.group_values)}

    def decide(X: Matrix, groups: NDArray[np.generic]) -> Float:
        own = np.array([index[group] for group in np.asarray(groups).tolist()])
        return np.asarray(rule.costs(model.proba(X, own), own) < 0, dtype=np.float64)

    return decide


def _oxonfair(rows: Labelled, metric: Metric, tolerance: float, seed: int, pool: PoolSample) -> Decide:
    try:
        from oxonfair import FairPredictor
        from oxonfair.utils import group_metrics
    except ImportError as error:
        raise ImportError("oxonfair needs its package: pip install --no-deps oxonfair, and pandas") from error
    limits = {
        "tprp": group_metrics.true_pos_rate.max_diff,
        "fprp": group_metrics.false_pos_rate.max_diff,
        "eo": group_metrics.equalized_odds_max,
        "dp": group_metrics.pos_pred_rate.max_diff,
    }
    model, positive = fit_held_out(rows, seed)

    def scored(positive: Float, names: NDArray[np.str_], y: Int) -> dict[str, NDArray[np.generic]]:
        return {"data": np.stack([1.0 - positive, positive], axis=1), "target": y, "groups": names}

    tool = FairPredictor(None, scored(positive, _names(rows)[rows.groups], rows.y.astype(np.int64)))
    tool.fit(group_metrics.accuracy, limits[metric], tolerance)

    def decide(X: Matrix, groups: NDArray[np.generic]) -> Float:
        given = np.asarray(model.predict_proba(X))[:, 1]
        asked = scored(given, np.asarray(groups).astype(str), np.zeros(len(given), dtype=np.int64))
        return np.asarray(np.argmax(np.asarray(tool.predict_proba(asked)), axis=1), dtype=np.float64)

    return decide


#: How the constraint is imposed, by name.
CONSTRAINTS: dict[str, Callable[[Labelled, Metric, float, int, PoolSample], Decide]] = {
    "none": _unconstrained,
    "threshold_optimizer": _threshold_optimizer,
    "relaxed_thresholds": _relaxed_thresholds,
    "exponentiated_gradient": _exponentiated_gradient,
    "linear_post": _linear_post,
    "oxonfair": _oxonfair,
}
