"""Coders: what sorts the rows of a group into cells, by one small code per row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from fairask.matrix import uniforms
from fairask.metrics import Float, Int, Matrix
from fairask.pools.cells import Codes
from fairask.pools.codes import decisions, pattern_codes
from fairask.pools.memory import Model, SoftModel
from fairask.rules import Rule, RuleMixture, as_rule


class Chunk:
    """Some consecutive rows of a block; features are made when they are asked for.

    Parameters
    ----------
    first : int
        Number of the first row.
    groups : int ndarray
    features : callable
        ``features(rows)`` with positions in the chunk, or None for all of them.
    """

    def __init__(self, first: int, groups: Int, features: Callable[[Int | None], Matrix]) -> None:
        self.first, self.groups, self._features = first, groups, features

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def X(self) -> Matrix:
        """Features of all rows of the chunk."""
        return self._features(None)

    def take(self, rows: Int) -> Matrix:
        """Features of some rows, by position; the values of a row lie next to each other."""
        found = self._features(rows)
        return found if issparse(found) else np.ascontiguousarray(found)

    def uniforms(self, seed: int) -> Float:
        """One random number in [0, 1) per row, by row number and seed."""
        return uniforms(np.arange(self.first, self.first + len(self)), seed)


class Coder(ABC):
    """Sorts the rows of a group into cells."""

    #: Codes are below ``2 ** (k - 1)``.
    k: int = 2
    #: Whether chunks must hold features.
    needs_features: bool = True
    #: Whether blocks may be coded at the same time in one process.
    threads: bool = True

    @abstractmethod
    def codes(self, chunk: Chunk) -> Codes:
        """One code per row."""


class Group(Coder):
    """One cell per group."""

    k, needs_features = 1, False

    def codes(self, chunk: Chunk) -> Codes:
        """See :class:`Coder`."""
        return np.zeros(len(chunk), dtype=np.uint8)


class Predictions(Coder):
    """One cell per group and pattern of the predictions of k rules, up to complement."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules, self.k = [rule.for_blocks() for rule in rules], len(rules)
        self.threads = all(rule.thread_safe for rule in self.rules)

    def codes(self, chunk: Chunk) -> Codes:
        """See :class:`Coder`."""
        return pattern_codes(self.rules, chunk.X, chunk.groups)


class Decision(Predictions):
    """One cell per group and decision of a mixture of rules, drawn once per row by row number and seed.

    Rule i has the probability ``weights[i]``.
    """

    def __init__(self, rules: Sequence[Rule], weights: Sequence[float], seed: int) -> None:
        super().__init__(rules)
        self.k, self.weights, self.seed = 2, list(weights), seed

    def codes(self, chunk: Chunk) -> Codes:
        """See :class:`Coder`."""
        decided = decisions(self.rules, chunk.X, chunk.groups)
        if len(self.rules) == 1:
            return np.asarray(decided[0], dtype=np.uint8)
        chance = np.zeros(len(chunk))
        # Added up rule by rule: a matrix product could round differently in a block of another shape.
        for weight, one in zip(self.weights, decided, strict=True):
            chance += weight * one
        drawn = chunk.uniforms(self.seed) < chance
        return np.asarray(drawn | decided.all(axis=0), dtype=np.uint8)


class SoftDecision(Coder):
    """One cell per group and decision of a soft model, drawn once per row by row number and seed."""

    def __init__(self, model: SoftModel, seed: int) -> None:
        self.model, self.seed, self.threads = model, seed, model.threads

    def codes(self, chunk: Chunk) -> Codes:
        """See :class:`Coder`."""
        chance = np.asarray(self.model.chance(chunk.X), dtype=np.float64)
        return np.asarray(chunk.uniforms(self.seed) < chance, dtype=np.uint8)


def decision_coder(model: Model, seed: int) -> Coder:
    """Return the coder of a model's decisions.

    Examples
    --------
    >>> decision_coder("model", 0)
    Traceback (most recent call last):
        ...
    TypeError: model must have decide() or predict(), got str
    """
    if isinstance(model, SoftModel):
        return SoftDecision(model, seed)
    rules, weights = model.used_members() if isinstance(model, RuleMixture) else ([as_rule(model)], [1.0])
    return Decision(rules, weights, seed)
