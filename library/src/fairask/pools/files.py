"""A table in files: Parquet, CSV, JSON lines or Arrow, on any filesystem of pyarrow or fsspec."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import ArrayLike

from fairask.errors import UserError
from fairask.matrix import tie_breakers
from fairask.metrics import Int
from fairask.pools.sample import RowSample, each_once
from fairask.tables.arrow import Arrow, decoded, is_text, optional
from fairask.tables.formats import DELIMITERS, check_claims
from fairask.tables.groups import GroupColumns, protected_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import Dataset, Fragment
    from pyarrow.fs import FileSystem

#: Rows read at a time.
_BATCH = 1 << 16
#: The format of a file, by the end of its name.
_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".jsonl": "json", ".ndjson": "json", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
}  # fmt: skip


def local_path(source: str | os.PathLike[str]) -> Path | None:
    """Local path of a plain path or a ``file://`` URL; None for other URLs.

    >>> local_path("file:///data/my%20people").as_posix(), local_path("s3://bucket/people")
    ('/data/my people', None)
    """
    text = os.fspath(source)
    if "://" not in text:
        return Path(text).expanduser()
    parts = urlsplit(text)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def name_of(source: str | os.PathLike[str]) -> str:
    """Short name of the table that a path, URL or address points to.

    >>> name_of("s3://bucket/people/"), name_of("loans.parquet"), name_of("duckdb:///a.db#people:id")
    ('people', 'loans', 'people')
    """
    text = os.fspath(source)
    if "://" in text:
        parts = urlsplit(text)
        if parts.fragment:
            return parts.fragment.partition(":")[0]
        text = parts.netloc + parts.path
    last = Path(text).name or Path(text).resolve().name
    return Path(last).stem if Path(last).suffix.lower() in (*_FORMATS, ".json", ".db", ".duckdb") else last


class Files:
    """A table that is read batch by batch; made by :func:`fairask.pools.open_source`.

    Rows are numbered in the order of the files' names, from 0.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    root : str
        The folder or file that it was opened from; names of files are relative to it.
    schema : pyarrow.Schema, optional
        Of the table, where the dataset reads columns of texts as dictionaries.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fairask.pools import open_source
    >>> files = open_source(pa.table({"age": [20, 30, 40], "sex": ["f", "m", "f"]}))
    >>> files.n_rows, files.take([2, 0]).to_pydict()
    (3, {'age': [40, 20], 'sex': ['f', 'f']})
    """

    def __init__(self, dataset: Dataset, root: str = "", schema: pa.Schema | None = None) -> None:
        self.dataset, self.root = dataset, root
        # Texts of Parquet are read as the file has them, each different one once, and written out by batch.
        self.schema: pa.Schema = dataset.schema if schema is None else schema

    @classmethod
    def open(cls, source: str | os.PathLike[str], filesystem: FileSystem | None = None) -> Files:
        """Open a file or a folder by path or URL; ``key=value`` folders are columns."""
        ds, fs = optional("pyarrow.dataset", "parquet"), optional("pyarrow.fs", "parquet")
        name = os.fspath(source)
        files, path = _filesystem(name) if filesystem is None else (filesystem, name)
        try:
            info = files.get_file_info(path)
            if info.type == fs.FileType.NotFound:
                raise FileNotFoundError(f"no file or folder {name!r}")
            inside = [info]
            if info.type == fs.FileType.Directory:
                inside = files.get_file_info(fs.FileSelector(path, recursive=True))
            known = sorted(i.path for i in inside if i.is_file and not _is_hidden(i.path, path))
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise UserError(
                f"{name!r} cannot be reached: {first_line(error)}", "Check the address"
            ) from error
        formats = {_FORMATS.get(Path(file).suffix.lower()) for file in known}
        if len(formats) != 1 or None in formats:
            raise UserError(
                f"{name!r} is not a table in files" if formats else f"{name!r} has no files",
                f"Give one file, or a folder of one kind: {', '.join(_FORMATS)}",
            )
        try:
            form = _format(formats.pop(), files, known[0])
            base = path if info.type == fs.FileType.Directory else None
            place = {
                "source": known,
                "filesystem": files,
                "partitioning": ds.partitioning(flavor="hive"),
                "partition_base_dir": base,
            }
            dataset = ds.dataset(format=form, **place)
            fragments = list(dataset.get_fragments())
            _check_alike(fragments)
            schema = dataset.schema
            if form == "parquet":
                sizes = {i.path: i.size for i in inside}
                for fragment in fragments:
                    if sizes[fragment.path] is not None:
                        check_claims(Path(fragment.path).name, fragment.metadata, sizes[fragment.path])
                stored = fragments[0].physical_schema
                coded = {field.name for field in stored if is_text(field.type)}
                dataset = ds.dataset(format=ds.ParquetFileFormat(dictionary_columns=coded), **place)
        except UserError:
            raise
        except Exception as error:
            # Damaged files are errors of many kinds.
            raise UserError(f"{name!r} cannot be read: {first_line(error)}", "Check the files") from error
        return cls(dataset, path, schema)

    @cached_property
    def n_rows(self) -> int:
        """All rows; Parquet files say so in their footers, other files are read."""
        return int(self.dataset.count_rows())

    @cached_property
    def digest(self) -> str:
        """Changes when the files do: of names, sizes and footers (Parquet) or contents."""
        found = hashlib.sha256(str(self.schema).encode())
        if not hasattr(self.dataset, "files"):  # a table in memory
            for batch in self.dataset.to_batches():
                found.update(batch.serialize())
            return found.hexdigest()
        for file in self.dataset.files:
            found.update(file.removeprefix(self.root).encode())
            with self.dataset.filesystem.open_input_file(file) as stream:
                size = stream.size()
                start = 0
                if Path(file).suffix.lower() in (".parquet", ".pq"):
                    # The last eight bytes are the length of the footer and the magic number. The footer has
                    # the place, the size and usually the least and largest value of each column.
                    start = size - 8 - int.from_bytes(stream.read_at(8, size - 8)[:4], "little")
                found.update(size.to_bytes(8, "little"))
                for at in range(start, size, 1 << 24):
                    found.update(stream.read_at(min(1 << 24, size - at), at))
        return found.hexdigest()

    def close(self) -> None:
        """Files are open while they are read only: there is nothing to close."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches with these columns, in row order."""
        names = None if columns is None else list(dict.fromkeys(columns))
        try:
            for part in self._parts:
                for batch in part.to_batches(schema=self.dataset.schema, columns=names, batch_size=_BATCH):
                    yield self._plain(batch)
        except UserError:
            raise
        except (ValueError, OSError, TypeError, KeyError, NotImplementedError) as error:
            raise UserError(
                f"{self.root or 'the table'} cannot be read: {first_line(error)}", "Store it as Parquet"
            ) from error

    def _plain(self, rows: Arrow) -> Arrow:
        pa = optional("pyarrow", "parquet")
        schema = pa.schema([self.schema.field(name) for name in rows.schema.names])
        return decoded(self.root or "the table", rows, schema)

    def sample(
        self, n: int, seed: int = 0, columns: Sequence[str] | None = None, protected: Sequence[str] = ()
    ) -> RowSample:
        """Draw ``n`` rows uniformly, and count the groups of all rows, in one pass.

        Each row has a number that depends on its place and the seed alone; the rows with the least numbers
        are drawn. So a table gives the same sample in every format, and in parts of any size.

        >>> import pyarrow as pa
        >>> files = Files(optional("pyarrow.dataset", "parquet").dataset(pa.table({"a": range(1000)})))
        >>> drawn = files.sample(3, seed=0)
        >>> drawn.of, drawn.table.column("a").to_pylist() == drawn.keys.tolist()
        (1000, True)
        """
        pa = optional("pyarrow", "parquet")
        names = each_once(columns, self.schema.names)
        groups = protected_columns(protected, self.schema.names) if protected else []
        counts: Counter[Hashable] = Counter()
        first, limit = 0, np.uint64(2**64 - 1)
        rows, order = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        table = pa.Table.from_batches([], schema=pa.schema([self.schema.field(name) for name in names]))
        kept: list[tuple[Int, Any, Arrow]] = []
        for batch in self.batches([*names, *groups]):
            if protected:
                counts.update(GroupColumns.counted(batch, protected))
            number = tie_breakers(np.arange(first, first + batch.num_rows), seed)
            at = np.flatnonzero(number <= limit)
            first += batch.num_rows
            if len(at):
                kept.append(
                    (
                        first - batch.num_rows + at,
                        number[at],
                        batch.select(names).take(at),
                    )
                )
            if sum(len(part[0]) for part in kept) > n:
                rows, order, table = _least(n, rows, order, table, kept)
                kept, limit = [], order.max() if len(order) == n else limit
        rows, order, table = _least(n, rows, order, table, kept)
        return RowSample(table.combine_chunks(), rows, first, counts)

    def take(self, rows: ArrayLike, columns: Sequence[str] | None = None) -> pa.Table:
        """These rows, in this order; only the row groups (Parquet) or files that hold one are read."""
        pa = optional("pyarrow", "parquet")
        names = each_once(columns, self.schema.names)
        wanted, where = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
        parts, first = [], 0
        for part in self._parts:
            size = _rows(part)
            begin, end = np.searchsorted(wanted, [first, first + size])
            if end > begin:
                whole = part.to_table(schema=self.dataset.schema, columns=names)
                parts.append(self._plain(whole.take(wanted[begin:end] - first)))
            first += size
        if len(wanted) and (wanted[0] < 0 or wanted[-1] >= first):
            bad = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise ValueError(f"no row {bad}: the table has rows 0 to {first - 1}")
        schema = pa.schema([self.schema.field(name) for name in names])
        return (pa.concat_tables(parts) if parts else schema.empty_table()).take(where)

    @cached_property
    def _parts(self) -> list[Fragment]:
        """Files, or the row groups of Parquet. A scan of all at once would read faster than it is emptied."""
        found: list[Fragment] = []
        for fragment in self.dataset.get_fragments():
            by_group = getattr(fragment, "split_by_row_group", None)  # only Parquet has them
            found += [fragment] if by_group is None else by_group()
        return found


