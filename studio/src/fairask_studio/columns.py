"""The columns of a pool: what each is for, and how it is shown on a card.

A column is shown as a number, a date, a short or a long text, a link, an image, a recording, or Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fairask.tables import Encoder
from fairask.tables.arrow import kind_of
from fairask.tables.text import WORDS_OF_TEXT, count_words
from fairask_studio.errors import on_page
from fairask_studio.events import Document

#: How a column can be shown; "none" hides it from annotators, and a model still learns from it.
DISPLAYS = ("number", "date", "text", "long", "link", "image", "audio", "markdown", "none")
#: Rows that are looked at, and texts of more characters that are long whatever their words.
_ROWS, _LONG = 500, 200
_ADDRESS = re.compile(r"https?://\S+")
#: How the names of images and of recordings end.
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
RECORDINGS = (".wav", ".mp3", ".ogg", ".oga", ".opus", ".m4a", ".flac")
_IMAGE, _AUDIO = (
    re.compile(rf"[^\s?#<>\"]+({'|'.join(map(re.escape, ends))})(\?\S*)?", re.IGNORECASE)
    for ends in (IMAGES, RECORDINGS)
)
#: What only annotators see or hear: to a model it is the name of a file.
MEDIA = ("image", "audio")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
_MARKS = re.compile(r"^(#{1,6} |[-*] |\d+\. |> |```)|\*\*\S[^*]*\*\*|\]\(https?://", re.MULTILINE)


@dataclass(frozen=True)
class ColumnInfo:
    """A column of the pool and how it is shown: plain name, unit, words for its codes, kind of display."""

    name: str
    kind: str  #: "number" or "text"
    role: str = "feature"  #: "feature" trains the model; "shown", "hidden" and "protected" do not
    title: str = ""
    unit: str = ""
    values: dict[str, str] = field(default_factory=dict)
    display: str = ""  #: one of ``DISPLAYS``; empty: a number or a text, by its kind

    def code_of(self, value: object) -> str:
        """Return a cell as text: a key of ``values`` where its code has words.

        Examples
        --------
        >>> [ColumnInfo("age", "number").code_of(value) for value in (30.0, 2.5, None)]
        ['30', '2.5', '']
        """
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return "" if value is None else str(value)


def column_infos(
    schema: pa.Schema,
    protected: Sequence[str],
    *,
    hide: Iterable[str],
    words: Mapping[str, Document],
    idle: Collection[str] = (),
    displays: Mapping[str, str] | None = None,
) -> tuple[ColumnInfo, ...]:
    """Decide what each column is for; the columns named in ``words`` come first, in its order.

    ``idle`` columns cannot train a model, and are only shown. ``displays`` says how columns are shown where
    ``words`` does not.

    Examples
    --------
    >>> schema = pa.schema([("age", pa.int8()), ("sex", pa.string())])
    >>> infos = column_infos(schema, ["sex"], hide=[], words={})
    >>> [(info.name, info.kind, info.role) for info in infos]
    [('age', 'number', 'feature'), ('sex', 'text', 'protected')]
    """
    hidden = set(hide)
    infos = []
    for name in [*words, *(n for n in schema.names if n not in words)]:
        kind = "number" if kind_of(schema.field(name).type) == "number" else "text"
        unseen = name in hidden or kind_of(schema.field(name).type) == "vector"
        role = "protected" if name in protected else "hidden" if unseen else "feature"
        role = "shown" if role == "feature" and name in idle else role
        display = (displays or {}).get(name, "")
        # A number without meaning as a number is an identifier: no separators, no unit.
        display = "text" if display == "number" and role == "shown" else display
        infos.append(ColumnInfo(name, kind, role, **{"display": display, **words.get(name, {})}))
    return tuple(infos)


#: Why a column is not learned from, by its role.
_WHY = {"protected": "it names the group", "hidden": "left out", "shown": "it tells nothing of another row"}
_UNSEEN = {"image": "a model does not see images", "audio": "a model does not hear recordings"}


def learned_columns(
    columns: Iterable[ColumnInfo], encoder: Encoder
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the titles of the columns that a model learns from, and those of the others with the reason.

    The encoder has its own reason for columns that cannot train a model, and reads the protected column where
    models may use it.

    Examples
    --------
    >>> from fairask.tables import fit_encoder
    >>> table = pa.table({"age": [30, 40], "sex": ["f", "m"]})
    >>> age, sex = ColumnInfo("age", "number"), ColumnInfo("sex", "text", "protected", title="Sex")
    >>> learned_columns([age, sex], fit_encoder(table, ["age"]))
    (['age'], [('Sex', 'it names the group')])
    >>> learned_columns([age, sex], fit_encoder(table))
    (['age', 'Sex'], [])
    """
    learned, others = [], []
    for column in columns:
        title = column.title or column.name
        if column.role == "feature" or (column.role == "protected" and column.name in encoder.columns):
            learned.append(title)
        else:
            media = _UNSEEN.get(column.display) if column.role == "shown" else None
            reason = on_page(encoder.left_out.get(column.name, ""))
            others.append((title, reason or media or _WHY[column.role]))
    return learned, others


def guess_display(values: Sequence[str]) -> str:
    """Guess how a column of texts is shown.

    Examples
    --------
    >>> guess_display(["a.png", "photos/b.JPG"]), guess_display(["https://example.org/1"])
    ('image', 'link')
    >>> guess_display(["calls/1.wav", "https://example.org/2.mp3"])
    'audio'
    >>> guess_display(["2024-02-01"]), guess_display(["red", "blue"]), guess_display([])
    ('date', 'text', 'text')
    >>> guess_display(["I waited for an hour and nobody came. " * 5, "Good."])
    'long'
    >>> guess_display(["# Complaint\\n\\nThe **second** letter this week said the same."])
    'markdown'
    """
    if not values:
        return "text"
    for kind, pattern in (("image", _IMAGE), ("audio", _AUDIO), ("link", _ADDRESS), ("date", _DATE)):
        if all(pattern.fullmatch(value) for value in values):
            return kind
    if count_words(values) <= WORDS_OF_TEXT and np.mean([len(value) for value in values]) <= _LONG:
        return "long" if max(map(len, values)) > _LONG else "text"
    return "markdown" if np.mean([bool(_MARKS.search(value)) for value in values]) > 0.5 else "long"


def guess_displays(table: pa.Table) -> dict[str, str]:
    """Guess how each column is shown, from its type and some of its rows.

    Examples
    --------
    >>> guess_displays(pa.table({"age": [30], "text": ["Nobody answered the phone the whole day."]}))
    {'age': 'number', 'text': 'long'}
    """
    step = max(table.num_rows // _ROWS, 1)
    some = table.take(pa.array(range(0, table.num_rows, step), pa.int64()))
    return {name: _of_column(some.column(name)) for name in some.column_names}


def _of_column(column: pa.ChunkedArray) -> str:
    kind = kind_of(column.type)
    if kind in ("number", "date"):
        return kind
    values = [str(value) for value in column.to_pylist() if value is not None] if kind == "category" else []
    return guess_display([value for value in values if value.strip()])
