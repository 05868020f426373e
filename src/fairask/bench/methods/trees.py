"""FARE and passive sampling with decision trees instead of logistic regression."""

from fairask.bench.methods._method import Method

METHODS = [
    Method("passive-tree", "Passive, trees", "yellow", "passive", model="tree"),
    Method("fare-tree", "FARE, trees", "orange", "fare", {"diff_share": 0.5}, model="tree"),
]
