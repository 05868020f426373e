"""``fairask audit --known``: labels that exist, of all rows or of a random part, decide at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from fairask.audit import certify
from library.tests.cli.auditing import refused

Run = Callable[..., Result]
COLUMNS = ("--predictions", "said", "--protected", "sex", "--known", "paid")


def scored(n: int, gap: float, labelled: float = 1.0, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of two groups whose true positive rates differ by ``gap``; a random part has a label."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        paid = rng.random() < 0.6
        said = rng.random() < ((0.85 - gap * (i % 2)) if paid else 0.3)
        told = rng.random() < labelled
        out.append({"sex": "fm"[i % 2], "said": int(said), "paid": int(paid) if told else ""})
    return out


@pytest.mark.parametrize(
    ("rows", "verdict", "code"),
    [
        (scored(3000, 0.0), "certified", 0),
        (scored(3000, 0.0, labelled=0.5), "certified", 0),
        (scored(3000, 0.3, labelled=0.5), "refuted", 1),
        (scored(80, 0.0), "undecided", 3),
    ],
)
def test_one_call_decides_and_its_exit_code_is_the_verdict(
    fairask: Run, write: Callable[..., Path], rows: list[dict[str, Any]], verdict: str, code: int
) -> None:
    done = fairask("audit", write(rows), *COLUMNS, "--json")
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    assert (found["verdict"], found["target"]) == (verdict, "population")
    assert not Path("table.audit/audit.json").exists()  # nothing is asked for
    # The bounds are those of certify on the labelled rows: they hold for any number of labels.
    told = [row for row in rows if row["paid"] != ""]
    y, said, sex = ([row[name] for row in told] for name in ("paid", "said", "sex"))
    same = certify(y, said, sex)
    mine = found["certificates"]["population"]
    assert (mine["upper"], mine["lower"], mine["valid"]) == (same.upper, same.lower, "finite-sample")
    assert fairask("verify", "table.audit").exit_code == 0


def test_the_table_itself_is_computed_where_every_row_has_a_label(
    fairask: Run, write: Callable[..., Path]
) -> None:
    found = json.loads(
        fairask("audit", write(scored(300, 0.05)), *COLUMNS, "--target", "pool", "--json").stdout
    )
    pool, population = (found["certificates"][name] for name in ("pool", "population"))
    assert found["verdict"] == pool["verdict"]
    assert (pool["valid"], pool["lower"]) == ("known", pool["upper"])
    assert population["upper"] > pool["upper"]
    said = Path("table.audit/certificate.txt").read_text("utf-8")
    assert "  method: computed (not estimated), metric tprp" in said
    assert "method computed (not estimated)" in Path("table.audit/certificate.html").read_text("utf-8")


def test_what_known_promises_is_said(fairask: Run, write: Callable[..., Path]) -> None:
    said = " ".join(fairask("audit", write(scored(3000, 0.0, labelled=0.4)), *COLUMNS).stdout.split())
    for words in (
        "rows with a label are a random part of all 3,000, within each group",
        "The rows are a random sample of the population.",
        "The labels are right.",
        "none of these rows trained it",
    ):
        assert words in said


@pytest.mark.parametrize("metric", ["tprp", "dp"])
def test_that_decisions_were_drawn_is_said(fairask: Run, write: Callable[..., Path], metric: str) -> None:
    rows = [{**row, "said": 0.1 + 0.8 * row["said"]} for row in scored(100, 0.0)]
    for known in (COLUMNS, COLUMNS[:-2])[: 2 if metric == "dp" else 1]:
        found = json.loads(
            fairask("audit", write(rows), *known, "--metric", metric, "--json", "--out", len(known)).stdout
        )
        for made in found["certificates"].values():
            assert sum("each decision was drawn once" in text for text in made["assumptions"]) == 1


def test_labels_of_the_accepted_alone_are_no_random_part(fairask: Run, write: Callable[..., Path]) -> None:
    rows = [{**row, "paid": row["paid"] if row["said"] else ""} for row in scored(2000, 0.3)]
    table = write(rows)
    refused(fairask("audit", table, *COLUMNS), "100 % of the rows decided 1 have a label", "--not-random")
    # Said to be chosen, they are counted as they are, and labels of other rows are asked for.
    asked = fairask("audit", table, *COLUMNS, "--not-random", "--budget", "100", "--json")
    assert (asked.exit_code, json.loads(asked.stdout)["status"]) == (3, "labels awaited")


def test_several_claims_share_the_error_and_each_pair_is_named(
    fairask: Run, write: Callable[..., Path]
) -> None:
    alone = json.loads(fairask("audit", write(scored(3000, 0.02)), *COLUMNS, "--json").stdout)
    both = json.loads(fairask("audit", "table.csv", *COLUMNS, "--also", "fprp", "--json").stdout)
    first, second = alone["certificates"]["population"], both["certificates"]["population"]
    assert second["upper"] > first["upper"]
    assert set(both["certificates"]) == {"population", "population: fprp", "pool", "pool: fprp"}
    pairs = {(c["first"], c["second"]): c for c in first["comparisons"]}
    assert set(pairs) == {("f", "m"), ("m", "f")}
    assert max(c["upper"] for c in pairs.values()) == pytest.approx(first["upper"], abs=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "100"), ("--budget is for audits that ask for labels",)),
        (("--noise", "0.1"), ("--noise is for audits",)),
        (("--missing-groups", "unknown"), ("--missing-groups is for audits",)),
    ],
)
def test_options_of_an_audit_that_asks_are_refused(
    fairask: Run, write: Callable[..., Path], options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(fairask("audit", write(scored(100, 0.0)), *COLUMNS, *options), *words)
    assert not Path("table.audit").exists()


def test_an_audit_that_asks_is_not_overwritten(fairask: Run, write: Callable[..., Path]) -> None:
    table = write(scored(600, 0.0, labelled=0.5))
    fairask("audit", table, "--predictions", "said", "--protected", "sex", "--budget", "100")
    refused(fairask("audit", table, *COLUMNS), "there is an audit", "--out")


def test_a_column_without_a_label_is_refused(fairask: Run, write: Callable[..., Path]) -> None:
    refused(
        fairask("audit", write([{**r, "paid": ""} for r in scored(50, 0.0)]), *COLUMNS), "no row has a label"
    )
