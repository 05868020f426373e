"""Studies that were changed, cut, copied badly or damaged are noticed."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from fairask.errors import FairaskWarning
from fairask_studio import Study, StudyError
from fairask_studio.errors import UnreachableError
from fairask_studio.integrity import backup, verify
from fairask_studio.store.database import why_unreachable

pytestmark = pytest.mark.usefixtures("few_trees")
Make = Callable[..., Study]


def lived_in(make: Make, target: str | None = None) -> Study:
    study = make(target)
    rows = study.ask(10)
    study.tell(rows, ["good", "bad"] * 5)
    study.refit()
    study.people.add("ada", "owner")
    return study


def test_a_study_is_whole_and_its_backup_is_too(make: Make, target: str, tmp_path: Path) -> None:
    study = lived_in(make, target)
    assert verify(target).sound
    study.ask(3, "bob")
    assert backup(target, str(tmp_path / "copy")) == len(study.store.events())
    assert verify(str(tmp_path / "copy")).hash == verify(target).hash
    with Study.open(tmp_path / "copy") as copy:
        assert copy.status() == study.status()
        assert copy.people.all() == study.people.all()
        assert sorted(copy.store.pending("bob")) == sorted(study.store.pending("bob"))
    with pytest.raises(StudyError, match="holds a study"):
        backup(target, str(tmp_path / "copy"))


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE events SET who = 'eve'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events (id, at, who, kind, data, hash) VALUES (2, '', '', 'a', '{}', '')",
        "TRUNCATE events",
    ],
)
def test_the_database_refuses_to_change_or_delete_events(make: Make, target: str, attack: str) -> None:
    study = lived_in(make, target)
    lite = study.store.database.sqlite
    if lite and attack.startswith("TRUNCATE"):
        return  # SQLite has no such statement
    if not lite and "OR REPLACE" in attack:
        attack = attack.replace("OR REPLACE ", "") + " ON CONFLICT (id) DO UPDATE SET who = 'eve'"
    with pytest.raises(DBAPIError, match="append-only"), study.store.database.write() as connection:
        connection.execute(text(attack))
    assert verify(target).sound


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE events SET data = replace(data, '1', '0') WHERE id = 4", "event 4"),
        ("DELETE FROM events WHERE id = 5", "event 5 is missing"),
        ("UPDATE events SET hash = '' WHERE id = 3", "event 3"),
    ],
)
def test_verify_notices_what_the_owner_of_the_file_changed(
    make: Make, tmp_path: Path, change: str, words: str
) -> None:
    lived_in(make).close()
    with sqlite3.connect(tmp_path / "study" / "study.db") as connection:
        for verb in ("UPDATE", "DELETE"):
            connection.execute(f"DROP TRIGGER events_{verb}")
        connection.execute(change)
    connection.close()
    found = verify(str(tmp_path / "study"))
    assert words in found.problems[0]


def test_a_copy_without_its_wal_is_noticed(make: Make, tmp_path: Path) -> None:
    study = make()
    with study.store.database.write() as connection:
        connection.execute(text("SELECT 1"))
    connection = sqlite3.connect(tmp_path / "study" / "study.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    study.tell(rows := study.ask(10), ["good"] * len(rows))
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("study.db", "pool.parquet", "events.count"):
        shutil.copy(tmp_path / "study" / name, copy / name)
    with pytest.raises(StudyError, match=r"lacks 11 of 12 events.*study.db-wal"):
        Study.open(copy)
    (copy / "events.count").unlink()
    with pytest.warns(FairaskWarning, match=r"events.count is missing"):
        Study.open(copy).close()


def test_files_of_a_study_are_its_owners_alone(make: Make, tmp_path: Path) -> None:
    lived_in(make)
    assert stat.S_IMODE((tmp_path / "study").stat().st_mode) == 0o700
    for file in (tmp_path / "study").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


@pytest.mark.slow
def test_150_damaged_files_give_messages(make: Make, tmp_path: Path) -> None:
    lived_in(make).close()
    origin, rng = tmp_path / "study", random.Random(0)
    whole = {name: (origin / name).read_bytes() for name in ("study.db", "pool.parquet")}
    opened = 0
    for i in range(150):
        place = tmp_path / f"damaged-{i}"
        place.mkdir()
        for name, data in whole.items():
            (place / name).write_bytes(data)
        victim = rng.choice(["study.db"] * 4 + ["pool.parquet"])
        data = bytearray(whole[victim])
        kind = rng.randrange(3)
        if kind == 0:
            del data[rng.randrange(len(data)) :]
        else:
            size = rng.choice([1, 50, 5000])
            for _ in range(rng.randrange(1, 5)):
                at = rng.randrange(len(data))
                data[at : at + size] = rng.randbytes(min(size, len(data) - at)) if kind == 1 else bytes(size)
        (place / victim).write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairaskWarning)
            # Anything but a StudyError fails the test.
            with contextlib.suppress(StudyError), Study.open(place) as study:
                study.status()
                verify(str(place))
                opened += 1
        shutil.rmtree(place)
    assert 0 < opened < 150


def test_a_study_that_was_replaced_while_it_was_open_takes_no_answers_and_harms_the_other_not(
    make: Make, tmp_path: Path
) -> None:
    place = tmp_path / "study"
    study = lived_in(make)
    backup(str(place), str(tmp_path / "copy"))
    rows = study.ask(4)
    place.rename(tmp_path / "before")
    (tmp_path / "copy").rename(place)
    # An answer would go to the old file, and its number into the file beside the new one.
    for write in (lambda: study.tell(rows, ["good"] * 4), study.status):
        with pytest.raises(UnreachableError, match=r"study.db was moved, removed or replaced") as refused:
            write()
        assert why_unreachable(refused.value)  # the studio answers 503, and pages keep the answers
    with Study.open(place) as restored:
        assert verify(str(place)).sound
        restored.tell(restored.ask(1), ["good"])
    place.rename(tmp_path / "copy")
    (tmp_path / "before").rename(place)
    study.tell(rows, ["good"] * 4)
    assert verify(str(place)).sound
