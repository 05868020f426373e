"""The report: one HTML file that opens from disk, and what is said of the results it is made from."""

from fairask.report._page import curves_display, render, write_report
from fairask.report._study import StudyReport, render_study
from fairask.report._tables import write_tables
from fairask.report._words import (
    audit_line,
    column_lines,
    headline,
    plan_line,
    savings,
    settings_of,
    stops,
    to_dict,
    verdict,
)

__all__ = [
    "StudyReport",
    "audit_line",
    "column_lines",
    "curves_display",
    "headline",
    "plan_line",
    "render",
    "render_study",
    "savings",
    "settings_of",
    "stops",
    "to_dict",
    "verdict",
    "write_report",
    "write_tables",
]
