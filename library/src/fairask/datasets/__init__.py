"""The benchmark's tables: two in the package, four that are downloaded, one that is generated."""

from fairask.datasets.catalog import info, load, names, pull
from fairask.datasets.dataset import Dataset
from fairask.datasets.synthetic import make_synthetic

__all__ = ["Dataset", "info", "load", "make_synthetic", "names", "pull"]
