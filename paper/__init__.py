"""The paper's benchmark: problems, methods, tables, figures, the results page (``python -m paper``)."""

from paper.methods import METHODS, PaperMethod, get_method
from paper.problems import SETUPS, Problem, Setup, get_setup
from paper.trials import Job, plan, run_trial

__all__ = [
    "METHODS",
    "SETUPS",
    "Job",
    "PaperMethod",
    "Problem",
    "Setup",
    "get_method",
    "get_setup",
    "plan",
    "run_trial",
]
