"""All tables. Later changes of the schema are revisions after this one."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_REFUSED = "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
_SQLITE = (
    f"CREATE TRIGGER events_UPDATE BEFORE UPDATE ON events {_REFUSED}",
    f"CREATE TRIGGER events_DELETE BEFORE DELETE ON events {_REFUSED}",
    "CREATE TRIGGER events_REPLACE BEFORE INSERT ON events "
    f"WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id) {_REFUSED}",
)
_POSTGRES = (
    "CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$",
    "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events "
    "FOR EACH ROW EXECUTE FUNCTION events_append_only()",
    "CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events "
    "FOR EACH STATEMENT EXECUTE FUNCTION events_append_only()",
)


def upgrade() -> None:
    """Create the tables; the log refuses updates, deletes and replacements."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "events",
        sa.Column("id", number, primary_key=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("who", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("about", sa.Integer),
        sqlite_autoincrement=True,
    )
    op.create_index("events_about", "events", ["about", "kind"])
    op.create_table(
        "tasks",
        sa.Column("row", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("batch", sa.Integer, nullable=False),
        sa.Column("who", sa.String(64)),
        sa.Column("until", sa.Float),
        sa.Column("answer", sa.Integer),
        sa.Column("since", sa.Float),
        sa.UniqueConstraint("row", "who", name="one_answer_a_person"),
    )
    op.create_index("tasks_open", "tasks", ["answer", "position"])
    op.create_table(
        "pool",
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bytes", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("token", sa.String(64), nullable=False, unique=True),
        sa.Column("since", sa.String(32), nullable=False),
        sa.Column("until", sa.String(32)),
        sa.Column("program", sa.Boolean),
        sa.Column("seal", sa.String(64)),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_table(
        "attempts",
        sa.Column("id", number, primary_key=True),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("attempts_of", "attempts", ["address", "at"])
    op.create_table(
        "training",
        sa.Column("name", sa.String(16), primary_key=True),
        sa.Column("busy", sa.String(64)),
        sa.Column("error", sa.Text),
    )
    connection = op.get_bind()
    for statement in _SQLITE if connection.dialect.name == "sqlite" else _POSTGRES:
        connection.exec_driver_sql(statement)
