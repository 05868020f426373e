"""Opening a pool from wherever it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fairask.checks import check_choice, check_count
from fairask.errors import suggest
from fairask.pools.base import Pool
from fairask.pools.memory import Pool as Pool
from fairask.pools.runners import ProgressCallback, Runner, Threads, collect
from fairask.pools.sources.base import AnyTable
from fairask.pools.sources.dask import DaskFrame, OnDask, is_dask_frame
from fairask.pools.sources.engine import EngineTable, is_engine_frame, keyed
from fairask.pools.sources.npy import open_npy
from fairask.pools.sources.place import open_place
from fairask.pools.streamed import StreamedPool
from fairask.pools.tensor import TensorPool, is_tensor
from fairask.tables import Encoder, GroupColumns, Survey, TextColumns, plain_encoder, survey
from fairask.tables.groups import protected_columns

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pyarrow as pa
    from distributed import Client
    from pyarrow.fs import FileSystem
    from torch import Tensor

#: What may be done to columns before they are features.
PREPROCESS = ("standardize", "none")


def open_pool(
    source: str | os.PathLike[str] | dd.DataFrame | Tensor | EngineTable | object,
    protected: str | os.PathLike[str] | Sequence[str] | ArrayLike | Tensor,
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    preprocess: str = "standardize",
    fit_rows: int | None = None,
    encoder: Encoder | None = None,
    text: TextColumns | None = None,
    group_values: Sequence[object] | None = None,
    client: Client | int | None = None,
    filesystem: FileSystem | Mapping[str, object] | None = None,
    progress: ProgressCallback | None = None,
) -> Pool:
    """Open a pool that may be larger than memory.

    Parameters
    ----------
    source : path, URL, frame or tensor
        A Parquet file or folder, on any filesystem that pyarrow or fsspec knows (``s3://...``); an
        ``.npy`` file, which is memory-mapped; a Dask DataFrame; a lazy frame of Polars, or a table of
        DuckDB, Ibis or PySpark, which that engine counts itself (see :func:`keyed`); or a tensor of features
        on any device, which stays there (see :class:`TensorPool`).
    protected : str or list of str
        Protected column, or columns whose combinations are the groups; ``"age:30,50"`` cuts numbers into
        bands. For an ``.npy`` file and a tensor: the protected attribute per row, as an array, a tensor or
        another ``.npy`` file.
    columns : list of str, optional
        Columns to make features of; by default all but ``protected`` and ``drop``.
    drop : list of str
        Columns that are no features (labels, identifiers); :meth:`StreamedPool.table` still reads them.
    preprocess : {"standardize", "none"}
        Standardise and fill numbers and one-hot encode texts (see :class:`fairask.tables.Encoder`, whose
        ``left_out`` names columns that cannot train), or take numbers as they are.
    fit_rows : int, optional
        Fit the preprocessing on about this many rows, from blocks spread evenly; by default on all rows, in
        a first pass. ``pool.encoder.fitted_on`` says on which.
    encoder : Encoder, optional
        The encoder of another pool, to use instead of fitting one.
    text : TextColumns, optional
        Which columns are free text, besides those that look like it.
    group_values : list, optional
        All groups; saves the pass over the protected columns that finds them.
    client : distributed.Client or int, optional
        Work on this client's cluster, which must reach ``source``; or with this number of threads. By default
        one thread per core.
    filesystem : pyarrow or fsspec filesystem, or dict, optional
        A dict holds the storage options with which fsspec opens a URL.
    progress : callable, optional
        Called with a :class:`PassProgress` after every block of a pass.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> table = pa.table({"age": [20, 30, 40, 50], "job": ["a", "b", "a", "b"], "sex": list("fmfm")})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/people.parquet")
    ...     pool = open_pool(f"{folder}/people.parquet", "sex")
    ...     pool.by_group().counts.tolist(), pool.feature_names
    ([2, 2], ['age', 'job=b'])
    >>> pool
    <StreamedPool 4 rows in 1 blocks, 2 features; preprocessing fitted on all 4 rows>
    """
    check_choice(preprocess, "preprocess", PREPROCESS)
    if fit_rows is not None:
        check_count(fit_rows, "fit_rows")
    if is_tensor(source):
        if isinstance(protected, str | os.PathLike):
            raise TypeError("protected of a tensor must be an array or a tensor with one group per row")
        return TensorPool(source, protected, progress=progress)
    assert not is_tensor(protected)
    if isinstance(source, str | os.PathLike) and Path(os.fspath(source)).suffix == ".npy":
        X, codes, values = open_npy(os.fspath(source), protected)
        workers = client if isinstance(client, int) else None
        return Pool(X, codes, len(values), group_values=values, workers=workers, progress=progress)
    names = [protected] if isinstance(protected, str) else [str(name) for name in np.asarray(protected)]
    table: AnyTable
    runner: Runner
    if isinstance(source, EngineTable) or is_engine_frame(source):
        # An engine has its own threads, and its connection may not be shared by ours.
        table, runner = source if isinstance(source, EngineTable) else keyed(source), Threads(1)
    elif is_dask_frame(source):
        table, runner = DaskFrame(source), OnDask(None if isinstance(client, int) else client)
    elif isinstance(source, str | os.PathLike):
        table, runner = (
            open_place(source, filesystem),
            Threads(client) if client is None or isinstance(client, int) else OnDask(client),
        )
    else:
        raise TypeError(
            f"source must be a path, a URL, a frame or a tensor, got {type(source).__name__}; "
            "give arrays and other data frames to Pool or FairActiveLearner"
        )
    features = _features(table.schema, protected_columns(names, table.schema.names), columns, drop)
    fit = encoder is None and preprocess == "standardize"
    look = Look(runner, table, progress)
    if encoder is None and preprocess == "none":
        encoder = plain_encoder(table.schema, features)
    whole, sizes = Survey(), table.sizes
    if group_values is None or sizes is None or (fit and fit_rows is None):
        whole, sizes = look.all(
            features if fit and fit_rows is None else [], names if group_values is None else []
        )
    groups = GroupColumns.of(names, whole.groups if group_values is None else group_values)
    if encoder is None and fit_rows is not None:
        sample = look.some(features, sizes, fit_rows)
        fitted_on = f"a sample of {sample.n_rows:,} of {sum(sizes):,} rows"
        encoder = sample.encoder(features, fitted_on, required=columns or (), text=text)
    elif encoder is None:
        encoder = whole.encoder(features, f"all {whole.n_rows:,} rows", required=columns or (), text=text)
    return StreamedPool(table, sizes, runner, encoder, groups, progress)


def _features(
    schema: pa.Schema, protected: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str]
) -> list[str]:
    for argument, given in (("protected", protected), ("columns", columns or ()), ("drop", drop)):
        if isinstance(given, str):
            raise TypeError(f"{argument}={given!r} must be a list of column names")
        for name in given:
            if name not in schema.names:
                raise ValueError(
                    f"{argument} names the column {name!r}, which is not there; {suggest(name, schema.names)}"
                )
    features = [n for n in schema.names if n not in protected] if columns is None else list(columns)
    features = [name for name in features if name not in drop]
    if not features:
        raise ValueError("no column is left to make features of")
    return features


class Look:
    """Surveys of all blocks, or of some."""

    def __init__(self, runner: Runner, table: AnyTable, progress: ProgressCallback | None) -> None:
        self.runner, self.table, self.progress = runner, table, progress

    def all(self, features: list[str], protected: list[str]) -> tuple[Survey, list[int]]:
        """Findings on all blocks, and the rows of each."""
        parts = self._run(None, features, protected, "first pass")
        total = Survey()
        for part in parts:
            total.merge(part)
        return total, [part.n_rows for part in parts]

    def some(self, features: list[str], sizes: Sequence[int], rows: int) -> Survey:
        """Findings on enough blocks, spread evenly, to have about ``rows`` rows."""
        share = min(rows / max(sum(sizes), 1), 1.0)
        count = max(1, round(share * len(sizes)))
        chosen = sorted(set(np.linspace(0, len(sizes) - 1, count).round().astype(int).tolist()))
        total = Survey()
        for part in self._run(chosen, features, [], "fitting on a sample"):
            total.merge(part)
        return total

    def _run(
        self, chosen: list[int] | None, features: list[str], protected: list[str], stage: str
    ) -> list[Survey]:
        # A pass that only counts still needs a column to count.
        known = self.table.schema.names
        groups = protected_columns(protected, known) if protected else []
        columns = list(dict.fromkeys([*features, *groups])) or known[:1]
        blocks, rows = self.table.select(columns), self.table.sizes
        where = range(len(blocks)) if chosen is None else chosen
        read = self.table.read

        def survey_block(_: None, block: object) -> Survey:
            return survey(read(block, columns), features, protected)

        results = self.runner.run(survey_block, None, {b: (blocks[b],) for b in where})
        sizes = {b: 0 if rows is None else rows[b] for b in where}
        return list(collect(results, sizes, stage, self.progress).values())
