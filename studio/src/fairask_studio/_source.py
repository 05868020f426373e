"""Decide whether a study copies its pool or refers to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairask.pools.places import local_path
from fairask.pools.runners import ProgressCallback
from fairask.tables import TableFormat, read_noted, read_table
from fairask.tables.formats import MOST_BYTES, MOST_ROWS, PARQUET_SUFFIXES, is_dataset_folder
from fairask_studio._errors import StudyError
from fairask_studio._reference import PoolReference, refer


def choose_pool(
    source: str | Path,
    stream: bool | None = None,
    *,
    form: TableFormat | None = None,
    notes: list[str] | None = None,
    progress: ProgressCallback | None = None,
) -> Any:
    """Read a pool to be copied, or refer to it where it is.

    Parameters
    ----------
    source : path or URL
        CSV, TSV, Parquet or Label Studio's JSON; a folder of Parquet files; a URL of either of the last.
    stream : bool, optional
        Whether to refer to it. By default so for a URL, and for Parquet of more than a million rows or
        256 MiB.
    form : TableFormat, optional
        How a file is written; what is not said is recognised.
    notes : list of str, optional
        Gets what was recognised in a file that its owner should know.
    progress : callable, optional
        See :func:`refer`.

    Returns
    -------
    pyarrow.Table or PoolReference
        For :meth:`Study.create`.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"age": [20, 30], "sex": ["f", "m"]}), f"{folder}/people.parquet")
    ...     [type(choose_pool(folder, stream)).__name__ for stream in (None, True)]
    ['Table', 'PoolReference']
    """
    local = local_path(source)
    whole = form is not None and form.vectors is not None
    if local is not None and (whole or not (local.is_dir() or local.suffix.lower() in PARQUET_SUFFIXES)):
        if stream:
            raise StudyError(f"{local.name} cannot be streamed; give Parquet, or leave out --stream")
        table, found = read_noted(local, form)
        if notes is not None:
            notes += found
        return table
    if local is not None and is_dataset_folder(local):
        return read_table(local, form)
    if local is not None and local.is_file() and not stream and local.stat().st_size <= MOST_BYTES:
        table = read_table(local)
        if stream is False or table.num_rows <= MOST_ROWS:
            return table
    reference = refer(source, progress=progress)
    if stream is None:
        size = sum(file.bytes for file in reference.files)
        stream = local is None or reference.num_rows > MOST_ROWS or size > MOST_BYTES
    return reference if stream else _copied(reference)


def _copied(reference: PoolReference) -> Any:
    import pyarrow as pa

    names, table = reference.column_names, reference.open()
    batches = [batch for block in table.select(names) for batch in table.read(block, names)]
    parts = [pa.Table.from_batches([batch]) for batch in batches]
    return read_table(pa.concat_tables(parts, promote_options="permissive"))


def read_words(file: Path) -> dict[str, dict[str, object]]:
    """Read the dictionary of columns: titles, units and values, as JSON."""
    try:
        words: dict[str, dict[str, object]] = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise StudyError(f"{file.name} is not JSON ({error}); see docs/study.md") from error
    return words
