"""The report on a study: one page, right in every state of the study, safe whatever the pool holds."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fairask.audit import certify
from fairask.errors import EmptyCellWarning
from fairask.report.words import (
    CERTIFICATE_LIMITS,
    by_lot_sentence,
    points,
    points_between,
    verdict_sentence,
)
from fairask_studio import Study
from fairask_studio.events import CertificateIssued
from fairask_studio.exports import card_html, certificate_html, report_html
from fairask_studio.pages.model import model_details
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.test_files import HOSTILE

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]
LABELS = truth(people_table())


class _Page(HTMLParser):
    """Tags, addresses and visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def labelled(study: Study, n: int, who: str = "ada") -> None:
    rows = study.ask(n, who)
    study.tell(rows, [LABELS[row] for row in rows], who)
    if study.state().audit is None:
        study.refit(force=True)


def test_it_says_what_the_study_found(make: Make, tmp_path: Path) -> None:
    study = make(budget=60, question="Did they repay?")
    for _ in range(3):
        labelled(study, 20)
    study.export(tmp_path / "out")
    whole = (tmp_path / "out" / "report.html").read_text("utf-8")
    page = _Page(whole)
    last = study.status()["history"][-1]
    accuracy, gap = last["estimate"]["accuracy"], last["estimate"]["gap"]
    advice = study.status()["advice"]
    assert f"{advice['verdict']}. {advice['reason']}" in page.text
    assert f"right answers {100 * accuracy['value']:.1f} %" in page.text
    assert f"{points(gap['value'])} {points_between(gap['low'], gap['high'])}" in page.text
    assert "above the allowed 10 points" in page.text
    story = study.status()["story"]
    assert story["points"] in page.text
    constant = last["estimate"]["constant"]["accuracy"]
    assert f"right answers, always “{story['answer']}” {100 * constant:.1f} %" in page.text
    plain = last["estimate"]["plain"]["accuracy"]
    assert f"a model without a limit on the gap {100 * plain['value']:.1f} %" in page.text
    order = [page.text.index(words) for words in ("What to do", "As labels came in", "Proof", "Appendix:")]
    assert order == sorted(order)
    assert study.status()["safety"] in page.text
    assert "labels that trained a model cannot certify it" in page.text
    assert "Each row was answered once" in page.text
    assert study.config.pool_sha256 in page.text
    assert last["digest"] in page.text
    assert "fairask new POOL --protected sex --classes bad,good" in page.text
    assert "--question 'Did they repay?'" in page.text
    assert f"learner(at={last['seen']})" in page.text
    assert (
        whole.count("<svg") == 9
    )  # for wide windows and for phones, but once for rates: curves, time, spend, where, rates
    assert not page.tags & {"script", "link", "iframe", "object"}
    assert all(address.startswith(("#", "data:image/png")) for address in page.addresses)
    assert report_html(study) == whole  # same study, same page


@pytest.mark.slow
def test_every_state_of_a_study_has_its_words(make: Make) -> None:
    study = make(budget=80, overlap=2)
    assert "No labels yet: the first 10 rows are drawn at random" in _Page(report_html(study)).text
    labelled(study, 10)
    early = _Page(report_html(study)).text
    assert "10 labels so far. Estimates begin at the first fit with 30 labels" in early
    assert "No row has two answers yet" in early
    labelled(study, 10, "bob")
    assert "100 % of the pairs of answers agree, on 10 rows" in _Page(report_html(study)).text
    labelled(study, 30)
    study.start_audit(40)
    labelled(study, 10)
    assert "an audit is under way, 40 of its 40 rows are drawn" in _Page(report_html(study)).text


def test_the_certificate_is_in_it(make: Make) -> None:
    study = make(budget=40, question="Did they repay?")
    labelled(study, 40)
    study.start_audit(60)
    labelled(study, 60)
    audit = study.state().audit
    assert audit is not None
    assert audit.audit is not None
    made = audit.audit.certificate()
    study.certify()
    text = _Page(report_html(study)).text
    said = verdict_sentence(made.verdict, made.lower, made.upper, made.delta)
    assert 0 < text.index(said) < text.index("What to do"), "the certificate is the headline"
    assert all(assumption in text for assumption in made.assumptions)
    assert f"by the audit; allowed: 10 points {points(made.estimate)}" in text
    paper = _Page(certificate_html(study)).text
    limits = points_between(max(made.lower, 0), made.upper)
    for words in (said, "Did they", limits, "fairask verify certificate.json", "signature"):
        assert words in paper, words
    assert all(limit in paper for limit in CERTIFICATE_LIMITS)
    assert study.state().model["digest"] in paper  # type: ignore[index]
    card = _Page(card_html(study)).text
    assert "What it learns from income debt job" in card
    assert all(limit in card for limit in CERTIFICATE_LIMITS)
    before = 100 - made.n_labels
    counted = f"100 labels: {made.n_labels} of the audit, which trained nothing, and {before} of before"
    assert counted in paper
    assert counted in card
    for page in (paper, card):
        assert f"sha256 of the pool {study.config.pool_sha256}" in page
    assert "They are no certificate" not in card
    assert "sex (it names the group)" in card


def test_a_protected_column_that_a_model_may_use_is_among_those_it_learns_from(make: Make) -> None:
    study = make(budget=20, use_protected=True)
    labelled(study, 20)
    card = _Page(card_html(study)).text
    learned = card.split("What it learns from")[1].split("How good")[0]
    assert "sex" in learned
    assert "it names the group" not in learned


