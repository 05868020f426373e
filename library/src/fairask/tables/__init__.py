"""A table of any kind becomes features, labels and groups."""

from fairask.errors import TableError
from fairask.tables.encoder import Encoder, TextColumns, fit_encoder
from fairask.tables.formats import TableFormat, read_noted, read_table
from fairask.tables.groups import GroupColumns, column_violations, group_names
from fairask.tables.labels import Prepared, prepare

__all__ = [
    "Encoder",
    "GroupColumns",
    "Prepared",
    "TableError",
    "TableFormat",
    "TextColumns",
    "column_violations",
    "fit_encoder",
    "group_names",
    "prepare",
    "read_noted",
    "read_table",
]
