"""The learner: ask, tell, correct, skip, save and load, in memory."""

from fairask.learner.config import PROFILES, LearnerConfig, Profile
from fairask.learner.learner import FairActiveLearner
from fairask.learner.state import LearnerState, Query
from fairask.learner.storage import load

__all__ = ["PROFILES", "FairActiveLearner", "LearnerConfig", "LearnerState", "Profile", "Query", "load"]
