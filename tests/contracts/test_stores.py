"""What every database must do for the service: one suite over SQLite and a real PostgreSQL."""

import json
import threading

import pytest
import sqlalchemy as sa
from running_service import add_signed_plan, clinic_plan, do, local, new_database
from sqlalchemy.exc import IntegrityError

from banditree.errors import InvalidInput
from banditree.files.collections import collection_document
from banditree.files.plans import fingerprint
from banditree.policies.rounds import MISSING
from banditree.service.cases.desk import Command, Desk
from banditree.service.problems import Conflict, NotFound, NotLoggedIn, Refused, TooMany, Unavailable
from banditree.service.store import case_lists, people, records
from banditree.service.store.answers import is_first_use
from banditree.service.store.database import Database, newest_version
from banditree.service.store.people import Role
from banditree.service.store.schema import audit, cases, events, metadata, plans
from banditree.tasks.instances import linear

PLAN = (fingerprint(clinic_plan()), clinic_plan())
HASH = people.hashed("correct horse battery")


@pytest.fixture
def desk(database):
    return Desk(database)


@pytest.fixture
def case(desk):
    plan = do(desk, lambda tx: add_signed_plan(tx.connection, "ada", "clinic", *PLAN, None), alone=True)
    do(desk, lambda tx: tx.start("ada", "c", plan, "bed 1"), "c")
    return "c"


def ask(desk, id="c", n=1, **options):
    return do(desk, lambda tx: tx.case(id).ask("ada", n, options.get("context"), options.get("available")), id)


def tell(desk, round, reward, id="c"):
    return do(desk, lambda tx: tx.case(id).tell("ada", round, reward), id)


def state(desk, id="c"):
    return do(desk, lambda tx: (tx.case(id).seq, tx.case(id).state, tx.case(id).session.snapshot()), id)


def history(database):
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(sa.select(events).order_by(events.c.case, events.c.seq))]


def test_the_tables_are_those_the_code_knows(database):
    database.check()
    with database.read() as connection:
        found = sa.inspect(connection)
        for table in metadata.sorted_tables:
            columns = {column["name"]: column for column in found.get_columns(table.name)}
            assert list(columns) == [column.name for column in table.c]
            assert all(columns[c.name]["nullable"] == c.nullable for c in table.c if not c.primary_key)
        assert {index["name"] for index in found.get_indexes("events")} == {"one_outcome"}
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == newest_version()


def test_every_transaction_is_synced(database):
    with database.write() as connection:
        if connection.dialect.name == "sqlite":
            settings = ("journal_mode", "synchronous", "foreign_keys")
            found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in settings]
            assert found == ["wal", 2, 1]
        else:
            names = ("fsync", "synchronous_commit", "full_page_writes")
            assert [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names] == ["on"] * 3


def test_opening_again_changes_nothing(database, desk, case, database_url):
    tell(desk, ask(desk)[0].round, 1)
    before = history(database)
    again = Database(local(database_url))
    assert history(again) == before
    again.close()


def test_another_desk_finds_the_same_case(database, desk, case):
    for step in ask(desk, n=5):
        tell(desk, step.round, step.round % 2)
    do(desk, lambda tx: tx.case("c").override("ada", "B", "no A", None, None), "c")
    tell(desk, 6, 1)
    do(desk, lambda tx: tx.case("c").correct("ada", 2, MISSING, "typo"), "c")
    do(desk, lambda tx: tx.case("c").note("ada", "zoë: ✓"), "c")
    assert state(Desk(database)) == state(desk)


def test_desks_see_each_others_events(database, desk, case):
    other = Desk(database)
    first = ask(desk)[0]
    assert ask(other)[0] == first
    assert tell(other, first.round, 1) is True
    assert tell(desk, first.round, 1) is False
    with pytest.raises(Conflict, match="Round 1 was already told as 1. Got 0. No round is open"):
        tell(desk, first.round, 0)
    assert ask(desk)[0].round == 2
    assert state(other) == state(desk)


def test_outcomes_cannot_be_doubled_whatever_the_code_does(database, desk, case):
    tell(desk, ask(desk)[0].round, 1)
    row = history(database)[-1]
    taken = dict(zip(events.c.keys(), row, strict=True))
    for doubled in (taken, {**taken, "seq": 99}, {**taken, "seq": 99, "kind": "missing"}):
        with pytest.raises(IntegrityError), database.write() as connection:
            connection.execute(sa.insert(events), doubled)
    assert len(history(database)) == 2


