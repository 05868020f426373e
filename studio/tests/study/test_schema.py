"""Older studies migrate, newer ones are refused, and the migrations make the declared tables."""

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


def test_a_study_of_an_older_version_is_migrated(make: Make, target: str) -> None:
    study = make(target)
    rows = study.ask(5)
    study.tell(rows, ["good"] * 5)
    with study.store.database.write() as connection:  # back to the first revision, which had no people
        for trigger in ("events_REPLACE",) if study.store.database.sqlite else ():
            connection.execute(text(f"DROP TRIGGER {trigger}"))
        if not study.store.database.sqlite:
            connection.execute(text("DROP TRIGGER events_no_truncate ON events"))
        connection.execute(text("DROP INDEX events_about"))
        connection.execute(text("ALTER TABLE events DROP COLUMN hash"))
        connection.execute(text("ALTER TABLE events DROP COLUMN about"))
        connection.execute(text("ALTER TABLE tasks DROP COLUMN since"))
        connection.execute(text("DROP TABLE people"))
        connection.execute(text("DROP TABLE sessions"))
        connection.execute(text("DROP TABLE attempts"))
        connection.execute(text("DROP TABLE training"))
        connection.execute(text("DROP TABLE snapshots"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with Study.open(target) as again:
        assert again.status()["labels"] == 5
        assert again.people.all() == []
        with again.store.read() as turn:
            drawn, told = turn.events_of(rows[0], again.state().log.entries[0].batch)
        assert (drawn.kind, rows[0] in drawn.data["rows"]) == ("proposed", True)
        assert (told.kind, told.data["row"]) == ("labelled", rows[0])


def test_a_study_of_a_newer_version_is_refused_untouched(make: Make, target: str) -> None:
    study = make(target)
    with study.store.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StudyError, match=r"schema 9999; this fairask knows up to 0006.*newer version"):
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
