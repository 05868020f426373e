"""A table of any kind becomes features, labels and groups, in memory and batch by batch."""

from fairask.tables.encode import Encoder, plain_encoder
from fairask.tables.errors import TableError
from fairask.tables.folding import check_groups
from fairask.tables.formats import TableFormat
from fairask.tables.groups import GroupColumns, column_violations, group_names
from fairask.tables.labels import Prepared, prepare
from fairask.tables.read import read_noted, read_table
from fairask.tables.survey import Survey, TextColumns, fit_encoder, survey

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
