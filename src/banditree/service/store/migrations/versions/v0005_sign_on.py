"""Users who sign on at a provider."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add whom the provider says a user is."""
    op.add_column("users", sa.Column("subject", sa.Text))
    op.create_index("users_by_subject", "users", ["subject"], unique=True)
