"""Practical plans: limits, repeatability, interruption, and what they say about themselves."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from banditree.certificates.certify import certify, regret_bound
from banditree.certificates.outcomes import Claim
from banditree.errors import InvalidInput
from banditree.plans.plan import BoxKind
from banditree.scores.pareto import pareto_front
from banditree.scores.scenarios import worst_parameters
from banditree.scores.score_plan import STILL_POSSIBLE, build_score_plan
from banditree.tasks.collection import Collection, with_parameters
from banditree.tasks.instances import hard, linear, rand
from banditree.trees.tree import build_tree

FOUR = rand(4, 6, 0.3)
HORIZON = 2000


@pytest.fixture(scope="module")
def plan():
    return build_score_plan(FOUR, HORIZON, steps=400)


def same(one, other):
    names = ("kind", "arm", "low", "high", "points", "floor", "ceil", "survivors")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_far_better_than_the_tree(plan):
    tree = build_tree(FOUR, HORIZON)
    score, reference = certify(plan, FOUR), certify(tree, FOUR)
    assert plan.method == "score"
    assert plan.n_boxes <= 16
    assert score.worst_regret < 0.1 * reference.worst_regret
    assert score.wrong_task is None
    assert score.undecided.max() < 0.05  # some cases stay under observation with the best arm, which costs nothing


def test_the_same_seed_gives_the_same_plan(plan):
    assert same(plan, build_score_plan(FOUR, HORIZON, steps=400))
    assert plan.seed == 0


def test_limits_are_kept():
    plan = build_score_plan(FOUR, HORIZON, steps=400, boxes=9, longest_path=3, links_back=False)
    assert plan.n_boxes <= 9
    assert plan.depth <= 3
    assert not plan.has_links_back


def test_an_interrupt_keeps_the_best_so_far():
    seen = []

    def stop_at_third(progress):
        seen.append(progress)
        return len(seen) < 3

    plan = build_score_plan(FOUR, HORIZON, steps=4000, on_progress=stop_at_third)
    assert [progress.done for progress in seen] == [25, 50, 75]
    assert seen[0].total == 4000
    assert certify(plan, FOUR).regret.shape == (4,)


@pytest.mark.parametrize("at", [25, 100, 200])
def test_an_early_interrupt_shrinks_what_there_is(at):
    """Before the first small plan, that is: while the search still follows cases or improves a large plan."""
    ten = rand(10, 20, 0.4)
    plan = build_score_plan(ten, 10_000, on_progress=lambda progress: progress.done < at)
    assert plan.n_boxes <= 40
    settling = build_score_plan(ten, 10_000, boxes=2)
    assert settling.n_boxes == 1
    assert certify(plan, ten).worst_regret < certify(settling, ten).worst_regret / 2


def test_progress_reports_fall():
    seen = []
    build_score_plan(FOUR, HORIZON, steps=300, on_progress=seen.append)
    best = [progress.best for progress in seen]
    assert best == sorted(best, reverse=True)
    assert seen[-1].done == 300


def test_a_short_horizon_settles_at_once():
    plan = build_score_plan(FOUR, 1, steps=100, objective="mean")
    assert plan.n_boxes == 1
    assert plan.arm[0] == FOUR.means.mean(axis=0).argmax()


def test_tasks_that_share_their_best_arm_need_no_test():
    plan = build_score_plan(Collection.bernoulli([[0.9, 0.2], [0.6, 0.3], [0.8, 0.7]]), 100)
    assert (plan.n_boxes, plan.arm[0]) == (1, 0)


@pytest.mark.slow
def test_the_cap_on_wrong_arms_is_met():
    loose = certify(build_score_plan(FOUR, 300, steps=400, boxes=8), FOUR).wrong_arm.max()
    cap = loose / 20
    tight = build_score_plan(FOUR, 300, steps=1600, boxes=8, max_wrong_arm=cap)
    assert certify(tight, FOUR).wrong_arm.max() <= cap
    with pytest.raises(InvalidInput, match="chance of a wrong arm"):
        build_score_plan(FOUR, 300, steps=12, boxes=2, max_wrong_arm=1e-9)


def test_still_possible_is_a_posterior_of_one_percent(plan):
    leaves = certify(plan, FOUR, 10**6).at_end
    for box in np.flatnonzero(plan.kind == BoxKind.EXPLOIT):
        posterior = leaves[:, box] / leaves[:, box].sum()
        clear = np.abs(posterior - STILL_POSSIBLE) > 1e-6
        expected = np.flatnonzero((posterior >= STILL_POSSIBLE) & clear)
        assert set(expected) <= set(plan.survivors_at(box).tolist())
    assert plan.survivors_at(0).tolist() == [0, 1, 2, 3]


@pytest.mark.slow
def test_chance_spares_the_worst_task_when_nothing_can_be_told_in_time():
    collection = hard(5, 10, 0.04, 1e-4)
    regret = certify(build_score_plan(collection, 2000, steps=600), collection).regret
    assert regret.max() < 0.9 * 2.0  # settling for any one arm costs 2 in the other four tasks


@pytest.mark.slow
def test_normal_rewards_are_binned_and_exact():
    normal = Collection.gaussian(FOUR.means, sigma=0.5)
    plan = build_score_plan(normal, HORIZON, steps=500)
    certificate = certify(plan, normal)
    assert certificate.claim is Claim.EXACT
    assert plan.points.shape[1] == 4
    assert certificate.worst_regret < 0.2 * certify(build_tree(normal, HORIZON), normal).worst_regret


@pytest.mark.slow
def test_estimates_are_optimised_against_the_worst_means():
    estimated = Collection.bernoulli(FOUR.means, radius=0.06)
    careless = build_score_plan(FOUR, HORIZON, steps=900)
    careful = build_score_plan(estimated, HORIZON, steps=900)
    assert careful.radius == pytest.approx(0.06)
    assert certify(careful, estimated).claim is Claim.UPPER_BOUND

    def at_worst(plan):
        return regret_bound(plan, with_parameters(estimated, worst_parameters(plan, estimated))).max()

    assert at_worst(careful) < 0.9 * at_worst(careless)
    assert at_worst(careful) <= 1.001 * certify(careful, estimated).worst_regret


def test_products_are_held_to_one_thread():
    """More threads add up in another order, and the plan would depend on the number of cores."""
    threads = []

    def look(progress):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    with threadpool_limits(2, user_api="blas"):
        build_score_plan(FOUR, HORIZON, steps=50, on_progress=look)
    assert set(threads) == {1}


@pytest.mark.parametrize("mean", [0.0, 0.11, 0.3, 0.41, 1 - 1e-9])
def test_means_that_hardly_differ_are_searched_like_any_others(mean):
    close = Collection.bernoulli([[mean, 0.9], [np.nextafter(mean, 1), 0.1]])
    assert build_score_plan(close, 1000, steps=30).n_boxes <= 8


@pytest.mark.slow
def test_low_rates_get_slopes_of_their_own():
    """Conversion rates lie below the drift of every usual slope; without another one the worst task lost 78."""
    rates = Collection.bernoulli([[0.03, 0.01, 0.02], [0.02, 0.04, 0.01], [0.01, 0.02, 0.05], [0.05, 0.03, 0.02]])
    plan = build_score_plan(rates, 20_000, steps=1500)
    assert plan.points.max() > 9
    assert certify(plan, rates).worst_regret < 20


def test_long_horizons_may_have_high_levels():
    close = Collection.bernoulli([[0.51, 0.49], [0.49, 0.51]])
    plan = build_score_plan(close, 200_000, steps=300)
    assert plan.ceil.max() > 100


@pytest.mark.slow
def test_the_front_falls():
    front = pareto_front(FOUR, HORIZON, sizes=[2, 6, 12], steps=200)
    assert [plan.n_boxes for plan in front] == sorted(plan.n_boxes for plan in front)
    worst = [certify(plan, FOUR).worst_regret for plan in front]
    assert worst[-1] < worst[0]


def test_the_bound_and_the_certificate_are_close(plan):
    np.testing.assert_allclose(regret_bound(plan, FOUR), certify(plan, FOUR).regret, rtol=0.2)


@pytest.mark.parametrize(
    ("collection", "options", "message"),
    [
        (linear(3, 4, 3, 0.2), {}, "without contexts"),
        (Collection.bounded(FOUR.means), {}, "of bounded rewards only the mean is known"),
        (FOUR, {"boxes": 0}, "boxes must be"),
        (FOUR, {"longest_path": 0}, "longest_path must be"),
        (FOUR, {"max_wrong_arm": 1.5}, "max_wrong_arm must be"),
        (FOUR, {"objective": "best"}, "objective must be"),
        (Collection.bernoulli([[0.5, 0.4], [0.5, 0.4]]), {}, "same means"),
    ],
)
def test_what_cannot_be_searched_is_said(collection, options, message):
    with pytest.raises(InvalidInput, match=message):
        build_score_plan(collection, 100, **options)


def test_links_that_are_led_elsewhere_together_never_lead_back():
    clinic = Collection.bernoulli(
        [
            [0.85, 0.40, 0.25, 0.60, 0.30],
            [0.30, 0.80, 0.35, 0.55, 0.70],
            [0.35, 0.25, 0.85, 0.60, 0.75],
            [0.25, 0.35, 0.30, 0.20, 0.75],
            [0.70, 0.75, 0.30, 0.90, 0.25],
        ]
    )
    plan = build_score_plan(clinic, 1000, boxes=13, links_back=False, steps=1500)
    assert not plan.has_links_back
