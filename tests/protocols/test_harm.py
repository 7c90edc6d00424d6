"""The search keeps a limit on harm, and says so where no plan can."""

import pytest

from banditree import Collection, InvalidInput, build_plan, certify
from banditree.plans.plan import OnHarm
from banditree.tasks.harm import with_harm

# A is best for the first kind and does much harm; C is worse and does none.
CLINIC = Collection.bernoulli([[0.8, 0.3, 0.6], [0.2, 0.7, 0.4]], tasks=["early", "late"], arms=["A", "B", "C"])
HARMED = with_harm(CLINIC, {"A": 0.01, "B": 0.002, "C": 0.001})
HOW = {"horizon": 200, "steps": 600}


def harms(plan, collection=HARMED):
    return certify(plan, collection).harm.max()


@pytest.mark.slow
def test_the_search_keeps_a_limit_on_harm():
    free = build_plan(HARMED, **HOW)
    assert harms(free) > 1
    limited = build_plan(HARMED, max_harm=0.5, **HOW)
    assert harms(limited) <= 0.5
    assert certify(limited, HARMED).worst_regret >= certify(free, HARMED).worst_regret
    best = min(certify(build_plan(HARMED, max_harm=limit, **HOW), HARMED).worst_regret for limit in (0.5, 0.9))
    assert best < certify_one_arm()


def certify_one_arm():
    """What giving C to everybody loses."""
    return float(200 * HARMED.gaps[:, 2].max())


def test_a_limit_that_binds_nothing_changes_nothing():
    assert str(build_plan(HARMED, max_harm=100, **HOW)) == str(build_plan(HARMED, **HOW))


@pytest.mark.parametrize("limit", [0.1, 0.199])
def test_a_limit_that_no_plan_can_keep_is_refused_with_the_kind_and_the_least(limit):
    with pytest.raises(InvalidInput) as refusal:
        build_plan(HARMED, max_harm=limit, **HOW)
    assert str(refusal.value) == (
        "max_harm must be at least 0.2: over 200 rounds the harms of a case of task 'early' come to 0.2 even "
        f"if it always gets 'C', which does least. Got {limit:g}."
    )


def test_the_least_that_is_possible_is_possible():
    assert harms(build_plan(HARMED, max_harm=0.2, **HOW)) <= 0.2


def test_where_no_plan_is_found_the_least_that_was_is_said():
    opposed = with_harm(CLINIC, {"A": [0, 0.05], "B": [0.05, 0], "C": [0.05, 0.05]})
    with pytest.raises(InvalidInput, match=r"No plan was found whose cases have at most 0.001 harms; in"):
        build_plan(opposed, max_harm=0.001, **HOW)


def test_a_limit_needs_rates_of_harm():
    with pytest.raises(InvalidInput, match="max_harm must be omitted where the collection has no rates of harm"):
        build_plan(CLINIC, max_harm=1, **HOW)


def test_not_again_makes_pages_and_the_rule_and_keeps_the_limit():
    plan = build_plan(HARMED, not_again=True, max_harm=1.0, **HOW)
    assert plan.on_harm is OnHarm.NOT_AGAIN
    assert plan.pages
    assert harms(plan) <= 1.0
