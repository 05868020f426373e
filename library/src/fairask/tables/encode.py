"""From columns to a matrix: what a survey has learned is applied batch by batch."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fairask.tables.categories import Category
from fairask.tables.errors import TableError
from fairask.tables.extras import Arrow, Column, Out
from fairask.tables.frames import frame_table
from fairask.tables.kinds import kind_of
from fairask.tables.numbers import Number
from fairask.tables.text import WORDS_OF_NAMES, Text, count_words
from fairask.tables.textmodel import ModelText
from fairask.tables.vectors import Vector

#: Why a column with one value is left out.
CONSTANT = "one value only"
#: Texts with so many different values, or fewer, are answers to choose from, however many words they have.
FEW_LEVELS = 12


class Part(Protocol):
    """What one column becomes: named features. A new kind of column needs a part and a tally."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def features(self) -> list[str]:
        """Names of the features."""

    def write(self, column: Column, out: Out) -> None:
        """Write the features of a batch into ``out`` of shape (features, rows)."""

    def to_list(self) -> list[object]:
        """Return plain values for JSON; the first is a key of ``PARTS``."""


#: How the parts in a study's log are read; "levels" is what version 0.1.0 called a category.
PARTS: dict[str, Callable[..., Part]] = {
    "number": Number,
    "levels": lambda name, levels, missing=False: Category(name, tuple(levels), missing),
    "vector": lambda name, means, *rest: Vector(name, tuple(means), *rest),
    "text": lambda name, words, pieces, *rest: Text(name, tuple(words), tuple(pieces), *rest),
    "model text": lambda name, model, digest, means, *rest: ModelText(
        name, model, digest, tuple(means), *rest
    ),
}


