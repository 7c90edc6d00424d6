"""Whether the alarm of a case rings, beside the case: for lists, and for the first page."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

RINGING = sa.text("rings")


def upgrade() -> None:
    """Add the column and index it; cases from before are brought up to date by their next event."""
    op.add_column("cases", sa.Column("rings", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("cases_ringing", "cases", ["number"], sqlite_where=RINGING, postgresql_where=RINGING)
