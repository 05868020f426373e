"""How a column is shown on a card: a number, a date, a short or a long text, a link, an image, Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fairask.tables.arrow import kind_of
from fairask.tables.text import WORDS_OF_TEXT, count_words

if TYPE_CHECKING:
    from fairask_studio._reference import PoolReference

#: How a column can be shown; "none" hides it from annotators, and a model still learns from it.
DISPLAYS = ("number", "date", "text", "long", "link", "image", "markdown", "none")
#: Rows that are looked at, and texts of more characters that are long whatever their words.
_ROWS, _LONG = 500, 200
_ADDRESS = re.compile(r"https?://\S+")
_IMAGE = re.compile(r"[^\s?#<>\"]+\.(png|jpe?g|gif|webp)(\?\S*)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
_MARKS = re.compile(r"^(#{1,6} |[-*] |\d+\. |> |```)|\*\*\S[^*]*\*\*|\]\(https?://", re.MULTILINE)


def guess_display(values: Sequence[str]) -> str:
    """Guess how a column of texts is shown.

    Examples
    --------
    >>> guess_display(["a.png", "photos/b.JPG"]), guess_display(["https://example.org/1"])
    ('image', 'link')
    >>> guess_display(["2024-02-01"]), guess_display(["red", "blue"]), guess_display([])
    ('date', 'text', 'text')
    >>> guess_display(["I waited for an hour and nobody came. " * 5, "Good."])
    'long'
    >>> guess_display(["# Complaint\\n\\nThe **second** letter this week said the same."])
    'markdown'
    """
    if not values:
        return "text"
    for kind, pattern in (("image", _IMAGE), ("link", _ADDRESS), ("date", _DATE)):
        if all(pattern.fullmatch(value) for value in values):
            return kind
    if count_words(values) <= WORDS_OF_TEXT and np.mean([len(value) for value in values]) <= _LONG:
        return "long" if max(map(len, values)) > _LONG else "text"
    return "markdown" if np.mean([bool(_MARKS.search(value)) for value in values]) > 0.5 else "long"


def guess_displays(table: pa.Table | PoolReference) -> dict[str, str]:
    """Guess how each column is shown, from its type and some of its rows.

    Examples
    --------
    >>> guess_displays(pa.table({"age": [30], "text": ["Nobody answered the phone the whole day."]}))
    {'age': 'number', 'text': 'long'}
    """
    some = table if isinstance(table, pa.Table) else _first_rows(table)
    step = max(some.num_rows // _ROWS, 1)
    some = some.take(pa.array(range(0, some.num_rows, step), pa.int64()))
    return {name: _of_column(some.column(name)) for name in some.column_names}


def _first_rows(reference: PoolReference) -> pa.Table:
    table = reference.table or reference.open()
    names = reference.column_names
    first = next(iter(table.read(next(iter(table.select(names))), names)))
    return pa.Table.from_batches([first])


def _of_column(column: pa.ChunkedArray) -> str:
    kind = kind_of(column.type)
    if kind in ("number", "date"):
        return kind
    values = [str(value) for value in column.to_pylist() if value is not None] if kind == "category" else []
    return guess_display([value for value in values if value.strip()])
