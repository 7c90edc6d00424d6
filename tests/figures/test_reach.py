from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from boxes import Box, arrays_of, assemble
from figure_plans import MAKERS, made
from hypothesis import given, settings
from random_plans import cases

from banditree.certificates.certify import certify
from banditree.certificates.equations import require_end
from banditree.certificates.outcomes import box_outcomes
from banditree.errors import InvalidInput
from banditree.figures import reach
from banditree.figures.reach import reach_info
from banditree.plans.counts import Counting
from banditree.plans.machine import machine_of
from banditree.plans.plan import Form, SafetyRule
from banditree.policies.starting import start_session
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("40 tasks", "protocol")])
def test_leaves_are_reached_as_the_certificate_says(name):
    plan, known = made(name)
    info = reach_info(plan, known)
    certificate = certify(plan, known, horizon=max(plan.horizon, 20_000))
    leaves = arrays_of(plan).kind == Counting.EXPLOIT
    np.testing.assert_allclose(info.chance[:, leaves], certificate.at_end[:, leaves], atol=1e-9)
    np.testing.assert_allclose(info.chance[:, 0], 1.0)
    assert (info.cost[:, 0] == 0).all()
    rounds = np.nansum(info.rounds[:, leaves] * info.chance[:, leaves], axis=1)
    np.testing.assert_allclose(rounds, certificate.pulls, rtol=1e-6)


@settings(max_examples=40)
@given(cases(links_back=False))
def test_one_pass_agrees_with_the_walk_that_stops_at_each_box(case):
    plan, known = case
    outcomes = box_outcomes(plan, known)
    exits = reach._exits(plan, outcomes)
    price = np.stack([outcomes.cost.T, np.ones_like(outcomes.cost.T)], axis=2)
    for fast, slow in zip(reach._forward(plan, exits, price), reach._with_loops(plan.links, exits, price), strict=True):
        np.testing.assert_allclose(fast, slow, atol=1e-9)


@settings(max_examples=30)
@given(cases())
def test_cost_at_the_leaves_is_that_of_the_tests(case):
    """Until a leaf, the mean cost is that of all tests: the same linear system, solved for another question."""
    from banditree.certificates.equations import solve

    plan, known = case
    outcomes = box_outcomes(plan, known)
    try:
        down, up, pulls = require_end(machine_of(plan), known, outcomes, 10_000)
    except InvalidInput:
        return
    info = reach_info(plan, known)
    leaves = arrays_of(plan).kind == Counting.EXPLOIT
    spent = np.nansum(info.cost[:, leaves] * info.chance[:, leaves], axis=1)
    cost = np.where(leaves[:, None], 0.0, pulls * outcomes.cost.T)
    np.testing.assert_allclose(spent, solve(machine_of(plan), down, up, cost), rtol=1e-6, atol=1e-9)


def simulated(plan, means, rng):
    """{box: rounds at the first visit} of one case, one reward at a time."""
    box, t, first = 0, 0, {}
    while True:
        first.setdefault(box, t)
        if arrays_of(plan).kind[box] == Counting.EXPLOIT:
            return first
        mean, score = means[arrays_of(plan).arm[box]], 0
        if arrays_of(plan).kind[box] == Counting.FIXED:
            score, t = rng.binomial(arrays_of(plan).pulls[box], mean), t + int(arrays_of(plan).pulls[box])
            low = score <= arrays_of(plan).threshold[box]
        else:
            while -arrays_of(plan).floor[box] < score < arrays_of(plan).ceil[box]:
                score, t = score + arrays_of(plan).points[box][int(rng.random() < mean)], t + 1
            low = score < 0
        box = int(arrays_of(plan).low[box] if low else arrays_of(plan).high[box])


@pytest.mark.slow
def test_links_back_against_a_simulation():
    """Bands of 4.5 standard errors over 30 comparisons: a false alarm in about 5,000 seeds."""
    plan, known = made("links back")
    info = reach_info(plan, known)
    rng, n = np.random.default_rng(7), 3000
    for task in range(3):
        visits = [simulated(plan, known.means[task], rng) for _ in range(n)]
        for box in range(plan.n_boxes):
            times = [visit[box] for visit in visits if box in visit]
            p = info.chance[task, box]
            assert abs(len(times) / n - p) <= 4.5 * np.sqrt(p * (1 - p) / n) + 1e-9
            if len(times) > 200:
                error = np.std(times) / np.sqrt(len(times))
                assert abs(np.mean(times) - info.rounds[task, box]) <= 4.5 * error + 1e-9


def test_the_most_likely_path_ends_where_most_cases_end():
    plan, known = made("15 boxes")
    info = reach_info(plan, known)
    for task, path in enumerate(info.paths):
        assert path[0] == 1
        assert arrays_of(plan).task[path[-1] - 1] == task
        for box, following in pairwise(path):
            assert following - 1 in list(plan.links[box - 1])


