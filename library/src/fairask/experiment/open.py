"""Opening a labelled file: read into memory, or streamed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fairask.errors import UserError
from fairask.experiment.story import columns_sentence
from fairask.experiment.streamed import StreamedTable
from fairask.experiment.table import LabelledTable, MemoryTable, TableColumns
from fairask.pools.places import local_path
from fairask.pools.runners import ProgressCallback
from fairask.pools.sources.place import PlacedTable, open_place
from fairask.tables import Prepared, TableError, TableFormat, prepare, read_noted
from fairask.tables.formats import MOST_ROWS, PARQUET_SUFFIXES, check_names, file_digest, is_dataset_folder
from fairask.tables.leaks import columns_that_tell


def open_table(
    place: str,
    columns: TableColumns,
    *,
    stream: bool | None = None,
    form: TableFormat | None = None,
    progress: ProgressCallback | None = None,
) -> LabelledTable:
    """Open a labelled table in the way its size or ``stream`` calls for.

    Parameters
    ----------
    place : str
        A CSV or Parquet file, a folder of Parquet files, or a URL.
    columns : TableColumns
    stream : bool, optional
        Whether to pass over the table in every round; default by its size.
    form : TableFormat, optional
        How the file is written; what is not said is recognised.
    progress : callable, optional
        Called during passes.
    """
    local = local_path(place)
    parquet = local is None or local.is_dir() or local.suffix.lower() in PARQUET_SUFFIXES
    if local is not None and (is_dataset_folder(local) or (form is not None and form.vectors)):
        parquet = False
    if stream and not parquet:
        raise UserError(f"{place} cannot be streamed", "Give Parquet, or leave out --stream")
    if local is not None and (not parquet or not local.exists()):
        return _read(local, columns, form)
    try:
        files = open_place(place)
    except FileNotFoundError as error:
        raise TableError(f"there is no file or folder {place}", "Check the path") from error
    except (ValueError, ImportError) as error:
        if local is not None and local.is_file():
            _read(local, columns, form)  # says in its own words what is wrong
        raise TableError(str(error), "Give a Parquet file or a folder of them") from error
    if stream or (stream is None and sum(files.sizes) > MOST_ROWS):
        check_names(place, list(files.schema.names))
        return StreamedTable.open(files, columns, progress)
    if local is not None and local.is_file():
        return _read(local, columns, form)
    return _read_files(files, columns)


def _read(path: Path, columns: TableColumns, form: TableFormat | None) -> MemoryTable:
    table, notes = read_noted(path, form)
    return _in_memory(prepare(table, digest=file_digest(path), **vars(columns)), notes)


def _read_files(files: PlacedTable, columns: TableColumns) -> MemoryTable:
    import pyarrow as pa

    names = list(files.schema.names)
    parts = [
        pa.Table.from_batches([batch]) for block in files.select(names) for batch in files.read(block, names)
    ]
    table = pa.concat_tables(parts, promote_options="permissive")
    digest = hashlib.sha256(repr(files.records()).encode()).hexdigest()
    return _in_memory(prepare(table, digest=digest, **vars(columns)))


def _in_memory(data: Prepared, notes: Sequence[str] = ()) -> MemoryTable:
    telling = columns_that_tell(data.X, data.y, data.feature_names)
    return MemoryTable(
        data.X,
        data.y,
        data.groups,
        stratify=True,
        labels=(data.negative, data.positive),
        notes=[*notes, *data.notes, *([columns_sentence(telling)] if telling else [])],
        digest=data.digest,
        by_column=data.by_column,
    )
