from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fairask import FairActiveLearner
from fairask.errors import ColumnWarning
from fairask.pools import open_pool
from fairask.tables.encoder import fit_encoder
from fairask.tables.labels import prepare
from fairask.tables.leaks import column_of, columns_that_tell, group_leaks, said_column

RNG = np.random.default_rng(0)
Y = RNG.integers(2, size=600)


def test_a_number_tells_in_either_direction() -> None:
    noise = RNG.normal(size=600)
    X = np.column_stack([noise, Y + 0.4 * RNG.random(600), -Y + 0.0, noise + 1.5 * Y])
    assert list(columns_that_tell(X, Y, ["age", "late", "early", "honest"])) == ["late", "early"]


def test_a_category_tells_by_its_levels_together() -> None:
    level = np.where(Y == 1, RNG.integers(2, size=600), 2 + RNG.integers(2, size=600))
    X = np.column_stack([level == 1, level == 2, level == 3]).astype(float)
    assert columns_that_tell(X, Y, ["state=b", "state=c", "state=d"]) == {"state": 1.0}


def test_rare_positives_are_no_leak_and_names_are_none_either() -> None:
    rare = (RNG.random(600) < 0.005).astype(np.int64)
    assert columns_that_tell(RNG.normal(size=(600, 1)), rare, ["age"]) == {}
    each = np.eye(100)[np.arange(600) % 100]
    assert (
        columns_that_tell(each, (np.arange(600) % 100 < 50).astype(np.int64), [f"id={i}" for i in range(100)])
        == {}
    )


def test_one_rare_label_and_topics_of_a_text_are_no_leak() -> None:
    once = np.arange(60) == 7
    X = np.column_stack([np.where(once, 9.0, RNG.normal(size=60)), once])
    assert columns_that_tell(X, once.astype(np.int64), ["age", "closed"]) == {}
    told = np.column_stack([Y, Y]) + 0.0
    assert list(columns_that_tell(told, Y, ["letter topic 3", "closed"])) == ["closed"]


def test_a_column_that_tells_by_being_empty_is_named_as_it_can_be_dropped() -> None:
    closed = [["2020-01-02", "2020-01-03"][i % 2] if paid else None for i, paid in enumerate(Y)]
    columns = {"age": RNG.normal(size=600), "closed_on": closed, "sex": ["f", "m"] * 300}
    table = pa.table({**columns, "paid": [["no", "yes"][paid] for paid in Y]})
    data = prepare(table, label="paid", protected="sex")
    telling = columns_that_tell(data.X, data.y, data.feature_names)
    assert [column_of(name) for name in telling] == ["closed_on"]
    assert [said_column(name) for name in telling] == ["'closed_on' (whether it is empty)"]
    kept = prepare(table, label="paid", protected="sex", drop=[column_of(name) for name in telling])
    assert columns_that_tell(kept.X, kept.y, kept.feature_names) == {}
    # A column that also tells otherwise is named once.
    late = np.column_stack([3.0 * Y, Y])
    assert list(columns_that_tell(late, Y, ["late", "late is missing"])) == ["late"]


@pytest.mark.parametrize("rows", [0, 10])
def test_few_rows_say_nothing(rows: int) -> None:
    assert columns_that_tell(np.zeros((rows, 1)), np.zeros(rows, dtype=np.int64), ["x"]) == {}


def test_a_column_that_tells_the_group_is_named_unless_the_group_may_be_read() -> None:
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m", "x"], 240)
    title = np.array(["Ms", "Mr", "Mx"])[np.searchsorted(["f", "m", "x"], sex)]
    columns = {"age": rng.normal(size=240), "title": title, "sex": sex, "paid": np.arange(240) % 2}
    table = pa.table(columns)
    notes = prepare(table, label="paid", protected="sex", use_protected=False).notes
    assert [note for note in notes if "alone tells the group" in note] == [
        "column 'title' alone tells the group (1.000 of rows): drop it if nobody may know it"
    ]
    assert "tells the group" not in " ".join(prepare(table, label="paid", protected="sex").notes)


@pytest.mark.parametrize("words", [("0", "1"), ("no", "yes"), (False, True)])
def test_columns_that_tell_the_group_together_are_named_however_they_are_written(
    words: tuple[object, object],
) -> None:
    race = np.arange(400) % 4
    table = pa.table({f"race_{one}": [words[int(r == one)] for r in race] for one in (1, 2, 3)})
    encoder = fit_encoder(table)
    said = group_leaks(encoder.transform(table), race == 0, encoder.feature_names_out)
    assert said == [
        "columns 'race_1', 'race_2', 'race_3' together tell the group (1.000 of rows): drop them if nobody "
        "may know it"
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_a_blind_learner_names_leaks_of_a_pool_of_any_kind(whole: bool) -> None:
    n = 400
    race = np.array(["White", "Black", "Asian", "Other"])[np.arange(n) % 4]
    people = {f"Race_{one}": (race == one).astype(int) for one in ("White", "Black", "Asian", "Other")}
    table = pa.table({"application": np.arange(n) + 1000, "age": np.arange(n) * 7 % 41, **people})

    def learner() -> FairActiveLearner:
        if whole:
            return FairActiveLearner(table.to_pandas(), "Race_White", blind=True)
        return FairActiveLearner(open_pool(table, "Race_White"), blind=True)

    with pytest.warns(ColumnWarning) as told:
        learner()
    said = " ".join(str(one.message) for one in told)
    assert "columns 'Race_Black', 'Race_Asian', 'Race_Other' together tell the group" in said
    assert whole or "'application' (an identifier" in said  # a frame of numbers is taken as it is
