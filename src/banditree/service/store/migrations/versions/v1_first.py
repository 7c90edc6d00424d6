"""The first version: every table as `schema` says.

Nothing is released yet, so the schema is this version and changes with it. The first change after a release freezes
this file (`alembic revision --autogenerate` writes the statements) and comes as a second migration.
"""

from alembic import op

from banditree.service.store.schema import metadata

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    metadata.create_all(op.get_bind())
