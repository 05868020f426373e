"""Tokens and sessions are secrets: only their hashes are stored."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select, text

from fairask_studio import Study, StudyError
from fairask_studio.events import now
from fairask_studio.store.schema import people, sessions

Make = Callable[..., Study]


def test_a_token_signs_in_its_person_and_is_not_stored(make: Make, target: str) -> None:
    study = make(target)
    token = study.people.add("ada", "owner")
    cookie = study.people.sign_in("ada")
    with study.store.database.read() as connection:
        stored = str(connection.execute(select(people)).all()) + str(
            connection.execute(select(sessions)).all()
        )
    assert token not in stored
    assert cookie not in stored
    assert study.people.by_token(token) == study.people.by_name("ada")
    assert study.people.by_token(token + "x") is None
    session = study.people.session(cookie)
    assert session is not None
    assert session.name == "ada"


def test_a_new_token_ends_the_old_one_and_its_sessions(make: Make) -> None:
    study = make()
    old = study.people.add("ada", "owner")
    cookie = study.people.sign_in("ada")
    with pytest.raises(StudyError, match="has a token already"):
        study.people.add("ada", "owner")
    new = study.people.add("ada", "owner", renew=True)
    assert study.people.by_token(old) is None
    assert study.people.session(cookie) is None
    assert study.people.by_token(new) is not None


def test_a_session_ends_by_signing_out_by_time_and_by_removal(make: Make) -> None:
    study = make()
    study.people.add("ada", "owner")
    study.people.add("bob")
    first, second, third = (study.people.sign_in(name) for name in ("ada", "ada", "bob"))
    study.people.sign_out(first)
    assert study.people.session(first) is None
    study.people.remove("bob")
    assert study.people.session(third) is None
    with study.store.database.write() as connection:
        connection.execute(text("UPDATE sessions SET until = 0"))
    assert study.people.session(second) is None


def test_the_last_owner_stays(make: Make) -> None:
    study = make()
    study.people.add("ada", "owner")
    with pytest.raises(StudyError, match="only owner"):
        study.people.remove("ada")
    with pytest.raises(StudyError, match="nobody is named 'eve'"):
        study.people.remove("eve")
    with pytest.raises(StudyError, match="did you mean 'owner'"):
        study.people.add("bob", "ownr")


def test_the_last_owner_cannot_be_made_an_annotator(make: Make) -> None:
    study = make()
    study.people.add("ada", "owner")
    with pytest.raises(StudyError, match="only owner"):
        study.people.add("ada", "annotator", renew=True)
    assert [person.role for person in study.people.all()] == ["owner"]


def test_a_program_has_a_token_that_ends_on_its_day(make: Make, target: str) -> None:
    study = make(target)
    study.people.add("ada", "owner")
    token = study.people.add_program("export", "owner", now(60))
    program = study.people.by_token(token)
    assert program is not None
    assert (program.name, program.role, program.program) == ("export", "owner", True)
    assert [p.name for p in study.people.all()] == ["ada"]
    assert [p.name for p in study.people.programs()] == ["export"]
    assert study.people.by_name("export") is None  # it has no session
    with pytest.raises(StudyError, match="only owner"):
        study.people.remove("ada")  # a program is no owner who could add people
    for taken in ("ada", "export"):
        with pytest.raises(StudyError, match="somebody else"):
            study.people.add_program(taken, "annotator", now(60))
    with pytest.raises(StudyError, match="in the past"):
        study.people.add_program("late", "annotator", now(-1))
    with study.store.database.write() as connection:
        connection.execute(text("UPDATE people SET until = '2020-01-01T00:00:00.000Z' WHERE name = 'export'"))
    again = Study.open(target)
    assert again.people.by_token(token) is None
    expired = again.people.expired(token)
    assert expired is not None
    assert expired.name == "export"
    again.people.remove("export")
    assert again.people.programs() == []
    again.close()
