"""Nothing is left behind: erasure, exports, private files, sentences for databases that cannot be used."""

import csv
import io
import os
import stat
from pathlib import Path

import pytest
import sqlalchemy as sa
from running_service import client_of, clinic_plan, in_thread, local, new_database

from banditree.cli import main
from banditree.errors import InvalidInput
from banditree.service.cases.exports import harmless
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

SECRET = "very-secret-remark"


def filled(http):
    client = client_of(http)
    case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested"), label=SECRET).id
    for _ in range(30):
        client.note(case, SECRET)
    return case


def n_copies(folder, text=SECRET):
    return sum(path.read_bytes().count(text.encode()) for path in Path(folder).rglob("*") if path.is_file())


def test_what_is_erased_is_in_no_file_of_sqlite(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (_app, http):
        case = filled(http)
        assert n_copies(tmp_path) > 30
        assert http.post(f"/api/v1/cases/{case}/erase").status_code == 200
        assert n_copies(tmp_path) == 0


@pytest.mark.slow
def test_what_is_erased_while_somebody_reads_goes_when_they_are_done(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        case, database = filled(http), app.state.desk.database
        with database.read() as connection:
            connection.exec_driver_sql("SELECT COUNT(*) FROM events").scalar()
            http.post(f"/api/v1/cases/{case}/erase")
        http.get(f"/api/v1/cases/{case}")
        assert n_copies(tmp_path) == 0


@pytest.mark.slow
def test_what_is_erased_is_in_no_table_or_index_of_postgresql_after_a_full_vacuum(postgres):
    import psycopg

    url = new_database(postgres, "erasing")
    with in_thread(local(url)) as (_app, http):
        case = filled(http)
        http.post(f"/api/v1/cases/{case}/erase")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        connection.execute("CHECKPOINT")
        number = connection.execute("SELECT oid FROM pg_database WHERE datname = 'erasing'").fetchone()[0]
        folder = Path(connection.execute("SHOW data_directory").fetchone()[0]) / "base" / str(number)
    assert folder.is_dir()
    assert n_copies(folder) == 0


def test_a_copy_of_a_new_file_has_its_tables(tmp_path):
    database = Database(local(tmp_path / "cases.db"))
    copied = tmp_path / "copy.db"
    copied.write_bytes((tmp_path / "cases.db").read_bytes())
    with sa.create_engine(f"sqlite:///{copied}").connect() as connection:
        assert "events" in sa.inspect(connection).get_table_names()
    database.close()


def test_an_export_has_no_name(service, tmp_path, monkeypatch):
    """So that nothing is left of it, whatever ends the server."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, http = service
    client = client_of(http)
    case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
    client.tell(case, client.ask(case)[0].round, 1)
    for format in ("csv", "parquet"):
        with http.stream("GET", f"/api/v1/export/events?format={format}") as answer:
            assert answer.status_code == 200
            assert list(tmp_path.iterdir()) == []
            assert answer.headers["content-disposition"] == f'attachment; filename="events.{format}"'
            assert len(answer.read()) > 100


def test_spreadsheets_compute_nothing_of_a_csv(service):
    for begin in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"):
        assert harmless(begin) == f"'{begin}"
    _, http = service
    client = client_of(http)
    dangerous = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["=cmd()", "@B"])
    case = client.start(client.add_plan(build_tree(dangerous, 50), "x", sign="tested")).id
    client.tell(case, client.ask(case)[0].round, 1)
    for what in ("events", "decisions"):
        rows = list(csv.reader(io.StringIO(client.export(what).decode())))
        assert any("'=cmd()" in row or "'@B" in row for row in rows)
        assert not any(cell.startswith(("=", "@")) for row in rows for cell in row)


def test_a_database_file_is_private(tmp_path):
    path = tmp_path / "cases.db"
    path.touch(mode=0o644)
    with in_thread(local(path)) as (_app, http):
        filled(http)
        modes = {stat.S_IMODE(os.stat(file).st_mode) for file in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_database_that_cannot_be_used_gives_a_sentence(tmp_path, capsys, database_url):
    with pytest.raises(InvalidInput, match="must be a file or a URL that begins with postgresql://.*'mysql'"):
        Settings(database="mysql://ada:secret@db/x")
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--database", "mysql://ada:secret@db/x"])
    assert ended.value.code == 2
    assert "secret" not in capsys.readouterr().err


def test_passwords_of_databases_are_not_shown():
    shown = Settings(database="postgresql://ada:se@cr:et@db:5432/x").shown_database
    assert shown == "postgresql://ada:***@db:5432/x"
