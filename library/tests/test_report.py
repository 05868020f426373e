from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairask.experiment import Comparison, LabelledTable, Method, Task
from fairask.experiment.loop import References, Run
from fairask.report.figures import Sampling
from fairask.report.pages import render, write_report, write_tables
from fairask.report.words import Beside, Guess, Outcome
from fairask.stopping import Plateau

METHODS = [Method("fare", "FARE", "fare", {"k": 10}), Method("passive", "passive", "passive")]
LABELS = np.array([50, 100])


def run(method: str, trial: int, accuracy: list[float], gap: list[float], **options: Any) -> Run:
    labels = np.arange(1, len(accuracy) + 1) * 50
    rates = {name: [0.5, 0.6] for name in ("tpr", "fpr", "selection_rate")}
    spend = {"a": {"uniform": 25, "diff": 25}, "b": {"fair": 50}}
    return Run(method, trial, labels, np.array(accuracy), np.array(gap), spend, rates, **options)


@pytest.fixture
def comparison() -> Comparison:
    rng = np.random.default_rng(0)
    ratios = {"diff": rng.random(30), "fair": np.ones(30)}
    sampling = Sampling(rng.normal(size=(30, 2)), ratios, {"diff": np.zeros((1, 2))}, 50)
    runs = [
        run("fare", 0, [0.7, 0.8], [0.2, 0.05], sampling=sampling, warnings={"InterpolationWarning": 1}),
        run("fare", 1, [0.7, 0.84], [0.2, 0.15]),
        run("passive", 0, [0.7, 0.75, 0.8, 0.9], [0.2, 0.3, 0.2, 0.1]),
        run("passive", 1, [0.7, 0.75, 0.9, 0.9], [0.2, 0.2, 0.2, 0.1]),
    ]
    table = LabelledTable(
        np.zeros((10, 1)),
        np.arange(10) % 2,
        np.array(["a"] * 7 + ["b"] * 3),
        title="table.csv",
        target="paid = yes",
        protected="sex",
        digest="abc123",
    )
    task = Task(budget=100, batch=50, seed=7)
    return Comparison(table, METHODS, task, runs, command="fairask simulate table.csv")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href"):
                self.links.append(value or "")


def test_the_numbers_at_the_budget_leave_out_what_the_baseline_did_after_it(comparison: Comparison) -> None:
    assert comparison.final("fare").accuracy == pytest.approx(0.82)
    assert comparison.final("fare").within == 1
    assert comparison.final("passive").accuracy == pytest.approx(0.75)
    assert comparison.curves("passive")[0].tolist() == [50, 100]


def test_the_baseline_must_be_as_accurate_and_fair(comparison: Comparison) -> None:
    # At 150 labels it is accurate enough, but not fair.
    needed = comparison.saving("fare").needed
    assert 150 < needed <= 200
    (words,) = comparison.findings()
    assert words.startswith(f"Rows drawn at random need {needed:.0f} labels")
    assert "for FARE's accuracy at 100 labels (0.820), as fairly" in words
    assert words.endswith(f": {needed - 100:.0f} more.")


REFERENCES = References(0.85, 0.4, False, 0.6)


def test_the_case_of_the_user_comes_first_with_what_people_have_without_us(comparison: Comparison) -> None:
    passive = [replace(r, references=REFERENCES) for r in comparison.of("passive")]
    table = replace(comparison.table, answers=("failed", "passed"))
    known = replace(comparison, runs=comparison.of("fare") + passive, table=table)
    assert known.headline().startswith("A plain model is unfair here: gap 0.40. ")
    page = html.unescape(render(known)).replace("\N{NO-BREAK SPACE}", " ")
    for words in ("always 'failed'", "no constraint", known.verdict(), "85.0"):
        assert words in page
    assert page.index("unfair here") < page.index("always 'failed'")
    plain = known.to_dict()
    assert plain["case"] == "unfair"
    assert [row["label"] for row in plain["references"]] == ["no constraint", "always 'failed'"]
    # Without references, what is known is said.
    assert comparison.headline() == comparison.verdict()
    assert comparison.to_dict()["references"] == []


