"""Tokens of programs end on a day of their own; a row's events are found by an index, not by a scan."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

# Events of one row begin with the row, drawings with the batch, in all versions so far.
_KINDS = "('labelled', 'skipped', 'withdrawn', 'corrected', 'proposed')"
_SQLITE = """
UPDATE events SET about = coalesce(json_extract(data, '$.row'), json_extract(data, '$.batch'))
WHERE kind IN {}
"""
_POSTGRES = """
UPDATE events SET about = substring(data from '^\\{{"(?:row|batch)": ([0-9]+)')::integer WHERE kind IN {}
"""
_TRIGGER = """
CREATE TRIGGER events_UPDATE BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
"""


def upgrade() -> None:
    """Add the columns and the index, and fill in the events that are there."""
    op.add_column("people", sa.Column("until", sa.String(32)))
    op.add_column("people", sa.Column("program", sa.Boolean))
    op.add_column("events", sa.Column("about", sa.Integer))
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER events_UPDATE")
        op.execute(_SQLITE.format(_KINDS))
        op.execute(_TRIGGER)
    else:
        op.execute("ALTER TABLE events DISABLE TRIGGER events_append_only")
        op.get_bind().exec_driver_sql(_POSTGRES.format(_KINDS))
        op.execute("ALTER TABLE events ENABLE TRIGGER events_append_only")
    op.create_index("events_about", "events", ["about", "kind"])