def _rows(part: Fragment) -> int:
    """Rows of a file or a row group; of a row group pyarrow counts those of its file."""
    groups = getattr(part, "row_groups", None)  # only Parquet has them
    return part.count_rows() if groups is None else sum(group.num_rows for group in groups)


def _least(
    n: int, rows: Int, order: Any, table: pa.Table, kept: Sequence[tuple[Int, Any, Arrow]]
) -> tuple[Int, Any, pa.Table]:
    """The n rows with the least numbers, in row order."""
    pa = optional("pyarrow", "parquet")
    rows = np.concatenate([rows, *(part[0] for part in kept)])
    order = np.concatenate([order, *(part[1] for part in kept)])
    table = pa.concat_tables([table, *(pa.Table.from_batches([part[2]]) for part in kept)])
    if len(rows) <= n:
        return rows, order, table
    at = np.sort(np.argpartition(order, n)[:n])
    return rows[at], order[at], table.take(at).combine_chunks()


def _filesystem(source: str) -> tuple[FileSystem, str]:
    """The pyarrow filesystem of a path or URL, and the path on it."""
    fs = optional("pyarrow.fs", "parquet")
    local = local_path(source)
    if local is not None:
        return fs.LocalFileSystem(), str(local)
    try:
        filesystem, path = fs.FileSystem.from_uri(source)
        return filesystem, path
    except (ValueError, NotImplementedError):  # a scheme that only fsspec knows
        pass
    try:
        inner, path = optional("fsspec.core", "parquet").url_to_fs(source)
    except (ValueError, ImportError) as error:
        raise UserError(f"{source!r} cannot be opened: {error}", "Check the address") from error
    return fs.PyFileSystem(fs.FSSpecHandler(inner)), path


