"""Snapshots of long cases, so that none is folded from its beginning again."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the table of snapshots."""
    op.create_table(
        "snapshots",
        sa.Column("case", sa.Integer, sa.ForeignKey("cases.number"), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
