"""Forms: each field against a small table that was computed by hand, and what a page must not say."""

from __future__ import annotations

import csv
import html
import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

from fairask.audit import json_schema
from fairask.cli._app import app
from fairask.report.forms import render_form

#: Rows and selected by sex and race; an empty value is unknown.
PEOPLE = {
    ("F", "A"): (40, 20), ("F", "B"): (60, 15), ("M", "A"): (50, 30), ("M", "B"): (48, 24),
    ("M", "C"): (2, 1), ("", "A"): (3, 1), ("F", ""): (2, 0),
}  # fmt: skip


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def write(path: Path, head: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def form(audit: Path, name: str, *words: object) -> tuple[dict[str, Any], str]:
    """Make a form; return its data, which its schema accepts, and its page."""
    done = run("report", audit, "--form", name, *words)
    assert done.exit_code == 0, done.output
    document = json.loads((audit / f"{name}.json").read_text("utf-8"))
    jsonschema.validate(document, json_schema("form"))
    return document, (audit / f"{name}.html").read_text("utf-8")


@pytest.fixture(scope="module")
def hired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hired")
    rows = [
        [sex, race, int(i < selected), int(sex == "F")]
        for (sex, race), (n, selected) in PEOPLE.items()
        for i in range(n)
    ]
    table = write(folder / "hired.csv", ["sex", "race", "hired", "score"], rows)
    columns = ("--predictions", "hired", "--protected", "sex", "--protected", "race", "--score", "score")
    done = run("audit", table, *columns, "--metric", "dp", "--missing-groups", "unknown")
    assert done.exit_code in (0, 1), done.output
    return folder / "hired.audit"


def test_local_law_144_has_numbers_rates_and_ratios_by_sex_race_and_both(hired: Path) -> None:
    document, page = form(hired, "nyc-ll144")
    sex, race, both = document["tables"]
    assert (sex["by"], race["by"], both["by"]) == (["sex"], ["race"], ["sex", "race"])
    by = {row["category"]: row for table in document["tables"] for row in table["rows"]}
    found = {
        name: (row["number"], row["selected"], round(row["impact_ratio"], 4)) for name, row in by.items()
    }
    assert found == {
        "F": (102, 35, round(35 / 102 / 0.55, 4)), "M": (100, 55, 1.0),
        "A": (93, 51, 1.0), "B": (108, 39, round(39 / 108 * 93 / 51, 4)),
        "C": (2, 1, round(0.5 * 93 / 51, 4)),
        "F, A": (40, 20, 0.8333), "F, B": (60, 15, 0.4167), "M, A": (50, 30, 1.0), "M, B": (48, 24, 0.8333),
        "M, C": (2, 1, 0.8333),
    }  # fmt: skip
    assert by["F, B"]["selection_rate"] == 0.25
    assert (sex["unknown"], race["unknown"], both["unknown"]) == (3, 2, 5)
    assert (sex["known"], race["known"], both["known"]) == (202, 203, 200)
    # Of 205 scores 102 are 1: the median is 0, so that all women and no men are above it.
    assert (by["F"]["scoring_rate"], by["M"]["scoring_rate"], by["M"]["scoring_ratio"]) == (1.0, 0.0, 0.0)
    assert "25.0&nbsp;%" in page
    assert "0.417" in page


def cells(page: str) -> list[list[str]]:
    """The cells of each row of all tables of a page."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [
        [html.unescape(re.sub("<[^>]+>", "", cell)).replace("\xa0", " ") for cell in row] for row in found
    ]


#: The scores by sex and race, h for who is hired; empty is unknown. The 19 scores are 1, 2, 2, 3, seven
#: times 5, 6, 6, 7, 8, 8, 9, 9 and 9: the tenth of them, 5, is the median, and 8 are above it.
APPLICANTS = {
    ("F", "A"): "9h 8h 5 2", ("F", "B"): "7h 5 5 1 -", ("M", "A"): "9h 9h 5h 5", ("M", "B"): "8h 6h 5 3 2",
    ("", "A"): "5h", ("M", ""): "6",
}  # fmt: skip


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("applied")
    rows = [
        [sex, race, int("h" in one), one.strip("h-")]
        for (sex, race), people in APPLICANTS.items()
        for one in people.split()
    ]
    table = write(folder / "applied.csv", ["sex", "race", "hired", "score"], rows)
    columns = ("--predictions", "hired", "--protected", "sex", "--protected", "race", "--score", "score")
    done = run("audit", table, *columns, "--metric", "dp", "--missing-groups", "unknown")
    assert done.exit_code in (0, 1, 3), done.output
    return folder / "applied.audit"


def test_every_field_of_local_law_144_by_hand(applied: Path) -> None:
    document, page = form(applied, "nyc-ll144")
    head = {name: document[name] for name in ("rows", "score", "median", "confidence", "small_share")}
    assert head == {"rows": 20, "score": "score", "median": 5.0, "confidence": 0.95, "small_share": 0.02}
    # By table: known, unknown, without a score, most selected.
    # Per category: number, selected, scored, above 5, impact ratio, ratio of scoring rates.
    tables = {
        # 3/9 to 5/10; 3/8 to 5/10. The man of unknown race is among the men.
        ("sex",): (19, 1, 1, "M", {"F": (9, 3, 8, 3, 2 / 3, 3 / 4), "M": (10, 5, 10, 5, 1, 1)}),
        # 3/10 to 6/9; 3/9 to 4/9.
        ("race",): (19, 1, 1, "A", {"A": (9, 6, 9, 4, 1, 1), "B": (10, 3, 9, 3, 0.45, 3 / 4)}),
        # 2/4, 1/5 and 2/5 to 3/4; 1/4 and 2/5 to 2/4, which two categories have.
        ("sex", "race"): (18, 2, 1, "M, A", {
            "F, A": (4, 2, 4, 2, 2 / 3, 1), "F, B": (5, 1, 4, 1, 4 / 15, 0.5),
            "M, A": (4, 3, 4, 2, 1, 1), "M, B": (5, 2, 5, 2, 8 / 15, 0.8),
        }),
    }  # fmt: skip
    for table, (by, (known, unknown, unscored, most, rows)) in zip(
        document["tables"], tables.items(), strict=True
    ):
        found = {name: value for name, value in table.items() if name != "rows"}
        assert found == {
            "by": list(by), "known": known, "unknown": unknown, "unscored": unscored, "most_selected": most,
        }  # fmt: skip
        assert [row["category"] for row in table["rows"]] == list(rows)
        for row, (n, selected, scored, above, ratio, score_ratio) in zip(
            table["rows"], rows.values(), strict=True
        ):
            # The limits and what they tell have a test of their own.
            assert {k: v for k, v in row.items() if k not in ("low", "high", "told")} == {
                "category": row["category"], "values": row["category"].split(", "), "number": n,
                "share": pytest.approx(n / known), "small": False, "excluded": False,
                "selected": selected, "selection_rate": pytest.approx(selected / n),
                "impact_ratio": pytest.approx(ratio), "scored": scored, "above_median": above,
                "scoring_rate": pytest.approx(above / scored), "scoring_ratio": pytest.approx(score_ratio),
            }  # fmt: skip
    shown = cells(page)
    assert ["F", "9", "3", "33.3 %", "0.667", "37.5 %", "0.750"] in shown
    assert ["F, B", "5", "1", "20.0 %", "0.267", "25.0 %", "0.500"] in shown
    assert "above 5, the median of all scores; a score equal to the median is not above it" in page
    assert "leave out the people of this table without a score: 1." in page
    assert "People of unknown category, who are not in this table: 2." in page
    assert ["Date of the audit", document["audit"]["issued"][:10]] in shown


def test_every_field_of_the_four_fifths_rule_by_hand(applied: Path) -> None:
    document, page = form(applied, "ugesp")
    assert (document["rows"], document["four_fifths"]) == (20, 0.8)
    sex, race = document["tables"]
    assert {name: sex[name] for name in sex if name != "rows"} == {
        "by": ["sex"], "highest": "M", "known": 19, "unknown": 1,
    }  # fmt: skip
    assert (race["by"], race["highest"], race["known"], race["unknown"]) == (["race"], "A", 19, 1)
    women, men = sex["rows"]
    assert women == {
        "category": "F", "number": 9, "share": pytest.approx(9 / 19), "small": False, "selected": 3,
        "selection_rate": pytest.approx(1 / 3), "ratio": pytest.approx(2 / 3), "below_four_fifths": True,
        # Of C(19, 8) = 75,582 ways only C(9, 4) C(10, 4) = 26,460, with four women, are likelier than three.
        "fisher_p": pytest.approx(49_122 / 75_582),
        # 8 of 19 are selected in all.
        "deviations": pytest.approx((1 / 2 - 1 / 3) / math.sqrt(8 / 19 * 11 / 19 * (1 / 9 + 1 / 10))),
        "two_deviations": False,
        # The rate of men would be 4.5 women, four fifths of it 3.6.
        "short_of_highest": 2, "short_of_four_fifths": 1,
    }  # fmt: skip
    assert men == {
        "category": "M", "number": 10, "share": pytest.approx(10 / 19), "small": False, "selected": 5,
        "selection_rate": 0.5, "ratio": 1.0, "below_four_fifths": False, "fisher_p": None, "deviations": None,
        "two_deviations": None, "short_of_highest": None, "short_of_four_fifths": None,
    }  # fmt: skip
    assert ["F", "9", "3", "33.3 %", "0.667", "yes", "0.6499", "0.73", "no", "2", "1"] in cells(page)


def test_four_fifths_itself_is_not_below_four_fifths(tmp_path: Path) -> None:
    # 44 of 58 is four fifths of 55 of 58; the quotient of the two floats is a hair below 0.8.
    assert (44 / 58) / (55 / 58) < 0.8
    rows = [[g, int(i < k)] for g, k in (("a", 44), ("b", 55)) for i in range(58)]
    table = write(tmp_path / "t.csv", ["g", "hired"], rows)
    run("audit", table, "--predictions", "hired", "--protected", "g", "--metric", "dp")
    first = form(tmp_path / "t.audit", "ugesp")[0]["tables"][0]["rows"][0]
    assert (first["below_four_fifths"], first["short_of_four_fifths"], first["short_of_highest"]) == (
        False,
        0,
        11,
    )


def test_two_most_selected_categories_are_both_named_and_none_where_nobody_is(tmp_path: Path) -> None:
    for name, hired in (("tie", (2, 2, 1)), ("nobody", (0, 0, 0))):
        rows = [[g, "xy"[i % 2], int(i < k)] for g, k in zip("abc", hired, strict=True) for i in range(4)]
        table = write(tmp_path / f"{name}.csv", ["g", "r", "hired"], rows)
        words = ("--predictions", "hired", "--protected", "g", "--protected", "r", "--metric", "dp")
        run("audit", table, *words)
        document, page = form(tmp_path / f"{name}.audit", "nyc-ll144")
        most = document["tables"][0]["most_selected"]
        highest = form(tmp_path / f"{name}.audit", "ugesp")[0]["tables"][0]["highest"]
        assert most == highest
        if name == "tie":
            assert most == "a; b"
        else:
            assert most is None
            assert {row["impact_ratio"] for row in document["tables"][0]["rows"]} == {None}
            assert "Nobody in these categories was selected, so there is no impact ratio" in page


def test_a_category_under_two_per_cent_is_left_out_only_with_a_reason(hired: Path) -> None:
    kept = form(hired, "nyc-ll144")[0]["tables"][1]["rows"][2]
    assert (kept["category"], kept["small"], kept["excluded"]) == ("C", True, False)
    document, page = form(hired, "nyc-ll144", "--fact", "exclusion=two people tell nothing")
    left = document["tables"][1]["rows"][2]
    # Its number and its rate are shown all the same.
    assert (left["excluded"], left["impact_ratio"], left["number"], left["selection_rate"]) == (
        True,
        None,
        2,
        0.5,
    )
    assert (
        "Under 2&nbsp;% of the people in the table: C (1.0&nbsp;%). They are left out of the ratios, with "
        "this reason: two people tell nothing."
    ) in page


def test_limits_are_those_of_the_ratio_that_is_printed(hired: Path) -> None:
    sex = form(hired, "nyc-ll144")[0]["tables"][0]
    women, men = sex["rows"]
    # Exact limits of two rates, all four together with 95 % confidence.
    low_f, high_f = proportion_confint(35, 102, alpha=0.05 / 2, method="beta")
    low_m, high_m = proportion_confint(55, 100, alpha=0.05 / 2, method="beta")
    assert women["low"] == pytest.approx(low_f / high_m)
    assert women["high"] == pytest.approx(high_f / low_m)
    # 0.62 is measured; of so few people it tells nothing.
    assert (high_f / low_m > 1, women["told"]) == (True, "cannot tell whether it is 1")
    assert (men["low"], men["high"], men["told"]) == (None, None, "")


def test_facts_of_the_owner_are_shown_or_left_open(hired: Path) -> None:
    given = ("--fact", "tool=Ranker 2", "--fact", "data-source=2025 <b>\x1b[2J\u202e")
    done = run("report", hired, "--form", "nyc-ll144", *given)
    assert "Left open, give them with --fact NAME=TEXT: distribution_date" in done.output
    assert "exclusion" not in done.output  # nothing is missing where nothing is left out
    document = json.loads((hired / "nyc-ll144.json").read_text())
    assert document["facts"]["tool"] == "Ranker 2"
    assert document["facts"]["distribution_date"] is None
    page = (hired / "nyc-ll144.html").read_text()
    assert page.count("to be filled in by the owner") == 3
    assert "2025 &lt;b&gt;\\x1b[2J\\u202e" in page
    refused = run("report", hired, "--form", "nyc-ll144", "--fact", "tol=x")
    assert (refused.exit_code, "has no fact 'tol'" in refused.output) == (2, True)


def test_a_limit_of_a_form_is_rounded_away_from_what_it_encloses(hired: Path) -> None:
    document = json.loads(json.dumps(form(hired, "nyc-ll144")[0]))
    row = next(row for row in document["tables"][0]["rows"] if row["category"] == "F")
    row["low"], row["high"], document["median"] = 0.79999, 1.00004, 123456.5
    page = render_form(document)
    assert '<td class="n">0.799</td><td class="n">1.001</td>' in page
    assert "above 123456.5, the median of all scores" in page


@pytest.mark.parametrize("name", ["nyc-ll144", "ugesp"])
def test_no_page_says_more_than_its_numbers(hired: Path, name: str) -> None:
    page = form(hired, name)[1]
    assert "It is no legal advice" in page
    for word in ("complian", "complies", "lawful", "passes", "passed", "fair "):
        assert word not in page.lower()
    if name == "nyc-ll144":
        assert "0.8 " not in page
        assert "four-fifths" not in page.lower()
        assert "The law has no threshold for an impact ratio" in page


def test_the_four_fifths_rule_has_significance_and_persons_beside_the_ratio(tmp_path: Path) -> None:
    rows = [["a", 1], *[["a", 0]] * 3, *[["b", 1]] * 3, ["b", 0]]
    table = write(tmp_path / "t.csv", ["g", "hired"], rows)
    run("audit", table, "--predictions", "hired", "--protected", "g", "--metric", "dp")
    document, page = form(tmp_path / "t.audit", "ugesp")
    first, best = document["tables"][0]["rows"]
    assert (first["number"], first["selected"], first["ratio"]) == (4, 1, pytest.approx(1 / 3))
    assert first["below_four_fifths"]
    # (1, 3) and (3, 1): 34 of the 70 tables with these margins are as unlikely.
    assert first["fisher_p"] == pytest.approx(34 / 70)
    assert first["deviations"] == pytest.approx(0.5 / math.sqrt(0.25 * (1 / 4 + 1 / 4)))
    assert not first["two_deviations"]
    # Three of four would be the highest rate; 2.4 of four are four fifths of it.
    assert (first["short_of_highest"], first["short_of_four_fifths"]) == (2, 2)
    assert (best["ratio"], best["below_four_fifths"], best["fisher_p"]) == (1.0, False, None)
    assert "0.4857" in page


#: Group, label, score, the plain model and the fair one.
LOANS = [
    ["a", 1, 2, 1, 1], ["a", 1, 4, 1, 1], ["a", 0, 6, 1, 0], ["a", 0, 8, 0, 0],
    ["b", 1, 1, 1, 1], ["b", 1, 2, 0, 0], ["b", 0, 3, 0, 1], ["b", 0, 4, 0, 0],
]  # fmt: skip
OF_LOANS = ("--protected", "g", "--known", "y", "--score", "s")


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loans")
    table = write(folder / "loans.csv", ["g", "y", "s", "plain", "fair"], LOANS)
    for name in ("plain", "fair"):
        assert run("audit", table, "--predictions", name, *OF_LOANS, "--out", folder / name).exit_code == 3
    return folder


def test_alternatives_have_accuracy_impact_ratio_and_mean_difference(loans: Path) -> None:
    document, page = form(loans / "fair", "lda", "--beside", loans / "plain")
    plain, fair = document["models"]
    assert (plain["plain"], plain["accuracy"]["value"], fair["accuracy"]["value"]) == (True, 0.75, 0.75)
    assert plain["accuracy"] == {"value": 0.75, "low": 0.75, "high": 0.75}  # every row has a label
    assert (plain["least_impact_ratio"], fair["least_impact_ratio"]) == (pytest.approx(1 / 3), 1.0)
    assert document["tables"][0]["reference"] == "a"
    b = document["tables"][0]["models"][0][1]
    assert (b["selection_rate"], b["impact_ratio"]) == (0.25, pytest.approx(1 / 3))
    # Means 5 and 2.5; the squared distances of all scores from 3.75 add up to 37.5.
    assert b["mean_difference"] == pytest.approx(-2.5 / math.sqrt(37.5 / 7))
    error = (20 / 3 / 4) + (5 / 3 / 4)
    freedom = error**2 / ((20 / 3 / 4) ** 2 / 3 + (5 / 3 / 4) ** 2 / 3)
    assert b["t_p"] == pytest.approx(2 * student.sf(2.5 / math.sqrt(error), freedom))
    assert {model["verdict"] for model in document["models"]} == {"undecided"}
    assert "fair has a least adverse impact ratio of 1.000, plain one of 0.333" in page


@pytest.fixture(scope="module")
def counted(loans: Path) -> Path:
    """The same audits about the table itself, where every row has a label."""
    for name in ("plain", "fair"):
        words = ("--predictions", name, *OF_LOANS, "--target", "pool", "--out", loans / f"{name}-pool")
        done = run("audit", loans / "loans.csv", *words)
        assert done.exit_code == 1, done.output
    return loans


def test_every_field_of_the_alternatives_by_hand(counted: Path) -> None:
    document, page = form(counted / "fair-pool", "lda", "--beside", counted / "plain-pool")
    issued = {
        name: json.loads((counted / f"{name}-pool" / "certificate.json").read_text())
        for name in ("plain", "fair")
    }
    for model, name in zip(document["models"], ("plain", "fair"), strict=True):
        assert model == {
            "predictions": name, "plain": name == "plain", "score": "s",
            "accuracy": {"value": 0.75, "low": 0.75, "high": 0.75},  # six of eight
            "least_impact_ratio": pytest.approx(1 / 3 if name == "plain" else 1), "verdict": "refuted",
            # Of group a both positives are accepted, of group b one of two: by both models.
            "headline": "Refuted: the difference in true positive rates is 0.5, above 0.1 (computed on the "
            "whole pool).",
            "issued": issued[name]["made_from"]["issued"], "model_sha256": issued[name]["digests"]["model"],
            "certificate_sha256": issued[name]["sealed"],
        }  # fmt: skip
    (table,) = document["tables"]
    assert (table["by"], table["reference"], table["unknown"]) == (["g"], "a", 0)
    none = dict.fromkeys(("fisher_p", "deviations", "two_deviations", "mean_difference", "t_p"))
    error = 20 / 3 / 4 + 5 / 3 / 4  # variances 20/3 and 5/3 of four scores each
    freedom = error**2 / ((20 / 3 / 4) ** 2 / 3 + (5 / 3 / 4) ** 2 / 3)
    scores = {
        "mean_score": 2.5, "mean_difference": pytest.approx(-2.5 / math.sqrt(37.5 / 7)),
        "t_p": pytest.approx(2 * student.sf(2.5 / math.sqrt(error), freedom)),
    }  # fmt: skip
    # Accepted of four in group a and in group b, Fisher's p, standard deviations.
    for rows, (a, b, p, deviations) in zip(
        table["models"], ((3, 1, 34 / 70, math.sqrt(2)), (2, 2, 1, 0)), strict=True
    ):
        assert rows == [
            {"category": "a", "number": 4, "selected": a, "selection_rate": a / 4, "impact_ratio": 1.0,
             **none, "mean_score": 5.0},
            {"category": "b", "number": 4, "selected": b, "selection_rate": b / 4,
             "impact_ratio": pytest.approx(b / a), "fisher_p": pytest.approx(p),
             "deviations": pytest.approx(deviations), "two_deviations": False, **scores},
        ]  # fmt: skip
    # Both accuracies are counted, so nothing is left to tell.
    assert document["compared"] == [
        "fair has a least adverse impact ratio of 1.000, plain one of 0.333. Measured on this table, fair is "
        "as accurate."
    ]
    assert ["plain", "b", "4", "1", "25.0 %", "0.333", "0.4857", "1.41", "-1.080", "0.1516"] in cells(page)
    assert issued["plain"]["sealed"] in page


def test_every_field_of_a_bias_profile_by_hand(counted: Path) -> None:
    document, page = form(counted / "fair-pool", "eu-bias-profile")
    issued = json.loads((counted / "fair-pool" / "certificate.json").read_text())
    model, table = (issued["digests"][name][:12] for name in ("model", "table"))
    alike = {
        "metric": "tprp",
        "measure": "difference in true positive rates",
        "threshold": 0.1,
        "mitigation": None,
    }
    # TPR 2 of 2 in group a and 1 of 2 in group b; every row has a label, so the limits are the value.
    assert document["scenarios"] == [
        {"groups": ["a", "b"], "measured": 0.5, "low": 0.5, "high": 0.5, "verdict": "refuted", **alike,
         "hazard": "In group b, people whose label is positive are accepted less often than in group a."},
        {"groups": ["b", "a"], "measured": -0.5, "low": -0.5, "high": -0.5, "verdict": "certified", **alike,
         "hazard": "In group a, people whose label is positive are accepted less often than in group b."},
    ]  # fmt: skip
    head = ("about", "delta", "computed", "labels", "verdict", "unclear", "more_labels")
    assert {name: document[name] for name in head} == {
        "about": "the pool audited, all 8 rows of it", "delta": 0.05, "computed": True, "labels": 8,
        "verdict": "refuted", "unclear": [], "more_labels": 0,
    }  # fmt: skip
    assert "Every row has a label." in document["assumptions"]
    assert (document["review"]["model"], document["review"]["table"]) == (model, table)
    assert len(document["review"]["triggers"]) == 3
    assert [
        "In group b, people whose label is positive are accepted less often than in group a.",
        "difference in true positive rates, a over b", "0.1", "0.500", "0.500", "0.500", "refuted", "open",
    ] in cells(page)  # fmt: skip


def test_alternatives_are_of_one_table_and_have_labels(loans: Path, hired: Path, tmp_path: Path) -> None:
    for beside, words in ((hired, "different tables"), (None, "--beside")):
        named = () if beside is None else ("--beside", beside)
        refused = run("report", loans / "fair", "--form", "lda", *named)
        assert (refused.exit_code, words in refused.output) == (2, True), refused.output
    run(
        "audit",
        loans / "loans.csv",
        "--predictions",
        "plain",
        "--protected",
        "g",
        "--metric",
        "dp",
        "--out",
        tmp_path / "d",
    )
    refused = run("report", loans / "fair", "--form", "lda", "--beside", tmp_path / "d")
    assert "has no labels, so no accuracy" in refused.output


def test_a_bias_profile_has_a_row_for_each_direction_of_each_pair(loans: Path) -> None:
    document, page = form(loans / "fair", "eu-bias-profile", "--fact", "mitigation=Second look")
    first, second = document["scenarios"]
    # Of group a both positives are accepted, of group b one of two.
    assert (first["groups"], first["measured"], first["threshold"]) == (["a", "b"], 0.5, 0.1)
    assert (second["groups"], second["measured"]) == (["b", "a"], -0.5)
    assert (
        first["hazard"]
        == "In group b, people whose label is positive are accepted less often than in group a."
    )
    certificate = json.loads((loans / "fair" / "certificate.json").read_text())["certificates"]["population"]
    assert first["high"] == certificate["comparisons"][0]["upper"]
    assert {row["verdict"] for row in document["scenarios"]} == {"undecided"}
    assert {row["mitigation"] for row in document["scenarios"]} == {"Second look"}
    triggers = " ".join(document["review"]["triggers"])
    assert document["audit"]["model_sha256"][:12] in triggers
    assert "When this profile is void" in page


def test_a_group_without_positives_is_unknown_and_not_a_gap_of_zero(tmp_path: Path) -> None:
    rows = (
        [["a", 1, 1]] * 40 + [["a", 0, 0]] * 40 + [["b", 1, 1]] * 40 + [["b", 0, 0]] * 40 + [["c", 0, 0]] * 40
    )
    table = write(tmp_path / "t.csv", ["g", "y", "p"], rows)
    for metric in ("eo", "tprp"):
        folder = tmp_path / metric
        words = (
            "--predictions",
            "p",
            "--protected",
            "g",
            "--known",
            "y",
            "--metric",
            metric,
            "--out",
            folder,
        )
        assert run("audit", table, *words).exit_code == 3
        document, page = form(folder, "eu-bias-profile")
        assert (
            json.loads((folder / "certificate.json").read_text())["certificates"]["pool"]["estimate"] is None
        )
        of_c = [row for row in document["scenarios"] if "c" in row["groups"]]
        assert [row["measured"] for row in of_c] == [None] * 4
        assert {row["verdict"] for row in of_c} == {"undecided"}
        assert document["unclear"] == ["c"]
        assert "a measure that is missing is not zero" in page


def test_a_form_that_was_changed_is_noticed(loans: Path, tmp_path: Path) -> None:
    run("verify", "--new-key", tmp_path / "owner")
    form(loans / "fair", "eu-bias-profile", "--sign", tmp_path / "owner")
    file, page = (loans / "fair" / f"eu-bias-profile{suffix}" for suffix in (".json", ".html"))
    checked = run("verify", file, "--key", tmp_path / "owner.pub")
    assert (checked.exit_code, "is as it was made; signed by SHA256:" in checked.output) == (0, True)
    kept = file.read_text(), page.read_text()
    page.write_text(kept[1].replace("undecided", "certified"))
    assert "does not say what" in run("verify", file, "--key", tmp_path / "owner.pub").output
    page.write_text(kept[1])
    file.write_text(kept[0].replace("undecided", "certified"))
    assert run("verify", file, "--key", tmp_path / "owner.pub").exit_code == 1
    assert run("verify", file).exit_code == 1
    file.write_text(kept[0])


def test_no_form_is_made_of_a_certificate_that_was_changed(tmp_path: Path) -> None:
    table = write(tmp_path / "loans.csv", ["g", "y", "s", "plain", "fair"], LOANS)
    words = ("--predictions", "fair", "--protected", "g", "--known", "y", "--out", tmp_path / "x")
    run("audit", table, *words)
    file = tmp_path / "x" / "certificate.json"
    file.write_text(re.sub(r'"upper": [\d.]+', '"upper": 0.01', file.read_text(), count=1))
    refused = run("report", tmp_path / "x", "--form", "ugesp")
    assert (refused.exit_code, "changed after it was issued" in refused.output) == (2, True)
    refused = run("report", tmp_path / "x", "--form", "ugesb")
    assert "ugesp" in refused.output
