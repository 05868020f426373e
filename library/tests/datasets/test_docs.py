"""The page on datasets says what the code says."""

from __future__ import annotations

from pathlib import Path

from fairask.datasets import markdown_table

PAGE = Path(__file__).parents[3] / "docs" / "datasets.md"


def test_the_table_in_the_docs_is_the_generated_one():
    assert markdown_table() in PAGE.read_text(encoding="utf-8")
