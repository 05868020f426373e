"""Parquet files and folders on any filesystem, as blocks of row groups."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from fairask.pools.places import find_filesystem
from fairask.tables.arrow import optional

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import ParquetFileFragment
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import FileMetaData

#: Consecutive small row groups form one block of about this many rows.
_BLOCK = 1 << 18
#: Most rows, and about how many values, decoded at a time.
_BATCH = 1 << 18
_VALUES = 1 << 23


@dataclass(frozen=True)
class FileRecord:
    """What identifies a file.

    Attributes
    ----------
    name : str
        Path within the folder; empty if the pool is a single file.
    bytes, rows : int
    digest : str
        The sha256 of the footer, which holds the position, the size and usually the least and largest value
        of every column of every row group.
    """

    name: str
    bytes: int
    rows: int
    digest: str


@dataclass(frozen=True)
class ParquetBlock:
    """Some consecutive row groups of one file; it can travel to a worker and be read there."""

    path: str
    filesystem: FileSystem
    row_groups: list[int]
    constants: dict[str, object]
    metadata: FileMetaData | None

    def __getstate__(self) -> dict[str, object]:
        # A footer describes every row group of the file: reading it again is faster than sending it.
        return {**self.__dict__, "metadata": None}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Record batches with these columns, in row order; no other column is read."""
        pa, pq = optional("pyarrow", "parquet"), optional("pyarrow.parquet", "parquet")
        stored = [name for name in dict.fromkeys(columns) if name not in self.constants]
        remote = not isinstance(self.filesystem, optional("pyarrow.fs", "parquet").LocalFileSystem)
        with pq.ParquetFile(
            self.path,
            filesystem=self.filesystem,
            metadata=self.metadata,
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


@dataclass(frozen=True)
class ParquetFiles:
    """The blocks of a Parquet file or folder; see :class:`fairask.pools.sources.TableSource`."""

    blocks: list[ParquetBlock]
    sizes: list[int]
    schema: pa.Schema
    digest: str
    #: Path, name within the folder and rows of each file.
    files: list[tuple[str, str, int]]
    filesystem: FileSystem

    @staticmethod
    def read(block: ParquetBlock, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See :class:`fairask.pools.sources.TableSource`."""
        return block.batches(columns)

    def select(self, columns: Sequence[str]) -> list[ParquetBlock]:
        """See :class:`fairask.pools.sources.TableSource`; a block reads only the columns it is asked for."""
        return self.blocks

    def records(self) -> list[FileRecord]:
        """Size, rows and footer digest of each file; reads the last bytes of each."""
        with ThreadPoolExecutor(16) as threads:
            return list(threads.map(lambda file: _record(self.filesystem, *file), self.files))


def open_parquet(
    source: str | os.PathLike[str],
    filesystem: FileSystem | Mapping[str, object] | None = None,
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
    files: FileSystem
    if filesystem is None or isinstance(filesystem, Mapping):
        files, path = find_filesystem(name, filesystem)
    elif isinstance(filesystem, fs.FileSystem):
        files, path = filesystem, name
    else:
        files, path = fs.PyFileSystem(fs.FSSpecHandler(filesystem)), name
    try:
        found = files.get_file_info(path).type
    except OSError as error:
        raise ValueError(f"{name!r} cannot be reached: {_first_line(error)}") from error
    if found == fs.FileType.NotFound:
        raise FileNotFoundError(f"no file or folder {name!r}")
    try:
        dataset = ds.dataset(path, filesystem=files, format="parquet", partitioning="hive")
        fragments = sorted(dataset.get_fragments(), key=lambda fragment: fragment.path)
        if not fragments:
            raise ValueError("it has no Parquet files")
        _check_schemas(fragments)
        blocks, sizes, listed, digest = [], [], [], hashlib.sha256()
        for fragment in fragments:
            metadata = fragment.metadata
            constants = ds.get_partition_keys(fragment.partition_expression)
            rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            bytes_ = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
            digest.update(repr((Path(fragment.path).name, rows, bytes_, sorted(constants.items()))).encode())
            # A single file is identified by its content: it may have another name elsewhere.
            inside = fragment.path.removeprefix(path.rstrip("/")).lstrip("/")
            listed.append((fragment.path, inside, sum(rows)))
            for row_groups in _runs(rows):
                blocks.append(ParquetBlock(fragment.path, files, row_groups, constants, metadata))
                sizes.append(sum(rows[i] for i in row_groups))
    except (ValueError, OSError) as error:
        raise ValueError(f"{name!r} cannot be read as Parquet: {_first_line(error)}") from error
    return ParquetFiles(blocks, sizes, dataset.schema, digest.hexdigest(), listed, files)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _check_schemas(fragments: Sequence[ParquetFileFragment]) -> None:
    """Refuse files whose columns differ from those of the first one."""
    first = _types(fragments[0])
    for fragment in fragments[1:]:
        here = _types(fragment)
        if here == first:
            continue
        a, b = (PurePosixPath(f.path).name for f in (fragments[0], fragment))
        for column in first | here:
            if here.get(column) != first.get(column):
                has = [f"has type {t[column]}" if column in t else "is not there" for t in (first, here)]
                raise ValueError(f"its files differ: column {column!r} {has[0]} in {a} and {has[1]} in {b}")


def _types(fragment: ParquetFileFragment) -> dict[str, str]:
    return {field.name: str(field.type) for field in fragment.physical_schema}


def _record(filesystem: FileSystem, path: str, name: str, rows: int) -> FileRecord:
    with filesystem.open_input_file(path) as file:
        size = file.size()
        # The last eight bytes of a Parquet file are the length of the footer and the magic number.
        length = int.from_bytes(file.read_at(8, size - 8)[:4], "little")
        footer = file.read_at(length + 8, size - length - 8)
    return FileRecord(name, size, rows, hashlib.sha256(footer).hexdigest())


def _runs(rows: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for i, size in enumerate(rows):
        if run and sum(rows[j] for j in run) + size > _BLOCK:
            yield run
            run = []
        run.append(i)
    if run:
        yield run
