"""The rows of a pool as an audit sees them: group, decisions and label, if one is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fairask.checks import check_choice, check_lengths, plain
from fairask.errors import UserError
from fairask.matrix import uniforms
from fairask.metrics import Bool, Float, Int, encode_groups, is_gap, soft_predictions
from fairask.pools import Pool
from fairask.pools.memory import Model, is_randomised

#: Labels of cells: one that is not known, and rows that are not part of the audit; -1 where nobody can tell.
UNTOLD, OUT = -2, -3


@dataclass(frozen=True)
class Observed:
    """Outcomes that exist because rows were accepted: loans that were granted, people who were hired.

    Attributes
    ----------
    accepted, others : int
        Rows with an outcome: those that the model accepts, and others.
    missing : int
        Rows that the model accepts and that have no outcome.
    random : bool
        Whether outcomes are missing at random. Otherwise bounds hold whatever they are.
    """

    accepted: int
    others: int
    missing: int
    random: bool

    @classmethod
    def of_cells(
        cls, label: Int, decision: Bool, counts: Int, *, random: bool = False
    ) -> tuple[Int, Observed]:
        """Labels of cells where nobody is asked for the outcome of an accepted row, and how many there are.

        Examples
        --------
        >>> Observed.of_cells(np.array([1, -2, -2]), np.array([True, True, False]), np.array([5, 2, 9]))
        (array([ 1, -1, -2]), Observed(accepted=5, others=0, missing=2, random=False))
        """
        accepted, told = np.asarray(decision, dtype=bool), label >= 0
        gone = accepted & (label == UNTOLD)
        kinds = (told & accepted, told & ~accepted, gone)
        seen, others, missing = (int(counts[rows].sum()) for rows in kinds)
        found = cls(seen, others, missing, random)
        if not found.accepted:
            raise UserError(
                "no row that the model accepts has an observed outcome",
                "give the outcomes of accepted rows, and which prediction means accepted (--positive)",
            )
        return np.where(gone, -1, label), found


@dataclass(frozen=True, eq=False)
class PoolRows:
    """The rows of a pool as an audit sees them: a few cells of rows alike, and the cell of each row.

    Attributes
    ----------
    names : list
        Names of the groups.
    group : ndarray of shape (cells,)
        Group of each cell; ``len(names)`` where it is unknown.
    decision : ndarray of shape (models, cells)
        Decision of each model.
    label : ndarray of shape (cells,)
        Label 0 or 1 where it is known, -1 where nobody can tell it, ``UNTOLD``, or ``OUT`` for rows that are
        not part of the audit.
    counts : ndarray of shape (cells,)
        Rows of each cell.
    cell : ndarray of shape (rows,) or None
        Cell of each row, in a type as small as can be; None where the rows are in an engine.
    drawn : bool
        Whether a model is randomised and its decisions were drawn.
    score, cost : ndarray of shape (rows,), optional
    truth : ndarray of shape (cells,), optional
        The label of all rows, for simulations.
    left_out : ndarray
        Rows that trained the model and are not part of the audit, ascending.
    keys : ndarray of shape (rows,), optional
        What rows are called; by default they are numbered.
    observed : Observed, optional
        Outcomes that exist because rows were accepted.
    judged : bool
        Whether ``score`` is what a judge says: the probability of label 1.
    """

    names: list[Any]
    group: Int
    decision: Int
    label: Int
    counts: Int
    cell: Int | None = None
    drawn: bool = False
    score: Float | None = None
    cost: Float | None = None
    truth: Int | None = None
    left_out: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    keys: Int | None = None
    observed: Observed | None = None
    judged: bool = False

    @classmethod
    def of_arrays(
        cls,
        pred: ArrayLike,
        groups: ArrayLike,
        *,
        trained_on: ArrayLike | None = None,
        pos_label: object = None,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
        score: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        truth: Int | None = None,
        observed: Mapping[int, int | None] | None = None,
        missing: str = "worst",
        judge: ArrayLike | None = None,
    ) -> Self:
        """Rows whose predictions and groups are given.

        Parameters
        ----------
        pred, groups : array-like
            Predictions, of several models in columns, and groups, None where unknown.
        trained_on : array-like of int, optional
            Rows to leave out.
        pos_label : optional
            The prediction that counts as 1.
        seed : int
            Decisions of a randomised model are drawn by it and by the row's number.
        known : mapping, optional
            Labels of rows that are known already, None where nobody can tell.
        score, cost : array-like, optional
            A number per row that may tell labels, and the cost of a label.
        truth : ndarray, optional
            The label of every row.
        observed : mapping, optional
            Outcomes of rows that have one because they were accepted.
        missing : {"worst", "random"}
            What is assumed of accepted rows without an outcome.
        judge : array-like, optional
            What a judge says of each row: 0 or 1, or the probability of 1; of several judges, in columns.

        Examples
        --------
        >>> rows = PoolRows.of_arrays([0, 1, 1, 0], ["a", "a", "b", "b"], trained_on=[0])
        >>> rows.names, rows.counts[rows.label == UNTOLD].tolist()
        (['a', 'b'], [1, 1, 1])
        """
        names, codes = split_groups(groups)
        table = np.asarray(pred)
        each = [table[:, m] for m in range(table.shape[1])] if table.ndim == 2 else [pred]
        if not len(codes):
            raise UserError("the pool has no rows", "give the predictions and groups of its rows")
        columns = [soft_predictions(column, pos_label) for column in each]
        n = check_lengths(pred=len(columns[0]), groups=len(codes))
        soft = any(((column > 0) & (column < 1)).any() for column in columns)
        # One number per row for all models: where they say the same, they decide alike.
        number = uniforms(np.arange(n), seed) if soft else np.full(n, 0.5)
        left_out = _row_numbers("trained_on", [] if trained_on is None else trained_on, n)
        check_choice(missing, "missing", ("worst", "random"))
        if observed is not None and (len(columns) > 1 or known):
            what = "known" if known else "several models"
            raise UserError(
                f"observed does not go with {what}",
                "give all labels that exist in observed" if known else "audit one model at a time",
            )
        if judge is not None and score is not None:
            raise UserError(
                "a judge and a score were both given", "give one: a judge's answers are a score too"
            )
        said = score if judge is None else judge_score(judge)
        rows = cls._of_codes(
            names, codes, np.array([number < column for column in columns]), left_out, observed or known,
            drawn=soft, score=_per_row(said, "score" if judge is None else "judge", n),
            cost=_per_row(cost, "cost", n), truth=truth, judged=judge is not None,
        )  # fmt: skip
        if observed is None:
            return rows
        label, found = Observed.of_cells(
            rows.label, rows.decision[0] == 1, rows.counts, random=missing == "random"
        )
        return replace(rows, label=label, observed=found)

    @classmethod
    def of_pool(
        cls,
        pool: Pool,
        model: Model,
        left_out: Int,
        seed: int = 0,
        known: Mapping[int, int | None] | None = None,
    ) -> Self:
        """Rows of a pool, and a model's decisions on them; a randomised model's are drawn once, by the seed.

        Examples
        --------
        >>> from fairask.audit.strata import Strata
        >>> from fairask.rules import LinearRule
        >>> from fairask.pools import Pool
        >>> pool = Pool(np.array([[-1.0], [0.5], [2.0]]), np.array([0, 0, 1]), 2)
        >>> rows = PoolRows.of_pool(pool, LinearRule(np.array([1.0, 0.0])), np.array([0]))
        >>> Strata.of_rows(rows).sizes.tolist()
        [0, 1, 0, 1]
        """
        cells = Pool(pool.X, pool.groups, pool.n_groups).by_decision(model, seed)
        decided = np.asarray(cells.patterns[0])[cells.cell]
        names, codes = list(pool.group_values), np.asarray(pool.groups, dtype=np.int64)
        return cls._of_codes(names, codes, decided[None, :], left_out, known, drawn=is_randomised(model))

    @classmethod
    def _of_codes(
        cls,
        names: list[Any],
        codes: Int,
        decisions: Bool,
        left_out: Int,
        known: Mapping[int, int | None] | None,
        *,
        truth: Int | None = None,
        **more: Any,
    ) -> Self:
        """Number the cells: by group, decisions, known label and truth."""
        n, models = len(codes), len(decisions)
        label = np.full(n, UNTOLD, dtype=np.int64)
        label[left_out] = OUT
        told = known or {}
        rows = _row_numbers("known", list(told), n)
        codes_told = (told[row] for row in rows.tolist())
        label[rows] = [-1 if code is None else code for code in codes_told]
        # Labels are from -3 to 1, so that there are five of them.
        number = np.asarray(codes, dtype=np.int64)
        for bits in decisions:
            number = 2 * number + bits
        number = 2 * (5 * number + label - OUT) + (0 if truth is None else truth)
        values, cell, counts = np.unique(number, return_inverse=True, return_counts=True)
        rest, right = np.divmod(values, 2)
        rest, labels = np.divmod(rest, 5)
        return cls(
            names=names,
            group=rest >> models,
            decision=np.array([(rest >> (models - 1 - m)) & 1 for m in range(models)]),
            label=labels + OUT,
            counts=counts,
            cell=cell.astype(np.min_scalar_type(len(values))),
            truth=None if truth is None else right,
            left_out=np.setdiff1d(left_out, rows),
            **more,
        )


def split_groups(groups: ArrayLike) -> tuple[list[Any], Int]:
    """Names of the groups and the code of each row; rows of unknown group (None or NaN) have the last code.

    Examples
    --------
    >>> split_groups(["b", None, "a"])
    (['a', 'b'], array([1, 2, 0]))
    """
    values = np.asarray(groups)
    if values.dtype.kind in "biuSU":
        return encode_groups(groups)
    lost = np.array([is_gap(v) for v in values.tolist()], dtype=bool)
    if not lost.any():
        return encode_groups(groups)
    names, found = encode_groups(values[~lost])
    codes = np.full(len(values), len(names), dtype=np.int64)
    codes[~lost] = found
    return names, codes


def _per_row(given: ArrayLike | None, name: str, n: int) -> Float | None:
    """Return a number for each row, or raise; a score may be unknown in some rows, a cost is above zero."""
    if given is None:
        return None
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"{name} holds values that are no numbers", "give one number for each row") from None
    check_lengths(**{name: len(values), "groups": n})
    if name == "cost" and not ((values > 0) & np.isfinite(values)).all():
        raise UserError("cost must be above zero and finite in every row", "give the cost of each label")
    if n and np.isnan(values).all():
        raise UserError(f"{name} has no number in any row", f"leave {name} out")
    return values


def judge_score(judge: ArrayLike) -> Float:
    """The mean of what judges say of each row, from 0 to 1.

    Examples
    --------
    >>> judge_score([[0, 1], [1, 1]]).tolist()
    [0.5, 1.0]
    """
    try:
        values = np.asarray(judge, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(
            "judge holds values that are no numbers", "give 0 and 1, or probabilities of 1"
        ) from None
    if ((values < 0) | (values > 1)).any():
        raise UserError("judge holds numbers below 0 or above 1", "give 0 and 1, or probabilities of 1")
    return np.asarray(values.mean(axis=1) if values.ndim == 2 else values)


def _row_numbers(name: str, rows: ArrayLike, n: int) -> Int:
    given = np.unique(np.asarray(rows, dtype=np.int64))
    if len(given) and (given[0] < 0 or given[-1] >= n):
        raise ValueError(f"{name} names row {given[-1]}, but the pool has rows 0 to {n - 1}")
    return given


def known_codes(
    known: Mapping[int, object] | None, classes: Sequence[object] | None, name: str = "known"
) -> dict[int, int | None]:
    """Labels known before the audit as 0 and 1, None where nobody can tell; errors call them ``name``.

    Examples
    --------
    >>> known_codes({3: "yes", 5: None}, ["no", "yes"])
    {3: 1, 5: None}
    """
    names = [0, 1] if classes is None else list(map(plain, classes))
    out: dict[int, int | None] = {}
    for row, label in (known or {}).items():
        if label is not None and label not in names:
            raise ValueError(
                f"{name}: label {plain(label)!r} of row {row} is not one of the classes {tuple(names)!r}"
            )
        out[int(row)] = None if label is None else int(label == names[1])
    return out


def intersect(*columns: ArrayLike) -> np.ndarray:
    """Groups by several protected columns at once; None where any of them is unknown.

    Examples
    --------
    >>> intersect(["f", "m", None], ["old", "young", "old"]).tolist()
    ['f & old', 'm & young', None]
    """
    rows = zip(*(np.asarray(c, dtype=object).tolist() for c in columns), strict=True)
    joined = [None if any(map(is_gap, row)) else " & ".join(map(str, row)) for row in rows]
    out = np.empty(len(joined), dtype=object)
    out[:] = joined
    return out
