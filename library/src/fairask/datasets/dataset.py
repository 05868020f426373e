"""A benchmark table: what it is, how its published file is read, and the check that a file holds it."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairask.errors import TableError, suggest
from fairask.metrics import Float
from fairask.tables.cells import coded, is_number


# Comparing arrays with == gives arrays, so the generated __eq__ could only fail.
@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A binary classification table with a protected attribute.

    Attributes
    ----------
    name, variant : str
        Which dataset, and which reading of it.
    X : ndarray of shape (rows, features)
        Numbers; categories are one-hot without their first level.
    y : ndarray of shape (rows,)
        1 where ``target`` holds, else 0.
    groups : ndarray of shape (rows,)
        The group of each row, a readable name.
    feature_names : list of str
        ``column`` or ``column=level``, one per column of ``X``.
    target, protected : str
        What is predicted, and what the groups are.
    description, citation, licence : str
        Where the table comes from.

    Examples
    --------
    >>> from fairask.datasets import load
    >>> load("german")
    Dataset(german, paper): 1,000 rows, 48 features
      y = 1: good credit risk (70.0 %)
      groups by sex: Female 310 (64.8 %), Male 690 (72.3 %)
    """

    name: str
    variant: str
    X: Float
    y: NDArray[np.int64]
    groups: NDArray[np.str_]
    feature_names: list[str]
    target: str
    protected: str
    description: str
    citation: str
    licence: str

    @property
    def group_sizes(self) -> dict[str, int]:
        """Rows in each group, by name."""
        values, sizes = np.unique(self.groups, return_counts=True)
        return dict(zip(values.tolist(), sizes.tolist(), strict=True))

    @property
    def base_rates(self) -> dict[str, float]:
        """P(y = 1) in each group, by name."""
        return {group: float(self.y[self.groups == group].mean()) for group in self.group_sizes}

    def __repr__(self) -> str:
        rates = self.base_rates
        groups = ", ".join(f"{g} {n:,} ({100 * rates[g]:.1f} %)" for g, n in self.group_sizes.items())
        rows, features = self.X.shape
        return (
            f"Dataset({self.name}, {self.variant}): {rows:,} rows, {features} features\n"
            f"  y = 1: {self.target} ({100 * self.y.mean():.1f} %)\n"
            f"  groups by {self.protected}: {groups}"
        )


