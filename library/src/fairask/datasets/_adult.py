"""Adult (census income): does a person earn more than 50,000 dollars a year; groups by sex."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairask.datasets._encode import encode
from fairask.datasets._spec import GroupCount, ParsedTable, Spec
from fairask.datasets.reading import RawTable, read_table, words

COLUMNS = words(
    """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income
    """
)
NUMERIC = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


def parse(texts: Sequence[str], source: str) -> ParsedTable:
    """Join the two files; "?" stays a level of its own."""
    parts = []
    for text in texts:
        # adult.test opens with a comment line.
        body = text.partition("\n")[2] if text.startswith("|") else text
        parts.append(read_table(body, source=source, names=COLUMNS))
    table = RawTable(source, {c: [v for part in parts for v in part.text(c)] for c in COLUMNS})
    X, names = encode(table.select(COLUMNS[:-1], NUMERIC), source)
    # adult.test ends its labels with a full stop.
    y = np.array([label.rstrip(".") == ">50K" for label in table.text("income")], dtype=np.int64)
    return ParsedTable(X, names, y, np.array(table.text("sex")))


SPEC = Spec(
    name="adult",
    files=("adult/adult.data", "adult/adult.test"),
    parse=parse,
    target="income above 50,000 dollars a year",
    protected="sex",
    description='Census records of 1994; "?" is a level of its own.',
    citation="Becker, B. & Kohavi, R. (1996). Adult. UCI Machine Learning Repository. doi:10.24432/C5XW20",
    licence="CC BY 4.0",
    source="https://archive.ics.uci.edu/dataset/2/adult",
    counts={"Female": GroupCount(16_192, 1_769), "Male": GroupCount(32_650, 9_918)},
    features={"paper": 100},
    table_sha256="d3450affcf20db51b3e8509d0d544891ab55b1fdb0e77e5d82570e0ffbe887ef",
    sha256=(
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    embedded=True,
)
