"""What people write into cells: dates, short texts, and the words of a label."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairask.tables import TableError, fit_encoder, prepare, read_noted, read_table
from fairask.tables.labels import GUESS, KNOWN_PAIRS, find_positive, known_positive

DAY = datetime.date(2023, 12, 31)


def noted(folder: Path, *cells: str) -> tuple[list[object], list[str]]:
    (folder / "t.csv").write_text("when;x\n" + "".join(f"{cell};1\n" for cell in cells), "utf-8")
    table, notes = read_noted(folder / "t.csv")
    return table.column("when").to_pylist(), notes


@pytest.mark.parametrize(
    ("cells", "first", "note"),
    [
        (("31.12.2023", "", "1.2.2024"), DAY, "day first"),
        (("1.2.2024", "3.2.2024"), datetime.date(2024, 2, 1), "day first"),
        (("31/12/2023", "01/02/2024"), DAY, "day first"),
        (("12/31/2023", "01/02/2024"), DAY, "month first"),
        (("31-12-2023",), DAY, "day first"),
        (("31.12.2023 18:30", "1.1.2024"), datetime.datetime(2023, 12, 31, 18, 30), "day first"),
        (("2023-12-31",), DAY, ""),
    ],
)
def test_dates_are_dates(cells: tuple[str, ...], first: object, note: str, tmp_path: Path) -> None:
    values, notes = noted(tmp_path, *cells)
    assert values[0] == first
    assert not any(isinstance(value, str) for value in values)
    assert note in " ".join(notes)
    assert bool(notes) is bool(note)


def test_dates_that_could_be_two_days_stay_text_and_are_named(tmp_path: Path) -> None:
    values, notes = noted(tmp_path, "03/04/2024", "05/06/2024")
    assert values[0] == "03/04/2024"
    assert "cannot be told apart" in notes[0]
    assert "'when'" in notes[0]


@pytest.mark.parametrize("cells", [("31.02.2024",), ("31.12.2023", "soon"), ("13/13/2024",), ("1.2.3",)])
def test_what_is_in_no_calendar_stays_text(cells: tuple[str, ...], tmp_path: Path) -> None:
    values, notes = noted(tmp_path, *cells)
    assert values[0] == cells[0]
    assert not notes


def test_a_frame_of_pandas_has_the_features_of_the_file_it_came_from(tmp_path: Path) -> None:
    days = [DAY + datetime.timedelta(days=7 * i) for i in range(40)]
    for form in ("%d.%m.%Y", "%Y-%m-%d"):
        file = tmp_path / "t.csv"
        file.write_text("when,x\n" + "".join(f"{day:{form}},{i % 7}\n" for i, day in enumerate(days)))
        table = read_table(file)
        encoder = fit_encoder(table)
        assert encoder.feature_names_out == ["when", "x"]
        assert np.allclose(encoder.transform(pd.read_csv(file)), encoder.transform(table))


def test_notes_on_short_texts_name_the_option() -> None:
    rng = np.random.default_rng(0)
    words = ["late", "paid", "kind", "rude", "small", "large"]
    said = [" ".join(rng.choice(words, 3)) for _ in range(300)]
    crowded = fit_encoder(pa.table({"x": rng.normal(size=300), "my note": said})).notes()
    assert any("--text 'my note' learns from their words" in note for note in crowded)
    few = [said[i % 20] for i in range(300)]
    (note,) = fit_encoder(pa.table({"x": rng.normal(size=300), "note": few})).notes()
    assert "short texts are categories" in note
    assert "--text note learns from their words" in note
    codes = [f"A{i}" for i in range(300)]
    assert "--text" not in " ".join(fit_encoder(pa.table({"x": rng.normal(size=300), "code": codes})).notes())
    towns = [f"town {i % 10}" for i in range(300)]
    assert not fit_encoder(pa.table({"x": rng.normal(size=300), "town": towns})).notes()


@pytest.mark.parametrize(("negative", "positive"), sorted(KNOWN_PAIRS))
def test_a_well_known_pair_has_its_good_word_positive(negative: str, positive: str) -> None:
    notes: list[str] = []
    assert find_positive("y", [positive.title(), None, negative.title()], None, notes) == (positive.title(),)
    assert known_positive([negative, positive]) == known_positive([positive, negative]) == positive
    assert "--positive" in notes[0]
    assert not notes[0].startswith(GUESS)


def test_no_pair_is_known_both_ways() -> None:
    assert not {(b, a) for a, b in KNOWN_PAIRS} & KNOWN_PAIRS


def test_an_unknown_pair_is_a_guess_that_is_said_and_a_certificate_makes_none() -> None:
    notes: list[str] = []
    assert find_positive("y", ["on time", "very late"], None, notes) == ("very late",)
    assert notes[0].startswith(GUESS)
    assert "--positive 'on time'" in notes[0]
    with pytest.raises(TableError, match="--positive"):
        find_positive("y", ["on time", "very late"], None, [], guess=False)


def test_both_labels_have_their_names() -> None:
    columns = {"x": np.arange(16.0) % 5, "g": ["a", "b"] * 8}
    two = prepare(
        pa.table({**columns, "y": ["passed", "passed", "failed", "failed"] * 4}), label="y", protected="g"
    )
    assert (two.negative, two.positive) == ("failed", "passed")
    grades = ["a", "a", "b", "c", "b", "c", "a", "a"] * 2
    several = prepare(pa.table({**columns, "y": grades}), label="y", protected="g", positive="a")
    assert (several.negative, several.positive) == ("not a", "a")
