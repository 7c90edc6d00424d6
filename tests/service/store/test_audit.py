"""The audit: whatever is edited in the database is noticed, or listed as something that nobody is told from."""

import json
import random

import pytest
import sqlalchemy as sa
from running_service import CLINIC, clinic_plan, do, local

from banditree.files.collections import collection_document
from banditree.files.documents import dump
from banditree.files.plans import plan_json
from banditree.progress import Progress
from banditree.service.cases.desk import Desk
from banditree.service.problems import Unavailable
from banditree.service.settings import Settings
from banditree.service.store import answers, audit, files, jobs, people, records, splits, studies
from banditree.service.store.database import Database
from banditree.service.store.jobs import State
from banditree.service.store.schema import metadata, plans
from banditree.service.store.seals import OF_ENDED, UNDER_WAY, UNSEALED
from banditree.service.store.signing import sign
from banditree.service.studio.content import Content

# From these nobody is told anything; docs/deploy.md lists them.
NOT_TOLD = {"attempts": set(metadata.tables["attempts"].c.keys()), "jobs": UNSEALED["jobs"]}


def add_plan(connection, collection, horizon):
    id, plan = records.read_plan(json.loads(plan_json(clinic_plan(horizon))))
    records.add_plan(connection, "ada", f"clinic {horizon}", id, plan, collection)
    sign(connection, "ada", id, "tested", beside=True)
    return id


