"""Conformance suites: test a strategy of your own as the shipped ones are tested."""

from fairask.testing._strategies import STRATEGY_CHECKS, check_strategy

__all__ = ["STRATEGY_CHECKS", "check_strategy"]
