"""A table in an engine: DuckDB, PostgreSQL, Spark, BigQuery, Snowflake, Trino or any other that Ibis knows.

The engine counts and draws; only the rows of the sample come here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fairask.errors import UserError, suggest
from fairask.metrics import Int
from fairask.pools.sample import RowSample, each_once
from fairask.tables.arrow import optional
from fairask.tables.groups import GroupColumns, protected_columns

if TYPE_CHECKING:
    import pyarrow as pa

#: The column that holds the key inside queries, and the column of counts.
KEY, ROWS = "fairask_key", "fairask_rows"
#: A prime of 31 bits, all of them 1: products of two remainders fit the 64-bit numbers that engines have.
PRIME = 2**31 - 1
#: Rows that are asked of the engine per row of the sample: a few more, to have enough.
_MORE = 1.1


def check_keys(keys: Int) -> None:
    """Raise UserError where two rows have one key."""
    if len(np.unique(keys)) < len(keys):
        raise UserError("the key is not different in every row", "Name a column that tells rows apart")


class Engine:
    """A table of Ibis; made by :func:`fairask.pools.open_source`.

    Parameters
    ----------
    table : ibis Table
    key : str, optional
        A column of whole numbers, different in every row. By default the ``rowid`` of a table of DuckDB or
        SQLite; tables of other engines need one.

    Examples
    --------
    >>> import ibis
    >>> database = ibis.duckdb.connect()
    >>> rows = "VALUES (20, 'f'), (30, 'm'), (40, 'f')"
    >>> _ = database.raw_sql(f"CREATE TABLE people AS SELECT * FROM ({rows}) AS t(age, sex)")
    >>> engine = Engine(database.table("people"))
    >>> engine.n_rows, engine.counts(["sex"]).sort_by("sex").to_pydict()
    (3, {'sex': ['f', 'm'], 'fairask_rows': [2, 1]})
    >>> engine.take([2, 0], ["age"]).to_pydict()
    {'age': [40, 20]}
    """

    def __init__(self, table: Any, key: str | None = None) -> None:
        if key is not None and key not in table.columns:
            raise UserError(f"no column {key!r} to be the key", suggest(key, table.columns))
        self.table, self.key = table, key
        try:
            number = table.rowid() if key is None else table[key]
            if not number.type().is_integer():
                raise UserError(f"the key {key!r} does not hold whole numbers", "Name a column that does")
            self.keyed = table.mutate(**{KEY: number.cast("int64")})
            self.keyed.head(0).to_pyarrow()  # only DuckDB and SQLite have a rowid
        except UserError:
            raise
        except Exception as error:
            # Each engine has errors of its own.
            if key is not None:
                raise
            raise UserError(
                "the rows of this table have no numbers of their own",
                "Name a column of whole numbers that tells rows apart: Engine(table, key='id')",
            ) from error

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.table.schema().to_pyarrow()

    @cached_property
    def n_rows(self) -> int:
        """All rows."""
        return int(self.table.count().to_pyarrow().as_py())

    @cached_property
    def digest(self) -> str:
        """Of the columns' names and types, the number of rows, and the least and largest key."""
        key = self.keyed[KEY]
        found = self.keyed.aggregate(n=self.keyed.count(), low=key.min(), high=key.max()).to_pyarrow()
        return hashlib.sha256(repr((str(self.schema), found.to_pylist())).encode()).hexdigest()

    def close(self) -> None:
        """Close the connection to the engine."""
        self.table.get_backend().disconnect()

    def counts(self, columns: Sequence[str]) -> pa.Table:
        """Rows of each combination of values of these columns, in the column ``fairask_rows``."""
        return self.table.group_by(list(columns)).aggregate(**{ROWS: self.table.count()}).to_pyarrow()

    def place(self, seed: int | Sequence[int]) -> Any:
        """Where each row of :attr:`keyed` comes in a random order: a number from 0 to ``PRIME``.

        It is a polynomial of the key modulo a prime, with random coefficients: any three rows are drawn
        independently, every engine has the same order, and none has to sort.
        """
        a, b, c = (int(x) for x in np.random.default_rng(seed).integers(1, PRIME, 3))
        x = self.keyed[KEY] & PRIME  # its lowest bits, never negative
        return ((a * x + b) % PRIME * x + c) % PRIME

    def sample(
        self, n: int, seed: int = 0, columns: Sequence[str] | None = None, protected: Sequence[str] = ()
    ) -> RowSample:
        """Draw ``n`` rows uniformly by one query, and count the groups of all rows by another.

        Each row has a :meth:`place`; the rows with the least are drawn.
        """
        counts: Counter[Hashable] = Counter()
        if protected:
            told = self.counts(protected_columns(protected, self.schema.names))
            counts = GroupColumns.counted(told.combine_chunks(), protected, told.column(ROWS).to_numpy())
            total = int(sum(counts.values()))
        else:
            total = self.n_rows
        names = each_once(columns, self.schema.names)
        rows = self.keyed
        if total > n:
            # Twelve standard deviations of the number of rows below a limit.
            wanted = _MORE * n + 12 * n**0.5
            rows = rows.mutate(fairask_place=self.place(seed))
            rows = rows.filter(rows.fairask_place < int(PRIME * min(1.0, wanted / total)))
            found = rows.select(KEY, "fairask_place", *names).to_pyarrow()
            order = np.lexsort((found.column(KEY).to_numpy(), found.column("fairask_place").to_numpy()))
            found = found.take(order[:n])
        else:
            found = rows.select(KEY, *names).to_pyarrow()
        found = found.sort_by(KEY)
        keys = found.column(KEY).to_numpy().astype(np.int64)
        check_keys(keys)
        return RowSample(found.select(names).combine_chunks(), keys, total, counts)

    def take(self, keys: ArrayLike, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows with these keys, in this order."""
        pc = optional("pyarrow.compute", "parquet")
        names = each_once(columns, self.schema.names)
        wanted = np.asarray(keys, dtype=np.int64)
        found = self.keyed.filter(self.keyed[KEY].isin(np.unique(wanted).tolist()))
        told = found.select(KEY, *names).to_pyarrow()
        where = pc.index_in(wanted, value_set=told.column(KEY).combine_chunks())
        if where.null_count:
            missing = wanted[where.is_null().to_numpy(zero_copy_only=False)][0]
            raise ValueError(f"no row has the key {missing}")
        return told.take(where).select(names)
