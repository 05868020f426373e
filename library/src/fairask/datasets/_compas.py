"""COMPAS: is a defendant charged again within two years; groups by sex."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairask.datasets._encode import encode
from fairask.datasets._spec import GroupCount, ParsedTable, Spec
from fairask.datasets.reading import read_table, words

FEATURES = words(
    """
    sex age age_cat race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree
    """
)
NUMERIC = {"age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"}
RACES = {"African-American", "Caucasian"}


def parse(texts: Sequence[str], source: str) -> ParsedTable:
    """Filter as ProPublica did, then keep two races. A file that was filtered before does not change."""
    table = read_table(texts[0], source=source)
    days = table.numbers("days_b_screening_arrest", missing="")
    recid, degree = table.text("is_recid"), table.text("c_charge_degree")
    score, race = table.text("score_text"), table.text("race")

    def keep(i: int) -> bool:
        # An unknown number of days compares as False: the row is left out, as in ProPublica's analysis.
        return bool(
            abs(days[i]) <= 30
            and recid[i] != "-1"
            and degree[i] != "O"
            and score[i] != "N/A"
            and race[i] in RACES
        )

    table = table.where(keep)
    X, names = encode(table.select(FEATURES, NUMERIC), source)
    y = (table.numbers("two_year_recid") == 1).astype(np.int64)
    return ParsedTable(X, names, y, np.array(table.text("sex")))


SPEC = Spec(
    name="compas",
    files=("compas/compas-scores-two-years.csv",),
    parse=parse,
    target="charged again within two years",
    protected="sex",
    description=(
        "Defendants in Broward County, Florida, after ProPublica's filter, African-American and Caucasian "
        "only. COMPAS's own scores are never features."
    ),
    citation="Larson, J., Mattu, S., Kirchner, L. & Angwin, J. (2016). COMPAS analysis. ProPublica.",
    licence="none stated; public records",
    source="https://github.com/propublica/compas-analysis",
    counts={"Female": GroupCount(1_031, 373), "Male": GroupCount(4_247, 2_110)},
    features={"paper": 10},
    table_sha256="7b8e19461243831376ed03ce6a2cac8638c445d0de232771671f86ba736606c2",
    url="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
)
