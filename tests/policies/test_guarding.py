"""The guard of sessions: cases of no kind are handed over, cases of a kind hardly ever, and a case can be resumed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from banditree.errors import InvalidInput
from banditree.files.sessions import load_session, save_session
from banditree.plans.plan import Decider, Fallback
from banditree.policies.guarding import guarded
from banditree.policies.starting import resume_session, start_session
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.worth import Worth
from banditree.trees.tree import build_tree

TWO = Collection.bernoulli([[0.8, 0.1, 0.3], [0.2, 0.7, 0.3]], arms=["A", "B", "C"])
PLAN = build_tree(TWO, 1000)


def test_a_case_of_no_kind_is_handed_over_and_a_case_of_a_kind_hardly_ever():
    """C is best, which no line gives. A known kind is handed over with a chance of at most 1%."""
    none = Collection.bernoulli([[0.1, 0.1, 0.9], [0.8, 0.1, 0.3]], arms=TWO.arms)
    runs = 1_000
    found = simulate(
        none, {"plan": PLAN, "guarded": guarded(PLAN, TWO)}, horizon=1000, runs=runs, rounds=[1000], seed=0
    )
    lost = found.regret[..., -1]
    assert lost[0, 0].mean() > 500
    assert lost[1, 0].mean() < 50
    moved = int((lost[1, 1] != lost[0, 1]).sum())
    assert moved <= binom.ppf(1 - 1e-6, runs, 0.01)


def test_a_session_with_a_collection_is_guarded_and_can_be_kept(tmp_path):
    case = start_session(PLAN, collection=TWO)
    for _ in range(60):
        case.tell(1 if case.ask().name == "C" else 0)
    assert case.explain().details["handed_over"]
    save_session(case, tmp_path / "case.json")
    again = load_session(PLAN, tmp_path / "case.json", collection=TWO)
    assert again.snapshot() == case.snapshot()
    with pytest.raises(InvalidInput, match="guarded by a collection"):
        load_session(PLAN, tmp_path / "case.json")


def test_a_case_that_was_started_without_a_guard_goes_on_without():
    case = start_session(PLAN)
    case.tell(case.ask() and 1)
    assert resume_session(PLAN, case.snapshot(), collection=TWO).snapshot() == case.snapshot()


def test_a_plan_with_a_fallback_of_its_own_or_for_others_is_left_as_it_is():
    own = replace(PLAN, fallback=Fallback(Decider.PERSON, odds=50, means=tuple(map(tuple, TWO.means.tolist()))))
    assert guarded(own, TWO) is own
    assert guarded(PLAN, Collection.bernoulli(TWO.means, arms=TWO.arms, tasks=["x", "y"])) is PLAN
    assert guarded(PLAN, replace(TWO, worth=Worth(((0.0, 1.0),) * 3, unit="EUR"))) is PLAN


def test_the_guard_allows_for_the_margins_of_estimates():
    estimated = Collection.bernoulli(TWO.means, arms=TWO.arms, radius=0.05)
    assert guarded(PLAN, estimated).fallback.allow == pytest.approx(0.05)
    varying = Collection.bernoulli(TWO.means, arms=TWO.arms, spread=np.full((2, 3), 0.05))
    assert guarded(PLAN, varying).fallback.allow > 0.1
