"""Open a table of any size, and make a pool of it: its rows, or a uniform sample of them, encoded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairask.checks import check_count, check_seed
from fairask.errors import SampleWarning, TableError, UserError, suggest
from fairask.metrics import Int
from fairask.pools.engine import Engine
from fairask.pools.files import Files, first_line, local_path
from fairask.pools.memory import Pool
from fairask.pools.sample import SAMPLE, RowSample
from fairask.tables.arrow import optional
from fairask.tables.encoder import Encoder, TextColumns, fit_encoder
from fairask.tables.formats import (
    PARQUET_SUFFIXES,
    TableFormat,
    check_names,
    file_digest,
    is_dataset_folder,
    read_noted,
    written_as,
)
from fairask.tables.frames import FrameColumns, warn_of_unusable
from fairask.tables.groups import GroupColumns, as_specs, protected_columns

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

#: A group with a smaller share of the rows has few rows in a sample.
RARE = 1e-3


def open_source(
    source: object, key: str | None = None, filesystem: FileSystem | None = None
) -> Files | Engine:
    """Open a table that need not fit in memory; nothing but its schema is read.

    Parameters
    ----------
    source : path, URL, Arrow table or dataset, Ibis table, or address of a table
        A file or folder of Parquet, CSV, JSON lines or Arrow, on any filesystem that pyarrow or fsspec knows
        (``s3://...``). A table of a database is addressed as Ibis does, with its name at the end:
        ``duckdb://people.db#people`` (three slashes before a path from the root),
        ``postgres://user@host/database#people``.
    key : str, optional
        For a table of Ibis: a column of whole numbers that is different in every row. An address may end in
        it, ``#people:id``. Tables of DuckDB and SQLite need none.
    filesystem : pyarrow filesystem, optional
        Where a path is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> open_source(pa.table({"age": [20, 30]})).n_rows
    2
    """
    if isinstance(source, Files | Engine):
        return source
    if isinstance(source, str) and "#" in source and "://" in source:
        return _open_address(source, key)
    if isinstance(source, str | os.PathLike):
        return Files.open(source, filesystem)
    if type(source).__module__.startswith("ibis."):
        return Engine(source, key)
    ds, pa = optional("pyarrow.dataset", "parquet"), optional("pyarrow", "parquet")
    if isinstance(source, ds.Dataset):
        return Files(source)
    if isinstance(source, pa.Table | pa.RecordBatch):
        return Files(ds.dataset(source))
    raise TypeError(
        f"source must be a path, a URL, a table of Arrow or Ibis, got {type(source).__name__}; "
        "give arrays and data frames to FairActiveLearner"
    )


def _open_address(address: str, key: str | None) -> Engine:
    """Open ``URL#table`` or ``URL#table:key`` by Ibis."""
    ibis = optional("ibis", "ibis")
    url, _, fragment = address.rpartition("#")
    name, _, named = fragment.partition(":")
    backend = url.partition("://")[0]
    try:
        # A table that others write is only read.
        database = ibis.connect(url, read_only=True) if backend == "duckdb" else ibis.connect(url)
    except Exception as error:
        # Each engine has errors of its own.
        raise UserError(f"{backend} cannot be opened: {first_line(error)}", "Check the address") from error
    try:
        tables = database.list_tables()
        if name not in tables:
            raise UserError(f"the database has no table {name!r}", suggest(name, tables))
        return Engine(database.table(name), key or named or None)
    except UserError:
        database.disconnect()
        raise


def open_table(place: str | os.PathLike[str], form: TableFormat | None) -> tuple[Files | Engine, list[str]]:
    """Open the table at a path, URL or address, and note what was recognised in it.

    Parquet, folders and tables of an engine are read when they are needed; other files are read now.
    """
    local, name = local_path(place), os.fspath(place)
    if local is not None and not _stays(local, form):
        table, notes = read_noted(local, form)
        return open_source(table), notes
    try:
        source = open_source(place if local is None else local)
    except FileNotFoundError as error:
        raise TableError(f"there is no file or folder {place}", "Check the path") from error
    except UserError as error:
        if local is not None and local.is_file():
            read_noted(local)  # says in its own words what kind of file it is
        remedy = "Give a CSV or Parquet file, or a folder of Parquet files"
        raise TableError(error.what, error.remedy if "#" in name else remedy) from error
    check_names(name, source.schema.names)
    if not source.n_rows:
        raise TableError(f"{place} has no rows", "Give a table with rows")
    return source, []


def _stays(local: Path, form: TableFormat | None) -> bool:
    """Whether a local table is read where it is: Parquet and folders, unless vectors are joined to it."""
    if (form is not None and form.vectors is not None) or is_dataset_folder(local):
        return False
    return local.is_dir() or (local.suffix.lower() in PARQUET_SUFFIXES and local.exists())


def table_digest(place: str | os.PathLike[str], source: Files | Engine) -> str:
    """Return the sha256 of a local file; of a table elsewhere, that of its source."""
    local = local_path(place)
    return source.digest if local is None else file_digest(local, hidden=False)


def read_rows(
    source: Files | Engine, form: TableFormat | None = None, sample: int = SAMPLE, seed: int = 0
) -> tuple[RowSample, list[str]]:
    """Read a table, or a uniform sample of it, and its cells; note what was recognised in them.

    >>> import pyarrow as pa
    >>> read_rows(open_source(pa.table({"paid": ["5 %", "7 %"], "sex": ["f", "m"]})))[0].table.to_pydict()
    {'paid': [5, 7], 'sex': ['f', 'm']}
    """
    drawn = source.sample(sample, seed)
    table, notes = read_noted(drawn.table, None if form is None else replace(form, vectors=None))
    if written_as(source.schema):
        table = table.replace_schema_metadata(source.schema.metadata)
    return replace(drawn, table=table), notes


def open_pool(
    source: object,
    protected: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: TextColumns | None = None,
    encoder: Encoder | None = None,
    sample: int = SAMPLE,
    random_state: int = 0,
    key: str | None = None,
) -> Pool:
    """Make a pool of a table of any size, in one pass.

    A table of at most ``sample`` rows is the pool. Of a larger one a uniform sample is: propensities are
    exact with respect to it, and ``pool.keys`` says which rows of the table it holds. A batch of 25 rows from
    a sample of 65,536 has 0.04 % more variance than one from all rows. A group that is rarer than 1 in 1,000
    has few rows in the sample; a warning names it.

    Parameters
    ----------
    source : path, URL, table or address
        See :func:`open_source`.
    protected : str or list of str
        Protected column, or columns whose combinations are the groups; ``"age:30,50"`` cuts numbers into
        bands.
    columns : list of str, optional
        Columns to make features of; by default all but ``protected``, ``drop`` and the key.
    drop : list of str
        Columns that are no features (labels, identifiers).
    keep : list of str
        Columns that are features although they look like identifiers or have too many values.
    text : TextColumns, optional
        Which columns are free text, besides those that look like it.
    encoder : Encoder, optional
        The encoder of another pool; by default one is fitted on the sample.
    sample : int
        Most rows of the pool.
    random_state : int
    key : str, optional
        See :func:`open_source`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 50], "job": ["a", "b", "a", "b"], "sex": list("fmfm")})
    >>> pool = open_pool(table, "sex")
    >>> pool, pool.columns.encoder.feature_names_out
    (<Pool 4 rows, 2 groups>, ['age', 'job=b'])
    >>> open_pool(table, "sex", sample=3).keys.tolist()
    [0, 1, 2]
    """
    check_count(sample, "sample")
    check_seed(random_state)
    table = open_source(source, key)
    specs = as_specs(protected)
    grouped = protected_columns(specs, table.schema.names)
    no_features = [*drop, table.key] if isinstance(table, Engine) and table.key else drop
    features = _features(table.schema.names, grouped, columns, no_features)
    drawn = table.sample(sample, random_state, [*features, *grouped], specs)
    groups = GroupColumns.of(specs, drawn.counts)
    if encoder is None:
        n = len(drawn.keys)
        on = f"all {n:,} rows" if n == drawn.of else f"a sample of {n:,} of {drawn.of:,} rows"
        encoder = fit_encoder(drawn.table, features, text, fitted_on=on, required=columns or (), keep=keep)
        warn_of_unusable(encoder)
    batch = drawn.table.combine_chunks()
    codes = groups.codes(batch)
    if len(codes) < drawn.of:
        warn_of_rare(groups.names, codes, np.array(groups.rows))
    return Pool(
        np.ascontiguousarray(encoder(batch)),
        codes,
        len(groups.values),
        group_values=groups.values,
        keys=drawn.keys,
        of=drawn.of,
        columns=FrameColumns(tuple(features), encoder, groups),
    )


def warn_of_rare(names: Sequence[object], codes: Int, rows: Int) -> None:
    """Name groups of which a sample holds few: ``rows`` are those of each group in the whole table."""
    held = np.bincount(codes, minlength=len(names))
    rare = np.flatnonzero(rows < RARE * rows.sum())
    if len(rare):
        shown = ", ".join(f"{names[g]!s} ({held[g]:,} of {rows[g]:,} rows)" for g in rare[:5])
        warnings.warn(
            f"the sample of {len(codes):,} of {rows.sum():,} rows holds few of the rarest groups: {shown}; "
            "a larger sample= holds more",
            SampleWarning,
            stacklevel=3,
        )


def _features(
    names: Sequence[str], protected: Sequence[str], columns: Sequence[str] | None, drop: Sequence[Any]
) -> list[str]:
    for argument, given in (("columns", columns or ()), ("drop", drop)):
        if isinstance(given, str):
            raise TypeError(f"{argument}={given!r} must be a list of column names")
        for name in given:
            if name not in names:
                raise ValueError(
                    f"{argument} names the column {name!r}, which is not there; {suggest(name, names)}"
                )
    features = [n for n in names if n not in protected] if columns is None else list(columns)
    features = [name for name in features if name not in drop]
    if not features:
        raise ValueError("no column is left to make features of")
    return features
