"""Of many kinds some stand for all: the plan is about every kind, and short; what it promises is about all of them."""

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput, TooLong
from banditree.progress import Progress
from banditree.protocols import asked, defaults, front, many_kinds, protocol
from banditree.protocols.build import build_plan
from banditree.protocols.many_kinds import standing_for_all
from banditree.tasks.collection import Collection

M, K, BEST = 42, 6, 3


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> Collection:
    """42 kinds of cases with three best options, of which no more than 9 are looked at in the beginning."""
    for module in (defaults, asked, front):
        monkeypatch.setattr(module, "MANY_TASKS", 20)
    monkeypatch.setattr(many_kinds, "FEW", 9)
    monkeypatch.setattr(many_kinds, "ADDED", 4)
    rng = np.random.default_rng(3)
    means = 0.7 * rng.random((M, K))
    means[np.arange(M), np.arange(M) % BEST] = 0.9
    return Collection.bernoulli(means)


def test_every_best_option_has_kinds_that_stand_for_it(kinds: Collection) -> None:
    chosen = standing_for_all(kinds)
    assert len(set(chosen.tolist())) == len(chosen) == 9
    assert np.bincount(kinds.best_arms[chosen]).tolist() == [3, 3, 3]


def test_a_plan_for_many_kinds_is_short_and_about_all_of_them(kinds: Collection) -> None:
    plan = build_plan(kinds, 1000, steps=1500, seed=1)
    assert plan.tasks == kinds.tasks
    assert plan.n_tests <= 1.5 * BEST
    named = {task for row in plan.rows for task in row.possible or ()}
    assert named == set(kinds.tasks)
    alone = [1000 * float(gap) for gap in kinds.gaps.max(axis=0)]
    assert certify(plan, kinds).worst_regret < 0.3 * min(alone)
    assert str(plan) == str(build_plan(kinds, 1000, steps=1500, seed=1))


def test_kinds_that_are_served_worst_are_added(kinds: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = protocol._searched
    monkeypatch.setattr(protocol, "_searched", lambda some, *rest: seen.append(some.tasks) or original(some, *rest))
    build_plan(kinds, 1000, steps=600)
    assert [len(tasks) for tasks in seen] == [9, 13, 17]
    assert seen[1][:9] == seen[0]
    assert len(set(seen[2])) == 17


def test_searches_go_on_until_the_plan_comes_to_rest_under_every_kind(
    kinds: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []
    original, hidden = protocol._searched, int(np.setdiff1d(np.arange(M), standing_for_all(kinds))[0])
    monkeypatch.setattr(protocol, "_searched", lambda some, *rest: seen.append(some.tasks) or original(some, *rest))
    monkeypatch.setattr(many_kinds, "_endless_under", lambda *_: (np.arange(M) == hidden) & (len(seen) < 4))
    build_plan(kinds, 1000, steps=300)
    assert len(seen) == 4
    assert kinds.tasks[hidden] in seen[1]


def test_a_search_for_many_kinds_can_be_stopped(kinds: Collection) -> None:
    reports: list[Progress] = []

    def listen(progress: Progress) -> bool:
        reports.append(progress)
        return len(reports) < 4

    assert build_plan(kinds, 1000, steps=100_000, on_progress=listen).tasks == kinds.tasks
    assert len(reports) < 20


def test_a_front_is_refused(kinds: Collection) -> None:
    with pytest.raises(InvalidInput, match="A front is for at most 20 tasks") as refused:
        front.pareto_front(kinds, 1000, steps=300)
    assert "Omit pareto" in str(refused.value)


def test_tables_that_no_machine_holds_are_refused() -> None:
    many = Collection.bernoulli(np.random.default_rng(0).random((3000, 60)), radius=0.01)
    with pytest.raises(TooLong, match=r"would take \d+ GB.*Merge tasks"):
        build_plan(many, 10_000, "protocol", steps=10)
