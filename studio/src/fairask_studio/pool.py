"""The pool of a study: read from where it is, sampled if it is large, and copied as Parquet."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from fairask.checks import check_count, check_seed
from fairask.documents import read_json
from fairask.pools import open_source
from fairask.pools.sample import SAMPLE
from fairask.pools.source import open_table, read_rows
from fairask.tables import TableFormat, read_table
from fairask.tables.groups import MissingGroups, sort_out_missing
from fairask_studio.errors import StudyError
from fairask_studio.events import Cell

#: Column of a sampled pool with each row's number, or key, in the table it was sampled from.
KEY = "row in the table"


@dataclass(frozen=True)
class ReadPool:
    """The rows of a pool in memory."""

    table: pa.Table
    notes: tuple[str, ...] = ()  #: what was recognised in a file that its owner should know
    sampled_from: int | None = None  #: rows of the table that this is a sample of; None if it is whole
    key: str | None = None  #: the column that says where a sampled row is in that table


#: What a pool can be given as: a path or URL, a table, columns, or rows that were read.
PoolSource: TypeAlias = str | Path | pa.Table | Mapping[str, Sequence[object]] | ReadPool


def read_pool(
    source: PoolSource,
    *,
    form: TableFormat | None = None,
    sample: int = SAMPLE,
    random_state: int = 0,
) -> ReadPool:
    """Read the rows of a pool; a table with more rows than ``sample`` is sampled once, uniformly.

    Parameters
    ----------
    source : path, URL, pyarrow.Table or mapping of columns
        CSV, TSV, Parquet or Label Studio's JSON; a folder of Parquet files; a URL of Parquet; the address
        of a table in a database.
    form : TableFormat, optional
        How a file is written; what is not said is recognised.
    sample : int
        Most rows of the pool.
    random_state : int
        Seed of the sample.
    """
    if isinstance(source, ReadPool):
        return source
    try:
        sample, random_state = check_count(sample, "sample"), check_seed(random_state, "seed")
    except ValueError as error:
        raise StudyError(str(error)) from error
    if isinstance(source, str | Path):
        rows, notes = open_table(source, form)
    else:
        rows, notes = open_source(read_table(source)), []
    with closing(rows):
        drawn, found = read_rows(rows, form, sample, random_state)
    said = (*notes, *found)
    if len(drawn.keys) == drawn.of:
        return ReadPool(drawn.table, said)
    key = _free_name(drawn.table.column_names)
    return ReadPool(drawn.table.append_column(key, pa.array(drawn.keys)), said, drawn.of, key)


def with_groups(
    read: ReadPool, protected: str | Sequence[str], missing_groups: MissingGroups | None
) -> ReadPool:
    """Return the pool with what is said of rows without a group, or without these rows.

    Examples
    --------
    >>> read = read_pool({"age": [20, 30, 40], "sex": ["f", None, "m"]})
    >>> with_groups(read, "sex", "drop").table.to_pydict()
    {'age': [20, 40], 'sex': ['f', 'm'], 'row in the table': [0, 2]}
    """
    notes: list[str] = []
    stay = sort_out_missing(read.table, protected, missing_groups, notes)
    read = replace(read, notes=(*read.notes, *notes))
    if stay.all():
        return read
    table, key = read.table, read.key
    if key is None:
        key = _free_name(table.column_names)
        table = table.append_column(key, pa.array(range(table.num_rows)))
    return replace(read, table=table.filter(stay).combine_chunks(), key=key)


def _free_name(names: Sequence[str]) -> str:
    key = KEY
    while key in names:
        key += " "
    return key


def read_words(file: Path) -> dict[str, dict[str, object]]:
    """Read the dictionary of columns: titles, units and values, as JSON."""
    words: dict[str, dict[str, object]] = read_json(file, remedy="See docs/study.md", kind=StudyError)
    return words


def to_parquet(table: pa.Table) -> tuple[bytes, str]:
    """Return the table as a Parquet file, and its sha256."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    data = buffer.getvalue()
    return data, hashlib.sha256(data).hexdigest()


def from_parquet(data: bytes, sha256: str) -> pa.Table:
    """Read a stored pool back; refuse one that is not what the study was made with."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise StudyError(
            f"the pool was changed after the study was made (sha256 {found[:12]}, recorded {sha256[:12]}); "
            "restore pool.parquet from a copy"
        )
    # Not from a Python file: a thread of pyarrow would close it, and abort if the interpreter ends just then.
    return pq.read_table(pa.BufferReader(data)).combine_chunks()


def rows_values(table: pa.Table) -> list[dict[str, Cell]]:
    """Return the cells of each row, by column; what is not a number or None is text.

    Examples
    --------
    >>> rows_values(pa.table({"age": [30, 40], "sex": ["f", "m"]}))[1]
    {'age': 40, 'sex': 'm'}
    """
    return [
        {k: v if v is None or type(v) in (int, float, str) else str(v) for k, v in values.items()}
        for values in table.to_pylist()
    ]
