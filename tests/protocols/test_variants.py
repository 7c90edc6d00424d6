"""The default plan and what is shown beside it agree: no shorter one loses less."""

from dataclasses import replace

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.varying import certify_cases
from banditree.files.clinic import clinic
from banditree.plans.gives import Give
from banditree.plans.reading_load import reading_load
from banditree.protocols.front import pareto_front
from banditree.protocols.judging import judge, lost
from banditree.protocols.protocol import build_protocol, find_protocol
from banditree.protocols.variants import ITSELF, LESS, MORE, NO_RULE, Nearby, settled, variants
from banditree.tasks.cases import draw_cases
from banditree.tasks.collection import Collection

STEPS = 300
RATES = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4))
CHANCES = np.random.default_rng(1).dirichlet(np.ones(4), (3, 4))


def estimated(collection, radius):
    return replace(collection, radius=np.array(radius))


COLLECTIONS = {
    "0/1": (Collection.bernoulli(RATES), 200),
    "0/1, estimated": (estimated(Collection.bernoulli(RATES), 0.06), 100),
    "graded, estimated": (estimated(Collection.graded(CHANCES, [0, 1, 2, 3]), 0.2), 40),
    "graded, hardly known": (estimated(Collection.graded(CHANCES, [0, 1, 2, 3]), 1.0), 10),
    "Gaussian": (Collection.gaussian(2 * RATES, 1.0), 150),
    "Gaussian, estimated": (estimated(Collection.gaussian(2 * RATES, 1.0), 0.1), 60),
    "0/1, cases vary": (Collection.bernoulli(RATES, spread=np.full((3, 4), 0.1)), 100),
    "0/1, estimated, cases vary": (estimated(Collection.bernoulli(RATES, spread=np.full((3, 4), 0.1)), 0.06), 100),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "objective"),
    [
        *((name, "mean" if name == "0/1, cases vary" else "worst") for name in COLLECTIONS),
        ("0/1", "mean"),
        ("0/1", "unlucky"),
        ("Gaussian, estimated", "unlucky"),
    ],
)
def test_no_shorter_plan_that_is_shown_loses_less(name, objective):
    collection, horizon = COLLECTIONS[name]
    near = find_protocol(collection, horizon, steps=STEPS, objective=objective)
    plan, loses = near.plan, lost(judge(near.plan, collection), objective)
    for _variant, other, certificate in variants(near):
        assert other.n_tests > plan.n_tests or lost(certificate, objective) >= loses
    front = pareto_front(collection, horizon, steps=STEPS, objective=objective)
    losses = [lost(judge(one, collection), objective) for one in front]
    assert min(losses) == pytest.approx(loses)
    assert front[losses.index(min(losses))].n_tests == plan.n_tests
    numbers = [(reading_load(one), loss, one_in_100(one, collection)) for one, loss in zip(front, losses, strict=True)]
    assert numbers == sorted(numbers)
    for place, own in enumerate(numbers):  # no other one is as good in all three
        assert not any((np.array(other) <= own).all() for other in numbers[:place] + numbers[place + 1 :])


def one_in_100(plan, collection):
    return certify(plan, collection, must_rest=False).unlucky.at_most[:, 1].max()


@pytest.mark.slow
def test_the_front_has_plans_that_look_after_the_unlucky():
    """The plan of the demo loses least on average; others lose more, and less in 1 of 100 cases."""
    front = pareto_front(clinic(), 1000, steps=1500)
    least = min(front, key=lambda one: certify(one, clinic()).worst_regret)
    assert min(one_in_100(one, clinic()) for one in front) < 0.75 * one_in_100(least, clinic())


def test_a_line_that_only_costs_is_dropped():
    """A plan from a search that was cut short, with a line that tries an arm which is never good."""
    collection = Collection.bernoulli([[0.8, 0.3, 0.1], [0.2, 0.7, 0.1]])
    poor = find_protocol(collection, 100, lines=4, steps=1, rule=False)
    better = settled(replace(poor, steps=STEPS), thorough=True)
    assert lost(certify(better.plan, collection), "unlucky") <= lost(certify(poor.plan, collection), "unlucky")
    assert better.plan.n_tests <= poor.plan.n_tests


