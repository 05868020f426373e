"""Users' own labelled tables: from a CSV or Parquet file to features, labels and groups."""

from fairask.tables._problem import TableProblem
from fairask.tables.prepare import Prepared, prepare, read_labelled
from fairask.tables.read import read_file

__all__ = ["Prepared", "TableProblem", "prepare", "read_file", "read_labelled"]
