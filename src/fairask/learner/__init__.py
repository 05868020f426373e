"""The learner: ask, tell, correct, skip, save and load, in memory."""

from fairask.learner._profiles import PROFILES
from fairask.learner._simulate import evaluate, simulate
from fairask.learner.learner import FairActiveLearner, Query
from fairask.learner.storage import load

__all__ = ["PROFILES", "FairActiveLearner", "Query", "evaluate", "load", "simulate"]
