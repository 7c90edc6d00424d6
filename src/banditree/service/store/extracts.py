"""Extracts: a database of a job's own, with the rows that it is about, for work that reads what strangers wrote.

A parser that a crafted file takes over then finds neither other rows nor the way to the database.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.schema import collections, files, plans


def extract(database: Database, given: Mapping[str, Any], folder: Path) -> Settings:
    """The settings of a new database in a folder with the plan, collection and file that a job's settings name."""
    settings = Settings(database=str(folder / "job.db"))
    own = Database(settings)
    with database.read() as source, own.write() as target:
        of_plan = source.execute(sa.select(plans.c.collection).where(plans.c.id == given.get("plan"))).scalar()
        wanted = (
            (collections, {given.get("collection"), of_plan}),
            (plans, {given.get("plan")}),
            (files, {given["file"]}),
        )
        for table, ids in wanted:
            for row in source.execute(sa.select(table).where(table.c.id.in_(ids - {None}))).mappings():
                target.execute(sa.insert(table), dict(row))
    own.close()
    return settings
