"""Splits: new cases are given one of two plans by chance, by a seed on record."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

GOES_ON = sa.text("ended_at IS NULL")


def upgrade() -> None:
    """Add the table, the split that a case was started in, and the plan that another one gave way to."""
    op.create_table(
        "splits",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("old", sa.String(16), sa.ForeignKey("plans.id"), nullable=False),
        sa.Column("new", sa.String(16), sa.ForeignKey("plans.id"), nullable=False),
        sa.Column("share", sa.Float, nullable=False),
        sa.Column("rounds", sa.Integer, nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("at", sa.String(27), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("ended_at", sa.String(27)),
        sa.Column("ended_by", sa.Text),
        sa.Column("kept", sa.String(16)),
        sa.Column("end_comment", sa.Text),
        sa.Column("site", sa.String(64)),
    )
    for name in ("old", "new"):
        op.create_index(
            f"one_split_{name}", "splits", [name], unique=True, sqlite_where=GOES_ON, postgresql_where=GOES_ON
        )
    op.add_column("cases", sa.Column("split", sa.String(16)))
    op.add_column("plans", sa.Column("gave_way_to", sa.String(16)))