def test_models_that_called_the_tolerance_infeasible_are_counted_beside_the_table(
    comparison: Comparison,
) -> None:
    fare = [
        replace(r, feasible=[True, r.trial == 1], labels_needed=needed)
        for r, needed in zip(comparison.of("fare"), ((400, 800), None), strict=True)
    ]
    # After the budget of 100 labels the baseline goes on: what its models say there does not count.
    passive = [
        replace(r, feasible=[False, True, True, False], references=REFERENCES)
        for r in comparison.of("passive")
    ]
    known = replace(comparison, runs=fare + passive)
    said = (
        "In 1 of 2 runs the last model of FARE said: infeasible with these labels. "
        "About 400 to 800 labels are needed."
    )
    assert known.verdict().endswith(f"at random (passive). {said}")
    page = html.unescape(render(known)).replace("\N{NO-BREAK SPACE}", " ")
    assert page.index(said) < page.index("<table>")
    methods = known.to_dict()["methods"]
    assert [(m["infeasible_runs"], m["labels_needed"]) for m in methods] == [(1, (400.0, 800.0)), (0, None)]


def test_a_constant_answer_that_is_as_good_is_said_first(comparison: Comparison) -> None:
    high = replace(REFERENCES, constant_accuracy=0.9)
    passive = [replace(r, references=high) for r in comparison.of("passive")]
    table = replace(comparison.table, answers=("failed", "passed"))
    known = replace(comparison, runs=comparison.of("fare") + passive, table=table)
    assert known.headline().startswith("No better than always answering 'failed'")
    assert known.headline().endswith("without any.")  # how many labels suffice is no question then


@pytest.mark.slow
def test_a_stopping_rule_that_never_fires_is_in_the_report(comparison: Comparison) -> None:
    never = replace(comparison, task=replace(comparison.task, stop=Plateau()))
    assert "the stopping rule never fired within 100 labels (2 runs)" in render(never)
    assert "stopping rule" not in render(comparison)


def test_a_baseline_that_never_gets_there_or_is_better_is_said_to_be(comparison: Comparison) -> None:
    worse = [run("passive", t, [0.5, 0.5], [0.1, 0.1]) for t in (0, 1)]
    better = [run("passive", t, [0.9, 0.9], [0.1, 0.1]) for t in (0, 1)]
    fare = comparison.of("fare")
    (never,) = replace(comparison, runs=fare + worse).findings()
    assert never == (
        "With rows drawn at random, 100 labels are not enough for FARE's accuracy at 100 labels (0.820), as "
        "fairly."
    )
    assert "saves none" in replace(comparison, runs=fare + better).findings()[0]


def test_the_verdict_counts_runs(comparison: Comparison) -> None:
    assert comparison.verdict() == (
        "With 100 labels the gap is at most 10 points in 1 of 2 runs with the fair model (FARE), 0 of 2 with "
        "rows drawn at random (passive)."
    )


def test_the_page_says_everything_and_needs_nothing(comparison: Comparison) -> None:
    page = render(comparison).replace("\N{NO-BREAK SPACE}", " ")
    tags = Tags()
    tags.feed(page)
    assert page.index(comparison.verdict()) < page.index("<svg")
    for words in (
        "Where the labels went",
        "None: this is a simulation",
        "abc123",
        comparison.command,
        "in 1 of 4 rounds",
    ):
        assert words in page
    order = ("What to do", "Accuracy and gap against labels", "rates by group</h2>", "Proof</h2>", "<details")
    places = [page.index(words) for words in (*order, "Where the labels went", "How this was made")]
    assert places == sorted(places)
    assert tags.names.count("svg") == 2 * 4  # each for wide windows, and for phones
    assert not {"script", "link", "iframe", "object"} & set(tags.names)
    assert all(link.startswith(("#", "data:")) for link in tags.links)
    assert not re.search(r"(url\(|@import\s+)[\"']?https?:", page)
    assert len(tags.ids) == len(set(tags.ids))


