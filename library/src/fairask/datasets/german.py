"""German Credit: is a loan a good risk; groups by sex, read from the personal status."""

from __future__ import annotations

import numpy as np

from fairask.datasets.dataset import Parsed, RawTable, Spec

COLUMNS = """
    checking duration history purpose amount savings employment installment-rate status debtors residence
    property age other-plans housing credits job dependants telephone foreign class
""".split()
NUMERIC = {"duration", "amount", "installment-rate", "residence", "age", "credits", "dependants"}
#: A92: divorced, separated or married women; A95: single women (which does not occur).
FEMALE = ["A92", "A95"]


def parse(table: RawTable) -> Parsed:
    """All 20 columns are features; class 1 is a good risk, 2 a bad one."""
    X, names = table.encode(COLUMNS[:-1], NUMERIC)
    y = (table.numbers("class") == 1).astype(np.int64)
    groups = np.where(np.isin(table.text("status"), FEMALE), "Female", "Male")
    return Parsed(X, names, y, groups)


SPEC = Spec(
    name="german",
    files=("german/german.data",),
    columns=COLUMNS,
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
    counts={"Female": (310, 201), "Male": (690, 499)},
    features={"paper": 48},
    sha256="5dfceabdf4493501f6d7cb04d19738dfb7bfeafd06e58813102e165f8976bac0",
    embedded="e7b268294daf82577970132eb80b87ec0c7fd764cf5ec41b34ba145a4b9fa9e6",
    delimiter=" ",
)
