"""A plan is a draft until it is signed; only signed plans start cases; a new version takes the place of the old one."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from running_service import CLINIC, add_signed_plan, client_of, clinic_plan, do, in_thread, local

from banditree.files.plans import fingerprint
from banditree.service.cases.desk import Desk
from banditree.service.client import Client, ServiceError
from banditree.service.store import people, records, signing
from banditree.service.store.database import Database
from banditree.service.store.schema import audit
from banditree.service.store.sites import limited


def refused(call, status):
    with pytest.raises(ServiceError) as caught:
        call()
    assert caught.value.status == status
    return caught.value.message


def line(client, id):
    return next(one for one in client.plans() if one.id == id)


def test_only_a_signed_plan_starts_cases(service):
    client = client_of(service[1])
    id = client.add_plan(clinic_plan(31), "draft")
    assert line(client, id).state == "draft"
    assert refused(lambda: client.start(id), 409) == (
        f"Plan {id} is a draft. Cases can start once somebody with the role signer has signed it."
    )
    assert client.sign(id, "Read and agreed.")
    assert not client.sign(id, "Again.")
    found = line(client, id)
    assert (found.state, found.signed_by, found.comment) == ("signed", "local", "Read and agreed.")
    assert client.start(id).plan == id


def test_a_plan_is_uploaded_and_signed_in_one_request(service):
    client = client_of(service[1])
    id = client.add_plan(clinic_plan(32), "signed", sign="Checked by two.")
    assert line(client, id).state == "signed"
    assert client.add_plan(clinic_plan(32), "signed") == id  # the same again changes nothing
    assert line(client, id).state == "signed"


def test_a_new_version_takes_the_place_of_the_old_one(service):
    client = client_of(service[1])
    old = client.add_plan(clinic_plan(33), "first", sign="v1")
    running = client.start(old).id
    new = client.add_plan(clinic_plan(34), "second", replaces=old)
    assert (line(client, new).replaces, line(client, old).state) == (old, "signed")
    client.start(old)  # a draft replaces nothing yet
    assert [change.kind for change in client.changes(new)][:2] == ["gone", "new"]
    client.sign(new, "v2")
    assert (line(client, old).state, line(client, old).replaced_by) == ("replaced", new)
    assert refused(lambda: client.start(old), 409) == (
        f"Plan {old} was replaced by plan {new}. Start the case on that one."
    )
    assert client.case(running).plan == old
    assert client.ask(running)[0].round == 1  # running cases stay on theirs
    third = client.add_plan(clinic_plan(35), "third", replaces=old)
    assert "was replaced by plan" in refused(lambda: client.sign(third, "v3"), 409)
    assert client.sign(third, "v3", replaces=new)
    assert line(client, new).replaced_by == third
    assert client.changes(old) == []


def test_what_cannot_be_replaced_is_refused(service):
    client = client_of(service[1])
    plan = clinic_plan(36)
    assert refused(lambda: client.add_plan(plan, "x", replaces=fingerprint(plan)), 422) == (
        "A plan cannot replace itself."
    )
    assert refused(lambda: client.add_plan(plan, "x", replaces="nothing"), 404) == "There is no plan nothing."
    draft, other = client.add_plan(plan, "x"), client.add_plan(clinic_plan(37), "y")
    assert "Only a signed plan can be replaced" in refused(lambda: client.sign(draft, "x", replaces=other), 409)


def test_signing_needs_the_role(tmp_path):
    database = tmp_path / "cases.db"
    opened = Database(local(database))
    with opened.write() as connection:
        for name, role in (("olga", people.Role.OPERATOR), ("sam", people.Role.SIGNER), ("ada", people.Role.ADMIN)):
            people.add_user(connection, "test", name, role, people.hashed("long enough"))
    opened.close()
    with in_thread(local(database, authentication=True, secure_cookies=False)) as (app, http):
        clients = {}
        for name in ("olga", "sam"):
            with app.state.desk.database.write() as connection:
                role = people.Role.named("operator" if name == "olga" else "signer")
                _, token = people.give_secret(connection, people.TOKEN, name, role, "test", timedelta(minutes=5))
            clients[name] = Client(str(http.base_url), token)
        plan = clinic_plan()
        message = refused(lambda: clients["olga"].add_plan(plan, "x", sign="mine"), 403)
        assert message == "Signing needs the role signer, and olga has operator. Omit sign."
        assert clients["olga"].plans() == []
        id = clients["olga"].add_plan(plan, "x")
        assert "needs the role signer" in refused(lambda: clients["olga"].sign(id, "mine"), 403)
        assert clients["sam"].sign(id, "Read and agreed.")
        assert clients["olga"].start(id).plan == id
        with app.state.desk.database.read() as connection:
            signed = connection.execute(sa.select(audit).where(audit.c.action == "sign plan")).mappings().one()
        assert (signed["actor"], signed["subject"]) == ("sam", f"{id}: Read and agreed.")
        for client in clients.values():
            client.close()


@pytest.fixture
def desk(tmp_path):
    database = Database(local(tmp_path / "cases.db"))
    yield Desk(database)
    database.close()


def test_a_site_signs_its_own_plans(desk):
    """What is everybody's is signed by somebody of no site, and no site's plan takes its place."""
    general, own = clinic_plan(40), clinic_plan(41)
    shared = do(desk, lambda tx: add_signed_plan(tx.connection, "ada", "x", fingerprint(general), general, None))
    with desk.database.write() as connection:
        north = limited(connection, "north")
        draft = records.add_plan(connection, "ada", "y", fingerprint(own), own, None, None, shared)
        with pytest.raises(signing.Refused, match="cannot replace plan"):
            signing.sign(north, "nell", draft, "ours")
        limited(connection, None)
        other = clinic_plan(42)
        everybodys = records.add_plan(connection, "ada", "z", fingerprint(other), other, None)
        with pytest.raises(signing.Forbidden, match="belongs to every site"):
            signing.sign(limited(connection, "north"), "nell", everybodys, "ours")


def test_one_plan_has_one_successor_whatever_the_code_does(desk):
    with desk.database.write() as connection:
        old, *others = (
            add_signed_plan(connection, "ada", "x", fingerprint(plan), plan, None)
            for plan in (clinic_plan(h) for h in (50, 51, 52))
        )
        connection.execute(sa.update(signing.plans).where(signing.plans.c.id == others[0]).values(replaces=old))
    with pytest.raises(sa.exc.IntegrityError), desk.database.write() as connection:
        connection.execute(sa.update(signing.plans).where(signing.plans.c.id == others[1]).values(replaces=old))


def test_collections_are_not_signed(service):
    client = client_of(service[1])
    client.add_collection(CLINIC, "clinic")
    assert "signed_at" not in service[1].get("/api/v1/collections").json()["data"][0]
