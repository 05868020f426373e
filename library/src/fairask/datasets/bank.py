"""Bank marketing (the balanced subset on Kaggle): does a client open a deposit; groups by education."""

from __future__ import annotations

import numpy as np

from fairask.datasets.dataset import Parsed, RawTable, Spec

COLUMNS = """
    age job marital education default balance housing loan contact day month duration campaign pdays
    previous poutcome deposit
""".split()
NUMERIC = {"age", "balance", "day", "duration", "campaign", "pdays", "previous"}


def parse(table: RawTable) -> Parsed:
    """All 16 columns are features."""
    X, names = table.encode(COLUMNS[:-1], NUMERIC)
    y = (table.text("deposit") == "yes").astype(np.int64)
    groups = np.where(table.text("education") == "tertiary", "tertiary", "other")
    return Parsed(X, names, y, groups)


SPEC = Spec(
    name="bank",
    files=("bank/bank.csv",),
    columns=COLUMNS,
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
    counts={"tertiary": (3_689, 1_996), "other": (7_473, 3_293)},
    features={"paper": 42},
    sha256="12fcd624606de5a3d67bea810d51bbd80abdef6d9c13fc3792c481000a415bb4",
    manual=(
        "Kaggle asks for a login, so there is no automatic download: open "
        "https://www.kaggle.com/datasets/janiobachmann/bank-marketing-dataset, download bank.csv "
        "(11,162 rows)"
    ),
)