def test_where_cases_vary_plans_are_compared_over_cases_that_no_search_has_seen():
    """What the search saw of 30 drawn cases of each kind may make a line look useful that is not."""
    alike = Collection.bernoulli([[0.8, 0.3, 0.1], [0.2, 0.7, 0.1]], shares=[0.9, 0.1])
    varying = replace(alike, spread=np.full((2, 3), 0.1))
    plan = build_protocol(alike, 50, lines=2, steps=50)
    assert judge(plan, alike).worst_regret == certify(plan, alike).worst_regret
    found = judge(plan, varying)
    assert found.worst_regret == certify_cases(plan, varying).regret.by_task.max()
    assert lost(found, "mean") == pytest.approx(found.regret.by_task @ [0.9, 0.1])
    seen = draw_cases(varying, 30, seed=0).means
    assert not np.isin(draw_cases(varying, 100, seed=0, fresh=True).means, seen).any()


def test_what_a_plan_was_compared_with_is_sought_again_only_if_that_was_stopped(monkeypatch):
    sought = []
    search = Nearby._searched
    monkeypatch.setattr(Nearby, "_searched", lambda *given: sought.append(given) or search(*given))
    near = find_protocol(COLLECTIONS["0/1"][0], 100, lines=3, steps=STEPS, objective="worst")
    n = len(sought)
    shown = variants(near)
    assert [one.name for one in shown][:3] == ["this plan", "one line less", "up to two lines more"]
    assert len(sought) == n
    near.known.clear()
    near.on_progress = lambda _progress: False
    variants(near)
    near.on_progress = None
    variants(near)
    n = len(sought)
    variants(near)
    assert near.known
    assert len(sought) == n


def test_one_arm_for_everyone_is_the_one_that_loses_least_in_its_worst_task():
    """In the clinic of the demo D has the least power mean, but loses 550 in its worst group where A loses 500."""
    known = clinic()
    near = find_protocol(known, 1000, lines=2, steps=10)
    everyone = near.of(near.nothing).plan
    assert certify(everyone, known).worst_regret == pytest.approx(500)
    assert everyone.lines[0].gives == Give("A")


def random_rates(seed):
    """A collection of 3 to 8 kinds, and a horizon."""
    rng = np.random.default_rng(seed)
    kinds, arms, horizon = int(rng.integers(3, 9)), int(rng.integers(2, 5)), int(rng.choice([30, 100, 300, 1000]))
    return Collection.bernoulli(rng.uniform(0.05, 0.95, (kinds, arms)).round(2)), horizon


@pytest.mark.slow
@pytest.mark.parametrize("seed", [84, 160, 172, 184])
def test_a_search_with_links_back_ends_with_a_plan_that_rests(seed, monkeypatch):
    """Each was refused before: lines led to each other, or a score was thought to rise that stays where it is."""
    monkeypatch.setattr("banditree.protocols.protocol.widths_of", lambda limits, _collection: [limits])
    collection, horizon = random_rates(seed)
    near = find_protocol(collection, horizon, steps=200, links_back=True, compared=False)
    plan, shown = near.plan, variants(near)
    others = {LESS: plan.n_tests > 1, MORE: plan.n_tests > 0, NO_RULE: plan.rule is not None}
    assert [one.name for one in shown] == [ITSELF, *(name for name, offered in others.items() if offered)]


@pytest.mark.slow
def test_one_line_less_is_one_line_less():
    """It was none at all, which loses 510, where every line that might go seemed to lead in a circle."""
    collection, horizon = random_rates(11)
    near = find_protocol(collection, horizon, steps=200, links_back=True, compared=False, objective="worst")
    less = next(one for one in variants(near) if one.name == LESS)
    assert less.plan.n_tests == near.plan.n_tests - 1
    assert less.certificate.worst_regret < 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 8, 10])
def test_wider_limits_never_lose_more(seed):
    """By default 10 lines for 7 kinds: links back and 21 lines lost more than that before."""
    rng = np.random.default_rng(seed)
    kinds, arms, horizon = int(rng.integers(3, 9)), int(rng.integers(3, 7)), int(rng.choice([100, 300, 1000, 3000]))
    collection = Collection.bernoulli(rng.uniform(0.05, 0.95, (kinds, arms)).round(3))
    narrow, back, long = (
        lost(certify(build_protocol(collection, horizon, steps=300, **wider), collection), "unlucky")
        for wider in ({}, {"links_back": True}, {"lines": 3 * kinds})
    )
    assert back <= narrow
    assert long <= narrow


@pytest.mark.slow
def test_the_progress_of_several_searches_is_one():
    seen = []
    collection, horizon = random_rates(160)
    build_protocol(collection, horizon, steps=100, lines=9, links_back=True, compared=False, on_progress=seen.append)
    assert {progress.total for progress in seen} == {300}
    done = [progress.done for progress in seen]
    assert done == sorted(done)
