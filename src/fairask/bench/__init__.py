"""The paper's benchmark: problems, methods, a resumable runner, result files, tables and figures."""

from fairask.bench.methods import METHODS, Method, get_method
from fairask.bench.problems import PROFILES, Problem, Profile, get_profile
from fairask.bench.protocol import Cell, Result, run_cell, run_trial
from fairask.bench.runner import plan, run

__all__ = [
    "METHODS",
    "PROFILES",
    "Cell",
    "Method",
    "Problem",
    "Profile",
    "Result",
    "get_method",
    "get_profile",
    "plan",
    "run",
    "run_cell",
    "run_trial",
]
