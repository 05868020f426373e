"""The report: one HTML file that opens from disk, and the results it is made from."""

from fairask.report._comparison import Comparison, Method, Run, Snapshot
from fairask.report._page import curves_display, render, write_report
from fairask.report._study import StudyReport, render_study

__all__ = [
    "Comparison",
    "Method",
    "Run",
    "Snapshot",
    "StudyReport",
    "curves_display",
    "render",
    "render_study",
    "write_report",
]
