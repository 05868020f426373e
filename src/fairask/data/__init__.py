"""A table of any kind becomes features, labels and groups, in memory and batch by batch."""

from fairask.data.encode import Encoder, plain_encoder
from fairask.data.errors import TableError
from fairask.data.folding import check_groups
from fairask.data.formats import TableFormat
from fairask.data.groups import GroupColumns, column_violations, group_names
from fairask.data.labels import Prepared, prepare
from fairask.data.read import read_noted, read_table
from fairask.data.survey import Survey, TextColumns, fit_encoder, survey

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
