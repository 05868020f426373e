"""Predictions in a column: 0 and 1, probabilities of 1, or classes of which some count as 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairask.metrics import Float
from fairask.tables import TableError
from fairask.tables.arrow import Arrow, kind_of
from fairask.tables.cells import listed, texts
from fairask.tables.labels import known_note, known_positive, say_which


def key(text: str) -> str:
    """How values are compared: by number if they are numbers, else without regard to case.

    Examples
    --------
    >>> key("1.0") == key("1"), key("Yes") == key("yes ")
    (True, True)
    """
    try:
        return repr(float(text))
    except ValueError:
        return " ".join(text.split()).lower()


def words_of(column: Arrow) -> NDArray[np.object_]:
    """Values as text, None where missing."""
    if kind_of(column.type) is None:
        raise TableError(f"a column has values of type {column.type}", "Name a column of plain values")
    return np.array(texts(column), dtype=object)


@dataclass(frozen=True)
class Classes:
    """Names of the classes by what they count as; none where predictions are numbers.

    Examples
    --------
    >>> grades = Classes(("failed",), ("distinction", "passed"))
    >>> grades.code("Passed "), grades.code("failed"), grades.code("unheard of"), Classes().code("1.0")
    (1, 0, None, 1)
    """

    negative: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the positive ones last; 0 and 1 where predictions are numbers."""
        return (*self.negative, *self.positive) or ("0", "1")

    def code(self, label: str) -> int | None:
        """What a label counts as; None for one that is no class."""
        wanted = key(label)
        for code, names in enumerate((self.negative, self.positive)):
            if wanted in map(key, names):
                return code
        numbers = {key("0"): 0, key("1"): 1, "false": 0, "true": 1}
        return None if self.negative or self.positive else numbers.get(wanted)


def scores_of(
    column: Arrow, name: str, positive: Sequence[str], labelled: bool, notes: list[str] | None = None
) -> tuple[Float, Classes]:
    """Return predictions in [0, 1] and the classes.

    With ``labelled``, ``positive`` may name classes of the labels. ``notes`` get what the table's owner
    should know.
    """
    import pyarrow as pa

    if (missing := column.null_count) or (missing := int(column.is_null(nan_is_null=True).to_numpy().sum())):
        row = int(np.argmax(column.is_null(nan_is_null=True).to_numpy())) + 1
        raise TableError(
            f"{missing:,} rows have no prediction in {name!r}, the first is data row {row}",
            "The audit is of the model's decisions: predict those rows too, or leave them out of the file",
        )
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.int8()), pa.int8()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        if ((values >= 0) & (values <= 1)).all():
            wanted = {key(one) for one in positive}
            if wanted <= {key("1")}:
                return values, Classes()
            if wanted == {key("0")}:
                if ((values > 0) & (values < 1)).any():
                    raise TableError(
                        f"--positive 0: {name!r} has probabilities, which are those of 1",
                        "Give a column with the probabilities of the positive class",
                    )
                return 1 - values, Classes(("1",), ("0",))
            # Where labels are known and have names, --positive is about those.
            if not labelled:
                raise TableError(
                    f"--positive {listed(positive)}: predictions in {name!r} are numbers from 0 to 1, not "
                    "classes",
                    "Leave --positive out, and label the rows with 1 and 0",
                )
            return values, Classes()
        if not positive and len(np.unique(values[:10_000])) > 2:
            raise TableError(
                f"predictions in {name!r} go from {values.min():g} to {values.max():g}",
                "Give 0 and 1, probabilities from 0 to 1, or classes with --positive",
            )
    words = words_of(column)
    classes = choose_classes(name, sorted({str(w) for w in words}), positive, notes)
    return np.isin(words.astype(str), classes.positive).astype(np.float64), classes


def choose_classes(
    name: str, found: Sequence[str], positive: Sequence[str], notes: list[str] | None = None
) -> Classes:
    """Return the classes of column ``name``, or raise TableError naming them.

    Of a well-known pair the good class is taken where none is named; others are not guessed.
    Of several positive classes, those that no prediction has may still be labels; ``notes`` say which.

    Examples
    --------
    >>> choose_classes("said", ["failed", "passed"], ["passed", "distinction"])
    Classes(negative=('failed',), positive=('passed', 'distinction'))
    >>> choose_classes("said", ["approved", "rejected"], [])
    Classes(negative=('rejected',), positive=('approved',))
    """
    if not positive and (known := known_positive(found)):
        positive = [known]
        other = next(value for value in found if value != known)
        if notes is not None:
            notes.append(known_note("prediction", known, other))
    if not positive:
        raise TableError(f"predictions in {name!r} are classes: {listed(found)}", say_which(found))
    same = {key(value): value for value in found}
    absent = [one for one in positive if key(one) not in same]
    if len(absent) == len(positive):
        raise TableError(
            f"--positive {listed(positive)} is not a value of {name!r}", f"Values: {listed(found)}"
        )
    if absent and notes is not None:
        notes.append(f"no prediction in {name!r} is {listed(absent)}; a label that is counts as positive")
    chosen = tuple(dict.fromkeys(same.get(key(one), one.strip()) for one in positive))
    others = tuple(value for value in found if value not in chosen)
    if len(chosen) > 1 and not others:
        raise TableError(f"--positive names all values of {name!r}", "Leave out those that count as negative")
    return Classes(others, chosen)
