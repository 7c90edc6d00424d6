"""The state of a case beside it, for quick lists; attempts to log in; which token made which."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

COUNTED = """UPDATE cases SET
    rounds = COALESCE((SELECT MAX(round) FROM events WHERE events."case" = cases.number), 0),
    waiting = COALESCE((SELECT MAX(round) FROM events WHERE events."case" = cases.number), 0)
        - (SELECT COUNT(*) FROM events WHERE events."case" = cases.number AND kind IN ('told', 'missing'))"""
STATES = """UPDATE cases SET state = '{kind}', waiting = 0
    WHERE EXISTS (SELECT 1 FROM events WHERE events."case" = cases.number AND kind = '{kind}')"""
WAITING = sa.text("waiting > 0")


def upgrade() -> None:
    """Add the columns, fill them from the events, and index them."""
    op.add_column("cases", sa.Column("state", sa.String(8), nullable=False, server_default="open"))
    op.add_column("cases", sa.Column("rounds", sa.Integer, nullable=False, server_default="0"))
    op.add_column("cases", sa.Column("waiting", sa.Integer, nullable=False, server_default="0"))
    for statement in (COUNTED, STATES.format(kind="closed"), STATES.format(kind="erased")):
        op.execute(statement)
    op.create_index("cases_by_state", "cases", ["state", "number"])
    op.create_index("cases_by_plan", "cases", ["plan", "number"])
    op.create_index("cases_waiting", "cases", ["number"], sqlite_where=WAITING, postgresql_where=WAITING)
    op.add_column("secrets", sa.Column("parent", sa.String(16)))
    op.create_table(
        "attempts",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("at", sa.String(27), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
    )
    op.create_index("attempts_by_time", "attempts", ["at"])
