"""New cases split between two plans: by chance, by a seed on record, compared, and ended with one of them."""

import json
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from running_service import CLINIC, add_signed_plan, client_of, clinic_plan, do, in_thread, local

from banditree.files.plans import fingerprint
from banditree.monitoring.comparison import compare_totals, goes_to_new
from banditree.service.cases.desk import Desk
from banditree.service.client import Client, ServiceError
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.worker import Worker
from banditree.service.problems import Conflict, Forbidden, NotFound, Refused
from banditree.service.store import people, records, splits
from banditree.service.store.database import Database
from banditree.service.store.schema import audit
from banditree.service.store.signing import PlanState, sign, signature_of
from banditree.service.store.sites import limited

OLD, NEW, THIRD = (clinic_plan(horizon) for horizon in (40, 41, 42))
OLD_ID, NEW_ID, THIRD_ID = map(fingerprint, (OLD, NEW, THIRD))
ASKED = {"share": 0.5, "rounds": 5, "comment": "which is better?"}


@pytest.fixture
def desk(database):
    desk = Desk(database)
    for id, plan in ((OLD_ID, OLD), (NEW_ID, NEW)):
        do(desk, lambda tx, id=id, plan=plan: add_signed_plan(tx.connection, "ada", "x", id, plan, None), alone=True)
    return desk


def begin(desk, **given):
    return do(desk, lambda tx: splits.start_split(tx.connection, "ada", OLD_ID, NEW_ID, **ASKED | given), alone=True)


def start(desk, id, plan):
    return do(desk, lambda tx: tx.start("ada", id, plan, None).followed.id, id)


def state(database, id):
    with database.read() as connection:
        found = signature_of(connection, id)
    return found.state, found.replaced_by


def test_a_new_case_gets_the_plan_that_the_seed_says(desk, database):
    before = start(desk, "before", OLD_ID)
    split = begin(desk, seed=7, share=0.3)
    ids = [f"p-{number}" for number in range(30)]
    given = [start(desk, id, (OLD_ID, NEW_ID)[number % 2]) for number, id in enumerate(ids)]
    assert before == OLD_ID
    assert given == [NEW_ID if goes_to_new(id, 7, 0.3) else OLD_ID for id in ids]
    assert {OLD_ID, NEW_ID} == set(given)
    other = Desk(database)  # another server, and the same request once more
    assert [start(other, id, OLD_ID) for id in ids] == given
    assert [start(other, id, NEW_ID) for id in ids] == given
    with pytest.raises(Conflict, match="exists and follows plan"):
        start(desk, "before", NEW_ID)
    with database.read() as connection:
        in_split = connection.exec_driver_sql("SELECT COUNT(*) FROM cases WHERE split IS NOT NULL").scalar()
        assert in_split == 30
        assert splits.list_splits(connection, OLD_ID) == splits.list_splits(connection, NEW_ID)
        assert splits.find_split(connection, split).seed == 7


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_case_that_is_moved_goes_where_it_is_told(desk):
    begin(desk, seed=1)
    ids = [f"m-{number}" for number in range(6)]
    moved = [
        do(desk, lambda tx, id=id: tx.start("ada", id, NEW_ID, None, by_chance=False).followed.id, id) for id in ids
    ]
    assert moved == [NEW_ID] * 6


