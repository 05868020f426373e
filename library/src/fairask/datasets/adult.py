"""Adult (census income): does a person earn more than 50,000 dollars a year; groups by sex."""

from __future__ import annotations

import numpy as np

from fairask.datasets.dataset import Parsed, RawTable, Spec

COLUMNS = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income
""".split()
NUMERIC = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


def parse(table: RawTable) -> Parsed:
    """All 14 columns are features; "?" stays a level of its own."""
    X, names = table.encode(COLUMNS[:-1], NUMERIC)
    # adult.test, the second file, ends its labels with a full stop.
    y = np.isin(table.text("income"), [">50K", ">50K."]).astype(np.int64)
    return Parsed(X, names, y, table.text("sex"))


SPEC = Spec(
    name="adult",
    files=("adult/adult.data", "adult/adult.test"),
    columns=COLUMNS,
    parse=parse,
    target="income above 50,000 dollars a year",
    protected="sex",
    description='Census records of 1994; "?" is a level of its own.',
    citation="Becker, B. & Kohavi, R. (1996). Adult. UCI Machine Learning Repository. doi:10.24432/C5XW20",
    licence="CC BY 4.0",
    source="https://archive.ics.uci.edu/dataset/2/adult",
    counts={"Female": (16_192, 1_769), "Male": (32_650, 9_918)},
    features={"paper": 100},
    sha256="d3450affcf20db51b3e8509d0d544891ab55b1fdb0e77e5d82570e0ffbe887ef",
    embedded="17fb58b4e87d7c4cb3066595b0b311d4f3127264b33eb20ebc93365779816692",
)
