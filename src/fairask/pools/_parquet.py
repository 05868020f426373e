"""Parquet files and folders, wherever a filesystem reaches, as blocks of row groups."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairask.pools._extras import optional

__all__ = ["ParquetBlock", "ParquetFiles", "open_parquet"]

#: Small row groups next to each other form one block of about this many rows.
_BLOCK = 1 << 18
#: Most rows, and about how many values, decoded at a time: enough to decode fast, few enough to hold.
_BATCH = 1 << 18
_VALUES = 1 << 23


class ParquetBlock:
    """Some consecutive row groups of one file; it can travel to a worker and be read there."""

    def __init__(
        self, path: str, filesystem: Any, row_groups: Sequence[int], constants: dict[str, Any], metadata: Any
    ) -> None:
        self.path, self.filesystem, self.row_groups = path, filesystem, list(row_groups)
        self.constants, self._metadata = constants, metadata

    def __getstate__(self) -> dict[str, Any]:
        # A footer describes every row group of the file; a worker reads it again sooner than it arrives.
        return {**self.__dict__, "_metadata": None}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with these columns, in row order; only they are read."""
        pa, pq = optional("pyarrow", "parquet"), optional("pyarrow.parquet", "parquet")
        stored = [name for name in dict.fromkeys(columns) if name not in self.constants]
        remote = not isinstance(self.filesystem, optional("pyarrow.fs", "parquet").LocalFileSystem)
        with pq.ParquetFile(
            self.path,
            filesystem=self.filesystem,
            metadata=self._metadata,
            pre_buffer=remote,
            memory_map=not remote,
        ) as file:
            rows = max(1, min(_BATCH, _VALUES // max(len(stored), 1)))
            for batch in file.iter_batches(
                rows, row_groups=self.row_groups, columns=stored, use_threads=False
            ):
                if len(stored) == len(columns):
                    yield batch
                    continue
                arrays = {name: batch.column(name) for name in stored}
                for name in columns:
                    if name in self.constants:
                        arrays[name] = pa.repeat(self.constants[name], batch.num_rows)
                yield pa.record_batch(arrays)


class ParquetFiles:
    """Blocks of a Parquet file or folder, their sizes, the schema and a digest of the footers."""

    def __init__(self, blocks: list[ParquetBlock], sizes: list[int], schema: Any, digest: str) -> None:
        self.blocks, self.sizes, self.schema, self.digest = blocks, sizes, schema, digest

    def select(self, columns: Sequence[str]) -> list[ParquetBlock]:
        """The blocks; each reads only the columns it is asked for."""
        return self.blocks


def _filesystem(source: str, storage_options: dict[str, Any] | None) -> tuple[Any, str]:
    """The filesystem of a path or URL, and the path on it."""
    fs = optional("pyarrow.fs", "parquet")
    if "://" not in source:
        return fs.LocalFileSystem(), str(Path(source).expanduser())
    if not storage_options:
        try:
            filesystem, path = fs.FileSystem.from_uri(source)
            return filesystem, path
        except (ValueError, NotImplementedError):  # a scheme that pyarrow leaves to fsspec
            pass
    fsspec = optional("fsspec.core", "parquet")
    try:
        inner, path = fsspec.url_to_fs(source, **(storage_options or {}))
    except (ValueError, ImportError) as error:
        raise ValueError(f"{source!r} cannot be opened: {error}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(inner)), path


def open_parquet(
    source: str | os.PathLike[str], filesystem: Any = None, storage_options: dict[str, Any] | None = None
) -> ParquetFiles:
    """List the blocks of a Parquet file or folder (``key=value`` folders are columns); only footers are read.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1, 2, 3]}), f"{folder}/part.parquet", row_group_size=2)
    ...     files = open_parquet(folder)
    ...     files.sizes, [b.num_rows for b in files.blocks[0].batches(["a"])]
    ([3], [3])
    """
    ds, fs = optional("pyarrow.dataset", "parquet"), optional("pyarrow.fs", "parquet")
    name = os.fspath(source)
    if filesystem is None:
        filesystem, path = _filesystem(name, storage_options)
    else:
        path = name
        if not isinstance(filesystem, fs.FileSystem):
            filesystem = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    if filesystem.get_file_info(path).type == fs.FileType.NotFound:
        raise FileNotFoundError(f"no file or folder {name!r}")
    try:
        dataset = ds.dataset(path, filesystem=filesystem, format="parquet", partitioning="hive")
        fragments = sorted(dataset.get_fragments(), key=lambda fragment: fragment.path)
        if not fragments:
            raise ValueError("it has no Parquet files")
        blocks, sizes, digest = [], [], hashlib.sha256()
        for fragment in fragments:
            metadata = fragment.metadata
            constants = ds.get_partition_keys(fragment.partition_expression)
            rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            bytes_ = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
            digest.update(repr((Path(fragment.path).name, rows, bytes_, sorted(constants.items()))).encode())
            for row_groups in _runs(rows):
                blocks.append(ParquetBlock(fragment.path, filesystem, row_groups, constants, metadata))
                sizes.append(sum(rows[i] for i in row_groups))
    except (ValueError, OSError) as error:
        raise ValueError(f"{name!r} cannot be read as Parquet: {error}") from error
    return ParquetFiles(blocks, sizes, dataset.schema, digest.hexdigest())


def _runs(rows: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for i, size in enumerate(rows):
        if run and sum(rows[j] for j in run) + size > _BLOCK:
            yield run
            run = []
        run.append(i)
    if run:
        yield run
