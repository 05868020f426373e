"""What is written: whole files, and no cell that a spreadsheet runs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairask.report.words import visible
from fairask.tables.sheets import csv_text, plain_cell, safe_cell, write_whole

DANGEROUS = (
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "|x", "%a", " =1", "\u00a0=1", "＝1", "＋1", "－x", "＠x", "｜x",
    "％a",
    "\tx", "\rx", "\nx", "\t=1", "x;=1+1", "x; =1+1", "x;y;@a", "x\t=1", "a\n=1", "1;-5", "'=1", "x;'=1",
)  # fmt: skip


@pytest.mark.parametrize("text", DANGEROUS)
def test_what_could_begin_a_formula_is_guarded_and_comes_back(text: str) -> None:
    cell = safe_cell(text)
    assert isinstance(cell, str)
    assert cell != text
    assert plain_cell(cell) == visible(text)


@pytest.mark.parametrize(
    "text", ["plain", "-5", "+5.5", "-1e3", "a=b", "a-b", "tel 30-40", "'tis", "", "a;b"]
)
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text
    assert plain_cell(text) == text


@given(st.text(alphabet="=+-@|%＝;\t\r\n '1ax\u00a0", max_size=8))
def test_no_cell_begins_a_formula_wherever_a_line_is_split_and_none_is_lost(text: str) -> None:
    _, (cell,) = csv.reader(io.StringIO(csv_text(["h"], [[text + "x"]]), newline=""))
    assert plain_cell(cell) == visible(text + "x")
    text += "x"
    if cell != text:
        for part in cell.replace("\t", ";").replace("\r", ";").replace("\n", ";").split(";"):
            assert part.lstrip()[:1] not in tuple("=+-@|%＝") or not part.strip()


def test_values_that_are_no_text_stay_what_they_are() -> None:
    assert [safe_cell(v) for v in (-3, 0.5, True, None)] == [-3, 0.5, True, ""]


def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "a", "\ud800")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"