def test_no_cell_is_longer_than_500_characters(make: Make) -> None:
    table = people_table()
    table["comment"] = [f"word{i} " * (i % 7 + 1) + f"about thing{i % 9}" for i in range(len(LABELS))]
    study = make(table=table, budget=60, question="Is it? " * 60)
    study.change(guidelines="Look at the comment. " * 200)
    labelled(study, 40)
    for page in (report_html(study), card_html(study)):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page, re.DOTALL)
        assert len(cells) > 5
        assert max(map(len, map(html.unescape, cells))) <= 500


def test_an_unknown_estimate_of_a_certificate_is_left_out(make: Make) -> None:
    study = make()
    labelled(study, 20)
    with pytest.warns(EmptyCellWarning):
        unknown = certify([0] * 8, [1] * 8, [0, 1] * 4)
    assert unknown.to_dict()["estimate"] is None
    study.store.append("owner", CertificateIssued(unknown.to_dict()))
    text = _Page(report_html(study)).text
    assert "Bounds of the gap" in text
    assert "nan" not in text


@pytest.mark.slow
def test_a_hostile_pool_makes_a_harmless_report(make: Make) -> None:
    table = dict(list(HOSTILE.items())[:30]) | {"sex": ["<script>alert(1)</script>", "x" * 100_000] * 20}
    study = make(
        table=table, budget=40, classes=("<b>no</b>", "=yes"), question="<img src=x onerror=alert(1)>"
    )
    rows = study.ask(40, "<i>eve</i>")
    study.tell(rows, ["=yes" if row % 3 else "<b>no</b>" for row in rows], "<i>eve</i>")
    study.refit()
    for whole in (report_html(study), card_html(study)):
        page = _Page(whole)
        assert not page.tags & {"script", "b", "i"}
        assert "onerror=alert" not in re.sub(r"&lt;img.*?&gt;", "", whole)
        assert "<script>alert(1)</script>" in page.text  # as text
        assert len(whole) < 2_000_000


def test_a_database_is_named_without_its_password(
    make: Make, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(target)
    monkeypatch.setattr(study, "target", "postgresql://ada:secret@db.example/loans")
    whole = report_html(study)
    assert "<title>fairask: loans</title>" in whole
    assert "secret" not in whole
    assert "db.example" not in whole


def test_a_column_that_gives_the_label_away_is_named(make: Make, tmp_path: Path) -> None:
    study = make(budget=60)
    assert study.status()["story"] is None
    rows = study.ask(60, "ada")
    study.tell(rows, [["bad", "good"][float(str(study.row(row)["debt"])) < 0] for row in rows], "ada")
    study.refit(force=True)
    told = study.status()["story"]["columns"]
    assert told.startswith("Column 'debt' alone gives the label away")
    study.export(tmp_path / "out")
    assert told in _Page((tmp_path / "out" / "report.html").read_text("utf-8")).text


def test_a_model_with_one_answer_for_all_has_no_gap_and_no_other_rates(make: Make) -> None:
    study = make(budget=60)
    rows = study.ask(40, "ada")
    study.tell(rows, [["bad", "good"][row * 7919 % 10 < 6] for row in rows], "ada")  # nothing tells the label
    study.refit(force=True)
    assert study.state().history[-1]["constant"]
    status = study.status()
    assert [status["gap"][limit] for limit in ("value", "low", "high")] == [0, 0, 0]
    assert {rate["value"] for rate in status["gap"]["rates"]} == {1.0}
    found = model_details(study)
    assert found is not None
    assert {(e["truth"], e["value"]) for e in found["errors"]} == {(1, 0.0), (0, 1.0)}
    assert "points apart" not in status["advice"]["reason"]
    assert status["advice"]["case"] == "useless so far"


def test_the_card_has_the_estimates_of_the_study_and_says_where_labels_do_not_suffice(
    make: Make, tmp_path: Path
) -> None:
    study = make(budget=60)
    labelled(study, 40)
    last, said = study.status()["history"][-1], study.status()["safety"]
    assert said.startswith("Infeasible with these 40 labels")
    study.export(tmp_path / "out")
    card = _Page((tmp_path / "out" / "model-card.html").read_text("utf-8")).text
    assert said in card
    right, gap = last["estimate"]["accuracy"], last["estimate"]["gap"]
    assert f"{100 * right['value']:.1f} %" in card
    assert f"{100 * right['low']:.1f} % to {100 * right['high']:.1f} %" in card
    assert f"{round(100 * gap['value'], 1):g} points" in card


def test_decisions_by_lot_are_named_wherever_the_model_is(make: Make, tmp_path: Path) -> None:
    study = make(budget=60, randomized=True, tolerance=0.02)
    labelled(study, 40)
    assert study.learner().current_model().by_lot_ > 0
    lots = by_lot_sentence(study.status()["history"][-1]["by_lot"])
    assert lots in study.status()["safety"]
    page = _Page(report_html(study)).text
    assert lots in page
    assert "--randomized" in page
    study.export(tmp_path / "out")
    assert lots in _Page((tmp_path / "out" / "model-card.html").read_text("utf-8")).text


def test_the_settings_and_the_command_are_those_in_use(make: Make) -> None:
    text = _Page(report_html(make(stopping="plateau:4"))).text
    assert "--stop plateau:4" in text
    assert "level 0.95" in text
    assert "--profile" not in text


def test_the_papers_profile_is_in_the_command(make: Make) -> None:
    text = _Page(report_html(make(profile="paper"))).text
    assert "--profile paper" in text
    assert "level none" in text  # it has none
    assert "risk weights ips" in text
