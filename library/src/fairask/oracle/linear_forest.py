"""A classifier for few labels: the average of a ridge logistic regression and a random forest.

The logistic regression is good where effects are additive, the forest where they are not. With a few hundred
labels nobody knows which holds, and the average of the two is close to the better one or ahead of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairask.checks import check_count, check_number
from fairask.matrix import clusters_of
from fairask.metrics import Float, Int
from fairask.oracle.logistic import LogisticFit, solve_logistic, with_intercept
from fairask.oracle.probability import folds_by_label

#: Ridges on the mean loss of standardised features, among which held-out log loss chooses.
RIDGES = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1)
#: Probabilities are kept this far from 0 and 1 in log losses.
_SMALLEST = 1e-3
#: Rows that plain trees predict at once.
_CHUNK = 4096
#: Rows of a tree's bootstrap sample at most: with 100,000 labels a fit took minutes otherwise.
_LARGEST_SAMPLE = 20_000


@dataclass(frozen=True)
class PlainTrees:
    """Fitted trees as arrays, for files: scikit-learn's own tree objects are not safe to read from a file.

    Attributes
    ----------
    feature, threshold, left, right, value : ndarray of shape (nodes,)
        A row goes left where ``row[feature] <= threshold``; a leaf leads to itself and has the ``value``.
    roots : ndarray of shape (trees,)
    depth : int
    """

    feature: Int
    threshold: Float
    left: Int
    right: Int
    value: Float
    roots: Int
    depth: int

    @classmethod
    def of(cls, trees: Sequence[Any]) -> PlainTrees:
        """Copy scikit-learn's classification trees of two classes."""
        inner = [tree.tree_ for tree in trees]
        starts = np.cumsum([0, *[t.node_count for t in inner]])
        columns: list[list[NDArray[Any]]] = [[], [], [], [], []]
        for tree, start in zip(inner, starts[:-1], strict=True):
            leaf, own = tree.children_left < 0, np.arange(tree.node_count)
            counts = tree.value[:, 0, :]
            columns[0].append(np.where(leaf, 0, tree.feature))
            columns[1].append(np.where(leaf, np.inf, tree.threshold))
            columns[2].append(start + np.where(leaf, own, tree.children_left))
            columns[3].append(start + np.where(leaf, own, tree.children_right))
            columns[4].append(counts[:, 1] / counts.sum(axis=1))
        joined = [np.concatenate(column) for column in columns]
        depth = max(int(tree.max_depth) for tree in inner)
        return cls(joined[0], joined[1], joined[2], joined[3], joined[4], starts[:-1].copy(), depth)

    def mean(self, X: Float) -> Float:
        """Mean of the trees' probabilities of the second class."""
        single = np.asarray(X, dtype=np.float32)
        out = np.empty(len(single))
        for start in range(0, len(single), _CHUNK):
            rows = single[start : start + _CHUNK]
            node = np.tile(self.roots, (len(rows), 1))
            for _ in range(self.depth):
                goes_left = np.take_along_axis(rows, self.feature[node], axis=1) <= self.threshold[node]
                node = np.where(goes_left, self.left[node], self.right[node])
            out[start : start + _CHUNK] = self.value[node].mean(axis=1)
        return out


@dataclass(frozen=True)
class LinearForest:
    """A fitted average: ``(1 - share) * logistic + share * mean of the trees``.

    Attributes
    ----------
    beta : ndarray of shape (features + 1,)
        Coefficients on the features as given, the intercept last.
    trees : list of fitted classification trees, or PlainTrees
    share : float
        Share of the trees.
    prior, shrinkage : float
        The trees' mean is shrunk towards the share of positives, as that of the rows held out is.
    """

    beta: Float
    trees: list[Any] | PlainTrees
    share: float
    prior: float = 0.5
    shrinkage: float = 0.0

    def proba(self, X: Float) -> Float:
        """Probability of the second class."""
        linear = expit(np.clip(X @ self.beta[:-1] + self.beta[-1], -30.0, 30.0))
        if self.share == 0.0:
            return np.asarray(linear)
        mean = self.trees.mean(X) if isinstance(self.trees, PlainTrees) else _mean_of_trees(self.trees, X)
        votes = (1.0 - self.shrinkage) * mean + self.shrinkage * self.prior
        return np.asarray((1.0 - self.share) * linear + self.share * votes)

    def bare(self) -> LinearForest:
        """Return the same average with plain arrays for its trees."""
        if not self.trees or isinstance(self.trees, PlainTrees):
            return self
        return replace(self, trees=PlainTrees.of(self.trees))

    def predict_proba(self, X: Any) -> Float:
        """Probabilities of both classes (rows, 2)."""
        positive = self.proba(np.asarray(X, dtype=np.float64))
        return np.stack([1.0 - positive, positive], axis=1)


class LinearForestClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Average of ridge logistic regression and a random forest, for a few hundred labels.

    The ridge is chosen by cross-validated log loss. The share of the forest is chosen by the log loss of
    predictions on rows held out: out of fold for the logistic part, out of bag for the forest.

    Parameters
    ----------
    n_trees : int
    min_samples_leaf : int
        Rows in a leaf of a tree, at least.
    max_features : float
        Share of the features tried at each split.
    shares : sequence of floats in [0, 1]
        Shares of the forest to choose from.
    n_folds : int
        Folds of the logistic part.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray
    share_ : float
        Share of the forest.
    ridge_ : float
        Ridge of the logistic part, on the mean loss of standardised features.
    held_out_ : ndarray of shape (rows,)
        Probability of the second class for each training row, by parts that did not see the row.
    log_loss_ : float
        Of those probabilities.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = LinearForestClassifier(n_trees=40, random_state=0).fit(X, y)
    >>> model.score(*make_moons(1000, noise=0.2, random_state=1)) > 0.9
    True
    """

    def __init__(
        self,
        n_trees: int = 60,
        *,
        min_samples_leaf: int = 2,
        max_features: float = 0.3,
        shares: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
        n_folds: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.shares = shares
        self.n_folds = n_folds
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that only two classes are supported."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LinearForestClassifier:
        """Fit on rows and labels of two classes."""
        self._check_settings()
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        if type_of_target(y, input_name="y", raise_unknown=True) != "binary":
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y, input_name='y')}."
            )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return self._fit(np.asarray(X, dtype=np.float64), codes, weight, rng)

    def _check_settings(self) -> None:
        check_count(self.n_trees, "n_trees")
        check_count(self.min_samples_leaf, "min_samples_leaf")
        check_count(self.n_folds, "n_folds", least=2)
        if check_number(self.max_features, "max_features", 0, 1) == 0:
            raise ValueError(f"max_features={self.max_features!r} must be above 0: a share of the features")
        if not len(self.shares):
            raise ValueError("shares=() is empty: give at least one share of the forest, from 0 to 1")
        for share in self.shares:
            check_number(share, "shares", 0, 1)

    def _fit(self, X: Float, codes: Int, weight: Float, rng: np.random.Generator) -> LinearForestClassifier:
        kept = weight > 0
        n = len(codes)
        if len(np.unique(codes[kept])) < 2:
            only = float(codes[kept][0]) if len(self.classes_) == 2 else 1.0
            beta = np.append(np.zeros(X.shape[1]), 30.0 if only else -30.0)
            self.model_, self.held_out_ = LinearForest(beta, [], 0.0), np.full(n, only)
            self.share_, self.ridge_, self.log_loss_ = 0.0, RIDGES[-1], 0.0
            self._linear: _LinearPart | None = None
            return self
        y = codes.astype(np.float64)
        # Copies of a row are held out together: a part that has seen one of them has seen them all.
        clusters = clusters_of(X)
        fold = folds_by_label(np.zeros(n, dtype=np.int64), y, self.n_folds, rng, clusters)
        linear, out_of_fold = _LinearPart.fit(X, y, weight, fold)
        trees, out_of_bag = self._grow(X, codes, weight, clusters, rng)
        blends = [(1.0 - share) * out_of_fold + share * out_of_bag for share in self.shares]
        losses = [_log_loss(p, codes, weight) for p in blends]
        best = int(np.argmin(losses))
        self.share_, self.log_loss_, self.ridge_ = float(self.shares[best]), losses[best], linear.ridge
        self.held_out_ = blends[best]
        # Share of the trees whose bootstrap sample a row is not in.
        unseen = float(np.exp(-min(len(y), _LARGEST_SAMPLE) / len(y)))
        prior, shrinkage = float(weight @ y / weight.sum()), 1.0 / (1.0 + unseen * self.n_trees)
        self.model_ = LinearForest(linear.raw(linear.beta), trees, self.share_, prior, shrinkage)
        self._linear = linear
        return self

    def _grow(
        self, X: Float, codes: Int, weight: Float, clusters: Int, rng: np.random.Generator
    ) -> tuple[list[Any], Float]:
        """Grow the trees, and predict each row by the trees whose bootstrap sample its cluster is not in."""
        from sklearn.tree import DecisionTreeClassifier  # slow to import, and not always needed

        n, n_clusters = len(codes), int(clusters.max()) + 1
        single, labels = np.ascontiguousarray(X, dtype=np.float32), codes.astype(np.float64)
        sums, counts, trees = np.zeros(n), np.zeros(n), []
        with config_context(skip_parameter_validation=True, assume_finite=True):
            for _ in range(self.n_trees):
                size = min(n_clusters, _LARGEST_SAMPLE)
                times = np.bincount(rng.integers(n_clusters, size=size), minlength=n_clusters)
                # A sample of one class would make a tree that knows one class only.
                for label in (0, 1):
                    times[clusters[rng.choice(np.flatnonzero((codes == label) & (weight > 0)))]] += 1
                drawn = times[clusters]
                tree = DecisionTreeClassifier(
                    min_samples_leaf=self.min_samples_leaf,
                    max_features=self.max_features,
                    random_state=int(rng.integers(2**31)),
                )
                tree.fit(single, labels, sample_weight=drawn * weight, check_input=False)
                trees.append(tree)
                out = drawn == 0
                # The tree's own array: with the checks of predict_proba a call takes three times as long.
                sums[out] += tree.tree_.predict(single[out])[:, 1]
                counts += out
        prior = weight @ labels / weight.sum()
        # One pseudo-vote for the share of positives keeps probabilities of few votes off 0 and 1.
        return trees, (sums + prior) / (counts + 1.0)

    def predict_proba(self, X: Any) -> Float:
        """Probabilities of both classes (rows, 2)."""
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, reset=False), dtype=np.float64)
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        positive = self.model_.proba(X)
        return np.stack([1.0 - positive, positive], axis=1)

    def predict(self, X: Any) -> Any:
        """Predict classes."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def frozen(self) -> LinearForest:
        """Return the fitted average alone."""
        check_is_fitted(self)
        return self.model_

    def committee(self, X: Any, y: Float, weights: Float) -> list[LinearForest]:
        """Return k models that differ as much as the labels leave open.

        Each member has a logistic part that is refitted with its own labels and weights, and its own part of
        the trees. No tree is grown.

        Parameters
        ----------
        X : array of shape (rows, features)
            The rows of the fit.
        y, weights : ndarray of shape (k, rows)
            Their 0/1 labels and weights for each member.
        """
        check_is_fitted(self)
        k = len(y)
        if self._linear is None:
            return [self.model_] * k
        betas = self._linear.refit(np.asarray(X, dtype=np.float64), y, weights)
        trees = self.model_.trees
        assert isinstance(trees, list)
        parts = [trees[i::k] or [trees[i % len(trees)]] for i in range(k)]
        return [replace(self.model_, beta=b, trees=part) for b, part in zip(betas, parts, strict=True)]


