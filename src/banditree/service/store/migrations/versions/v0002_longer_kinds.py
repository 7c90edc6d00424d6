"""Names of kinds of events may have 40 characters."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Widen the column. SQLite keeps texts of any length whatever the type says, so its table is not written anew."""
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column("events", "kind", type_=sa.String(40), existing_nullable=False)
