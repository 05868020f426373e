from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from fairask.experiment.runner import run
from paper import METHODS, plan
from paper.docs import write_pages
from paper.figures import FIGURES
from paper.store import Curves


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a small run; tests only read them."""
    folder = tmp_path_factory.mktemp("runs")
    run(plan("smoke", ["german"], ["passive", "fare"], 3), folder)
    return folder


@pytest.fixture
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are files without content: for tests of what a page says, not of how it looks."""

    def touch(figure: Figure, path: Path, **settings: object) -> None:
        Path(path).touch()

    def touch_all(results: object, setup: object, folder: Path, *rest: object, **settings: object) -> None:
        folder.mkdir(parents=True)
        for name in (*FIGURES, "fig1-sampling", "synthetic"):
            (folder / f"{name}.png").touch()

    monkeypatch.setattr(Figure, "savefig", touch)
    monkeypatch.setattr("paper.docs.draw_all", touch_all)


def written(results, docs: Path, folder: Path, populations=None) -> str:
    """The text of all pages of results, one after the other."""
    return "\n".join(page.read_text() for page in write_pages(results, docs, folder, populations))


def make_curves(method="passive", problem="german", labels=(25, 50, 75), accuracy=(), gap=()) -> Curves:
    """Curves of given values, one row a trial."""
    accuracy, gap = np.atleast_2d(accuracy).astype(float), np.atleast_2d(gap).astype(float)
    counts = np.tile(np.array(labels), (len(accuracy), 1))
    return Curves(
        problem=problem,
        method=method,
        labels=np.array(labels),
        accuracy=accuracy,
        gap=gap,
        group_labels={"Female": counts // 3, "Male": counts - counts // 3},
        trials=np.arange(len(accuracy)),
        settings=METHODS[method].settings,
    )
