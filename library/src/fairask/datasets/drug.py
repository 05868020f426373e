"""Drug consumption: has a person used cannabis in the last year; groups by gender."""

from __future__ import annotations

import numpy as np

from fairask.datasets.dataset import Parsed, RawTable, Spec, stack, wrong_table
from fairask.metrics import Float

SCORES = """
    Age Gender Education Country Ethinicity Nscore Escore Oscore Ascore Cscore Impulsiveness
    SensationSeeking
""".split()
SUBSTANCES = """
    Alcohol Amphet Amyl Benzos Caff Cannabis Chocolate Coke Crack Ecstacy Heroin Ketamine LegalHigh LSD Meth
    Mushrooms Nicotine Semer VSA
""".split()
#: The order of UCI's file, which has no header.
COLUMNS = ["ID", *SCORES, *SUBSTANCES]
LEVELS = [f"CL{i}" for i in range(7)]


def parse(table: RawTable) -> Parsed:
    """Scores as they are, substances as ordinals 0 (never) to 6 (last day)."""
    use = {name: _ordinal(table, name) for name in SUBSTANCES}
    features = {name: table.numbers(name) for name in SCORES}
    X, names = stack(features | {n: use[n] for n in SUBSTANCES if n != "Cannabis"}, table.source)
    # CL3 is "used in the last year", and higher levels are more recent.
    y = (use["Cannabis"] >= 3).astype(np.int64)
    # UCI quantified gender: 0.48246 is female, -0.48246 male.
    groups = np.where(table.numbers("Gender") > 0, "Female", "Male")
    return Parsed(X, names, y, groups)


def _ordinal(table: RawTable, name: str) -> Float:
    values, codes = table.coded(name)
    if unknown := [v for v in values if v not in LEVELS]:
        raise wrong_table(
            f"{table.source}: column {name!r} holds {unknown[0]!r}, which is not one of CL0 to CL6"
        )
    return np.asarray(np.array([LEVELS.index(str(v)) for v in values], dtype=np.float64)[codes])


SPEC = Spec(
    name="drug",
    files=("drug/drug_consumption.data",),
    columns=COLUMNS,
    parse=parse,
    target="cannabis in the last year",
    protected="gender",
    description=(
        "A survey of personality and drug use. The paper's features are 12 demographic and personality "
        'scores and the use of 18 other substances; "honest" keeps the scores only.'
    ),
    citation=(
        "Fehrman, E., Egan, V. & Mirkes, E. (2017). Drug consumption (quantified). "
        "UCI Machine Learning Repository. doi:10.24432/C5TC7S"
    ),
    licence="CC BY 4.0",
    source="https://archive.ics.uci.edu/dataset/373/drug+consumption+quantified",
    counts={"Female": (942, 364), "Male": (943, 635)},
    features={"paper": 30, "honest": 12},
    sha256="b9059717d23690c86d95dcdcc179ed5d113fb47fcddee2a3a1a43b7f1bc22168",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00373/drug_consumption.data",
    leaks=frozenset(SUBSTANCES).__contains__,
)
