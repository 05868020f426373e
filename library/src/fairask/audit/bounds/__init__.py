"""Bounds on a violation from labelled rows: one module per method, and the table of methods."""

from fairask.audit.bounds.methods import METHODS

__all__ = ["METHODS"]
