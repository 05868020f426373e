"""The report: one HTML file that opens from disk, and the results it is made from."""

from fairask.report._comparison import Comparison, Method, Run, Snapshot
from fairask.report._page import curves_display, render, write_report

__all__ = ["Comparison", "Method", "Run", "Snapshot", "curves_display", "render", "write_report"]