def everything(path, turns=270):
    """A database with rows in every table; its Database and the ids of two plans."""
    database = Database(local(path))
    desk = Desk(database)
    document = records.read_collection(json.loads(dump(collection_document(CLINIC))))

    def prepare(tx):
        connection = tx.connection
        records.add_collection(connection, "ada", "clinic", *document)
        one, two = (add_plan(connection, document[0], horizon) for horizon in (1000, 900))
        people.add_user(connection, "test", "ada", people.Role.ADMIN, people.hashed("correct horse battery"))
        people.add_user(connection, "test", "vic", people.Role.VIEWER, people.hashed("correct horse battery"), "north")
        people.give_secret(connection, people.TOKEN, "vic", people.Role.VIEWER, "t", None)
        people.begin_attempt(connection, Settings(), "vic", "10.0.0.1")
        files.add_file(connection, "ada", "a.csv", b"a,b\n1,2\n")
        studies.add_study(connection, "ada", "draft", Content(), None)
        answers.keep_answer(connection, "5f1c", "77aa", ["short"], '{"done":true}')
        for kind in ("certificate", "search"):
            jobs.add_job(connection, "ada", kind, {"plan": one}, seconds=5, megabytes=100)
        job = jobs.claim(connection, "worker")
        jobs.beat(connection, job.number, "worker", Progress(1, 2))
        jobs.finish(connection, job.number, "worker", State.DONE, result='{"loss": 3}', problem=None)
        return one, two

    one, two = do(desk, prepare, alone=True)
    for id in ("short", "idle", "gone"):
        do(desk, lambda tx, id=id: tx.start("ada", id, one, "bed 12"), id)
    do(desk, lambda tx: tx.case("short").ask("ada", 2, None, None), "short")
    do(desk, lambda tx: tx.case("short").note("ada", "felt better"), "short")
    do(
        desk,
        lambda tx: tx.case("short").arrange("ada", label="bed 13", owner="vic", due="2026-05-04", every=7),
        "short",
    )
    do(desk, lambda tx: tx.case("gone").ask("ada", 1, None, None), "gone")
    do(desk, lambda tx: tx.case("gone").arrange("ada", label="bed 14", owner="vic", due="2026-05-04"), "gone")
    do(desk, lambda tx: tx.erase("ada", "gone"), "gone")

    def play(tx):
        case = tx.start("ada", "long", two, None)
        for number in range(1, turns // 2 + 1):
            case.ask("ada", 1, None, None)
            case.tell("ada", number, float(number % 2))

    do(desk, play, "long")
    do(
        desk,
        lambda tx: splits.start_split(tx.connection, "ada", one, two, share=0.5, rounds=10, comment="x"),
        alone=True,
    )
    return database, (one, two)


def problems(connection):
    return audit.verify(connection).problems


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    found = everything(tmp_path_factory.mktemp("audit") / "cases.db")
    yield found
    found[0].close()


def edited(database, statement, *more):
    """The problems that the audit finds after an edit, which is then undone."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        for one in (statement, *more):
            connection.execute(one if isinstance(one, sa.Executable) else sa.text(one))
        found = problems(connection)
        connection.rollback()
    return found


def test_nothing_is_found_where_nothing_was_edited(opened):
    database, _ = opened
    with database.snapshot() as connection:
        found = audit.verify(connection)
        empty = [table.name for table in metadata.sorted_tables if not connection.execute(sa.select(table)).first()]
    assert found.problems == []
    assert found.rows == 1 + 2 + 1 + 1 + 4 + 2 + 1 + 2 + 1 + 1
    assert empty == []


def test_the_arms_of_a_signed_plan_cannot_be_exchanged(opened):
    database, (plan, _) = opened
    text = plan_json(clinic_plan(1000)).replace('"A"', '"?"').replace('"B"', '"A"').replace('"?"', '"B"')
    exchange = sa.update(plans).where(plans.c.id == plan).values(document=text, proof=plans.c.proof)
    assert any(plan in problem for problem in edited(database, exchange))
    with database.engine.connect() as connection:
        connection.execute(exchange)
        with pytest.raises(Unavailable, match="behind the service's back"):
            records.followed_of(connection, plan)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE plans SET signed_by = 'eve'",
        "UPDATE plans SET signed_at = NULL",
        "UPDATE plans SET gave_way_to = id",
        "UPDATE plans SET site = 'north'",
        "UPDATE plans SET collection = NULL",
        "UPDATE collections SET document = replace(document, '0.9', '0.8')",
        "UPDATE users SET role = 'admin' WHERE name = 'vic'",
        "UPDATE users SET role = 'admin', proof = NULL WHERE name = 'vic'",
        "UPDATE users SET password = 'x'",
        "UPDATE users SET site = NULL",
        "UPDATE secrets SET role = 'admin'",
        "UPDATE secrets SET expires = NULL, revoked = 0, user = 'ada'",
        "INSERT INTO users (name, role, password, disabled, at) VALUES ('eve', 'admin', 'x', 0, 'x')",
        "DELETE FROM secrets",
        "UPDATE cases SET label = 'bed 13' WHERE id = 'idle'",
        "UPDATE cases SET site = 'north'",
        "UPDATE cases SET waiting = 0",
        "UPDATE cases SET rings = 1",
        "UPDATE cases SET state = 'closed' WHERE id = 'short'",
        "UPDATE cases SET plan = (SELECT plan FROM cases WHERE id = 'long') WHERE id = 'idle'",
        "DELETE FROM cases WHERE id = 'idle'",
        "INSERT INTO cases (number, id, plan, at, actor) SELECT 99, 'new', plan, at, actor FROM cases LIMIT 1",
        "UPDATE snapshots SET content = replace(content, '\"closed\": false', '\"closed\": true')",
        "UPDATE snapshots SET seq = seq - 1",
        "UPDATE splits SET share = 0.9",
        "UPDATE jobs SET result = '{\"loss\": 0}' WHERE state = 'done'",
        "UPDATE jobs SET state = 'done', result = '{}' WHERE state = 'waiting'",
        "UPDATE files SET content = x'00'",
        "UPDATE studies SET content = '{}'",
    ],
)
def test_an_edit_is_noticed(opened, edit):
    assert edited(opened[0], edit)


def test_a_snapshot_that_was_changed_with_its_hash_is_noticed(opened):
    table = metadata.tables["snapshots"]
    with opened[0].read() as connection:
        ((_, content),) = records.snapshots_of(connection, [4]).values()
    other = content.replace('"n_done": ', '"n_done": 1')
    assert other != content
    change = sa.update(table).values(content=other, hash=records.sha256(other.encode()).hexdigest())
    assert edited(opened[0], change) == ["The snapshot of case long is not what its events say."]


def test_a_damaged_snapshot_is_not_followed(opened):
    with opened[0].engine.connect() as connection:
        connection.execute(sa.text("UPDATE snapshots SET content = content || ' '"))
        assert records.snapshots_of(connection, [4]) == {}


def other_value(value, column, chance):
    if column.nullable and value is not None and chance.random() < 0.3:
        return None
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + chance.choice((-1, 1, 1000))
    if isinstance(value, bytes):
        return value + b"x"
    if value is None:
        return 1 if isinstance(column.type, sa.Integer | sa.Float) else "x"
    place = chance.randrange(len(value) + 1)
    return value[:place] + chance.choice("abc01 ") + value[place + 1 :]


def random_edit(connection, chance):
    """Change one value of one row of any table; its column, and whether somebody may be told from it."""
    while True:
        table = chance.choice(metadata.sorted_tables)
        row = chance.choice(connection.execute(sa.select(table)).mappings().all())
        column = chance.choice(list(table.c))
        value = other_value(row[column.name], column, chance)
        if value != row[column.name]:
            break
    key = [table.c[name.name] == row[name.name] for name in table.primary_key.columns]
    values = {column.name: value}
    if "proof" in table.c and column.name != "proof":
        values["proof"] = table.c.proof  # an edit from outside does not clear the salt
    connection.execute(sa.update(table).where(*key).values(values))
    not_told = NOT_TOLD.get(table.name, set()) | (OF_ENDED if row.get("state") in UNDER_WAY else set())
    return column, column.name not in not_told


@pytest.mark.parametrize(
    "n", [20, pytest.param(100, marks=pytest.mark.slow), pytest.param(2000, marks=pytest.mark.soak)]
)
def test_random_edits_are_noticed_or_change_nothing_that_anybody_is_told(opened, n):
    chance = random.Random(n)
    noticed = 0
    for _ in range(n):
        with opened[0].engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            try:
                column, told = random_edit(connection, chance)
            except sa.exc.IntegrityError:  # the database itself refuses it
                connection.rollback()
                continue
            found = problems(connection)
            connection.rollback()
        assert found or not told, column
        noticed += bool(found)
    assert noticed > 0.6 * n


def test_a_row_that_was_edited_is_not_sealed_with_the_next_change(tmp_path):
    database = Database(local(tmp_path / "cases.db"))
    with database.write() as connection:
        people.add_user(connection, "test", "vic", people.Role.VIEWER, "hash")
    with database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE users SET role = 'admin', proof = NULL"))
    with database.write() as connection:
        people.add_user(connection, "test", "ada", people.Role.ADMIN, "hash")
    with database.read() as connection:
        assert problems(connection) == ["Table users: vic was changed behind the service's back."]