@dataclass(frozen=True)
class Encoder:
    """Fitted preprocessing: the same columns give the same features in memory and in a stream.

    Numbers, booleans and dates (in days) are standardised. Texts become one feature for each level but the
    first. Free text becomes the main directions of its n-grams. A column with missing values also has a
    feature that says where; a missing number becomes the mean. Identifiers, columns with too many levels and
    columns with one value are left out.

    Attributes
    ----------
    parts : tuple of Part
        In the order of the features.
    fitted_on : str
        What it was fitted on, in words.
    left_out : dict
        Columns that are no features, and why.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from fairask.tables import fit_encoder
    >>> table = pa.table({"age": [20, 40, None], "job": ["b", "a", "c"], "country": ["x"] * 3})
    >>> encoder = fit_encoder(table)
    >>> encoder.feature_names_out
    ['age', 'age is missing', 'job=b', 'job=c']
    >>> encoder.transform(table).tolist()
    [[-1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    >>> encoder.left_out
    {'country': 'one value only'}
    """

    parts: tuple[Part, ...]
    fitted_on: str = "nothing: columns are used as they are"
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [part.name for part in self.parts]

    @property
    def feature_names_out(self) -> list[str]:
        """Names of the features, in order; a level's feature is named ``column=level``."""
        return [name for part in self.parts for name in part.features]

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the features, as scikit-learn's transformers do."""
        return np.array(self.feature_names_out, dtype=object)

    def __call__(self, batch: Arrow) -> npt.NDArray[np.float32]:
        """Encode a record batch in single precision; the matrix is stored feature by feature."""
        out = np.empty((len(self.feature_names_out), batch.num_rows), dtype=np.float32)
        self._write({part.name: batch.column(part.name) for part in self.parts}, out)
        return out.T

    def transform(self, data: Arrow) -> npt.NDArray[np.float64]:
        """Encode a table, a data frame, a mapping of columns, or a matrix of :attr:`columns` in order."""
        if isinstance(data, Mapping):
            batches: list[Mapping[str, Column]] = [data]
        elif isinstance(data, np.ndarray | list):
            matrix = np.asarray(data, dtype=object)
            if matrix.ndim != 2 or matrix.shape[1] != len(self.parts):
                raise TableError(
                    f"a matrix of shape {matrix.shape} was given",
                    f"Give one column for each of: {', '.join(self.columns)}",
                )
            batches = [{part.name: matrix[:, i] for i, part in enumerate(self.parts)}]
        else:
            parts = frame_table(data, self.columns).to_batches()
            batches = [{name: part.column(name) for name in self.columns} for part in parts]
        widths = [len(next(iter(batch.values()))) for batch in batches]
        out = np.empty((len(self.feature_names_out), sum(widths)), dtype=np.float64)
        at = 0
        for batch, rows in zip(batches, widths, strict=True):
            self._write(batch, out[:, at : at + rows])
            at += rows
        return np.ascontiguousarray(out.T)

    def _write(self, batch: Mapping[str, Column], out: Out) -> None:
        at = 0
        for part in self.parts:
            width = len(part.features)
            part.write(batch[part.name], out[at : at + width])
            at += width

    @property
    def unusable(self) -> dict[str, str]:
        """Columns left out because a model cannot learn from them, and why."""
        return {name: why for name, why in self.left_out.items() if why != CONSTANT}

    def notes(self) -> list[str]:
        """Say what was done to columns that their owner should know."""
        constant = [name for name, why in self.left_out.items() if why == CONSTANT]
        unusable = [f"{name!r} ({why})" for name, why in self.unusable.items()]
        texts = [part.name for part in self.parts if isinstance(part, Text | ModelText)]
        wordy = [
            f"{part.name!r} ({len(part.levels)} values; --text {shlex.quote(part.name)} learns from their "
            "words)"
            for part in self.parts
            if isinstance(part, Category)
            and len(part.levels) > FEW_LEVELS
            and count_words(part.levels) > WORDS_OF_NAMES
        ]
        marked = [part.name for part in self.parts if f"{part.name} is missing" in part.features]
        return [
            *([f"columns of free text train the model by their words: {listed(texts)}"] if texts else []),
            *([f"short texts are categories, one for each value: {', '.join(wordy)}"] if wordy else []),
            *([f"columns with one value were left out: {listed(constant)}"] if constant else []),
            *(
                [f"columns that a model cannot learn from were left out: {', '.join(unusable)}"]
                if unusable
                else []
            ),
            *([f"missing values were filled in, with an indicator: {listed(marked)}"] if marked else []),
        ]

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        parts = [part.to_list() for part in self.parts]
        return {"parts": parts, "fitted_on": self.fitted_on, "left_out": dict(self.left_out)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Arrow]) -> Encoder:
        """Rebuild from :meth:`to_dict`, also of version 0.1.0."""
        parts = tuple(PARTS[kind](*rest) for kind, *rest in data["parts"])
        return cls(parts, data["fitted_on"], data.get("left_out", {}))

    # A model file holds the encoder as JSON: its parts may be built in another way in a later version.
    def __getstate__(self) -> dict[str, str]:
        return {"encoder": json.dumps(self.to_dict())}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(Encoder.from_dict(json.loads(state["encoder"])).__dict__)


def plain_encoder(schema: Arrow, columns: Sequence[str]) -> Encoder:
    """Return an encoder that takes numbers as they are, for tables that were prepared beforehand.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_encoder(pa.schema([("a", pa.float32())]), ["a"]).fitted_on
    'nothing: columns are used as they are'
    """
    for name in columns:
        if kind_of(kind := schema.field(name).type) not in ("number", "boolean"):
            raise TableError(
                f"column {name!r} has type {kind}",
                "preprocess='none' takes numbers, preprocess='standardize' also texts and dates",
            )
    return Encoder(tuple(Number(name, fill=False) for name in columns))


def listed(values: Sequence[str], most: int = 8) -> str:
    """Return the first values, quoted and shortened.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(repr(value[:40]) for value in values[:most]) + more
