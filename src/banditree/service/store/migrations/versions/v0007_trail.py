"""The audit trail is chained by hashes; what was there before is counted."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the chain, and begin it after what is there."""
    op.add_column("audit", sa.Column("chain", sa.String(64)))
    op.add_column("events", sa.Column("proof", sa.String(64)))
    op.add_column("events", sa.Column("line", sa.Integer))
    trail = op.create_table(
        "trail",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("chain", sa.String(64), nullable=False),
        sa.Column("began", sa.Integer, nullable=False),
        sa.Column("old_lines", sa.Integer, nullable=False),
        sa.Column("old_events", sa.Integer, nullable=False),
    )
    from banditree.service.store.trail import beginning

    connection = op.get_bind()
    old_lines, began = connection.execute(sa.text("SELECT COUNT(*), COALESCE(MAX(number), 0) FROM audit")).one()
    old_events = connection.execute(sa.text("SELECT COUNT(*) FROM events")).scalar_one()
    if old_lines or old_events:
        old = {"began": began, "old_lines": old_lines, "old_events": old_events}
        connection.execute(sa.insert(trail), {"id": 1, "number": began, "chain": beginning(**old), **old})
