"""Jobs: long work that worker processes do, its progress and its result."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table of jobs."""
    op.create_table(
        "jobs",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(16), nullable=False, unique=True),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("key", sa.String(64), unique=True),
        sa.Column("subject", sa.Text),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("seconds", sa.Integer, nullable=False),
        sa.Column("megabytes", sa.Integer, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("wish", sa.String(8)),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("worker", sa.Text),
        sa.Column("beat", sa.String(27)),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("best", sa.Float),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
        sa.Column("problem", sa.Text),
        sa.Column("at", sa.String(27), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("began", sa.String(27)),
        sa.Column("ended", sa.String(27)),
    )
    op.create_index("jobs_by_state", "jobs", ["state", "number"])
    op.create_index("jobs_by_subject", "jobs", ["subject"])
