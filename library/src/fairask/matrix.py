"""Rows of a feature matrix of any kind: count them, take them, hash them; and sets of row numbers."""

from __future__ import annotations

import zlib
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from fairask.metrics import Float, Int, Matrix


def row_count(X: Matrix) -> int:
    """Rows of an array, a sparse matrix, a data frame or a list.

    >>> row_count(np.zeros((2, 3))), row_count([[0.0]])
    (2, 1)
    """
    return len(X) if isinstance(X, list | tuple) else int(X.shape[0])


def take_rows(X: Matrix, rows: NDArray[Any] | slice) -> Matrix:
    """Rows of an array or a data frame, by their positions or a mask.

    >>> take_rows(np.array([[1.0], [2.0]]), np.array([1]))
    array([[2.]])
    """
    if not isinstance(X, np.ndarray) and isinstance(rows, np.ndarray) and rows.dtype == bool:
        rows = np.flatnonzero(rows)  # polars takes no mask
    # Data frames of several libraries have iloc; none of them is a dependency.
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


#: Rows are nearly equal within this share of the distance that two rows usually have. They are compared where
#: they are at most so many: with more labels, copies among them matter less than the time.
_NEAR, _MOST_COMPARED = 0.02, 5000


def near_copies(X: Matrix, of: Matrix | None = None) -> NDArray[np.bool_] | None:
    """Which rows of ``X`` (columns) are equal or nearly equal to which of ``of`` (rows), by default ``X``.

    Distances are those of standardised features. Returns None where rows are not compared: a sparse matrix,
    a data frame, or more than 5,000 rows.

    >>> near_copies(np.array([[0.0, 1.0], [3.0, 1.0], [0.001, 1.0]]))[0].tolist()
    [True, False, True]
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or len(X) > _MOST_COMPARED:
        return None
    X = X.astype(np.float64, copy=False)
    spread = X.std(axis=0)
    scale = 1.0 / spread[spread > 1e-12]
    rows = X[:, spread > 1e-12] * scale
    others = rows if of is None else np.asarray(of, dtype=np.float64)[:, spread > 1e-12] * scale
    squares = (others**2).sum(axis=1)[:, None] + (rows**2).sum(axis=1) - 2.0 * others @ rows.T
    return np.asarray(squares <= 2.0 * rows.shape[1] * _NEAR**2 + 1e-9)


def clusters_of(X: Matrix) -> Int:
    """Number of the cluster of equal or nearly equal rows that each row is in.

    A row belongs to the first row that it is nearly equal to and that belongs to none itself.

    >>> clusters_of(np.array([[0.0], [5.0], [0.0], [5.001]])).tolist()
    [0, 1, 0, 1]
    """
    leader = np.arange(row_count(X))
    near = near_copies(X)
    if near is None:
        return leader
    free = np.ones(len(leader), dtype=bool)
    for row in np.flatnonzero(near.sum(axis=1) > 1):
        if free[row]:
            mine = near[row] & free
            leader[mine] = row
            free &= ~mine
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


def sparse_bytes(X: csr_array) -> bytes:
    """Return the content of a sparse matrix as bytes: the same for equal rows, however they are stored.

    >>> sparse_bytes(csr_array(np.eye(2))) == sparse_bytes(csr_array(np.eye(2)))
    True
    """
    X = csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    parts = (X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data)
    return b"".join(part.tobytes() for part in parts)


_Words = TypeVar("_Words", NDArray[np.uint64], np.uint64)


_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def hash_numbers(z: _Words) -> _Words:
    """Hash 64-bit numbers one to one: every input bit reaches every output bit.

    This is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).

    >>> len(np.unique(hash_numbers(np.arange(4, dtype=np.uint64))))
    4
    """
    with np.errstate(over="ignore"):
        z = z + _MIX[0]
        z = (z ^ (z >> np.uint64(30))) * _MIX[1]
        z = (z ^ (z >> np.uint64(27))) * _MIX[2]
        return z ^ (z >> np.uint64(31))


def _to_uniforms(hashed: NDArray[np.uint64]) -> Float:
    """Numbers in [0, 1) from the upper 53 bits of hashed ones."""
    return np.asarray((hashed >> np.uint64(11)) * 2.0**-53)


def row_uniforms(X: Matrix, seed: int) -> Float:
    """Return one number in [0, 1) per row that depends on its values and the seed alone.

    Randomised predictions drawn with them do not change when rows are reordered or dropped.

    >>> a = row_uniforms(np.array([[1.0], [2.0]]), seed=0)
    >>> b = row_uniforms(np.array([[2.0], [1.0]]), seed=0)
    >>> bool((a == b[::-1]).all())
    True
    """
    if issparse(X):
        return _sparse_uniforms(csr_array(X, dtype=np.float64), seed)
    array = np.asarray(X)
    if array.dtype.kind in "biuf":
        values = np.asarray(array, dtype=np.float64)
        words = np.where(values == 0.0, 0.0, values).view(np.uint64)  # -0.0 and 0.0 are one value
    else:
        texts = ["\x1f".join(map(repr, row)).encode() for row in array.tolist()]
        words = np.array([[zlib.crc32(t), zlib.adler32(t)] for t in texts], dtype=np.uint64)
    state = np.full(len(words), np.uint64(seed), dtype=np.uint64)
    for column in words.reshape(len(words), -1).T:
        state = hash_numbers(state ^ column)
    return _to_uniforms(hash_numbers(state))


def _sparse_uniforms(X: csr_array, seed: int) -> Float:
    """The same for sparse rows: each value is hashed with its column, and zeros do not count.

    A row and its dense copy get different numbers: hashing every zero would make the row dense.
    """
    X = X.copy()
    X.eliminate_zeros()
    with np.errstate(over="ignore"):
        words = hash_numbers(X.data.view(np.uint64) ^ hash_numbers(X.indices.astype(np.uint64)))
        ends = np.append(np.uint64(0), np.cumsum(words, dtype=np.uint64))
        sums = ends[X.indptr[1:]] - ends[X.indptr[:-1]]  # modulo 2^64, whatever the order of the columns
    return _to_uniforms(hash_numbers(hash_numbers(sums ^ np.uint64(seed))))


def row_set(rows: ArrayLike, n_rows: int) -> Int:
    """Row numbers sorted and without repeats: eight bytes per row in the set.

    >>> row_set([5, 1, 5], 10).tolist()
    [1, 5]
    """
    given = np.asarray(rows)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"rows must be whole numbers, got {given.dtype}")
    found = np.unique(given.astype(np.int64))
    if len(found) and (found[0] < 0 or found[-1] >= n_rows):
        bad = found[0] if found[0] < 0 else found[-1]
        raise ValueError(f"no row {bad}: the pool has rows 0 to {n_rows - 1}")
    return found


def tie_breakers(rows: Int, seed: int) -> NDArray[np.uint64]:
    """One number per row that depends on its row number and the seed alone.

    The hash is one to one: no two rows tie.

    >>> whole, part = tie_breakers(np.arange(4), 7), tie_breakers(np.arange(2, 4), 7)
    >>> bool((whole[2:] == part).all())
    True
    """
    return hash_numbers(rows.astype(np.uint64) + hash_numbers(np.uint64(seed)))


def uniforms(rows: Int, seed: int) -> NDArray[np.float64]:
    """One number in [0, 1) per row that depends on its row number and the seed alone.

    >>> whole, part = uniforms(np.arange(4), 7), uniforms(np.arange(2, 4), 7)
    >>> bool((whole[2:] == part).all()), bool((whole < 1).all())
    (True, True)
    """
    return _to_uniforms(tie_breakers(rows, seed))