def test_a_refused_command_changes_nothing_and_others_go_on(database, desk, case):
    ask(desk, n=3)
    commands = [
        Command(lambda tx: tx.case("c").tell("ada", 1, 1), ("c",)),
        Command(lambda tx: tx.case("c").tell("ada", 2, 0.5), ("c",)),
        Command(lambda tx: tx.case("nobody").tell("ada", 1, 1), ("nobody",)),
        Command(lambda tx: tx.case("c").tell("ada", 3, 1), ("c",)),
    ]
    desk.run(commands)
    assert [type(command.error) for command in commands] == [type(None), InvalidInput, NotFound, type(None)]
    assert len(history(database)) == 5
    assert state(Desk(database)) == state(desk)


def test_a_command_that_fails_halfway_is_undone_and_others_go_on(database, desk, case):
    ask(desk, n=2)

    def halfway(tx):
        tx.case("c").tell("ada", 1, 1)
        return tx.case("c").ask("ada", 1, None, ["no such arm"])

    def broken(tx):
        tx.case("c").note("ada", "never written")
        raise ZeroDivisionError

    commands = [
        Command(halfway, ("c",)),
        Command(lambda tx: tx.case("c").tell("ada", 2, 1), ("c",)),
        Command(broken, ("c",)),
    ]
    desk.run(commands)
    assert [type(command.error) for command in commands] == [InvalidInput, type(None), ZeroDivisionError]
    assert [row[2] for row in history(database)] == ["asked", "asked", "told"]
    assert state(Desk(database)) == state(desk)
    assert do(desk, lambda tx: tx.case("c").session.open_rounds, "c") == [1]


