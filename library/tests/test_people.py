"""People who err: symmetries, what is learned, who is named, and what an audit makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairask.audit import Audit
from fairask.errors import UserError
from fairask.people import LabelError, People


def crew(seed=0, people=5, gold=200, rows=400, wrong=None, opinions=3, copies=False):
    """Answers of a crew: all err in 5 % of the rows, or as ``wrong[person, group, label]`` says."""
    rng = np.random.default_rng(seed)
    wrong = np.full((people, 2, 2), 0.05) if wrong is None else wrong
    n = gold + rows
    group, label = (rng.random(n) < 0.5).astype(int), (rng.random(n) < 0.5).astype(int)
    lines = []
    for row in range(n):
        many = people if row < gold else opinions
        errs = rng.random(people) < wrong[:, group[row], label[row]]
        if copies and rng.random() < 0.9:
            errs[1] = errs[0]
        for who in rng.permutation(people)[:many]:
            said = label[row] ^ int(errs[who])
            lines.append((row, f"p{who}", int(said), "MF"[group[row]], label[row] if row < gold else None))
    columns = zip(*lines, strict=True)
    return dict(zip(("row", "person", "answer", "group", "truth"), map(list, columns), strict=True))


def harsh():
    wrong = np.full((5, 2, 2), 0.05)
    wrong[2, 1, 1] = 0.4
    return wrong


def told(people):
    return {(e.person, e.group, e.label): (e.wrong, e.low, e.high) for e in people.errors()}


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**16))
def test_neither_the_order_of_answers_nor_a_name_matters(seed):
    rng = np.random.default_rng(seed)
    table = crew(seed, rows=60, gold=40)
    order = rng.permutation(len(table["row"]))
    mixed = {name: [values[i] for i in order] for name, values in table.items()}
    people = {f"p{i}": f"q{j}" for i, j in enumerate(rng.permutation(5))}
    named = {
        **table,
        "person": [people[p] for p in table["person"]],
        "group": [{"F": "a", "M": "z"}[g] for g in table["group"]],
    }
    plain, other, renamed = (told(People.from_answers(t)) for t in (table, mixed, named))
    for (person, group, label), found in plain.items():
        assert other[person, group, label] == pytest.approx(found, abs=1e-6)
        assert renamed[people[person], {"F": "a", "M": "z"}[group], label] == pytest.approx(found, abs=1e-6)


def test_answers_that_change_sides_change_the_labels_of_the_errors():
    table = crew(3)
    turned = {**table, "answer": [1 - a for a in table["answer"]]}
    turned["truth"] = [None if t is None else 1 - t for t in table["truth"]]
    plain, other = told(People.from_answers(table)), told(People.from_answers(turned))
    for (person, group, label), found in plain.items():
        assert other[person, group, 1 - label] == pytest.approx(found, abs=1e-6)


def test_perfect_people_have_weight_one_and_nobody_is_named():
    people = People.from_answers(crew(1, wrong=np.zeros((5, 2, 2))))
    assert (people.weights() == 1.0).all()
    assert people.suspects() == []
    assert people.label_errors()["F"].wrong[1] < 0.02


def test_the_weight_of_a_label_is_the_probability_that_it_is_right():
    people = People.from_answers(crew(12))
    likely = people.labels().tolist()
    assert people.weights(labels=likely).tolist() == people.weights().tolist()
    other = people.weights(people.rows[:9], [1 - label for label in likely[:9]])
    assert other == pytest.approx(1 - people.weights(people.rows[:9]))
    with pytest.raises(UserError, match="label 'x' is unknown"):
        people.weights([0], ["x"])


def test_a_single_opinion_of_each_row_says_nothing_of_errors():
    table = {"row": [0, 1, 2], "person": ["a", "b", "a"], "answer": [1, 0, 1], "group": ["f", "m", "m"]}
    people = People.from_answers(table)
    assert people.weights().tolist() == [1.0, 1.0, 1.0]
    assert people.labels().tolist() == [1, 0, 1]
    with pytest.raises(UserError, match="no gold row"):
        people.label_errors()


def test_intervals_cover_the_errors_of_people():
    covered = []
    for seed in range(30):
        found = told(People.from_answers(crew(seed, wrong=harsh())))
        for (person, group, label), (_, low, high) in found.items():
            true = 0.4 if (person, group, label) == ("p2", "F", 1) else 0.05
            covered.append(low <= true <= high)
    assert 0.93 <= np.mean(covered) <= 1.0


def test_the_harsh_one_is_named_with_group_rates_and_rows():
    people = People.from_answers(crew(2, wrong=harsh()))
    [found] = people.suspects()
    assert (found.kind, found.people) == ("harsh", ("p2",))
    assert found.words.startswith("p2 says 0 to")
    assert "of F who deserve 1; others to" in found.words
    assert len(found.rows) > 5
    assert (people.weights(found.rows) > 0.5).all()


def test_rows_to_ask_again_are_not_gold_and_include_those_that_nobody_else_answered():
    table = crew(2, wrong=harsh(), opinions=1)
    gold = {row for row, truth in zip(table["row"], table["truth"], strict=True) if truth is not None}
    lines = zip(*(table[column] for column in ("row", "person", "answer", "group")), strict=True)
    told_no = {row for row, *line in lines if line == ["p2", 0, "F"]}
    [found] = People.from_answers(table).suspects()
    assert set(found.rows) == told_no - gold
    assert f"Nobody else answered {len(found.rows)} such rows of p2, and about " in found.words
    assert "probably wrong" not in found.words


def test_copying_is_told_from_rows_that_are_hard_for_everybody():
    assert [s.kind for s in People.from_answers(crew(4, copies=True)).suspects()] == ["copies"]
    hard = crew(4)
    for i, (row, truth) in enumerate(zip(hard["row"], hard["truth"], strict=True)):
        if truth == 1 and row % 7 == 0:
            hard["answer"][i] = 0
    assert People.from_answers(hard).suspects() == []


def changed(seed, cell, first, last, who=2):
    """A crew in time, of which one person (or all) errs otherwise in one cell after half of the rows."""
    rng = np.random.default_rng(seed)
    table, lines = {name: [] for name in ("row", "person", "answer", "group", "truth", "at")}, []
    for at in range(900):
        group, label, gold = "MF"[rng.integers(2)], int(rng.integers(2)), at % 3 == 0
        for person in rng.permutation(5)[: 5 if gold else 3]:
            changes = (group, label) == cell and who in (None, person)
            rate = (first if at < 450 else last) if changes else 0.05
            said = label ^ int(rng.random() < rate)
            lines.append((at, f"p{person}", said, group, label if gold else None, at))
    for column, values in zip(table, zip(*lines, strict=True), strict=True):
        table[column] = list(values)
    return table


@pytest.mark.parametrize(("first", "last"), [(0.05, 0.5), (0.5, 0.05)])
def test_who_errs_more_in_one_group_after_a_while_is_named_with_the_worse_answers(first, last):
    table = changed(2, ("F", 1), first, last)
    [found] = [s for s in People.from_answers(table).suspects() if s.kind == "drift"]
    assert found.people == ("p2",)
    assert "of F who deserve 1" in found.words
    assert found.rows
    assert np.mean([(row >= 450) == (last > first) for row in found.rows]) > 0.9


@pytest.mark.parametrize(("first", "last"), [(0.05, 0.25), (0.25, 0.05)])
def test_a_crew_that_changes_is_named_as_one(first, last):
    crews = [People.from_answers(changed(seed, ("F", 1), first, last, who=None)) for seed in range(6)]
    found = [s for people in crews for s in people.suspects() if len(s.people) == 5]
    assert found
    for suspicion in found:
        assert (suspicion.kind, suspicion.rows) == ("drift", ())
        assert suspicion.words.startswith("All together err in ")
        assert ("Later labels are wrong more often" in suspicion.words) == (last > first)
    assert People.from_answers(changed(0, ("F", 1), 0.05, 0.05)).suspects() == []


def test_times_are_dates_times_or_numbers_and_the_latest_answer_counts():
    hours = np.datetime64("2026-01-01T00:00") + np.arange(2).astype("timedelta64[D]")
    again = {"row": [1, 1], "person": ["a", "a"], "answer": [1, 0], "group": ["F", "F"]}
    assert People.from_answers(again).labels().tolist() == [0]
    assert People.from_answers({**again, "at": ["", ""]}).labels().tolist() == [0]
    for at in (
        hours.tolist(),
        hours.astype(str).tolist(),
        hours.astype("M8[D]").tolist(),
        [9, 10],
        ["9", "10"],
    ):
        assert People.from_answers({**again, "at": at}).labels().tolist() == [0]
        assert People.from_answers({**again, "at": at[::-1]}).labels().tolist() == [1]


@pytest.mark.parametrize("bad", ["Monday", "", None, float("inf"), "nan"])
def test_a_time_that_is_none_is_refused_by_name(bad):
    table = {"row": [1, 2], "person": ["a", "a"], "answer": [1, 0], "group": ["F", "F"], "at": [1, bad]}
    with pytest.raises(UserError, match="the column 'at' has"):
        People.from_answers(table)


def test_a_person_who_knows_the_gold_rows_is_named_and_not_believed_there():
    table = crew(5, wrong=harsh())
    knows = [
        (p, t) == ("p2", t) and t is not None for p, t in zip(table["person"], table["truth"], strict=True)
    ]
    table["answer"] = [t if k else a for a, t, k in zip(table["answer"], table["truth"], knows, strict=True)]
    people = People.from_answers(table)
    assert "leaked" in {s.kind for s in people.suspects()}
    assert people.label_errors()["F"].wrong[1] == pytest.approx(0.12, abs=0.05)


def test_gold_rows_that_are_easier_for_all_are_no_evidence():
    wrong = np.full((5, 2, 2), 0.25)
    table = crew(6, wrong=wrong, rows=800)
    table["answer"] = [a if t is None else t for a, t in zip(table["answer"], table["truth"], strict=True)]
    with pytest.raises(UserError, match="better than other rows"):
        People.from_answers(table).label_errors()


def test_an_error_that_all_share_is_seen_in_gold_rows_alone():
    table = crew(7, gold=400)
    for i, (row, truth, group) in enumerate(zip(table["row"], table["truth"], table["group"], strict=True)):
        if group == "F" and row % 5 == 0 and (truth in (1, None)):
            table["answer"][i] = 0
    found = People.from_answers(table).label_errors(2)
    assert abs(found["F"].wrong[1] - 0.2) < 3 * found["F"].doubt[1]
    assert found["M"].wrong[1] < 0.03


def test_second_opinions_go_where_labels_are_probably_wrong_and_keep_their_number():
    people = People.from_answers(crew(11, wrong=harsh(), opinions=1))
    rows = [row for row, truth in zip(people.rows, people.truth, strict=True) if truth < 0]
    chance = people.second_opinions(rows, 60)
    assert chance.sum() == pytest.approx(60, abs=0.01)
    assert chance.min() >= 0.2 * 60 / len(rows) - 1e-9
    assert chance.max() <= 1.0
    order = np.argsort(people.weights(rows))
    assert (np.diff(chance[order]) <= 1e-9).all()
    small = people.second_opinions(rows, 60, np.where(np.arange(len(rows)) < 50, 9.0, 1.0))
    assert small[:50].sum() > 2 * chance[:50].sum()
    assert people.second_opinions(rows, 1e6).tolist() == [1.0] * len(rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"person": None}, "no column 'person'"),
        ({"answer": ["x"]}, "the answer 'x' is unknown"),
        ({"group": ["f", "m"], "row": [1, 1], "person": ["a", "b"], "answer": [1, 1]}, "two groups"),
        ({"group": [None]}, "has no group"),
        ({"answer": [None]}, "there are no answers"),
        (
            {"truth": [0, 1], "row": [1, 1], "person": ["a", "b"], "answer": [1, 1], "group": ["f"] * 2},
            "two truths",
        ),
    ],
)  # fmt: skip
def test_bad_tables_of_answers_are_refused_by_name(change, words):
    table = {"row": [1], "person": ["a"], "answer": [1], "group": ["f"]} | change
    with pytest.raises(UserError, match=words):
        People.from_answers({name: values for name, values in table.items() if values is not None})


def test_too_few_gold_rows_and_rows_without_answers_are_refused():
    people = People.from_answers(crew(8, gold=8))
    with pytest.raises(UserError, match="gold rows of"):
        people.label_errors()
    with pytest.raises(UserError, match="no gold row has 6 answers"):
        People.from_answers(crew(8)).label_errors(6)
    with pytest.raises(UserError, match="row 99999 has no answer"):
        people.weights([99999])


def test_labels_that_are_wrong_too_often_for_an_audit_are_refused_with_a_remedy():
    people = People.from_answers(crew(1, wrong=np.full((5, 2, 2), 0.5)))
    with pytest.raises(UserError, match=r"of the labels of . are wrong where . is right.*Let more or other"):
        people.label_errors()


def test_an_audit_takes_what_was_learned_and_widens_for_what_is_unknown():
    rng = np.random.default_rng(9)
    y, g = rng.integers(0, 2, 8000), np.where(rng.random(8000) < 0.5, "F", "M")
    pred = np.where(rng.random(8000) < 0.8, y, 1 - y)
    said = np.where((rng.random(8000) < 0.3) & (y == 1) & (g == "F"), 0, y)

    def bounds(noise):
        audit = Audit(pred, g, metric="fprp", budget=2000, looks=1, noise=noise)
        rows = audit.ask().indices
        audit.tell(rows, said[rows])
        return audit.certificate()

    exact = {name: LabelError((0.0, 0.3 * (name == "F")), (0.0, 1e-9), (99, 99)) for name in "FM"}
    unsure = {name: LabelError((0.0, 0.3 * (name == "F")), (0.0, 0.05), (99, 99)) for name in "FM"}
    known, wide, naive = bounds(exact), bounds(unsure), bounds(0.0)
    assert naive.estimate > 0.09 > known.estimate
    assert wide.estimate == pytest.approx(known.estimate)
    assert wide.upper - wide.lower > 1.1 * (known.upper - known.lower)
    assert any("as gold rows show" in text for text in wide.assumptions)
    with pytest.raises(ValueError, match="noise learned for F"):
        bounds({"F": LabelError((0.0, 0.5), (0.1, 0.1), (9, 9)), "M": 0.0})
