"""Conformance tests for your own strategies; the built-in ones pass the same tests."""

from fairask.testing._strategies import STRATEGY_CHECKS, check_strategy

__all__ = ["STRATEGY_CHECKS", "check_strategy"]
