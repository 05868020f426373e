"""A table of any kind becomes features, labels and groups."""

from fairask.tables.encoder import Encoder, TextColumns, fit_encoder
from fairask.tables.formats import TableFormat, read_table
from fairask.tables.groups import column_violations

__all__ = [
    "Encoder",
    "TableFormat",
    "TextColumns",
    "column_violations",
    "fit_encoder",
    "read_table",
]
