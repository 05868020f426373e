"""The page's part on what goes past the paper."""

from __future__ import annotations

import numpy as np

from paper.beyond import beyond_section
from paper.heldout import heldout_table
from paper.problems import get_setup
from tests.paper.conftest import make_curves

PAPER = get_setup("paper")


def curves(method, accuracy, gap, trials=4):
    """A curve at 25, 50, ..., 125 labels of German that ends at these numbers in every trial."""
    labels = (25, 50, 75, 100, 125)
    rising = accuracy - 0.01 * np.arange(4, -1, -1)
    wave = 0.001 * np.arange(trials)[:, None]
    return make_curves(method, "german", labels, rising + wave, np.full((trials, 5), gap))


def section(*found):
    return "\n".join(beyond_section({("german", c.method): c for c in found}, PAPER))


def test_there_is_no_section_without_the_default():
    assert beyond_section({("german", "passive"): curves("passive", 0.7, 0.05)}, PAPER) == []


def test_half_the_labels_are_held_against_the_paper_s_full_budget():
    text = section(curves("default", 0.70, 0.05))
    assert "reached on 1 of 1" in text  # 67.2 at 50 labels, the paper has 66.8
    assert "| German | 50 of 125 | 67.2 ± 0.1 / 0.050 / 0% | 66.8 / 0.097 | ✓ | 50 |" in text
    text = section(curves("default", 0.68, 0.05))
    assert "reached on 0 of 1" in text
    assert "| ✗ | 100 |" in text
    assert "> 125 |" in section(curves("default", 0.60, 0.05))
    assert "> 125 |" in section(curves("default", 0.70, 0.2))  # accurate, but not fair


def test_parts_prices_and_other_tables_are_shown_when_there(tmp_path):
    heldout = tmp_path / "heldout.csv"
    heldout.write_text(
        "table,rows,method,trial,labels,accuracy,gap\n"
        "arrests,9,default,0,25,0.5,0.5\narrests,9,default,0,50,0.8,0.2\n"
        "arrests,9,default,1,50,0.9,0.0\n"
    )
    ours = curves("default", 0.70, 0.05)
    text = section(ours, curves("default-blind", 0.68, 0.05), curves("default-passive", 0.69, 0.05))
    assert "| German | 4 | 68.2 ± 0.1 / 0.050 / 0% | 2.0 ± 0.0 |" in text
    assert "/ 0.050 / 0% | +1.0 ± 0.0 |" in text
    assert "| Default | 85.0 ± 5.0 / 0.100 / 50% (2 trials) |" in "\n".join(heldout_table(heldout))
