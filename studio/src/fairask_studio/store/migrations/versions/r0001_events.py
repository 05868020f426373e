"""The event log, the queue and the pool."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SQLITE = """
CREATE TRIGGER events_{verb} BEFORE {verb} ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END
"""
_POSTGRES = """
CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$
"""


def upgrade() -> None:
    """Create the tables; the log refuses updates and deletes."""
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("who", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "tasks",
        sa.Column("row", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("batch", sa.Integer, nullable=False),
        sa.Column("who", sa.String(64)),
        sa.Column("until", sa.Float),
        sa.Column("answer", sa.Integer),
        sa.UniqueConstraint("row", "who", name="one_answer_a_person"),
    )
    op.create_index("tasks_open", "tasks", ["answer", "position"])
    op.create_table(
        "pool",
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bytes", sa.LargeBinary, nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(_SQLITE.format(verb=verb))
    else:
        op.execute(_POSTGRES)
        op.execute(
            "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events "
            "FOR EACH ROW EXECUTE FUNCTION events_append_only()"
        )
