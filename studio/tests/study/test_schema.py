"""Newer studies are refused, and the migrations make the declared tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from fairask_studio import Study, StudyError, store
from fairask_studio.store.database import REVISIONS, Database
from fairask_studio.store.schema import metadata

Make = Callable[..., Study]


def test_the_migrations_make_the_tables_that_are_declared(make: Make, target: str) -> None:
    study = make(target)
    with study.store.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_known_revisions_are_those_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(store.__file__).parent / "migrations"))
    found = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(revision.revision for revision in found) == REVISIONS


def test_a_study_of_a_newer_version_is_refused_untouched(make: Make, target: str) -> None:
    study = make(target)
    with study.store.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StudyError, match=r"schema 9999; this fairask knows up to 0001.*newer version"):
        Study.open(target)


def test_a_migration_that_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(str(tmp_path))

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sqlalchemy.engine.Connection.commit", die)
    monkeypatch.setattr("sqlalchemy.engine.base.RootTransaction.commit", die)
    with pytest.raises(KeyboardInterrupt):
        database.migrate()
    monkeypatch.undo()
    with database.read() as connection:
        assert inspect(connection).get_table_names() == []
    database.close()
