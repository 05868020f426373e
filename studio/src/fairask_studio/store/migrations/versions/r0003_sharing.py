"""What the processes of a studio tell each other: failed sign-ins, and what the trainer does."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "attempts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
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