@dataclass(frozen=True)
class _LinearPart:
    """Ridge logistic regression on standardised features: coefficients, and what warm-starts a refit."""

    centre: Float
    spread: Float
    ridge: float
    beta: Float
    inverse: NDArray[np.float32]

    @classmethod
    def fit(cls, X: Float, y: Float, weight: Float, fold: Int) -> tuple[_LinearPart, Float]:
        """Fit with the best ridge; return also the probabilities out of fold."""
        centre = np.average(X, axis=0, weights=weight)
        spread = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weight))
        spread = np.where(spread > 1e-9, spread, 1.0)
        X1 = with_intercept((X - centre) / spread)
        held = fold[None, :] == np.unique(fold)[:, None]
        w = np.tile(np.where(held, 0.0, weight) + 1e-12, (len(RIDGES), 1))
        fit = solve_logistic(X1, np.tile(y, (len(w), 1)), w, ridge=np.repeat(RIDGES, len(held)), tol=1e-3)
        margins = (fit.beta @ X1.T).reshape(len(RIDGES), len(held), len(y))
        out_of_fold = expit(np.clip((margins * held).sum(axis=1), -30.0, 30.0))
        best = int(np.argmin([_log_loss(p, y, weight) for p in out_of_fold]))
        first = slice(best * len(held), best * len(held) + 1)
        start = LogisticFit(fit.beta[first], fit.inverse[first])
        whole = solve_logistic(X1, y[None], weight[None] + 1e-12, ridge=RIDGES[best], start=start, tol=1e-6)
        return cls(centre, spread, RIDGES[best], whole.beta[0], whole.inverse[0]), out_of_fold[best]

    def raw(self, beta: Float) -> Float:
        """Coefficients on the features as given."""
        slopes = beta[:-1] / self.spread
        return np.append(slopes, beta[-1] - slopes @ self.centre)

    def refit(self, X: Float, y: Float, weights: Float) -> list[Float]:
        """Coefficients of the same regression with other labels and weights (k, rows)."""
        k = len(y)
        start = LogisticFit(np.tile(self.beta, (k, 1)), np.tile(self.inverse, (k, 1, 1)))
        X1 = with_intercept((X - self.centre) / self.spread)
        fit = solve_logistic(X1, y, weights + 1e-12, ridge=self.ridge, start=start, tol=1e-3)
        return [self.raw(beta) for beta in fit.beta]


def _mean_of_trees(trees: list[Any], X: Float) -> Float:
    single = np.ascontiguousarray(X, dtype=np.float32)
    total = np.zeros(len(single))
    for tree in trees:
        total += tree.tree_.predict(single)[:, 1]
    return np.asarray(total / len(trees))


def _log_loss(p: Float, y: Any, weight: Float) -> float:
    kept = np.clip(np.where(y == 1, p, 1.0 - p), _SMALLEST, 1.0)
    return float(-(weight @ np.log(kept)) / weight.sum())
