"""``fairask audit`` asked for more, ``fairask study certify``, and the schemas of what both write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from referencing import Registry, Resource
from typer.testing import Result

from fairask.audit import json_schema
from library.tests.cli.auditing import AWAITED, label, read, refused, to_the_end

pytestmark = pytest.mark.usefixtures("no_replay")
Run = Callable[..., Result]
Rows = list[dict[str, Any]]
START = ("--predictions", "said", "--protected", "sex", "--positive", "yes", "--budget", 240, "--looks", 2)


def applications(n: int = 2400) -> Rows:
    """Applicants of two groups, a few of unknown group, with a score, a cost and some known labels."""
    rng = np.random.default_rng(3)
    out = []
    for i in range(n):
        truth = bool(rng.random() < 0.5)
        out.append(
            {
                "id": i,
                "sex": "" if i % 80 == 7 else "m" if i % 3 else "f",
                "old": "yes" if i % 5 < 2 else "no",
                "said": "yes" if truth == (rng.random() < 0.93) else "no",
                "score": round(float(np.clip(0.5 + (0.3 if truth else -0.3) + rng.normal(0, 0.2), 0, 1)), 3),
                "cost": 1 + 3 * (i % 2),
                "seen": ("yes" if truth else "no") if i % 10 == 0 else "",
                "truth": "yes" if truth else "no",
            }
        )
    guess = np.random.default_rng(4)
    for row in out:
        other = {"yes": "no", "no": "yes"}[row["truth"]]
        row["guess"] = row["truth"] if guess.random() < 0.85 else other
        row["sure"] = round(float(guess.uniform(0.6, 0.95)), 2)
        row["repaid"] = row["truth"] if row["said"] == "yes" and row["id"] % 40 else ""
    return out


TRUTH = applications()


@pytest.fixture
def pool(write: Callable[..., Path]) -> Path:
    return write([{k: v for k, v in row.items() if k != "truth"} for row in TRUTH], "pool.csv")


def check(document: dict[str, Any], name: str) -> None:
    schemas = [json_schema(n) for n in ("certificate", "audit", "audit-state")]
    registry = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in schemas)
    validator = jsonschema.Draft202012Validator(json_schema(name), registry=registry)
    problems = [error.message for error in validator.iter_errors(document)]
    assert not problems, problems


def finished(fairask: Run, pool: Path, *options: Any) -> dict[str, Any]:
    """Audit to the end with true labels, check both files against their schemas, return the certificates."""
    begun = fairask("audit", pool, *START, *options)
    assert begun.exit_code == AWAITED, begun.output
    to_the_end(fairask, pool, TRUTH)
    check(json.loads(Path("pool.audit/audit.json").read_text()), "audit-state")
    found = json.loads(Path("pool.audit/certificate.json").read_text())
    check(found, "audit")
    certificates: dict[str, Any] = found["certificates"]
    return certificates


def test_outcomes_of_the_accepted_are_counted_and_only_others_are_asked_for(fairask: Run, pool: Path) -> None:
    found = finished(fairask, pool, "--observed", "repaid")["pool"]
    rows = json.loads(Path("pool.audit/audit.json").read_text())["audit"]["rows"]
    assert {TRUTH[row]["said"] for row in rows} == {"no"}
    said = " ".join(found["assumptions"])
    accepted = [row for row in TRUTH if row["said"] == "yes"]
    seen = sum(row["repaid"] != "" for row in accepted)
    assert f"Observed: the outcomes of {seen:,} accepted rows" in said
    assert f"Of {len(accepted) - seen} accepted rows no outcome was observed: the bounds hold" in said
    assert f"Bought: {len(rows):,} labels" in said


def test_outcomes_that_are_missing_at_random_are_declared_so(fairask: Run, pool: Path) -> None:
    begun = fairask("audit", pool, *START, "--observed", "repaid", "--missing", "random")
    assert begun.exit_code == AWAITED, begun.output
    state = json.loads(Path("pool.audit/audit.json").read_text())
    check(state, "audit-state")
    strata = state["audit"]["strata"]
    assert strata["observed"]["random"]
    assert strata["observed"]["missing"]
    assert not any(strata["known"][2])  # no row counts at its worst


def test_a_judge_is_tried_on_people_hidden_from_them_and_named(fairask: Run, pool: Path) -> None:
    begun = fairask("audit", pool, *START, "--judge", "guess,sure")
    assert begun.exit_code == AWAITED, begun.output
    sheet = Path("pool.audit/rows-1.csv")
    assert not {"guess", "sure"} & set(read(sheet)[0])
    told = fairask("audit", pool, "--tell", label(sheet, TRUTH, "told.csv"))
    assert "The judge agrees with people in" in told.output
    to_the_end(fairask, pool, TRUTH)
    found = json.loads(Path("pool.audit/certificate.json").read_text())
    check(found, "audit")
    assert any("labels are from people" in text for text in found["certificates"]["pool"]["assumptions"])
    assert found["made_from"]["judge"] == "guess,sure"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judge", "guess", "--score", "score"), "--judge and --score were both given"),
        (("--judge", "old,id"), "confidence goes from 0 to"),
        (("--judge", "id"), "unknown answer"),
        (("--judge", "nobody"), "nobody"),
        (("--observed", "seen", "--known", "repaid", "--not-random"), "both name labels that exist"),
        (("--missing", "random"), "--missing is about outcomes"),
        (("--observed", "repaid", "--missing", "never"), "--missing never is unknown"),
    ],
)
def test_judges_and_outcomes_that_make_no_sense_are_refused(
    fairask: Run, pool: Path, options: tuple[str, ...], words: str
) -> None:
    refused(fairask("audit", pool, *START, *options), words)


def test_a_score_costs_known_labels_and_noise_are_used_and_named(fairask: Run, pool: Path) -> None:
    options = (
        "--score",
        "score",
        "--cost",
        "cost",
        "--known",
        "seen",
        "--not-random",
        "--noise",
        "f=0.02,m=0.01-0.03",
    )
    found = finished(fairask, pool, *options)["pool"]
    asked = json.loads(Path("pool.audit/audit.json").read_text())["audit"]["rows"]
    assert not [row for row in asked if row % 10 == 0]  # their labels were known
    # Labels are placed by the mean cost of a stratum; costs are 1 and 4, with a standard deviation of 1.5.
    assert sum(TRUTH[row]["cost"] for row in asked) <= 240 + 4 * 1.5 * len(asked) ** 0.5
    assumed = " ".join(found["assumptions"])
    for words in ("bin of the score", "240 rows had labels before the audit", "m 1.0% to 3.0%"):
        assert words in assumed
    page = Path("pool.audit/certificate.html").read_text()
    assert "f=0.02,m=0.01-0.03" in page


def test_several_metrics_and_ratios_are_decided_together(fairask: Run, pool: Path) -> None:
    options = ("--metric", "tpr-ratio", "--at-least", "0.7", "--also", "fprp:0.3", "--compare", "rest")
    found = finished(fairask, pool, *options)
    assert [name for name in found if name.startswith("pool")] == ["pool", "pool: fprp"]
    assert found["pool"]["tolerance"] == 0.3
    assert (
        "least ratio of true positive rates is at least 0.7" in Path("pool.audit/certificate.txt").read_text()
    )
    assert {c["second"] for c in found["pool"]["comparisons"]} >= {"all but f", "all but m"}
    assert "2 claims share the error" in " ".join(found["pool"]["assumptions"])


def test_intersections_and_unknown_groups(fairask: Run, pool: Path) -> None:
    begun = fairask("audit", pool, *START, "--protected", "old", "--missing-groups", "unknown", "--json")
    assert begun.exit_code == AWAITED, begun.output
    to_the_end(fairask, pool, TRUTH)
    found = json.loads(Path("pool.audit/certificate.json").read_text())
    check(found, "audit")
    one = found["certificates"]["pool"]
    assert len(one["groups"]) == 4
    assert one["unknown_groups"] == sum(row["sex"] == "" for row in TRUTH)


def test_a_plan_writes_a_table_and_a_plot_only(fairask: Run, pool: Path) -> None:
    planned = fairask("audit", pool, *START, "--score", "score", "--plan", "--out", "plan.svg", "--runs", 20)
    assert planned.exit_code == 0, planned.output
    assert "groups alike" in planned.stdout
    svg = Path("plan.svg").read_text()
    assert "<svg" in svg
    for words in ("with the score, groups are alike", "without a score, groups are alike", "plan: 240"):
        assert words in svg
    head = next(line for line in planned.stdout.splitlines() if line.lstrip().startswith("budget"))
    assert head.split() == ["budget", *["no", "score", "score"] * 4]
    (mine,) = [line for line in planned.stdout.splitlines() if re.match(r">\s+240\b", line)]
    assert len(mine.split()) == 2 + 8
    assert not Path("pool.audit").exists()
    found = json.loads(fairask("audit", pool, *START, "--plan", "--runs", 20, "--json").stdout)
    assert {row["budget"] for row in found["budgets"]} >= {100, 240, 800}


def test_rows_of_unknown_group_are_named_and_simulated(fairask: Run, pool: Path) -> None:
    begun = fairask("audit", pool, *START, "--missing-groups", "unknown")
    assert "(unknown) 30, f 790, m 1,580" in begun.stdout
    known = Path("known.csv")
    known.write_text("sex,said,truth\n" + "".join(f"{r['sex']},{r['said']},{r['truth']}\n" for r in TRUTH))
    tried = fairask("audit", known, *START, "--truth", "truth", "--missing-groups", "unknown", "--runs", 20)
    assert "Of 20 simulated audits" in tried.stdout, tried.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at-least", "0.8"), ("error: --at-least is for a ratio",)),
        (("--not-random",), ("--not-random is about labels that --known names",)),
        (("--metric", "tpr-ratio", "--at-least", "1.2"), ("--at-least 1.2 is no ratio",)),
        (("--delta", "0.9"), ("delta",)),
        (("--noise", "lots"), ("--noise lots cannot be read",)),
        (("--noise", "x=0.1"), ("noise names 'x'",)),
        (("--cost", "old"), ("its values are not numbers",)),
        (("--known", "id", "--not-random"), ("--known id", "unknown label")),
        (("--known", "seen"), ("--known decides", "--budget")),
        (("--score", "scores"), ("no column 'scores'",)),
        (("--also", "tpr"), ("metric='tpr' is unknown",)),
        (("--compare", "all"), ("compare='all' is unknown",)),
        (("--predictions", "score"), ("--predictions names 2 columns, and an audit is of one model",)),
        (("--plan", "--cost", "cost"), ("--plan does not allow for --cost",)),
        (("--plan", "--noise", "0.05"), ("--plan does not allow for --noise",)),
    ],
)
def test_a_wrong_new_option_is_refused_and_nothing_is_written(
    fairask: Run, pool: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(fairask("audit", pool, *START, *options), *words)
    assert not Path("pool.audit").exists()


def test_a_correction_after_a_look_is_recorded_and_named(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *START, "--tolerance", 0.02)
    file = label("pool.audit/rows-1.csv", TRUTH, "told.csv")
    assert fairask("audit", pool, "--tell", file).exit_code == 3
    row = int(read(file)[0]["row"])
    wrong = "no" if TRUTH[row]["truth"] == "yes" else "yes"
    Path("one.csv").write_text(f"row,label\n{row},{wrong}\n")
    changed = fairask("audit", pool, "--tell", "one.csv", "--unchecked", "--correct")
    assert changed.exit_code == 3, changed.output
    assert "0 new labels; 1 changed; 120 in all." in changed.stdout
    state = json.loads(Path("pool.audit/audit.json").read_text())
    check(state, "audit-state")
    (entry,) = state["corrections"]
    assert (entry["row"], entry["to"], entry["after_labels"]) == (row, int(wrong == "yes"), 120)
    told = label("pool.audit/rows-2.csv", TRUTH, "told.csv")
    assert fairask("audit", pool, "--tell", told).exit_code == 3
    found = json.loads(Path("pool.audit/certificate.json").read_text())
    assert found["certificates"]["pool"]["corrected"] == 1
    assert found["made_from"]["corrections"] == "1, listed in audit.json"


def test_a_row_that_nobody_can_label_is_skipped_replaced_and_named(fairask: Run, pool: Path) -> None:
    fairask("audit", pool, *START)
    label("pool.audit/rows-1.csv", TRUTH, "told.csv")
    rows = read("told.csv")
    lost = [row["row"] for row in rows[:3]]
    text = [f"{row['row']},{'skip' if row['row'] in lost else row['label']},{row['check']}" for row in rows]
    Path("told.csv").write_text("\n".join(["row,label,check", *text]) + "\n")
    told = fairask("audit", pool, "--tell", "told.csv")
    assert told.exit_code == 3, told.output
    assert "Label 3 rows of pool.audit/rows-1-2.csv" in told.stdout.replace(str(pool.parent) + "/", "")
    assert not {row["row"] for row in read("pool.audit/rows-1-2.csv")} & set(lost)
    again = fairask("audit", pool, "--tell", "told.csv")
    assert "0 new labels" in again.stdout
    more = label("pool.audit/rows-1-2.csv", TRUTH, "more.csv")
    result = fairask("audit", pool, "--tell", more)
    if result.exit_code == 3:
        fairask("audit", pool, "--tell", label("pool.audit/rows-2.csv", TRUTH, "told.csv"))
    found = json.loads(Path("pool.audit/certificate.json").read_text())
    assert found["certificates"]["pool"]["skipped"] == 3
    assert "3 rows could not be labelled" in " ".join(found["certificates"]["pool"]["assumptions"])
    check(json.loads(Path("pool.audit/audit.json").read_text()), "audit-state")


@pytest.mark.slow
def test_a_study_is_certified_look_by_look(fairask: Run, rows: Rows, write: Callable[..., Path]) -> None:
    table = write([{k: v for k, v in row.items() if k != "paid"} for row in rows])
    truth = {i: row["paid"] for i, row in enumerate(rows)}

    def labelled() -> list[int]:
        asked = fairask("ask", "study", "-n", 40, "-o", "batch.csv")
        assert asked.exit_code == 0, asked.output
        lines = read("batch.csv")
        text = Path("batch.csv").read_text().splitlines()
        at = text[0].split(",").index("label")
        filled = [line.split(",") for line in text[1:]]
        for cells, row in zip(filled, lines, strict=True):
            cells[at] = truth[int(row["row"])]
        Path("batch.csv").write_text("\n".join([text[0], *map(",".join, filled)]) + "\n")
        assert fairask("tell", "study", "batch.csv").exit_code == 0
        Path("batch.csv").unlink()
        return [int(row["row"]) for row in lines]

    words = ("--classes", "no,yes", "--protected", "sex", "--budget", 40, "--batch", 40)
    made = fairask("new", table, "--to", "study", *words)
    assert made.exit_code == 0, made.output
    refused(fairask("study", "certify", "study", "--labels", 80), "no model to audit")
    labelled()
    planned = fairask("study", "certify", "study", "--plan")
    assert "groups alike" in planned.stdout
    assert fairask("study", "certify", "study").exit_code == 3
    begun = fairask("study", "certify", "study", "--labels", 80)
    assert (begun.exit_code, "Look 0 of at most 2" in begun.stdout) == (0, True)
    drawn = labelled()
    looked = fairask("study", "certify", "study")
    if looked.exit_code == 3:
        assert "Look 1 of at most 2: 40 of 80 labels" in looked.stdout
        row = drawn[0]
        fixed = fairask("study", "correct", "study", row, "no" if truth[row] == "yes" else "yes")
        assert fixed.exit_code == 0, fixed.output  # labels of an audit train nothing, so nothing is fitted
        assert "confidence" in fixed.stdout
        labelled()
        looked = fairask("study", "certify", "study", "--json")
        document = json.loads(looked.stdout)["certificate"]
        assert document["corrected"] == 1
        check(document, "certificate")
    assert "No audit is under way. The last one ended" in fairask("study", "certify", "study").stdout
    refused(fairask("study", "certify", "study", "--end"), "no audit is under way")


def test_a_file_with_other_signs_is_read_as_it_was_begun(fairask: Run, rows: Rows, tmp_path: Path) -> None:
    cells = [f"{row['sex']}|{row['paid']}|{row['income']:.1f}".replace(".", ",") for row in rows]
    file = tmp_path / "odd.csv"
    file.write_bytes("\n".join(["sex|paid|né", *cells]).encode("latin-1"))
    how = ("--delimiter", "|", "--decimal", ",", "--encoding", "latin-1")
    begun = fairask("audit", file, "--predictions", "paid", "--protected", "sex", "--budget", 20, *how)
    assert begun.exit_code == AWAITED, begun.output
    state = json.loads(Path("odd.audit/audit.json").read_text())
    assert state["pool"]["form"] == {"delimiter": "|", "decimal": ","}
    assert state["pool"]["encoding"] == "latin-1"
    again = fairask("audit", file)
    assert again.exit_code == AWAITED, again.output
    refused(fairask("audit", file, "--delimiter", ";"), "--delimiter ;", "was begun with |")
