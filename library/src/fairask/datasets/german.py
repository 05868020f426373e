"""German Credit: is a loan a good risk; groups by sex, read from the personal status."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairask.datasets._encode import encode
from fairask.datasets._spec import GroupCount, ParsedTable, Spec
from fairask.datasets.reading import read_table, words

COLUMNS = words(
    """
    checking duration history purpose amount savings employment installment-rate status debtors
    residence property age other-plans housing credits job dependants telephone foreign class
    """
)
NUMERIC = {"duration", "amount", "installment-rate", "residence", "age", "credits", "dependants"}
#: A92: divorced, separated or married women; A95: single women (which does not occur).
FEMALE = {"A92", "A95"}


def parse(texts: Sequence[str], source: str) -> ParsedTable:
    """Read the space-separated codes; class 1 is a good risk, 2 a bad one."""
    table = read_table(texts[0], source=source, names=COLUMNS, delimiter=" ")
    X, names = encode(table.select(COLUMNS[:-1], NUMERIC), source)
    y = (table.numbers("class") == 1).astype(np.int64)
    groups = np.array(["Female" if code in FEMALE else "Male" for code in table.text("status")])
    return ParsedTable(X, names, y, groups)


SPEC = Spec(
    name="german",
    files=("german/german.data",),
    parse=parse,
    target="good credit risk",
    protected="sex",
    description="Loans of a German bank; sex is part of the personal status (A92 and A95 are women).",
    citation=(
        "Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
        "doi:10.24432/C5NC77"
    ),
    licence="CC BY 4.0",
    source="https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data",
    counts={"Female": GroupCount(310, 201), "Male": GroupCount(690, 499)},
    features={"paper": 48},
    table_sha256="5dfceabdf4493501f6d7cb04d19738dfb7bfeafd06e58813102e165f8976bac0",
    sha256=("b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",),
    embedded=True,
)
