"""Experiments on rows whose labels are known: methods compared over trials, here or on a cluster."""

from fairask.experiment.comparison import Comparison, compare
from fairask.experiment.loop import evaluate, simulate
from fairask.experiment.method import Method, Task
from fairask.experiment.table import LabelledTable

__all__ = [
    "Comparison",
    "LabelledTable",
    "Method",
    "Task",
    "compare",
    "evaluate",
    "simulate",
]