@pytest.mark.parametrize("kept", ["old", "new"])
def test_a_split_ends_with_one_of_the_plans(desk, database, kept):
    split = begin(desk)
    keep, lost = (OLD_ID, NEW_ID) if kept == "old" else (NEW_ID, OLD_ID)
    first = start(desk, "a", OLD_ID)

    def end(plan):
        return do(desk, lambda tx: splits.end_split(tx.connection, "ada", split, plan, "it gives more"), alone=True)

    with pytest.raises(Refused, match="keep must be one of the plans"):
        end(THIRD_ID)
    assert (end(keep), end(keep)) == (True, False)
    with pytest.raises(Conflict, match=f"has ended with plan {keep}"):
        end(lost)
    assert state(database, lost) == (PlanState.REPLACED, keep)
    assert state(database, keep) == (PlanState.SIGNED, None)
    with pytest.raises(Conflict, match=f"was replaced by plan {keep}"):
        start(desk, "b", lost)
    assert start(desk, "b", keep) == keep
    assert start(desk, "a", OLD_ID) == first  # sent again after the end
    with database.read() as connection:
        lines = connection.execute(sa.select(audit.c.action, audit.c.subject).order_by(audit.c.number)).all()
    told = dict(tuple(line) for line in lines)
    assert f"{split}: 0.5 of new cases on {NEW_ID}, the others on {OLD_ID}, seed " in told["start split"]
    assert told["end split"] == f"{split} with {keep}: it gives more"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_cannot_be_split(desk, database):
    add = lambda tx: add_signed_plan(tx.connection, "ada", "x", THIRD_ID, THIRD, None)  # noqa: E731
    begin(desk)
    with pytest.raises(Conflict, match="are split already"):
        begin(desk)
    with pytest.raises(Refused, match="between two plans"):
        do(desk, lambda tx: splits.start_split(tx.connection, "ada", OLD_ID, OLD_ID, **ASKED), alone=True)
    with pytest.raises(NotFound):
        do(desk, lambda tx: splits.start_split(tx.connection, "ada", OLD_ID, "nothing", **ASKED), alone=True)
    do(desk, add, alone=True)
    for pair in ((OLD_ID, THIRD_ID), (THIRD_ID, OLD_ID)):
        with pytest.raises(Conflict, match="End that split first"):
            do(desk, lambda tx, pair=pair: splits.start_split(tx.connection, "ada", *pair, **ASKED), alone=True)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_plan_whose_cases_are_split_is_not_replaced(desk, database):
    begin(desk)
    do(desk, lambda tx: records.add_plan(tx.connection, "ada", "x", THIRD_ID, THIRD, None), alone=True)
    for old in (OLD_ID, NEW_ID):
        with pytest.raises(Conflict, match="End the split first"):
            do(desk, lambda tx, old=old: sign(tx.connection, "ada", THIRD_ID, "better", old), alone=True)


def test_a_split_belongs_to_a_site(desk, database):
    with pytest.raises(Forbidden, match="belongs to no site"):
        do(
            desk,
            lambda tx: splits.start_split(limited(tx.connection, "north"), "ada", OLD_ID, NEW_ID, **ASKED),
            alone=True,
        )
    with database.write() as connection:
        connection.exec_driver_sql(f"UPDATE plans SET site = 'north' WHERE id = '{NEW_ID}'")
    with pytest.raises(Refused, match="same site"):
        begin(desk)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE plans SET site = 'north'")
    split = begin(desk)
    with database.read() as connection:
        assert splits.find_split(limited(connection, "north"), split).id == split
        with pytest.raises(NotFound):
            splits.find_split(limited(connection, "south"), split)
        assert splits.list_splits(limited(connection, "south")) == []


@contextmanager
def served(path, **options):
    with in_thread(local(path, workers=0, **options)) as (app, http), pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_routes, "PATIENCE", 0.0)
        worker = Worker(app.state.settings)

        def work():
            while worker.step():
                pass

        yield app, http, work
        worker.database.close()


def played(client, plan, id, rng, rounds):
    """A case of a kind by its number, for some rounds; the reward."""
    kind, total = int(id.split("-")[1]) % 2, 0
    step = client.ask(client.start(plan, id).id)[0]
    for _ in range(rounds):
        outcome = int(rng.random() < CLINIC.means[kind, CLINIC.arms.index(step.arm)])
        total += outcome
        step = client.tell(id, step.round, outcome, ask=1).steps[0]
    return total


@pytest.mark.slow
def test_the_comparison_is_that_of_the_cases_which_the_split_gave_their_plan(tmp_path):
    with served(tmp_path / "cases.db") as (_app, http, work):
        client, rng = client_of(http), np.random.default_rng(0)
        collection = client.add_collection(CLINIC, "clinic")
        old = client.add_plan(OLD, "old", collection, sign="fine")
        draft = client.add_plan(NEW, "new", collection, replaces=old)
        played(client, old, "c-0", rng, 5)  # from before the split
        assert client.sign(draft, "try it", beside=True)
        split = client.start_split(old, draft, "which one?", rounds=2, seed=3)
        path = f"/api/v1/splits/{split.id}/comparison"
        http.get(path)
        work()
        assert "needs 1 or more cases of each plan" in http.get(path).json()["error"]["message"]
        totals = {old: [], draft: []}
        for number in range(1, 49):
            id = f"c-{number}"
            totals[draft if goes_to_new(id, 3) else old].append(played(client, old, id, rng, 2))
        played(client, old, "c-49", rng, 1)
        client.end("c-49", "moved away")  # too short to be counted
        played(client, old, "c-50", rng, 1)  # still running
        played(client, old, "c-51", rng, 2)  # counted once c-50 is done
        assert http.get(path).status_code == 202
        work()
        found = client.comparison(split.id)
        wanted = compare_totals(*(np.array(totals[id], float) for id in (old, draft)), 2)
        assert (found.ended_early, found.behind) == (1, 1)
        assert (found.old_cases, found.new_cases) == (wanted.old_cases, wanted.new_cases)
        assert (found.old, found.new, found.difference.high) == (wanted.old, wanted.new, wanted.difference.high)
        assert (found.verdict, "holds at every look" in found.text) == ("no difference shown", True)
        for place in (f"/plans/{old}/split", f"/plans/{draft}/field"):
            http.get(place)
            work()
            assert "50% of new cases are given" in http.get(place).text
            assert found.text.splitlines()[0] in http.get(place).text
        assert client.end_split(split.id, draft, "it does no harm")
        states = {line.id: (line.state, line.replaced_by) for line in client.plans()}
        assert states == {old: ("replaced", draft), draft: ("signed", None)}


