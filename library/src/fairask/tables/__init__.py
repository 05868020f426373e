"""A table of any kind becomes features, labels and groups, in memory and batch by batch."""

from fairask.errors import TableError
from fairask.tables.encoder import Encoder, Survey, TextColumns, fit_encoder, plain_encoder, survey
from fairask.tables.formats import TableFormat, read_noted, read_table
from fairask.tables.groups import GroupColumns, check_groups, column_violations, group_names
from fairask.tables.labels import Prepared, prepare

__all__ = [
    "Encoder",
    "GroupColumns",
    "Prepared",
    "Survey",
    "TableError",
    "TableFormat",
    "TextColumns",
    "check_groups",
    "column_violations",
    "fit_encoder",
    "group_names",
    "plain_encoder",
    "prepare",
    "read_noted",
    "read_table",
    "survey",
]
