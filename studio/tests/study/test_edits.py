"""Files that were edited after the fact: verify finds every edit that changes what they say."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

from benchmarks.edits import all_kinds, try_edits


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_verify_finds_each_edit_of_each_kind_of_file_and_names_it(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kind in all_kinds(tmp_path).items():
            counts, wrong = try_edits(kind, 12, random.Random(name))
            assert not wrong, wrong
            assert counts["edits"] == 12
            assert counts["found"] > 0 or name.endswith(("count", ".db")), name
