"""FARE and passive sampling with decision trees instead of logistic regression."""

from paper.methods.method import PaperMethod

METHODS = [
    PaperMethod("passive-tree", "Passive, trees", "passive", model="tree"),
    PaperMethod("fare-tree", "FARE, trees", "fare", {"diff_share": 0.5}, model="tree"),
]
