"""One ask and tell reads like a story: it passes through few files."""

import sys
import threading
import warnings
from pathlib import Path

import fairask
from fairask import FairActiveLearner
from library.tests.learner.test_profiles import rows

#: Source files in which a function runs during one ask and tell of a default learner on an array.
MOST_FILES = 29


def test_one_ask_and_tell_passes_through_few_files():
    X, groups, y = rows()
    learner = FairActiveLearner(X, groups, random_state=0)
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])
    root, seen = Path(fairask.__file__).parent, set()

    def trace(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(root):
            seen.add(str(path.relative_to(root)))

    before = sys.gettrace()
    sys.settrace(trace)
    threading.settrace(trace)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            query = learner.ask()
            learner.tell(query.indices, y[query.indices])
    finally:
        sys.settrace(before)
        threading.settrace(None)
    assert len(seen) <= MOST_FILES, sorted(seen)