def test_estimates_are_taken_as_they_are_and_unknown_laws_are_refused():
    known = Collection.bernoulli([[0.9, 0.2], [0.1, 0.8]], radius=0.01)
    info = reach_info(build_tree(known, 500), known)
    assert info.note == "if the means are as estimated"
    bounded = Collection.bounded([[0.9, 0.2], [0.1, 0.8]])
    with pytest.raises(InvalidInput, match="only the means and the range"):
        reach_info(build_tree(bounded, 500), bounded)


@settings(max_examples=40)
@given(cases())
def test_pulls_of_a_score_by_side_against_step_by_step(case):
    """The walk one pull at a time until next to nothing is left of it."""
    plan, known = case
    outcomes = box_outcomes(plan, known)
    exits = reach._exits(plan, outcomes)
    for box in np.flatnonzero(arrays_of(plan).kind == Counting.SCORE):
        floor, ceil, points = arrays_of(plan).floor[box], arrays_of(plan).ceil[box], arrays_of(plan).points[box]
        for task in range(known.n_tasks):
            mass, spent = {0: 1.0}, np.zeros(2)
            for pull in range(1, 3000):
                onward = {}
                for score, weight in mass.items():
                    for step, p in zip(points, outcomes.least[task, box], strict=False):
                        after = int(score + step)
                        if -floor < after < ceil:
                            onward[after] = onward.get(after, 0.0) + weight * p
                        else:
                            spent[int(after >= ceil)] += pull * weight * p
                mass = onward
                if sum(mass.values()) < 1e-13:
                    break
            np.testing.assert_allclose(exits.pulls[box, task], spent, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_a_protocol_is_reached_as_a_simulation_says():
    """Bands of 4.5 standard errors over 35 comparisons: a false alarm in about 4,000 seeds."""
    plan, known = made("protocol")
    info = reach_info(plan, known)
    rng, n = np.random.default_rng(5), 100
    for task in range(known.n_tasks):
        visits = np.zeros(plan.n_boxes)
        for _ in range(n):
            visits[sorted(visited(plan, known.means[task], rng))] += 1
        p = np.minimum(info.chance[task], 1.0)
        assert (visits / n <= p + 4.5 * np.sqrt(p * (1 - p) / n) + 0.01).all()
        assert info.paths[task][0] == 1
    assert (info.cost[:, 0] == 0).all()
    assert info.note == "over the horizon"


@pytest.mark.slow
def test_the_cost_of_getting_to_a_line_is_that_of_a_walk_which_may_end_at_every_round():
    """Bands of 5 standard errors over 12 comparisons: a false alarm in about 100,000 seeds."""
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    lines = [
        Box(arm=0, low=1, high=2, points=(-1, 1), floor=2, ceil=3),
        Box(arm=1, low=0, points=(-2, 1), floor=3),
        Box(arm=0),
    ]
    plan = assemble(lines, two, horizon=60, form=Form.LINES, rule=SafetyRule((-2, 1), floor=4))
    info = reach_info(plan, two)
    rng, n = np.random.default_rng(6), 4000
    for task in range(2):
        arrived = [first_arrivals(plan, two, task, rng) for _ in range(n)]
        for box in (1, 2):
            costs, rounds = np.array([seen[box] for seen in arrived if box in seen]).T
            for found, seen in ((info.cost, costs), (info.rounds, rounds)):
                assert found[task, box] == pytest.approx(seen.mean(), abs=5 * seen.std() / len(seen) ** 0.5 + 1e-3)


def first_arrivals(plan, collection, task, rng):
    """(cost, rounds) until a case first gets to each box it gets to before a last round, by its coins."""
    box, score, cost, rounds, seen = 0, 0, 0.0, 0, {0: (0.0, 0)}
    while rng.random() < 1 - 1 / plan.horizon:
        arm = machine_of(plan).arm[box]
        score += machine_of(plan).points[box][int(rng.random() < collection.means[task, arm])]
        cost, rounds, before = cost + collection.gaps[task, arm], rounds + 1, box
        if score <= -machine_of(plan).floor[box]:
            box = int(machine_of(plan).low[box])
        elif machine_of(plan).kind[box] == Counting.SCORE and score >= machine_of(plan).ceil[box]:
            box = int(machine_of(plan).high[box])
        if box != before:
            score = 0
            seen.setdefault(box, (cost, rounds))
    return seen


def visited(plan, means, rng):
    """The boxes that one case gets to, followed by its session."""
    session, boxes = start_session(plan), {0}
    for _ in range(plan.horizon // 4):
        step = session.ask()
        session.tell(float(rng.random() < means[step.arm]))
        boxes.add(session.explain().box)
    return boxes


def test_the_rule_leads_back():
    plan, known = made("protocol")
    assert plan.rule is not None
    with_rule, without = reach_info(plan, known), reach_info(replace(plan, rule=None), known)
    assert (with_rule.chance >= without.chance - 1e-9).all()
    assert (with_rule.chance > without.chance + 1e-6).any()
