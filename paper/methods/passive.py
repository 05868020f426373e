"""Passive sampling with the fair oracle, and two simple companions that are not in the paper."""

from paper.methods.method import PaperMethod

METHODS = [
    PaperMethod("passive", "Passive", "passive", paper="Passive"),
    # Three budgets long: how many labels passive needs to catch up with a method.
    PaperMethod("passive-long", "Passive, three budgets", "passive", budget_factor=3.0),
    PaperMethod("group_balanced", "Group-balanced", "group_balanced"),
    # The choice is deterministic: there are no propensities, hence no weights.
    PaperMethod("uncertainty", "Uncertainty", "uncertainty", weights="none"),
]
