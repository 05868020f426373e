"""FARE as in Algorithm 1, and the paper's ablations of it."""

from paper.methods.method import PaperMethod

METHODS = [
    PaperMethod("fare", "FARE", "fare", {"diff_share": 0.5}, paper="FARE"),
    # A remark in the paper's source says that half-half sampling was off in its experiments.
    PaperMethod(
        "fare-diff",
        "FARE, λ_diff alone",
        "fare",
        {"diff_share": 1.0},
        paper="FARE w/o λ_fair",
        weights="none",
    ),
    PaperMethod("fare-nomargin", "FARE, no margin", "fare", {"diff_share": 0.5}, margin=None),
]
