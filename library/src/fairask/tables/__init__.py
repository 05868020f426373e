"""A table of any kind becomes features, labels and groups."""

from fairask.tables.encoder import Encoder, TextColumns, fit_encoder
from fairask.tables.formats import TableFormat, read_table
from fairask.tables.groups import column_gaps, group_names
from fairask.tables.labels import prepare

__all__ = [
    "Encoder",
    "TableFormat",
    "TextColumns",
    "column_gaps",
    "fit_encoder",
    "group_names",
    "prepare",
    "read_table",
]
