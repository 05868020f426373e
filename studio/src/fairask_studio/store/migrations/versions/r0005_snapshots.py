"""Snapshots of the state, so that opening a study replays few events."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "snapshots",
        sa.Column("event", number, primary_key=True, autoincrement=False),
        sa.Column("format", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64)),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