def test_on_a_phone_names_stand_above_the_curves_and_nothing_is_wider_than_the_window(
    comparison: Comparison,
) -> None:
    broad, narrow = re.findall(r"<svg.*?</svg>", render(comparison).partition("Proof</h2>")[0], re.DOTALL)[:2]
    places = {}
    for name, picture in {"broad": broad, "narrow": narrow}.items():
        width = float(re.search(r'viewBox="0 0 ([0-9.]+)', picture)[1])  # type: ignore[index]
        ((x, y),) = (
            re.findall(r"translate\(([0-9.]+) ([0-9.]+)\)[^>]*>FARE<", picture)
            or re.findall(r'x="([0-9.]+)" y="([0-9.]+)"[^>]*>FARE<', picture)[:1]
        )
        places[name] = (width, float(x) / width, float(y))
    assert places["narrow"][0] < 270 < places["broad"][0]  # points: a phone has 350 pixels for them
    assert places["narrow"][1] < 0.3
    assert places["narrow"][2] < 30
    assert places["broad"][1] > 0.8


def test_a_number_is_not_parted_from_its_per_cent_and_a_command_stays_as_it_is(
    comparison: Comparison,
) -> None:
    page = render(replace(comparison, command="fairask simulate '5 % more'"))
    assert "(90\u00a0% interval" in page
    assert not re.search(r"\d %", re.sub(r"<pre>.*?</pre>", "", page))
    assert "5 % more" in page


def test_a_gap_over_runs_and_a_certificate_say_what_each_is_about(comparison: Comparison) -> None:
    beside = Beside(
        Outcome(Guess(0.84), Guess(0.08, 0.01, 0.15)), Outcome(Guess(0.84), Guess(0.2, 0.15, 0.25)),
        0.7, "no", 0.1, 600, runs=2,
    )  # fmt: skip
    assert "which on average over more runs may be above the tolerance of 0.1" in beside.sentence()
    assert beside.action("certified").endswith("it has a certificate for its pool.")


@pytest.mark.slow
def test_the_same_results_make_the_same_page(comparison: Comparison) -> None:
    assert render(comparison) == render(comparison)


@pytest.mark.parametrize(
    "metric", ["tprp", *(pytest.param(metric, marks=pytest.mark.slow) for metric in ("fprp", "eo", "dp"))]
)
def test_every_metric_shows_its_own_rates(comparison: Comparison, metric: str) -> None:
    page = render(replace(comparison, task=replace(comparison.task, metric=metric)))
    assert ("false positive rate" in page.partition("rates by group</h2>")[2]) == (metric in ("fprp", "eo"))


@pytest.mark.slow
def test_hostile_names_stay_text(comparison: Comparison) -> None:
    evil = '"><script>alert(1)</script>${{7*7}}'
    hostile = replace(
        comparison,
        table=replace(comparison.table, title=evil, target=evil, protected=evil, notes=[evil], digest=evil),
        command=evil,
        methods=[replace(METHODS[0], label=evil), METHODS[1]],
    )
    page = render(hostile)
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.names
    assert "{{7*7}}" in page


def test_a_comparison_without_designs_or_with_one_run_has_a_page(comparison: Comparison) -> None:
    runs = [replace(r, sampling=None) for r in comparison.runs if r.trial == 0]
    page = render(replace(comparison, runs=runs))
    assert "no method here samples from" in page
    assert "one run only" in page
    assert ">nan<" not in page
    assert "±&nbsp;nan" not in page


@pytest.mark.slow
def test_the_file_appears_whole(comparison: Comparison, tmp_path: Path) -> None:
    path = write_report(comparison, tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == render(comparison)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_the_name_of_a_file_is_no_formula_in_a_spreadsheet(comparison: Comparison, tmp_path: Path) -> None:
    named = replace(comparison, table=replace(comparison.table, title="=cmd|' /C calc'!A0.csv"))
    lines = write_tables([named], tmp_path)["table"].read_text("utf-8").splitlines()
    assert len(lines) == 3
    assert all(line.startswith("'=cmd|") for line in lines[1:])
