"""Databases of every earlier version are brought up to date with nothing lost."""

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from running_service import client_of, in_thread, local

from banditree.service.store.database import Database, newest_version
from banditree.service.store.schema import metadata

GOLDEN = Path(__file__).parents[2] / "golden" / "files"
DUMPS = sorted(GOLDEN.glob("service-*.sql"))


def test_there_is_a_dump_of_every_version():
    assert [dump.stem for dump in DUMPS] == [f"service-{number:04d}" for number in range(1, int(newest_version()) + 1)]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_an_old_database_is_served(dump, tmp_path):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(dump.read_text())
    connection.close()
    with in_thread(local(path)) as (app, http):
        client = client_of(http)
        app.state.desk.database.check()
        one, two, three = client.cases()
        where = client.case(one.id)
        assert (where.pulls, where.total, where.open_rounds, where.off_plan_rounds) == (3, 2.0, [6], [5])
        assert [event.kind for event in client.events(one.id)].count("corrected") == 1
        assert (two.state, three.state) == ("closed", "erased")
        assert client.tell(one.id, 6, 1).recorded
        names = [line["name"] for line in http.get("/api/v1/users").json()["data"]]
        assert names == ["ada"]


def test_migrations_and_tables_say_the_same(tmp_path):
    migrated = Database(local(tmp_path / "migrated.db")).engine
    made = sa.create_engine(f"sqlite:///{tmp_path / 'made.db'}")
    metadata.create_all(made)
    assert _schema(migrated) == _schema(made)


def _schema(engine):
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'alembic%'"))
        return {
            name: "".join((sql or "").split()) for name, sql in rows if not name.startswith("sqlite_autoindex_alem")
        }
