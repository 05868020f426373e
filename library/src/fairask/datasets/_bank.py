"""Bank marketing (the balanced subset on Kaggle): does a client open a deposit; groups by education."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairask.datasets._encode import encode
from fairask.datasets._spec import GroupCount, ParsedTable, Spec
from fairask.datasets.reading import read_table, words

COLUMNS = words(
    """
    age job marital education default balance housing loan contact day month duration campaign pdays
    previous poutcome deposit
    """
)
NUMERIC = {"age", "balance", "day", "duration", "campaign", "pdays", "previous"}


def parse(texts: Sequence[str], source: str) -> ParsedTable:
    """All 16 columns are features."""
    table = read_table(texts[0], source=source, names=COLUMNS)
    X, names = encode(table.select(COLUMNS[:-1], NUMERIC), source)
    y = np.array([v == "yes" for v in table.text("deposit")], dtype=np.int64)
    groups = np.array(["tertiary" if v == "tertiary" else "other" for v in table.text("education")])
    return ParsedTable(X, names, y, groups)


SPEC = Spec(
    name="bank",
    files=("bank/bank.csv",),
    parse=parse,
    target="the client opens a term deposit",
    protected="tertiary education",
    description="Phone calls of a Portuguese bank, thinned so that the answers are about balanced.",
    citation=(
        "Moro, S., Rita, P. & Cortez, P. (2014). Bank Marketing. UCI Machine Learning Repository. "
        "doi:10.24432/C5K306; the subset janiobachmann/bank-marketing-dataset on Kaggle"
    ),
    licence="CC0 (the subset), CC BY 4.0 (the original)",
    source="https://www.kaggle.com/datasets/janiobachmann/bank-marketing-dataset",
    counts={"tertiary": GroupCount(3_689, 1_996), "other": GroupCount(7_473, 3_293)},
    features={"paper": 42},
    table_sha256="12fcd624606de5a3d67bea810d51bbd80abdef6d9c13fc3792c481000a415bb4",
    sha256=("c25bf6ac8ef9e37119427fce9a32923baf57cb466ca27b34b2c930e88035d2fe",),
    manual=(
        "Kaggle asks for a login, so there is no automatic download: open "
        "https://www.kaggle.com/datasets/janiobachmann/bank-marketing-dataset, download bank.csv "
        "(11,162 rows)"
    ),
)
