"""The first version: collections, plans, cases and their events, users, secrets, the audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

OUTCOMES = sa.text("kind IN ('told', 'missing')")


def _at() -> sa.Column[str]:
    return sa.Column("at", sa.String(27), nullable=False)


def _actor() -> sa.Column[str]:
    return sa.Column("actor", sa.Text, nullable=False)


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "collections",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        _at(),
        _actor(),
    )
    op.create_table(
        "plans",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("collection", sa.String(16), sa.ForeignKey("collections.id")),
        sa.Column("document", sa.Text, nullable=False),
        _at(),
        _actor(),
    )
    op.create_table(
        "cases",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("plan", sa.String(16), sa.ForeignKey("plans.id"), nullable=False),
        sa.Column("label", sa.Text),
        _at(),
        _actor(),
    )
    op.create_table(
        "events",
        sa.Column("case", sa.Integer, sa.ForeignKey("cases.number"), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("round", sa.Integer),
        sa.Column("arm", sa.Text),
        sa.Column("reward", sa.Float),
        sa.Column("details", sa.Text),
        _at(),
        _actor(),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "one_outcome", "events", ["case", "round"], unique=True, sqlite_where=OUTCOMES, postgresql_where=OUTCOMES
    )
    _create_people()
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True),
        _at(),
        _actor(),
        sa.Column("action", sa.String(24), nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("address", sa.Text),
    )
    op.create_index("audit_by_action", "audit", ["action", "at"])


def _create_people() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        _at(),
    )
    op.create_table(
        "secrets",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("user", sa.Text, sa.ForeignKey("users.name"), nullable=False),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        _at(),
        sa.Column("expires", sa.String(27)),
        sa.Column("revoked", sa.Boolean, nullable=False),
    )
