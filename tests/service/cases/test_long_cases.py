"""Long cases: what is not in memory costs the same at any length, and is the case that was."""

import random
import time

import numpy as np
import pytest
from example_plans import score_plan
from running_service import CLINIC, add_signed_plan, client_of, clinic_plan, do, local

from banditree.errors import InvalidInput
from banditree.files.collections import collection_document
from banditree.files.plans import fingerprint
from banditree.policies.rounds import MISSING
from banditree.service.cases import snapshots
from banditree.service.cases.desk import Desk
from banditree.service.cases.outlook import outlook, see
from banditree.service.cases.snapshots import LastSession
from banditree.service.cases.standings import standing
from banditree.service.client import ServiceError
from banditree.service.problems import Conflict
from banditree.service.store import records
from banditree.service.store.database import Database

PLANS = {"tree": (clinic_plan(60_000), CLINIC), "score": (score_plan(), None)}


def started(database, plan, collection):
    desk, known = Desk(database), None
    if collection is not None:
        document = collection_document(collection).model_dump(mode="json", by_alias=True, exclude_none=True)
        known = do(
            desk, lambda tx: records.add_collection(tx.connection, "ada", "c", *records.read_collection(document))
        )
    given = ("ada", "x", fingerprint(plan), plan, known)
    do(desk, lambda tx: add_signed_plan(tx.connection, *given), alone=True)
    do(desk, lambda tx: tx.start("ada", "c", fingerprint(plan), None), "c")
    return desk


def play(desk, n, rng):
    """Some rounds, with a few late, missing and overridden ones."""
    for _ in range(n):
        kind = rng.random()
        if kind < 0.03:
            do(desk, lambda tx: tx.case("c").override("ada", tx.case("c").session.arms[1], "why not", None, None), "c")
        steps = do(desk, lambda tx: tx.case("c").ask("ada", rng.randint(1, 3), None, None), "c")
        for step in steps:
            if step.arm is not None and rng.random() < 0.9:
                reward = MISSING if rng.random() < 0.05 else rng.randint(0, 1)
                do(desk, lambda tx, step=step, reward=reward: tx.case("c").tell("ada", step.round, reward), "c")


def shown(desk):
    return do(desk, lambda tx: (standing(tx.case("c")), outlook(see(tx.case("c")))), "c")


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANS)
def test_a_case_from_its_snapshot_is_the_case_that_was(database, kind, monkeypatch):
    monkeypatch.setattr("banditree.service.cases.desk.EVERY", 20)
    monkeypatch.setattr(snapshots, "KEPT", 5)
    rng, desk = random.Random(1), started(database, *PLANS[kind])
    for _ in range(12):
        play(desk, rng.randint(1, 10), rng)
        cold = Desk(database)
        assert shown(cold) == shown(desk)
    assert type(do(cold, lambda tx: tx.case("c").session, "c")) is LastSession
    whole = Desk(database)
    whole._whole.add("c")
    assert shown(whole) == shown(cold)
    do(cold, lambda tx: tx.case("c").correct("ada", 1, 0 if first(tx) else 1, "typed wrongly"), "c")  # an old round
    whole._forget("c")
    whole._whole.add("c")
    expected = shown(whole)
    assert shown(cold) == expected
    assert shown(Desk(database)) == expected
    assert shown(desk) == expected
    play(desk, 5, rng)
    assert shown(Desk(database)) == shown(desk)


def first(tx):
    reward = tx.case("c").session.rounds[0].reward
    return reward == 1


def test_an_old_report_again_changes_nothing_and_another_value_is_refused(database, monkeypatch):
    monkeypatch.setattr("banditree.service.cases.desk.EVERY", 20)
    monkeypatch.setattr(snapshots, "KEPT", 5)
    desk = started(database, *PLANS["tree"])
    for _ in range(30):
        step = do(desk, lambda tx: tx.case("c").ask("ada", 1, None, None)[0], "c")
        do(desk, lambda tx, step=step: tx.case("c").tell("ada", step.round, 1), "c")
    assert do(Desk(database), lambda tx: tx.case("c").tell("ada", 2, 1), "c") is False
    with pytest.raises(Conflict, match="Round 2 was already told as 1. Got 0"):
        do(Desk(database), lambda tx: tx.case("c").tell("ada", 2, 0), "c")
    with pytest.raises(InvalidInput, match="round must be one that was asked. Got 99"):
        do(Desk(database), lambda tx: tx.case("c").tell("ada", 99, 0), "c")


def test_erasure_takes_the_snapshot_too(database, monkeypatch):
    monkeypatch.setattr("banditree.service.cases.desk.EVERY", 4)
    desk = started(database, *PLANS["tree"])
    play(desk, 10, random.Random(2))
    with database.read() as connection:
        assert records.snapshots_of(connection, [1])
    do(Desk(database), lambda tx: tx.erase("root", "c"), "c")
    with database.read() as connection:
        assert not records.snapshots_of(connection, [1])
    assert do(Desk(database), lambda tx: tx.case("c").state, "c") == "erased"


@pytest.mark.slow
def test_a_cold_case_of_many_events_costs_little(tmp_path):
    """5,000 events here (50,000 in `make soak`), in processor time, from the snapshot and from the events."""
    print(cold_costs(tmp_path, 5_000))


@pytest.mark.soak
def test_a_cold_case_of_fifty_thousand_events_costs_little(tmp_path):
    print(cold_costs(tmp_path, 50_000))


def cold_costs(tmp_path, n_events):
    database = Database(local(tmp_path / "cases.db"))
    desk = started(database, *PLANS["tree"])

    def some_rounds(tx):
        case = tx.case("c")
        for _ in range(100):
            for step in case.ask("ada", 10, None, None):
                case.tell("ada", step.round, step.round % 2)
        return case.seq

    while do(desk, some_rounds, "c") < n_events:
        pass
    times = []
    for whole in (False, False, False, True):
        cold = Desk(database)
        if whole:
            cold._whole.add("c")
        do(cold, lambda tx: tx.connection, alone=True)
        began = time.process_time()
        n = do(cold, lambda tx: tx.case("c").seq, "c")
        see_it = do(cold, lambda tx: see(tx.case("c")), "c")
        outlook(see_it)
        times.append(time.process_time() - began)
    database.close()
    assert n >= n_events
    assert np.median(times[:3]) < times[3] / 4  # 10 and 190 ms with 5,000 events
    return (
        f"{n} events: {1000 * np.median(times[:3]):.1f} ms from the snapshot, {1000 * times[3]:.0f} ms from the events"
    )


def test_a_long_case_is_corrected_beside_the_desk(service, monkeypatch):
    """The desk only adopts the result, also where the case went on meanwhile."""
    app, http = service
    client, desk = client_of(http), app.state.desk
    monkeypatch.setattr("banditree.service.cases.routes.LONG", 5)
    case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
    for _ in range(8):
        client.tell(case, client.ask(case)[0].round, 1)
    read, late = desk.read_whole, []

    def overtaken(id):
        found = read(id)
        if not late:
            late.append(client.note(case, "meanwhile"))
        return found

    monkeypatch.setattr(desk, "read_whole", overtaken)
    assert client.correct(case, 2, 0, "typed wrongly").total == 7
    assert [event.kind for event in client.events(case)][-2:] == ["noted", "corrected"]
    assert client.case(case).total == 7
    desk._forget(case)
    assert client.case(case).total == 7
    with pytest.raises(ServiceError, match="round must be one that was asked"):
        client.correct(case, 99, 0, "x")
