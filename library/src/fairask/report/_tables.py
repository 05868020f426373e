"""Comparisons on several tables as a CSV file and a figure."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from fairask.experiment import Comparison
from fairask.plotting import panels
from fairask.report._page import curves_display


def write_tables(found: Sequence[Comparison], folder: Path) -> dict[str, Path]:
    """Write ``results.csv`` and ``curves.png``; return both paths by what they are."""
    table, figure = folder / "results.csv", folder / "curves.png"
    drawn, axes = panels(None, 2, len(found), (7.4 * len(found), 5.8))
    for column, comparison in enumerate(found):
        curves_display(comparison).plot(ax=axes[column :: len(found)])
        axes[column].set_title(f"{comparison.title}: accuracy on unseen rows")
    drawn.savefig(figure, dpi=110)
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "method", "labels", *vars(found[0].final(found[0].methods[0].name))])
        for c in found:
            for method in c.methods:
                writer.writerow([c.title, method.name, c.task.budget, *vars(c.final(method.name)).values()])
    return {"table": table, "figure": figure}
