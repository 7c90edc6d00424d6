"""Sites of cases, plans, collections and users; what was there before is everybody's."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns, empty."""
    for table in ("collections", "plans", "cases", "users"):
        op.add_column(table, sa.Column("site", sa.String(64)))
    op.create_index("cases_by_site", "cases", ["site", "number"])
