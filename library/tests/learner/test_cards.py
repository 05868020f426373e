"""Cards of learners, queries, certificates and audits, as notebooks show them; seeds of any kind."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from fairask import FairActiveLearner
from fairask.audit import Audit, certify
from fairask.learner import LearnerConfig


class Balanced(HTMLParser):
    """Notes tags that are opened and never closed, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """SVG closes its elements at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(html: str) -> str:
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert "<script" not in html
    return parser.text


def table(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "job": rng.choice(["a", "<b>"], n)})
    frame["sex"] = np.array(["f", "<m>"])[np.arange(n) % 2]
    return frame, (frame["x"] + rng.normal(size=n) > 0).to_numpy().astype(int)


def test_cards_say_what_happened() -> None:
    frame, y = table()
    learner = FairActiveLearner(frame, "sex", estimator="linear", batch_size=40, random_state=0)
    assert "0 labels of 200 rows, asked for by fare" in text_of(learner._repr_html_())
    for _ in range(2):
        query = learner.ask()
        assert "40 rows to label" in text_of(query._repr_html_())
        learner.tell(query.indices, y[query.indices])
    shown = text_of(learner._repr_html_())
    assert "80 labels of 200 rows" in shown
    assert "tprp at most 0.1" in shown
    assert "x, job" in shown
    assert "labels by group" in shown
    low, high = learner.current_model().gap_interval_
    assert f"({low:.3f} to {high:.3f}, level 0.95)" in shown
    assert "<m>" in shown  # escaped in the HTML, and so text again here
    audit = learner.audit(60, looks=2)
    assert "0 labels of 60" in audit._repr_html_()
    query2 = audit.ask()
    audit.tell(query2.indices, y[query2.indices])
    assert "so far" in text_of(audit._repr_html_())
    assert learner.certify().headline() in text_of(learner._repr_html_())


def test_a_certificate_shows_its_bounds_and_what_they_rest_on() -> None:
    made = certify([1] * 400, [1] * 400, [0, 1] * 200)
    shown = text_of(made._repr_html_())
    assert made.headline() in shown
    assert all(text in shown for text in made.assumptions)
    audit = Audit([0, 1] * 50, [0] * 50 + [1] * 50, budget=40)
    assert "not done yet" in audit._repr_html_()


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_seeds_a_learner(kind: type) -> None:
    frame, _ = table()
    drawn = []
    for seed in (1, 1, 2):
        given = kind(seed)
        drawn.append(FairActiveLearner(frame, "sex", random_state=given).ask(20).indices.tolist())
        first = LearnerConfig(random_state=given)
        assert isinstance(first.random_state, int)
        assert LearnerConfig(random_state=given).random_state != first.random_state  # it was advanced
    assert drawn[0] == drawn[1] != drawn[2]