def _format(kind: str | None, files: FileSystem, path: str) -> Any:
    """How to read files; the delimiter of a CSV file is the commonest of the usual ones in its first line."""
    ds = optional("pyarrow.dataset", "parquet")
    if kind != "csv":
        return kind
    csv = optional("pyarrow.csv", "parquet")
    with files.open_input_stream(path) as stream:
        head = stream.read(1 << 16).split(b"\n")[0].decode("utf-8", "replace")
    delimiter = max(DELIMITERS, key=head.count)
    # Types are found in the first block.
    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=delimiter), read_options=csv.ReadOptions(block_size=1 << 24)
    )


def _is_hidden(path: str, root: str) -> bool:
    return any(part[0] in "._" for part in Path(path.removeprefix(root)).parts if part != "/")


def first_line(error: BaseException) -> str:
    """What an error says, without what libraries append."""
    return str(error).strip().partition("\n")[0]


def _check_alike(fragments: Sequence[Fragment]) -> None:
    """Refuse files whose columns differ from those of the first one."""
    first = {field.name: str(field.type) for field in fragments[0].physical_schema}
    for fragment in fragments[1:]:
        here = {field.name: str(field.type) for field in fragment.physical_schema}
        for column in first | here:
            if here.get(column) != first.get(column):
                has = [f"has type {t[column]}" if column in t else "is not there" for t in (first, here)]
                a, b = (Path(f.path).name for f in (fragments[0], fragment))
                raise ValueError(f"its files differ: column {column!r} {has[0]} in {a} and {has[1]} in {b}")
