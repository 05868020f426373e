"""COMPAS: is a defendant charged again within two years; groups by sex."""

from __future__ import annotations

import numpy as np

from fairask.datasets.dataset import Parsed, RawTable, Spec

FEATURES = """
    sex age age_cat race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree
""".split()
NUMERIC = {"age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"}
RACES = ["African-American", "Caucasian"]


def parse(table: RawTable) -> Parsed:
    """Filter as ProPublica did, then keep two races. A file that was filtered before does not change."""
    table = table.where(
        # An unknown number of days compares as False: the row is left out, as in ProPublica's analysis.
        (np.abs(table.numbers("days_b_screening_arrest", missing="")) <= 30)
        & (table.text("is_recid") != "-1")
        & (table.text("c_charge_degree") != "O")
        & (table.text("score_text") != "N/A")
        & np.isin(table.text("race"), RACES)
    )
    X, names = table.encode(FEATURES, NUMERIC)
    y = (table.numbers("two_year_recid") == 1).astype(np.int64)
    return Parsed(X, names, y, table.text("sex"))


SPEC = Spec(
    name="compas",
    files=("compas/compas-scores-two-years.csv",),
    columns=None,
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
    counts={"Female": (1_031, 373), "Male": (4_247, 2_110)},
    features={"paper": 10},
    sha256="7b8e19461243831376ed03ce6a2cac8638c445d0de232771671f86ba736606c2",
    url="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
)
