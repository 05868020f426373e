"""Tokens and sessions are secrets: only their hashes are stored."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select, text

from fairask.study import Study, StudyError
from fairask.study.store._schema import people, sessions

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
