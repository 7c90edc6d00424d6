"""A new database has the tables that the schema says; one of a version that nobody knows here is left alone."""

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from running_service import local

from banditree.service.problems import Unavailable
from banditree.service.store.database import Database, newest_version
from banditree.service.store.schema import metadata


def test_migrations_and_tables_say_the_same(database_url):
    with Database(local(database_url)).read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.mark.parametrize("other", ["0012", "9999"])  # from before the first release; of a newer banditree
def test_tables_of_another_version_get_a_sentence_and_stay_as_they_are(other, database_url):
    database = Database(local(database_url))
    with database.write() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{other}'"))
    database.close()
    said = rf"tables of version {other}, .* \(its own is {newest_version()}\).* export its decisions"
    with pytest.raises(Unavailable, match=said):
        Database(local(database_url))
    with Database(local(database_url), migrates=False).read() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == other
