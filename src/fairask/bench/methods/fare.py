"""FARE as in Algorithm 1, and the paper's ablations of it."""

from fairask.bench.methods._method import Method

METHODS = [
    Method("fare", "FARE", "blue", "fare", {"diff_share": 0.5}, paper="FARE"),
    # A remark in the paper's source says that half-half sampling was off in its experiments.
    Method(
        "fare-diff",
        "FARE, λ_diff alone",
        "vermillion",
        "fare",
        {"diff_share": 1.0},
        paper="FARE w/o λ_fair",
        weights="none",
    ),
    Method("fare-nomargin", "FARE, no margin", "sky", "fare", {"diff_share": 0.5}, margin=None),
]
