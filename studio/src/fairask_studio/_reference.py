"""A pool that is not copied: the study stores the pool's URI and a fingerprint.

Stored are the URI, the schema, the groups with their rows, the fitted encoder, and for each file its name,
size, rows and a digest of its footer. A pool that no longer matches is refused before a row is drawn from it.
Drawn rows are stored in the log, so that only drawing needs the pool.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairask.metrics import Matrix
from fairask.pools.open import Look
from fairask.pools.places import local_path
from fairask.pools.runners import ProgressCallback, Threads
from fairask.pools.sources.duckdb import absolute_address, is_address
from fairask.pools.sources.parquet import FileRecord
from fairask.pools.sources.place import PlacedTable, open_place
from fairask.tables import Encoder, GroupColumns, TextColumns
from fairask.tables.arrow import kind_of
from fairask.tables.formats import check_names
from fairask_studio._errors import StudyError
from fairask_studio.events import Cell, Document

#: Features and group codes of some rows.
_Sample = tuple[Matrix, NDArray[np.int64]]


@dataclass(frozen=True)
class Facts:
    """Results of the first pass over a pool."""

    groups: tuple[tuple[Hashable, int], ...]
    encoder: Encoder
    sample: _Sample | None = None  #: features and groups of rows for an oracle that reads the pool


@dataclass(frozen=True)
class PoolReference:
    """A pool by its place and its files; made by :func:`refer`, or read from a study's log."""

    uri: str
    schema: pa.Schema
    files: tuple[FileRecord, ...]
    facts: Facts | None = None
    progress: ProgressCallback | None = None
    table: PlacedTable | None = field(default=None, compare=False, repr=False)  #: while it is open

    @property
    def num_rows(self) -> int:
        """Number of rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    @property
    def sha256(self) -> str:
        """Digest of the schema and the files; it does not depend on their place."""
        files = [[f.name, f.bytes, f.rows, f.digest] for f in self.files]
        return hashlib.sha256(json.dumps([str(self.schema), files]).encode()).hexdigest()

    def surveyed(
        self, protected: Sequence[str], features: list[str], text: TextColumns | None = None
    ) -> PoolReference:
        """Pass over the pool once: return the reference with what was found of groups and features."""
        look = Look(Threads(), self.table or self.open(), self.progress)
        found, _ = look.all(features, list(protected))
        groups = GroupColumns.of(protected, found.groups)
        encoder = found.encoder(features, f"all {found.n_rows:,} rows", text=text)
        return replace(self, facts=Facts(tuple(zip(groups.values, groups.rows, strict=True)), encoder))

    def open(self) -> PlacedTable:
        """Open the pool and compare every file with its record; StudyError if one differs."""
        table = _opened(self.uri, "restore it, or say where it is now: fairask ask STUDY --pool PLACE")
        if (found := _difference(self, table)) is not None:
            raise StudyError(
                f"the pool at {self.uri} is not the one this study was made with: {found}; restore it, "
                "or say where it is now: fairask ask STUDY --pool PLACE"
            )
        return table

    def stamp(self) -> tuple[tuple[str, int, int], ...] | None:
        """Return names, sizes and times of local files, to see whether one is written to; else None."""
        place = local_path(self.uri)
        if place is None:
            return None
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        found = [(file.name, file.stat()) for file in files if file.is_file()]
        return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in found)

    def moved(self, uri: str) -> PoolReference:
        """Return the reference to the same pool at another place; StudyError if it is another pool."""
        there = replace(self, uri=_place(uri))
        there.open()
        return there

    def to_dict(self) -> Document:
        """Return plain values for the log."""
        assert self.facts is not None
        return {
            "uri": self.uri,
            "schema": base64.b64encode(self.schema.serialize()).decode(),
            "files": [[f.name, f.bytes, f.rows, f.digest] for f in self.files],
            "groups": [list(group) for group in self.facts.groups],
            "encoder": self.facts.encoder.to_dict(),
            "sample": None if self.facts.sample is None else _packed(self.facts.sample),
        }

    def sampled(self, sample: _Sample | None) -> PoolReference:
        """Return the reference with a sample of its rows, to be stored in the log."""
        assert self.facts is not None
        return replace(self, facts=replace(self.facts, sample=sample))

    @classmethod
    def from_dict(cls, data: Document) -> PoolReference:
        """Rebuild from :meth:`to_dict`."""
        groups = tuple((tuple(v) if isinstance(v, list) else v, rows) for v, rows in data["groups"])
        sample = None if data["sample"] is None else _unpacked(data["sample"])
        facts = Facts(groups, Encoder.from_dict(data["encoder"]), sample)
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data["schema"])))
        return cls(data["uri"], schema, tuple(FileRecord(*file) for file in data["files"]), facts)


def refer(source: str | Path, *, progress: ProgressCallback | None = None) -> PoolReference:
    """Refer to a pool that is too large to copy, or that is not to be copied.

    Parameters
    ----------
    source : path or URL
        A Parquet file or folder on any filesystem that pyarrow or fsspec knows (``s3://...``).
    progress : callable, optional
        Called with a :class:`fairask.pools.PassProgress` after every block of a pass.

    Returns
    -------
    PoolReference
        For :meth:`Study.create`. Only footers were read.

    Examples
    --------
    >>> import pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"age": [20, 30], "sex": ["f", "m"]}), f"{folder}/people.parquet")
    ...     refer(f"{folder}/people.parquet").num_rows
    2
    """
    uri = _place(source)
    table = _opened(uri, "give a Parquet file or a folder of them")
    check_names(uri, list(table.schema.names))
    if not sum(table.sizes):
        raise StudyError("the table has no rows")
    return PoolReference(uri, table.schema, tuple(table.records()), None, progress, table)


def _packed(sample: _Sample) -> str:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=sample[0], groups=sample[1])
    return base64.b64encode(buffer.getvalue()).decode()


def _unpacked(text: str) -> _Sample:
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as arrays:
        return arrays["X"], arrays["groups"]


def _place(source: str | Path) -> str:
    """Return a path or URL that is valid in every working folder; refuse one with a password."""
    local = local_path(source)
    if local is not None:
        return str(local.resolve())
    if is_address(str(source)):
        return absolute_address(str(source))
    if "@" in urlsplit(str(source)).netloc:
        raise StudyError(
            "the URL holds a password or key, which would be written into the study; "
            "give it by the environment or the filesystem's own configuration"
        )
    return str(source)


def _opened(uri: str, remedy: str) -> PlacedTable:
    try:
        return open_place(uri)
    except FileNotFoundError as error:
        raise StudyError(f"no file or folder {uri!r}", remedy) from error
    except (ValueError, ImportError) as error:
        raise StudyError(str(error), remedy) from error


def _difference(known: PoolReference, table: PlacedTable) -> str | None:
    """Describe the first difference from the record; None if there is none."""
    before, now = ({f.name: str(f.type) for f in schema} for schema in (known.schema, table.schema))
    for name in before | now:
        if before.get(name) != now.get(name):
            return _changed(f"column {name!r}", before.get(name), now.get(name))
    old = {file.name: file for file in known.files}
    new = {file.name: file for file in table.records()}
    for name in sorted(old | new):
        if old.get(name) == new.get(name):
            continue
        what = f"file {name!r}" if name else "the file"
        if name not in old or name not in new:
            return f"{what} is {'new' if name in new else 'gone'}"
        a, b = old[name], new[name]
        if a.rows != b.rows:
            return f"{what} has {b.rows:,} rows, not {a.rows:,}"
        if a.bytes != b.bytes:
            return f"{what} has {b.bytes:,} bytes, not {a.bytes:,}"
        return f"{what} has other content"
    return None


def _changed(what: str, before: str | None, now: str | None) -> str:
    if before is None or now is None:
        return f"{what} is {'new' if before is None else 'gone'}"
    return f"{what} has type {now}, not {before}"


def rows_table(schema: pa.Schema, columns: Sequence[str], rows: Sequence[dict[str, Cell]]) -> pa.Table:
    """Return rows of the log as a table of these columns, in the types of the pool.

    Examples
    --------
    >>> rows_table(pa.schema([("age", pa.int8())]), ["age"], [{"age": 30}, {"age": None}])["age"].to_pylist()
    [30, None]
    """
    kinds = {
        f.name: f.type.value_type if pa.types.is_dictionary(f.type) else f.type
        for f in schema
        if f.name in columns
    }
    return pa.table({name: _typed([row[name] for row in rows], kinds[name]) for name in columns})


def _typed(cells: list[Cell], kind: pa.DataType) -> pa.Array:
    """Return cells of the log in the type of the pool; dates and decimals are texts in the log."""
    if kind_of(kind) == "vector":
        return pa.array([None if cell is None else json.loads(str(cell)) for cell in cells], kind)
    plain = pa.types.is_primitive(kind) and not pa.types.is_temporal(kind)
    return pa.array(cells, kind) if plain or pa.types.is_string(kind) else pa.array(cells).cast(kind)
