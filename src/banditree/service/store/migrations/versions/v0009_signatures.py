"""Plans are signed before cases follow them; files to learn from; what a running search has found."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

SIGNED = "UPDATE plans SET signed_at = at, signed_by = actor, comment = 'On record before plans were signed.'"
IS_SIGNED = sa.text("signed_at IS NOT NULL")


def upgrade() -> None:
    """Add the columns and the table; the plans that are there count as signed by who put them on record."""
    for name, kind in (("signed_at", sa.String(27)), ("signed_by", sa.Text), ("comment", sa.Text)):
        op.add_column("plans", sa.Column(name, kind))
    op.add_column("plans", sa.Column("replaces", sa.String(16)))
    op.execute(SIGNED)
    op.create_index(
        "one_successor", "plans", ["replaces"], unique=True, sqlite_where=IS_SIGNED, postgresql_where=IS_SIGNED
    )
    op.create_table(
        "files",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.String(27), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("site", sa.String(64)),
    )
    op.add_column("jobs", sa.Column("found", sa.Text))
    op.add_column("jobs", sa.Column("site", sa.String(64)))