@dataclass(frozen=True)
class Parsed:
    """What a published table says: encoded features (not standardised), labels 0 or 1, a group per row."""

    X: Float
    feature_names: list[str]
    y: NDArray[np.int64]
    groups: NDArray[np.str_]

    @property
    def sha256(self) -> str:
        """Digest of names, features, labels and groups, in row order: the same for every form of a file."""
        digest = hashlib.sha256("\n".join(self.feature_names).encode())
        # Adding 0 turns -0.0 into 0.0: equal numbers must not differ in their bytes.
        digest.update(np.ascontiguousarray(self.X + 0.0, dtype="<f8").tobytes())
        digest.update(self.y.astype("<i1").tobytes())
        digest.update("\n".join(self.groups.tolist()).encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class Spec:
    """A published table: where it comes from, how to read it, and what must come out.

    ``files`` are paths in the layout of ``FAIRASK_DATA``. ``columns`` names the columns of a file without
    a header. ``counts`` has the rows and positive rows of each group. ``leaks`` says which features the
    "honest" variant leaves out; without it there is only the "paper" variant. ``sha256`` pins the parsed
    content, which is the same whichever form the file has.
    """

    name: str
    files: tuple[str, ...]
    columns: Sequence[str] | None
    parse: Callable[[RawTable], Parsed]
    target: str
    protected: str
    description: str
    citation: str
    licence: str
    source: str
    counts: dict[str, tuple[int, int]]
    features: dict[str, int]
    sha256: str
    embedded: str = ""  #: sha256 of the package's own file of it
    url: str | None = None
    manual: str = ""
    encoding: str = "utf-8-sig"
    delimiter: str = ","
    leaks: Callable[[str], bool] | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(size for size, _ in self.counts.values())

    def read(self, contents: Sequence[bytes], source: str) -> RawTable:
        """Read the contents of :attr:`files`; ``source`` is named in errors."""
        parts = []
        for content in contents:
            try:
                text = content.decode(self.encoding)
            except UnicodeDecodeError as error:
                raise wrong_table(
                    f"{source}: this is not text in {self.encoding} (byte {error.start})"
                ) from None
            parts.append(_read_text(text, source, self.columns, self.delimiter))
        return RawTable(source, {name: coded([v for part in parts for v in part[name]]) for name in parts[0]})

    def check(self, table: Parsed, source: str) -> None:
        """Raise TableError where the table is not the published one; the message says what differs."""
        if len(table.y) != self.rows:
            raise wrong_table(
                f"{source}: {len(table.y):,} rows instead of {self.rows:,}; "
                "the file is truncated or another release"
            )
        for group, (size, positives) in self.counts.items():
            labels = table.y[table.groups == group]
            if (len(labels), int(labels.sum())) != (size, positives):
                raise wrong_table(
                    f"{source}: group {group!r} has {len(labels):,} rows, {int(labels.sum()):,} of them "
                    f"positive, instead of {size:,} and {positives:,}; the file was changed"
                )
        if len(table.feature_names) != self.features["paper"]:
            raise wrong_table(
                f"{source}: {len(table.feature_names)} features instead of {self.features['paper']}; "
                "the file was changed"
            )
        if (found := table.sha256) != self.sha256:
            raise wrong_table(
                f"{source}: the counts agree but values were changed (sha256 of the parsed table "
                f"{found[:12]}, published {self.sha256[:12]})"
            )


@dataclass(frozen=True)
class RawTable:
    """Cells as they stand in a file: for each column its different texts, and which of them each row has."""

    source: str
    columns: dict[str, tuple[list[object], NDArray[np.int64]]]

    @classmethod
    def unpack(cls, content: bytes, source: str) -> RawTable:
        """Read what :meth:`pack` wrote."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            names = arrays["names"].tolist()
            return cls(
                source,
                {
                    name: (arrays[f"{i} values"].tolist(), arrays[f"{i} codes"].astype(np.int64))
                    for i, name in enumerate(names)
                },
            )

    def pack(self) -> bytes:
        """Return the table in the package's own format, which is read in a few milliseconds."""
        arrays: dict[str, NDArray[np.generic]] = {"names": np.array(list(self.columns))}
        for i, (values, codes) in enumerate(self.columns.values()):
            arrays[f"{i} values"] = np.array(values)
            arrays[f"{i} codes"] = codes.astype(np.min_scalar_type(len(values)))
        out = io.BytesIO()
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
        return out.getvalue()

    def coded(self, name: str) -> tuple[list[object], NDArray[np.int64]]:
        """Return the different texts of a column, and which of them each row has."""
        try:
            return self.columns[name]
        except KeyError:
            hint = suggest(name, self.columns)
            raise wrong_table(f"{self.source}: there is no column {name!r}; {hint}") from None

    def text(self, name: str) -> NDArray[np.str_]:
        """Return a column as it stands."""
        values, codes = self.coded(name)
        return np.asarray(np.array(values, dtype=np.str_)[codes])

    def numbers(self, name: str, missing: str | None = None) -> Float:
        """Return a column as float64; cells equal to ``missing`` become NaN."""
        values, codes = self.coded(name)
        bad = [i for i, v in enumerate(values) if v != missing and not is_number(str(v))]
        if bad:
            row = int(np.flatnonzero(np.isin(codes, bad))[0])
            raise wrong_table(
                f"{self.source}: column {name!r} holds {values[codes[row]]!r} in data row {row + 1}, "
                "which is not a number"
            )
        known = [np.nan if v == missing else float(str(v)) for v in values]
        return np.asarray(np.array(known, dtype=np.float64)[codes])

    def where(self, keep: NDArray[np.bool_]) -> RawTable:
        """Return the rows that are kept, in order."""
        return RawTable(
            self.source, {c: (values, codes[keep]) for c, (values, codes) in self.columns.items()}
        )

    def encode(self, names: Sequence[str], numeric: Collection[str]) -> tuple[Float, list[str]]:
        """Return the features of columns in their order: numbers as they are, the others one-hot.

        Levels are sorted as text and the first is dropped, so the encoding depends on the set of values and
        not on the order of the rows. Columns with one value are left out.
        """
        features: dict[str, Float | NDArray[np.bool_]] = {}
        for name in names:
            if name in numeric:
                features[name] = self.numbers(name)
                continue
            values, codes = self.coded(name)
            seen = np.bincount(codes, minlength=len(values)) > 0
            place = {value: i for i, value in enumerate(values) if seen[i]}
            for level in sorted(map(str, place))[1:]:
                features[f"{name}={level}"] = codes == place[level]
        return stack(features, self.source)


def stack(features: Mapping[str, Float | NDArray[np.bool_]], source: str) -> tuple[Float, list[str]]:
    """Return a matrix of the features that have two values or more, and their names."""
    kept = {}
    for name, values in features.items():
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
            raise wrong_table(f"{source}: column {name!r} is not finite in data row {row}")
        if values.min() != values.max():
            kept[name] = values
    if not kept:
        raise wrong_table(f"{source}: no column holds more than one value")
    X = np.empty((len(next(iter(kept.values()))), len(kept)))
    for i, values in enumerate(kept.values()):
        X[:, i] = values
    return X, list(kept)


def standardized(X: Float) -> Float:
    """Return ``X`` with mean 0 and standard deviation 1 in every column, over all rows.

    >>> standardized(np.array([[1.0], [3.0]])).ravel().tolist()
    [-1.0, 1.0]
    """
    centred: Float = X - X.mean(axis=0)
    # X.std(axis=0), bit for bit, without centring X a second time.
    centred /= np.sqrt((centred * centred).sum(axis=0) / len(X))
    return centred


def wrong_table(message: str) -> TableError:
    """Return the error of a file that is not the published table; "; " divides what from remedy.

    >>> wrong_table("t.csv: the file is empty").remedy
    'Get the published file again'
    """
    what, _, remedy = message.partition("; ")
    return TableError(what, remedy or "Get the published file again")


def _read_text(
    text: str, source: str, names: Sequence[str] | None, delimiter: str
) -> dict[str, Sequence[str]]:
    """Read delimited text; a header line is optional where ``names`` is given.

    A name that occurs twice in a header keeps its first column, as in ProPublica's file.
    """
    if text.lstrip()[:1] == "<":
        raise wrong_table(f"{source}: this is a web page, not a table")
    if text.startswith("|"):  # a comment, as in adult.test
        text = text.partition("\n")[2]
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise wrong_table(f"{source}: line {reader.line_num} cannot be read ({error})") from None
    if not rows:
        raise wrong_table(f"{source}: the file is empty")
    header, body = (rows[0], rows[1:]) if names is None else _split_header(rows, names)
    for i, row in enumerate(body):
        if len(row) != len(header):
            raise wrong_table(
                f"{source}: data row {i + 1} has {len(row)} fields instead of {len(header)}; "
                "the file is truncated or not the published one"
            )
    if not body:
        raise wrong_table(f"{source}: the file has a header and no rows")
    columns: dict[str, Sequence[str]] = {}
    for name, cells in zip(header, zip(*body, strict=True), strict=True):
        columns.setdefault(name, cells)
    return columns


def _split_header(rows: list[list[str]], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    shared = set(names) & set(rows[0])
    if len(shared) == len(names):
        return rows[0], rows[1:]
    # Copies spell a few names in their own way (MedNumBR, MedNumB): then the order counts.
    return list(names), rows[1:] if 2 * len(shared) > len(names) else rows