def test_two_desks_in_a_race_never_double_and_never_lose(database, database_url, desk, case):
    ask(desk, n=15)
    other, answers = Desk(Database(local(database_url))), []

    def play(mine):
        for number in range(1, 16):
            command = Command(lambda tx, number=number: tx.case("c").tell("ada", number, 1), ("c",))
            mine.run([command])
            answers.append(command.result if command.error is None else command.error)

    threads = [threading.Thread(target=play, args=(mine,)) for mine in (desk, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers, key=str) == [False] * 15 + [True] * 15
    assert [row[3] for row in history(database) if row[2] == "told"] == list(range(1, 16))
    assert state(other) == state(desk)
    other.database.close()


def test_a_token_counts_once_also_where_two_desks_see_it_at_the_same_time(database, database_url, desk):
    other, first = Desk(Database(local(database_url))), []

    def use(mine):
        for number in range(15):
            first.append((number, do(mine, lambda tx, number=number: is_first_use(tx.connection, f"token {number}"))))

    threads = [threading.Thread(target=use, args=(mine,)) for mine in (desk, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(first) == [(number, is_first) for number in range(15) for is_first in (False, True)]
    other.database.close()


def test_a_desk_that_was_overtaken_decides_again(postgres):
    url = new_database(postgres, "overtaken")
    desk, other = Desk(Database(local(url))), Desk(Database(local(url)))
    plan = do(desk, lambda tx: add_signed_plan(tx.connection, "ada", "clinic", *PLAN, None), alone=True)
    do(desk, lambda tx: tx.start("ada", "c", plan, None), "c")
    ask(desk, n=3)
    overtaken = []

    def slow(tx):
        if not overtaken:  # between the reading and the writing of this desk, another one writes
            overtaken.append(tell(other, 1, 1))
        return tx.case("c").tell("ada", 2, 0)

    commands = [Command(slow, ("c",)), Command(lambda tx: tx.case("c").tell("ada", 1, 0), ("c",))]
    desk.run(commands)
    assert (commands[0].result, commands[0].error) == (True, None)
    assert str(commands[1].error) == "Round 1 was already told as 1. Got 0. Open: 3."
    assert [(row[1], row[2], row[3], row[5]) for row in history(desk.database)[3:]] == [
        (4, "told", 1, 1.0),
        (5, "told", 2, 0.0),
    ]
    assert state(other) == state(desk)
    desk.database.close()
    other.database.close()


def test_starting_twice_starts_once(database, desk, case):
    with database.read() as connection:
        plan = connection.execute(sa.select(plans.c.id)).scalar()
    again = Command(lambda tx: tx.start("ada", "c", plan, None).number, ("c",))
    both = [Command(lambda tx: tx.start("ada", "d", plan, None).number, ("d",)) for _ in range(2)]
    desk.run([again, *both])
    assert (again.result, both[0].result, both[1].result) == (1, 2, 2)
    with pytest.raises(NotFound, match="There is no plan nothing"):
        do(desk, lambda tx: tx.start("ada", "e", "nothing", None), "e")
    with pytest.raises(Conflict, match="Case c exists and follows plan"):
        do(desk, lambda tx: tx.start("ada", "c", "nothing", None), "c")
    with database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(cases)).scalar() == 2


def test_closing_and_what_is_still_taken(desk, case):
    ask(desk)
    assert do(desk, lambda tx: tx.case("c").close("ada", "moved away"), "c") is True
    assert do(desk, lambda tx: tx.case("c").close("ada", None), "c") is False
    with pytest.raises(Conflict, match="Case c is closed. It takes late outcomes, notes and corrections"):
        do(desk, lambda tx: tx.case("c").ask("ada", 1, None, None), "c")
    do(desk, lambda tx: tx.case("c").note("ada", "bye"), "c")
    assert do(desk, lambda tx: tx.case("c").tell("ada", 1, 1), "c") is True  # late
    assert do(desk, lambda tx: tx.case("c").reopen("ada", "by mistake"), "c") is True
    assert do(desk, lambda tx: tx.case("c").ask("ada", 1, None, None), "c")[0].round == 2


def test_erasure_blanks_the_content_and_keeps_the_events(database, desk, case):
    tell(desk, ask(desk)[0].round, 1)
    do(desk, lambda tx: tx.case("c").note("ada", "a secret"), "c")
    other = Desk(database)
    assert state(other)[1] == "open"
    assert do(desk, lambda tx: tx.erase("root", "c"), "c") is True
    assert do(desk, lambda tx: tx.erase("root", "c"), "c") is False
    assert [(row[2], row[4:7]) for row in history(database)] == [
        (kind, (None, None, None)) for kind in ("asked", "told", "noted", "erased")
    ]
    for each in (desk, other, Desk(database)):
        assert do(each, lambda tx: (tx.case("c").state, tx.case("c").label, tx.case("c").seq), "c") == (
            "erased",
            None,
            4,
        )
        for act in (lambda tx: tx.case("c").note("ada", "x"), lambda tx: tx.case("c").ask("ada", 1, None, None)):
            with pytest.raises(Conflict, match="Case c was erased"):
                do(each, act, "c")
    with database.read() as connection:
        query = sa.select(audit.c.action, audit.c.actor).order_by(audit.c.number)
        assert connection.execute(query).all()[-2:] == [("erase case", "root"), ("seal", "service")]


def test_lists_of_cases(database, desk, case):
    with database.read() as connection:
        plan = connection.execute(sa.select(plans.c.id)).scalar()
    for id, label in (("d", 'É "B"\n\t\\ 100%'), ("e", None), ("f", None)):
        do(desk, lambda tx, id=id, label=label: tx.start("ada", id, plan, label), id)
    ask(desk, "d", n=2)
    tell(desk, 1, MISSING, "d")
    do(desk, lambda tx: tx.case("e").close("ada", None), "e")
    do(desk, lambda tx: tx.erase("ada", "f"), "f")
    with database.write() as connection:
        connection.execute(sa.update(cases).where(cases.c.id == "e").values(rings=True))

    def listed(**options):
        with database.read() as connection:
            found = case_lists.list_cases(connection, **{"limit": 10} | options)
            assert json.loads(case_lists.list_cases_json(connection, **{"limit": 10} | options)) == found
        return [(line["id"], line["rounds"], line["waiting"]) for line in found]

    def ids(**options):
        return "".join(line[0] for line in listed(**options))

    assert listed() == [("c", 0, 0), ("d", 2, 1), ("e", 0, 0), ("f", 0, 0)]
    assert listed(after=1, limit=2) == [("d", 2, 1), ("e", 0, 0)]
    assert (ids(newest=True), ids(newest=True, after=3)) == ("fedc", "dc")
    assert (ids(state="open"), ids(state="waiting"), ids(state="alarm")) == ("cd", "d", "e")
    assert (ids(state="closed"), ids(state="erased")) == ("e", "f")
    assert (ids(search="D"), ids(search='"b"'), ids(search="0%"), ids(search="0_")) == (
        "cd",
        "d",
        "d",
        "",
    )  # c is of bed 1
    assert listed(plan="other") == []


def test_memory_holds_as_much_as_it_may_and_forgotten_cases_come_back(database, case, desk):
    small = Desk(database, cached_rounds=25)
    with database.read() as connection:
        plan = connection.execute(sa.select(plans.c.id)).scalar()
    for id in "wxyz":
        do(small, lambda tx, id=id: tx.start("ada", id, plan, None), id)
        tell(small, ask(small, id, 3)[0].round, 1, id)
        assert small.n_cached <= 2
    assert do(small, lambda tx: tx.case("w").session.open_rounds, "w") == [2, 3]


def test_closed_cases_are_not_kept_in_memory_and_take_late_outcomes(case, desk):
    ask(desk, "c")
    assert desk.n_cached == 1
    do(desk, lambda tx: tx.case("c").close("ada", None), "c")
    assert desk.n_cached == 0
    tell(desk, 1, 1)
    assert do(desk, lambda tx: tx.case("c").session.rounds[0].reward, "c") == 1


def test_plans_and_collections(desk, database):
    add = lambda *given: do(desk, lambda tx: add_signed_plan(tx.connection, "ada", *given), alone=True)  # noqa: E731
    assert add("clinic", *PLAN, None) == add("again", *PLAN, None) == PLAN[0]
    with database.read() as connection:
        assert [line["name"] for line in records.documents(connection, "plans")] == ["clinic"]
    with pytest.raises(InvalidInput, match="The plan is not a plan file"):
        records.read_plan({"schema": "nonsense"})
    with pytest.raises(NotFound, match="There is no collection nowhere"):
        add("x", *PLAN, "nowhere")
    other = collection_document(linear(2, 3, 2, 0.3)).model_dump(mode="json", by_alias=True, exclude_none=True)
    given = records.read_collection(other)
    known = do(desk, lambda tx: records.add_collection(tx.connection, "ada", "other", *given), alone=True)
    with pytest.raises(Refused, match="must have the same arms, tasks and kind of rewards"):
        add("x", *PLAN, known)


def test_people(desk, database):
    settings = local("unused.db", login_attempts=2)
    write = lambda change, *given: do(desk, lambda tx: change(tx.connection, *given), alone=True)  # noqa: E731
    write(people.add_user, "root", "ada", Role.ADMIN, HASH)
    with pytest.raises(Conflict, match="There is already a user 'ada'"):
        write(people.add_user, "root", "ada", Role.VIEWER, HASH)
    with pytest.raises(Refused, match="at least 10 characters. Got 5"):
        people.hashed("short")
    with pytest.raises(Conflict, match="'ada' is the last admin"):
        write(people.change_user, "root", "ada", Role.VIEWER, None, None)
    _id, token = write(people.give_secret, people.TOKEN, "ada", Role.OPERATOR, "script", None)
    with database.read() as connection:
        hash, role = people.password_of(connection, "ada")
        assert role is Role.ADMIN
        assert people.verified(hash, "correct horse battery")
        assert not people.verified(hash, "wrong")
        nobody, role = people.password_of(connection, "eve")
        assert role is None
        assert not people.verified(nobody, "wrong")
        assert people.who(connection, token, by_cookie=False).role is Role.OPERATOR
        for wrong, by_cookie in ((token, True), ("bt_other", False)):
            with pytest.raises(NotLoggedIn):
                people.who(connection, wrong, by_cookie)
        everything = str([connection.execute(sa.select(table)).all() for table in metadata.sorted_tables])
        assert token not in everything
        assert "horse" not in everything
    for _ in range(2):
        write(people.begin_attempt, settings, "ada", "10.0.0.1")
    with pytest.raises(TooMany, match="Wait 300 seconds"):
        write(people.begin_attempt, settings, "ada", "10.0.0.1")
    write(people.add_user, "root", "bob", Role.ADMIN, HASH)
    write(people.change_user, "root", "ada", None, None, True)
    with database.read() as connection:
        with pytest.raises(NotLoggedIn):
            people.who(connection, token, by_cookie=False)
        assert people.password_of(connection, "ada") == (hash, None)


def test_a_version_from_the_future_is_not_served(database):
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Unavailable, match="The database is at version 9999"):
        database.check()
