"""Communities and Crime (unnormalised): is violent crime frequent; groups by race."""

from __future__ import annotations

import numpy as np

from fairask.datasets.dataset import Parsed, RawTable, Spec, stack

#: Identifiers and the cross-validation fold: never features.
IDENTIFIERS = ["communityname", "state", "countyCode", "communityCode", "fold"]
COMMUNITY = """
    population householdsize racepctblack racePctWhite racePctAsian racePctHisp agePct12t21 agePct12t29
    agePct16t24 agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf pctWInvInc pctWSocSec
    pctWPubAsst pctWRetire medFamInc perCapInc whitePerCap blackPerCap indianPerCap AsianPerCap OtherPerCap
    HispPerCap NumUnderPov PctPopUnderPov PctLess9thGrade PctNotHSGrad PctBSorMore PctUnemployed PctEmploy
    PctEmplManu PctEmplProfServ PctOccupManu PctOccupMgmtProf MalePctDivorce MalePctNevMarr FemalePctDiv
    TotalPctDiv PersPerFam PctFam2Par PctKids2Par PctYoungKids2Par PctTeen2Par PctWorkMomYoungKids
    PctWorkMom NumKidsBornNeverMar PctKidsBornNeverMar NumImmig PctImmigRecent PctImmigRec5 PctImmigRec8
    PctImmigRec10 PctRecentImmig PctRecImmig5 PctRecImmig8 PctRecImmig10 PctSpeakEnglOnly
    PctNotSpeakEnglWell PctLargHouseFam PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous
    PersPerRentOccHous PctPersOwnOccup PctPersDenseHous PctHousLess3BR MedNumB HousVacant PctHousOccup
    PctHousOwnOcc PctVacantBoarded PctVacMore6Mos MedYrHousBuilt PctHousNoPhone PctWOFullPlumb
    OwnOccLowQuart OwnOccMedVal OwnOccHiQuart OwnOccQrange RentLowQ RentMedian RentHighQ RentQrange MedRent
    MedRentPctHousInc MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet PctForeignBorn
    PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85 LemasSwornFT LemasSwFTPerPop
    LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq LemasTotReqPerPop PolicReqPerOffic PolicPerPop
    RacialMatchCommPol PctPolicWhite PctPolicBlack PctPolicHisp PctPolicAsian PctPolicMinor
    OfficAssgnDrugUnits NumKindsDrugsSeiz PolicAveOTWorked LandArea PopDens PctUsePubTrans PolicCars
    PolicOperBudg LemasPctPolicOnPatr LemasGangUnitDeploy LemasPctOfficDrugUn PolicBudgPerPop
""".split()
#: What was counted as crime. All but the target are features of the "paper" variant, which leaks the target.
CRIMES = """
    murders murdPerPop rapes rapesPerPop robberies robbbPerPop assaults assaultPerPop burglaries burglPerPop
    larcenies larcPerPop autoTheft autoTheftPerPop arsons arsonsPerPop ViolentCrimesPerPop nonViolPerPop
""".split()
#: The order of UCI's file, which has no header.
COLUMNS = [*IDENTIFIERS, *COMMUNITY, *CRIMES]
TARGET = "ViolentCrimesPerPop"


def parse(table: RawTable) -> Parsed:
    """Keep communities whose two crime rates are known, and the columns without a missing value in them."""
    values = {name: table.numbers(name, missing="?") for name in (*COMMUNITY, *CRIMES)}
    known = ~np.isnan(values[TARGET]) & ~np.isnan(values["nonViolPerPop"])
    values = {name: column[known] for name, column in values.items()}
    complete = {n: v for n, v in values.items() if n != TARGET and not np.isnan(v).any()}
    X, names = stack(complete, table.source)
    y = (values[TARGET] > 500).astype(np.int64)
    groups = np.where(100 - values["racePctWhite"] < 20, "below 20 % non-white", "20 % or more non-white")
    return Parsed(X, names, y, groups)


SPEC = Spec(
    name="crime",
    files=("crime/CommViolPredUnnormalizedData.txt",),
    columns=COLUMNS,
    parse=parse,
    target="more than 500 violent crimes per 100,000 people",
    protected="share of non-white people",
    description=(
        "Communities in the United States, 1990-1995. The paper's features include the other crime counts, "
        'of which the target is a sum: they leak it. "honest" leaves them out.'
    ),
    citation=(
        "Redmond, M. (2011). Communities and Crime Unnormalized. UCI Machine Learning Repository. "
        "doi:10.24432/C5PC8X"
    ),
    licence="CC BY 4.0",
    source="https://archive.ics.uci.edu/dataset/211/communities+and+crime+unnormalized",
    counts={"below 20 % non-white": (1_306, 286), "20 % or more non-white": (596, 470)},
    features={"paper": 118, "honest": 101},
    sha256="c2c1ade584858de8b65f31afa57f774c570a45388c198beb6ff28828b5b48bb5",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00211/CommViolPredUnnormalizedData.txt",
    encoding="latin-1",
    leaks=frozenset(CRIMES).__contains__,
)