@pytest.mark.slow
def test_who_may_split_and_who_sees_the_seed(tmp_path):
    opened, roles = Database(local(tmp_path / "cases.db")), people.Role
    people_here = {"vera": roles.VIEWER, "olga": roles.OPERATOR, "sam": roles.SIGNER, "ada": roles.ADMIN}
    with opened.write() as connection:
        for name, role in people_here.items():
            people.add_user(connection, "test", name, role, people.hashed("long enough"))
        tokens = {
            name: people.give_secret(connection, people.TOKEN, name, role, "test", timedelta(hours=1))[1]
            for name, role in people_here.items()
        }
    opened.close()
    with served(tmp_path / "cases.db", authentication=True, secure_cookies=False, sign_alone=True) as (
        _app,
        http,
        _work,
    ):
        clients = {name: Client(str(http.base_url), token) for name, token in tokens.items()}
        old, new = (clients["sam"].add_plan(plan, "x", sign="fine") for plan in (OLD, NEW))
        with pytest.raises(ServiceError, match="needs the role signer"):
            clients["olga"].start_split(old, new, "mine")
        split = clients["sam"].start_split(old, new, "ours", rounds=3)
        assert split.seed is not None
        assert [clients[name].splits()[0].seed for name in ("vera", "olga", "sam")] == [None, None, split.seed]
        with pytest.raises(ServiceError, match="needs the role signer"):
            clients["olga"].end_split(split.id, old, "mine")
        with pytest.raises(ServiceError, match="rounds must be at most 40"):
            clients["sam"].start_split(old, new, "ours", rounds=41)
        clients["sam"].end_split(split.id, old, "as before")
        assert clients["vera"].splits(old)[0].seed == split.seed


@pytest.mark.slow
def test_the_pages_start_and_end_a_split(tmp_path):
    with served(tmp_path / "cases.db") as (_app, http, work):
        client, origin = client_of(http), {"origin": str(http.base_url).rstrip("/")}
        old = client.add_plan(OLD, "old one", sign="fine")
        draft = client.add_plan(NEW, "new one", replaces=old)
        assert "Sign beside it" in http.get(f"/plans/{draft}/sign").text
        given = {"comment": "beside", "replaces": old, "beside": "true"}
        there = http.post(f"/plans/{draft}/sign", data=given, headers=origin, follow_redirects=False)
        assert there.headers["location"] == f"/plans/{old}/split?other={draft}"
        assert f'<option value="{draft}" selected>new one' in http.get(there.headers["location"]).text
        for percent in ("much", "0", "100"):
            bad = http.post(
                f"/plans/{old}/split", data={"new": draft, "percent": percent, "comment": "x"}, headers=origin
            )
            assert bad.status_code == 422
        filled = {"new": draft, "percent": "20", "comment": "for a month"}
        http.post(f"/plans/{old}/split", data=filled, headers=origin, follow_redirects=False)
        (split,) = client.splits()
        assert (split.share, split.rounds, split.comment) == (0.2, 40, "for a month")
        http.get(f"/plans/{old}/split")
        work()
        assert "20% of new cases are given" in http.get(f"/plans/{old}/split").text
        assert "at random: <a" in http.get(f"/plans/{draft}").text
        end = {"keep": old, "comment": "no better"}
        http.post(f"/plans/{old}/split/{split.id}/end", data=end, headers=origin, follow_redirects=False)
        text = http.get(f"/plans/{old}/split").text
        assert "no better" in text
        assert f"The seed is {split.seed}." in text
        assert json.loads(http.get("/api/v1/splits").text)["data"][0]["kept"] == old
        assert http.get("/plans/nothing/split", headers={"accept": "text/html"}).status_code == 404
