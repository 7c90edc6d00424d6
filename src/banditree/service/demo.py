"""An invented clinic and shop to click through: collections, plans, and cases in every state."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np

from banditree.files.clinic import HORIZON, WORDS, clinic
from banditree.files.collections import collection_document
from banditree.files.documents import dump
from banditree.files.plans import fingerprint
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import Plan, SafetyRule, make_plan
from banditree.plans.points import ByOutcome
from banditree.plans.words import vocabulary_from
from banditree.protocols.build import build_plan
from banditree.service.cases.case import Case, utc_now
from banditree.service.cases.desk import Command, Desk, Transaction
from banditree.service.settings import Settings
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.service.store.signing import sign
from banditree.tasks.collection import Collection

SHOP_WORDS = vocabulary_from({"arm": "offer", "task": "customer type", "reward": "sale", "give": "Show"})
CLINIC = clinic()
SHOP = Collection.gaussian(
    [[30, 12, 18], [14, 28, 16], [11, 17, 34]],
    sigma=4,
    tasks=["bargain hunter", "loyal", "gift buyer"],
    arms=["10% off", "free delivery", "gift wrap"],
    radius=0.4,
    provenance="estimated from last year's orders",
)
ACTOR = "demo"
DAYS = 7  # From one visit of the clinic to the next.


def clinic_protocol(patience: int = 5) -> Plan:
    """The plan that `banditree demo` finds, written down so that the console starts at once.

    patience: how far the score of the second line may fall.
    """
    even, strict, mild = (ByOutcome(points) for points in ((-1, 1), (-3, 1), (-3, 2)))
    lines = [
        Line(Give("E"), Score(even, floor=3, ceil=8), below=2, above=4),
        Line(Give("D"), Watch(strict, floor=patience), below=3),
        Line(Give("A"), Watch(strict, floor=5), below=1),
        Line(Give("C"), Watch(mild, floor=12), below=5),
        Line(Give("B"), Watch(mild, floor=15), below=Line(Give("E"))),
    ]
    return make_plan(lines, CLINIC, HORIZON, rule=SafetyRule((-3, 2), floor=20), vocabulary=WORDS)


def fill(settings: Settings, seed: int = 0) -> None:
    """Put the demo on record in an empty database."""
    rng = np.random.default_rng(seed)
    with _desk(settings) as desk:
        groups = _add(desk, "Clinic: treatments and patient groups", CLINIC)
        shop = _add(desk, "Shop: offers and customers", SHOP)
        tree = build_plan(CLINIC, HORIZON, "tree", stop_early=True, vocabulary=WORDS)
        clinic_plan = _add_plan(desk, "Clinic, protocol", clinic_protocol(), groups)
        _add_plan(desk, "Clinic, tree of the paper", tree, groups)
        shop_plan = _add_plan(desk, "Shop", build_plan(SHOP, 200, "tree", vocabulary=SHOP_WORDS), shop)
        _add_plan(desk, "Clinic, more patient", clinic_protocol(6), groups, replaces=clinic_plan, signed=False)
        _do(desk, lambda now: records.set_interval(now.connection, ACTOR, clinic_plan, DAYS))
        for number, (label, what) in enumerate(_stories(rng).items(), 1):
            _follow(desk, f"demo-{number}", shop_plan if "customer" in label else clinic_plan, label, what)


def _stories(rng: np.random.Generator) -> dict[str, Callable[[Case], None]]:
    """What happens in each case."""

    def in_progress(case: Case) -> None:
        play(case, CLINIC.means[1], 5, rng)
        case.arrange(ACTOR, owner="ward 2", due=utc_now(timedelta(2))[:10])

    def in_time(case: Case) -> None:
        play(case, CLINIC.means[0], 0, rng)
        case.arrange(ACTOR, owner="ward 1", due=utc_now()[:10])

    def settled(case: Case) -> None:
        play(case, CLINIC.means[2], 40, rng)

    def overridden(case: Case) -> None:
        play(case, CLINIC.means[0], 3, rng)
        case.override(ACTOR, "C", "E was out of stock", case.session.open_rounds[0], None)
        case.tell(ACTOR, case.session.open_rounds[0], 1)
        case.ask(ACTOR, 1, None, None)

    def corrected(case: Case) -> None:
        play(case, CLINIC.means[0], 4, rng)
        entry = case.session.rounds[1].reward
        case.correct(ACTOR, 2, 0.0 if entry == 1.0 else 1.0, "the wrong button")

    def alarming(case: Case) -> None:
        for _ in range(20):
            step = case.ask(ACTOR, 1, None, None)[0]
            case.tell(ACTOR, step.round, 0)  # nothing helps: no group is like that
        case.ask(ACTOR, 1, None, None)

    def closed(case: Case) -> None:
        play(case, CLINIC.means[1], 20, rng)
        case.note(ACTOR, "moved to another town")
        case.close(ACTOR, "moved away")

    def several_open(case: Case) -> None:
        case.ask(ACTOR, 3, None, None)

    def buying(case: Case) -> None:
        play(case, SHOP.means[2], 6, rng, sigma=4)

    return {
        "bed 1, just started": in_time,
        "bed 2, in progress": in_progress,
        "bed 3, settled": settled,
        "bed 4, with an override": overridden,
        "bed 5, with a correction": corrected,
        "bed 6, fits no group": alarming,
        "bed 7, closed": closed,
        "bed 8, three rounds at once": several_open,
        "a customer": buying,
    }


def play(case: Case, means: Any, rounds: int, rng: np.random.Generator, sigma: float | None = None) -> None:
    """Follow the plan for some rounds with simulated outcomes, and leave the next round open."""
    for _ in range(rounds):
        step = case.ask(ACTOR, 1, None, None)[0]
        if step.arm is None:
            return
        mean = means[step.arm]
        reward = float(rng.random() < mean) if sigma is None else round(float(rng.normal(mean, sigma)), 2)
        case.tell(ACTOR, step.round, reward)
    case.ask(ACTOR, 1, None, None)


@contextmanager
def _desk(settings: Settings) -> Iterator[Desk]:
    database = Database(settings)
    try:
        yield Desk(database)
    finally:
        database.close()


def _do(desk: Desk, act: Callable[[Transaction], Any], cases: tuple[str, ...] | None = None) -> Any:
    command = Command(act, cases)
    desk.run([command])
    if command.error is not None:
        raise command.error
    return command.result


def _add(desk: Desk, name: str, collection: Collection) -> str:
    known, text = records.read_collection(json.loads(dump(collection_document(collection))))
    id: str = _do(desk, lambda now: records.add_collection(now.connection, ACTOR, name, known, text))
    return id


def _add_plan(
    desk: Desk, name: str, plan: Plan, collection: str, *, signed: bool = True, replaces: str | None = None
) -> str:
    given = (ACTOR, name, fingerprint(plan), plan, collection, None, replaces)
    id: str = _do(desk, lambda now: records.add_plan(now.connection, *given))
    if signed:
        _do(desk, lambda now: sign(now.connection, ACTOR, id, "Read and agreed."))
    return id


def _follow(desk: Desk, id: str, plan: str, label: str, what: Callable[[Case], None]) -> None:
    _do(desk, lambda now: what(now.start(ACTOR, id, plan, label)), (id,))
