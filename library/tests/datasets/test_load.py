"""Every dataset comes out with the rows, groups and base rates that its definition says."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from fairask.datasets import info, load, make_synthetic, names
from fairask.datasets.catalog import CATALOG, DatasetNotFound, embedded
from fairask.errors import TableError

# name, variant, rows, features, P(y = 1), group -> (rows, P(y = 1)); written down from the data's
# description and rounded as there, not computed by the code under test.
EMBEDDED = [
    ("adult", "paper", 48_842, 100, 0.239, {"Male": (32_650, 0.304), "Female": (16_192, 0.109)}),
    ("german", "paper", 1_000, 48, 0.700, {"Male": (690, 0.723), "Female": (310, 0.648)}),
]
DRUG = {"Female": (942, 0.386), "Male": (943, 0.673)}
CRIME = {"below 20 % non-white": (1_306, 0.219), "20 % or more non-white": (596, 0.789)}
FOUND = [
    ("drug", "paper", 1_885, 30, 0.530, DRUG),
    ("drug", "honest", 1_885, 12, 0.530, DRUG),
    ("crime", "paper", 1_902, 118, 0.3975, CRIME),
    ("crime", "honest", 1_902, 101, 0.3975, CRIME),
    ("bank", "paper", 11_162, 42, 0.474, {"tertiary": (3_689, 0.541), "other": (7_473, 0.441)}),
    ("compas", "paper", 5_278, 10, 0.470, {"Male": (4_247, 0.497), "Female": (1_031, 0.362)}),
]


def check(name, variant, rows, features, rate, groups):
    data = load(name, variant)
    assert data.X.shape == (rows, features)
    assert data.X.dtype == np.float64
    assert len(data.feature_names) == len(set(data.feature_names)) == features
    assert set(np.unique(data.y)) == {0, 1}
    assert data.y.mean() == pytest.approx(rate, abs=5.1e-4)
    assert data.group_sizes == {g: n for g, (n, _) in groups.items()}
    assert data.base_rates == pytest.approx({g: r for g, (_, r) in groups.items()}, abs=5.1e-4)
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(data.X.std(axis=0), 1, atol=1e-9)
    said = info(name)
    assert (said["rows"], said["features"][variant]) == (rows, features)
    assert said["group_sizes"] == data.group_sizes
    assert said["base_rates"] == pytest.approx(data.base_rates)


@pytest.mark.parametrize("case", EMBEDDED, ids=lambda c: c[0])
def test_embedded_tables_are_as_described(case):
    check(*case)


@pytest.mark.parametrize("case", FOUND, ids=lambda c: f"{c[0]}-{c[1]}")
def test_tables_in_the_folder_are_as_described(case, tables):
    check(*case)


def test_the_protected_attribute_stays_among_the_features():
    data = load("adult", standardize=False)
    male = data.X[:, data.feature_names.index("sex=Male")]
    np.testing.assert_array_equal(male == 1, data.groups == "Male")


def test_raw_columns_keep_their_units():
    data = load("adult", standardize=False)
    age = data.X[:, data.feature_names.index("age")]
    assert (age[0], age.min(), age.max()) == (39, 17, 90)
    assert "workclass=Federal-gov" in data.feature_names  # "?" sorts first and is the dropped level
    assert "workclass=?" not in data.feature_names


def test_honest_variants_hold_nothing_that_gives_the_target_away(tables):
    crime, drug = load("crime", "honest"), load("drug", "honest")
    assert not [f for f in crime.feature_names if "PerPop" in f and not f.startswith(("Lemas", "Polic"))]
    assert {"murders", "rapes", "robberies", "assaults"}.isdisjoint(crime.feature_names)
    assert {"murders", "nonViolPerPop"} <= set(load("crime").feature_names)
    assert "ViolentCrimesPerPop" not in load("crime").feature_names
    assert {"LSD", "Cannabis"}.isdisjoint(drug.feature_names)


def test_compas_scores_are_never_features(tables):
    features = " ".join(load("compas").feature_names)
    assert not any(word in features for word in ("decile", "score", "recid", "id="))


def headless(path: Path, target: Path, end: bytes) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(path.read_bytes().partition(b"\n")[2].replace(b"\n", end))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("file", ["drug/drug_consumption.data", "crime/CommViolPredUnnormalizedData.txt"])
def test_files_without_a_header_read_the_same(file, end, tables, tmp_path, monkeypatch):
    name = file.partition("/")[0]
    expected = load(name)
    headless(tables / file, tmp_path / "official" / file, end)
    monkeypatch.setenv("FAIRASK_DATA", str(tmp_path / "official"))
    official = load(name)
    np.testing.assert_array_equal(official.X, expected.X)
    np.testing.assert_array_equal(official.y, expected.y)
    np.testing.assert_array_equal(official.groups, expected.groups)


def test_propublicas_wide_unfiltered_file_reads_the_same(tables, tmp_path, monkeypatch):
    """53 columns in another order, two names twice, quoted text, and rows that the filter must drop."""
    expected = load("compas")
    file = "compas/compas-scores-two-years.csv"
    with (tables / file).open(newline="") as stream:
        header, *rows = csv.reader(stream)
    order = header[:1] + header[:0:-1]
    extra = [f"extra{i}" for i in range(33)]
    wide = [[*order, *extra, "priors_count", "decile_score"]]
    unwanted = {
        "days_b_screening_arrest": ["", "31", "-31"],
        "is_recid": ["-1"],
        "c_charge_degree": ["O"],
        "score_text": ["N/A"],
        "race": ["Other", "Hispanic"],
    }
    bad = [
        [value if name == column else cell for name, cell in zip(header, rows[0], strict=True)]
        for column, values in unwanted.items()
        for value in values
    ]
    for row in [*bad, *rows, *bad]:
        cells = dict(zip(header, row, strict=True))
        wide.append([*(cells[c] for c in order), *["a, b\nc"] * 33, "99", "99"])
    assert len(wide[0]) == 53
    target = tmp_path / "official" / file
    target.parent.mkdir(parents=True)
    with target.open("w", newline="") as stream:
        csv.writer(stream).writerows(wide)
    monkeypatch.setenv("FAIRASK_DATA", str(tmp_path / "official"))
    official = load("compas")
    np.testing.assert_array_equal(official.X, expected.X)
    np.testing.assert_array_equal(official.y, expected.y)


def test_a_header_with_other_spellings_reads_the_same(tables, tmp_path, monkeypatch):
    expected = load("crime")
    file = "crime/CommViolPredUnnormalizedData.txt"
    target = tmp_path / "other" / file
    target.parent.mkdir(parents=True)
    text = (
        (tables / file)
        .read_text()
        .replace("MedNumB,", "MedNumBR,", 1)
        .replace("robbbPerPop", "robbPerPop", 1)
    )
    target.write_text(text)
    monkeypatch.setenv("FAIRASK_DATA", str(tmp_path / "other"))
    np.testing.assert_array_equal(load("crime").X, expected.X)


def copy_changed(tables: Path, tmp_path: Path, file: str, old: str, new: str) -> Path:
    target = tmp_path / "changed" / file
    target.parent.mkdir(parents=True)
    text = (tables / file).read_text()
    assert old in text
    target.write_text(text.replace(old, new, 1))
    return tmp_path / "changed"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1,0.49788,", "1,0.49789,", "values were changed"),
        ("1,0.49788,", "1,high,", "column 'Age' holds 'high' in data row 1"),
        (",CL5,", ",CL9,", "'CL9', which is not one of CL0 to CL6"),
        ("1,0.49788,0.48246", "1,0.49788,-0.48246", "group 'Female' has 941 rows"),
        ("1,0.49788,", "1,0.49788,7,", "data row 1 has 33 fields instead of 32"),
    ],
)
def test_a_changed_file_is_refused_with_what_differs(old, new, message, tables, tmp_path, monkeypatch):
    folder = copy_changed(tables, tmp_path, "drug/drug_consumption.data", old, new)
    monkeypatch.setenv("FAIRASK_DATA", str(folder))
    with pytest.raises(TableError, match=message):
        load("drug")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"<!DOCTYPE html><html>", "a web page, not a table"),
        (b"age,job\n", "fields instead of 17"),
        (b"\xff\xfe\x00", "not text in utf-8"),
        (b'1,"unclosed', "cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_refused(content, message, tmp_path, monkeypatch):
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "bank.csv").write_bytes(content)
    monkeypatch.setenv("FAIRASK_DATA", str(tmp_path))
    with pytest.raises(TableError, match=message):
        load("bank")


def test_the_folder_comes_before_the_cache(tables, cache):
    broken = cache / "drug" / "drug_consumption.data"
    broken.parent.mkdir(parents=True)
    broken.write_text("nonsense")
    assert len(load("drug").y) == 1_885


def test_an_absent_table_says_which_command_to_run():
    with pytest.raises(DatasetNotFound, match=r"run `fairask datasets pull drug`.*FAIRASK_DATA"):
        load("drug")


def test_absent_bank_says_which_file_to_put_where(cache):
    with pytest.raises(DatasetNotFound) as caught:
        load("bank")
    message = str(caught.value)
    assert "https://www.kaggle.com/datasets/janiobachmann/bank-marketing-dataset" in message
    assert "bank.csv" in message
    assert str(cache / "bank" / "bank.csv") in message
    assert isinstance(caught.value, FileNotFoundError)


def test_a_data_folder_that_is_none_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRASK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFound, match="which is not a folder"):
        load("drug")
    assert len(load("german").y) == 1_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load("adlut"), "unknown dataset 'adlut'; did you mean 'adult'"),
        (lambda: load("crime", "honset"), "unknown variant 'honset' of crime; did you mean 'honest'"),
        (lambda: load("adult", "honest"), "unknown variant 'honest' of adult; known: paper"),
        (lambda: info("nothing-like-it"), "known: adult, bank"),
        (lambda: make_synthetic(spread=0), "spread must be a positive number"),
        (lambda: make_synthetic(spread=float("nan")), "spread must be a positive number"),
        (lambda: make_synthetic(n_minority=0), "n_minority must be at least 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_options_belong_to_the_synthetic_set():
    with pytest.raises(TypeError, match="takes no option spread"):
        load("adult", spread=3)
    with pytest.raises(TypeError, match="spred"):
        load("synthetic", spred=3)


def test_every_dataset_is_described_and_says_how_to_get_what_is_absent():
    rows = [info(name) for name in names()]
    absent = {d["name"] for d in rows if d["place"] is None}
    assert absent == {"bank", "compas", "crime", "drug"}
    assert {d["name"] for d in rows if d["how_to_get"]} == absent


def test_a_damaged_embedded_table_is_not_read(monkeypatch):
    monkeypatch.setitem(CATALOG, "german", replace(CATALOG["german"], embedded="0" * 64))
    with pytest.raises(TableError, match="embedded table german was changed"):
        load("german")


@pytest.mark.parametrize("name", ["adult", "german"])
def test_the_embedded_table_is_the_published_one(name, tables):
    spec = CATALOG[name]
    spec.check(spec.parse(embedded(spec)), name)
    published = spec.read([(tables / file).read_bytes() for file in spec.files], name)
    kept = embedded(spec)
    for column in spec.columns:
        assert (published.text(column) == kept.text(column)).all()
    assert published.pack() == kept.pack()


def test_embedded_tables_are_small_and_cited():
    folder = files("fairask.datasets") / "tables"
    sizes = {f.name: len(f.read_bytes()) for f in folder.iterdir()}
    assert sum(sizes.values()) < 1_000_000
    assert set(sizes) == {"adult.npz", "german.npz", "CITATION.txt"}
    text = (folder / "CITATION.txt").read_text()
    assert "CC BY 4.0" in text
    assert "Becker, B. & Kohavi, R. (1996)" in text
    assert "Hofmann, H. (1994)" in text
