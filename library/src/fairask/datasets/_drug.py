"""Drug consumption: has a person used cannabis in the last year; groups by gender."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairask.datasets._encode import encode
from fairask.datasets._errors import wrong_table
from fairask.datasets._spec import GroupCount, ParsedTable, Spec
from fairask.datasets.reading import RawTable, read_table, words

SCORES = words(
    """
    Age Gender Education Country Ethinicity Nscore Escore Oscore Ascore Cscore Impulsiveness
    SensationSeeking
    """
)
SUBSTANCES = words(
    """
    Alcohol Amphet Amyl Benzos Caff Cannabis Chocolate Coke Crack Ecstacy Heroin Ketamine LegalHigh
    LSD Meth Mushrooms Nicotine Semer VSA
    """
)
#: The order of UCI's file, which has no header.
COLUMNS = ["ID", *SCORES, *SUBSTANCES]
LEVELS = {f"CL{i}": i for i in range(7)}


def parse(texts: Sequence[str], source: str) -> ParsedTable:
    """Scores as they are, substances as ordinals 0 (never) to 6 (last day)."""
    table = read_table(texts[0], source=source, names=COLUMNS)
    use = {name: _ordinal(table, name) for name in SUBSTANCES}
    features = {name: table.numbers(name) for name in SCORES}
    features |= {name: use[name].astype(np.float64) for name in SUBSTANCES if name != "Cannabis"}
    X, names = encode(features, source)
    # CL3 is "used in the last year", and higher levels are more recent.
    y = (use["Cannabis"] >= 3).astype(np.int64)
    # UCI quantified gender: 0.48246 is female, -0.48246 male.
    groups = np.where(table.numbers("Gender") > 0, "Female", "Male")
    return ParsedTable(X, names, y, groups)


def _ordinal(table: RawTable, name: str) -> NDArray[np.int64]:
    cells = table.text(name)
    try:
        return np.array([LEVELS[v] for v in cells], dtype=np.int64)
    except KeyError as error:
        raise wrong_table(
            f"{table.source}: column {name!r} holds {error.args[0]!r}, which is not one of CL0 to CL6"
        ) from None


SPEC = Spec(
    name="drug",
    files=("drug/drug_consumption.data",),
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
    counts={"Female": GroupCount(942, 364), "Male": GroupCount(943, 635)},
    features={"paper": 30, "honest": 12},
    table_sha256="b9059717d23690c86d95dcdcc179ed5d113fb47fcddee2a3a1a43b7f1bc22168",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00373/drug_consumption.data",
    leaks=frozenset(SUBSTANCES).__contains__,
)
