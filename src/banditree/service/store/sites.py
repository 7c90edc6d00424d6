"""Sites: a case, a plan and a collection belong to one, or to everybody, and people see their own.

Whoever belongs to a site sees what is of that site and of everybody, and what they make is of that site; whoever
belongs to none sees everything. The connection of a request knows for which site it reads, so that no query can forget
to say so: `seen` is part of each of them.
"""

import sqlalchemy as sa


def limited(connection: sa.Connection, site: str | None) -> sa.Connection:
    """The connection, on behalf of somebody of this site from now on; None: of somebody who sees everything."""
    return connection.execution_options(site=site)


def site_of(connection: sa.Connection) -> str | None:
    """For which site this connection reads and writes."""
    found: str | None = connection.get_execution_options().get("site")
    return found


def seen(connection: sa.Connection, table: sa.Table) -> sa.ColumnElement[bool]:
    """Which rows of a table may be seen over this connection."""
    site = site_of(connection)
    return sa.true() if site is None else sa.or_(table.c.site.is_(None), table.c.site == site)


def sees(connection: sa.Connection, site: str | None) -> bool:
    """Whether something of a site may be seen over this connection."""
    return site is None or site_of(connection) in (None, site)


def n_of_site(connection: sa.Connection, table: sa.Table) -> int:
    """How many rows of a table belong to the site of this connection, so that one site cannot use up another's room."""
    mine = table.c.site.is_not_distinct_from(site_of(connection))
    return int(connection.execute(sa.select(sa.func.count()).select_from(table).where(mine)).scalar_one())
