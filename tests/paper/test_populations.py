from __future__ import annotations

import hashlib

import numpy as np
import pytest

from paper import get_setup
from paper.populations import POPULATIONS, draw_population


def test_the_populations_are_the_ones_that_were_written_down() -> None:
    """Results are of these rows: whoever changes a population has to run all of them again."""
    digest = hashlib.sha256()
    for name in POPULATIONS:
        data = draw_population(name, 0)
        digest.update(np.ascontiguousarray(data.X[:20].round(6) + 0.0).tobytes() + data.y.tobytes())
    assert digest.hexdigest()[:16] == "62eea1e8e1bba847"
    assert list(get_setup("populations").problems) == list(POPULATIONS)


@pytest.mark.parametrize("name", POPULATIONS)
def test_every_group_has_both_labels_in_pool_and_test(name: str) -> None:
    data = draw_population(name, 1)
    for group in np.unique(data.groups):
        assert np.bincount(data.y[data.groups == group], minlength=2).min() > 25
