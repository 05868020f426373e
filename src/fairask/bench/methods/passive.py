"""Passive sampling with the fair oracle, and two simple companions that are not in the paper."""

from fairask.bench.methods._method import Method

METHODS = [
    Method("passive", "Passive", "grey", "passive", paper="Passive"),
    # Three budgets long: how many labels passive needs to catch up with a method.
    Method("passive-long", "Passive, three budgets", "grey", "passive", budget_factor=3.0),
    Method("group_balanced", "Group-balanced", "green", "group_balanced"),
    # The choice is deterministic: there are no propensities, hence no weights.
    Method("uncertainty", "Uncertainty", "purple", "uncertainty", weights="none"),
]
