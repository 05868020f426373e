"""The benchmark's datasets: two embedded tables, four that are fetched, one that is generated."""

from fairask.datasets._catalog import names
from fairask.datasets._dataset import Dataset
from fairask.datasets._errors import DatasetNotFound, DownloadError, TableError
from fairask.datasets._info import DatasetInfo, info, markdown_table, status
from fairask.datasets._load import load
from fairask.datasets._pull import PullResult, pull, pull_all
from fairask.datasets._synthetic import make_synthetic

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DatasetNotFound",
    "DownloadError",
    "PullResult",
    "TableError",
    "info",
    "load",
    "make_synthetic",
    "markdown_table",
    "names",
    "pull",
    "pull_all",
    "status",
]
