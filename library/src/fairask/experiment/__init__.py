"""Experiments on rows whose labels are known: methods compared over trials, here or on a cluster."""

from fairask.experiment.comparison import Comparison, compare
from fairask.experiment.loop import evaluate, simulate
from fairask.experiment.method import METHODS, Method, choose_methods
from fairask.experiment.runner import Job, missing, run
from fairask.experiment.saving import LabelSaving, label_saving
from fairask.experiment.split import MemorySplit, Split, pool_size, split
from fairask.experiment.story import (
    Beside,
    Enough,
    Guess,
    Outcome,
    labels_that_suffice,
)
from fairask.experiment.table import LabelledTable, MemoryTable
from fairask.experiment.task import BatchPlan, Task
from fairask.experiment.tracking import MLflowCallback
from fairask.experiment.trial import References, Run, Snapshot, Trial

__all__ = [
    "METHODS",
    "BatchPlan",
    "Beside",
    "Comparison",
    "Enough",
    "Guess",
    "Job",
    "LabelSaving",
    "LabelledTable",
    "MLflowCallback",
    "MemorySplit",
    "MemoryTable",
    "Method",
    "Outcome",
    "References",
    "Run",
    "Snapshot",
    "Split",
    "Task",
    "Trial",
    "choose_methods",
    "compare",
    "evaluate",
    "label_saving",
    "labels_that_suffice",
    "missing",
    "pool_size",
    "run",
    "simulate",
    "split",
]
