"""A hash chain over the events, triggers against replacing and truncating them, and when a lease began."""

import sqlalchemy as sa
from alembic import op

from fairask_studio.store._chain import START, link

revision = "0004"
down_revision = "0003"

_SQLITE = """
CREATE TRIGGER events_{verb} BEFORE {verb} ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
"""
_NO_REPLACE = """
CREATE TRIGGER events_REPLACE BEFORE INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
"""
_NO_TRUNCATE = (
    "CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events "
    "FOR EACH STATEMENT EXECUTE FUNCTION events_append_only()"
)


def upgrade() -> None:
    """Add the columns, link the events that are there, and add the triggers."""
    op.add_column("events", sa.Column("hash", sa.String(64)))
    op.add_column("tasks", sa.Column("since", sa.Float))
    connection, lite = op.get_bind(), op.get_bind().dialect.name == "sqlite"
    op.execute(
        "DROP TRIGGER events_UPDATE" if lite else "ALTER TABLE events DISABLE TRIGGER events_append_only"
    )
    before = START
    for row in connection.execute(sa.text("SELECT id, at, who, kind, data FROM events ORDER BY id")).all():
        before = link(before, *row)
        connection.execute(sa.text("UPDATE events SET hash = :h WHERE id = :i"), {"h": before, "i": row[0]})
    if lite:
        op.execute(_SQLITE.format(verb="UPDATE"))
        op.execute(_NO_REPLACE)
    else:
        op.execute("ALTER TABLE events ENABLE TRIGGER events_append_only")
        op.execute(_NO_TRUNCATE)
