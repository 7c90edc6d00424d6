"""Random small plans and collections, and the slow obvious evaluation of a plan."""

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from boxes import Box, arrays_of, assemble
from hypothesis import reject
from hypothesis import strategies as st

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER, NONE, SEVERAL
from banditree.plans.machine import machine_of
from banditree.plans.plan import Decider, Fallback, Form, SafetyRule
from banditree.plans.words import Vocabulary
from banditree.policies.follow import follow
from banditree.tasks.collection import Collection
from banditree.tasks.worth import Worth

TESTS = (Counting.FIXED, Counting.SCORE)
HOSTILE = (
    "next line", "line 4", "stay with B", "settle on E", "start again at line 1", "7", "+1/-3",
    "A; +1/-1. At +8: line 4",
    "A for as long as the score stays above -2", "A. At -2: next line", 'say "stop"', "two\nlines", "back\\slash", "A.",
    " A", "Box 3. Give B", "B from now on", "C 3 times", "D once", "go to box 2", "A (+1/-3)", "St. John's wort",
    "nächste Zeile", "A ab jetzt dauerhaft", "B 3-mal", "A, solange der Punktestand", "ligne 4", "A désormais",
    "gardez B", "arm 2", "línea siguiente", "mantenga E", "A de ahora en adelante", "B y C", "D et E", "no\u00a0break",
    "10% off", "A, B", "Ünï cödé", "at +3 or more", "Otherwise", "Then", "from 0", "A\u2028B",
)  # fmt: skip


ALLOWED = st.characters(exclude_categories=["Cs"], exclude_characters="\0")  # the others are refused as names


def hostile_names(count):
    """Different names, some of them made to be mistaken for a part of the sentence around them."""
    name = st.one_of(st.sampled_from(HOSTILE), st.text(ALLOWED, min_size=1, max_size=12).filter(str.strip))
    return st.lists(name, min_size=count, max_size=count, unique=True).map(tuple)


def vocabularies():
    """The user's words."""
    words = st.sampled_from([("recovery", "relapse"), ("sale", "no sale"), ("success", "failure")])
    return words.map(lambda pair: Vocabulary(arm="drug", success=pair[0], failure=pair[1], give="Administer"))


@st.composite
def cases(draw, links_back=True, most_pulls=3, most_level=4):
    """(plan, collection): Bernoulli tasks and a plan of up to five tests of both kinds."""
    n_tasks, n_arms = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    mean = st.floats(0.05, 0.95)
    means = draw(st.lists(st.lists(mean, min_size=n_arms, max_size=n_arms), min_size=n_tasks, max_size=n_tasks))
    collection = Collection.bernoulli(means)
    n_tests = draw(st.integers(1, 5))
    arms = st.integers(0, n_arms - 1)
    tests = []
    for place in range(n_tests):
        # Leaves follow the tests; a link forward always exists, so that every box reaches a leaf.
        forward = st.integers(place + 1, n_tests + n_arms - 1)
        anywhere = st.integers(0, n_tests + n_arms - 1) if links_back else forward
        low, high = draw(st.permutations([draw(forward), draw(anywhere)]))
        if draw(st.booleans()):
            pulls = draw(st.integers(1, most_pulls))
            limit = float(draw(st.integers(0, pulls - 1)))
            tests.append(Box(draw(arms), low, high, pulls=pulls, threshold=limit))
        else:
            points = (-draw(st.integers(1, 3)), draw(st.integers(1, 3)))
            floor, ceil = draw(st.integers(1, most_level)), draw(st.integers(1, most_level))
            tests.append(Box(draw(arms), low, high, points=points, floor=floor, ceil=ceil))
    leaves = [Box(k, task=draw(st.integers(0, n_tasks - 1))) for k in range(n_arms)]
    return assemble([*tests, *leaves], collection, horizon=10), collection


def priced(collection, change=7.5):
    """The collection with a worth of its own for every outcome, in which other arms may be best."""
    outcomes = np.random.default_rng(3).uniform(-40, 90, (collection.n_arms, len(collection.rewards.anchors)))
    return replace(collection, worth=Worth(tuple(map(tuple, outcomes)), change, "EUR"))


def fallbacks(n_arms):
    """No fallback, or one of each kind."""
    given = [Fallback(), Fallback(Decider.PERSON), Fallback(Decider.OPTION, f"arm {n_arms}")]
    few = [replace(given[0], starts=2), replace(given[1], starts=3), replace(given[2], starts=2)]
    return st.sampled_from([None, *given, *few])


GRADES = ("none", "2", "full +1")
# Collections of every family that a protocol can be made for, by their number of arms; their cuts; their bins.
FAMILIES = (
    (lambda n: Collection.bernoulli(np.full((2, n), 0.5)), [(0.5,)], 2),
    (lambda n: Collection.gaussian(np.full((2, n), 0.5), 1.0), [(-0.5, 0.25), (0.0, 0.3)], 3),
    (
        lambda n: Collection.graded(np.full((2, n, 3), 1 / 3), [0, 1, 2], names=["none", "2", "full +1"]),
        [(0.5, 1.5)],
        3,
    ),
)


@st.composite
def protocols(draw, most_lines=5, horizon=40):
    """A protocol of up to five lines of both kinds with every kind of exit, caps, perhaps a rule and a fallback."""
    n_arms, n_lines = draw(st.integers(2, 4)), draw(st.integers(0, most_lines))
    known, cuts, n_bins = draw(st.sampled_from(FAMILIES))
    known, cuts = known(n_arms), st.sampled_from(cuts)
    between = [st.integers(-1, 1)] * (n_bins - 2)
    points = st.tuples(st.integers(-4, -1), *between, st.integers(1, 4))
    level, cap = st.integers(1, 6), st.sampled_from([0, 0, 2, 20])
    arms, lines = st.integers(0, n_arms - 1), []
    fallback = draw(fallbacks(n_arms)) if n_lines else None
    ends = [Box(k) for k in range(n_arms)]
    if fallback is not None:
        among = draw(st.sets(arms, min_size=2))
        ends = [*ends[:1], Box(SEVERAL, among=tuple(sorted(among))), Box(HAND_OVER)]
    for place in range(n_lines):
        forward, back = st.integers(place + 1, n_lines + len(ends) - 1), st.integers(0, place)
        scored = {"points": draw(points), "cuts": draw(cuts), "floor": draw(level)}
        if draw(st.booleans()):
            onward = draw(st.one_of(forward, st.just(0), back))
            lines.append(Box(draw(arms), low=onward, cap=draw(cap), **scored))
        else:
            one, other = draw(st.permutations([draw(forward), draw(st.one_of(forward, st.just(0), back))]))
            lines.append(Box(draw(arms), low=one, high=other, ceil=draw(level), **scored))
    hands_over = fallback is not None and draw(st.booleans())
    rule = SafetyRule(draw(points), draw(level), draw(cuts), draw(cap), hands_over) if draw(st.booleans()) else None
    try:
        return assemble([*lines, *ends], known, horizon, form=Form.LINES, rule=rule, fallback=fallback)
    except InvalidInput:  # it never comes to rest, or jumps back without returning
        reject()


def enumerate_rewards(plan, collection, task, horizon):
    """Regret, chance to end at each box, expected tests and chance to be undecided, over every sequence of rewards."""
    means, gaps = collection.means[task], collection.gaps[task]
    regret, tests, undecided = 0.0, 0.0, 0.0
    leaves = np.zeros(plan.n_boxes)
    params = follow.make(plan, horizon, {})
    available = np.ones(collection.n_arms, dtype=bool)
    for rewards in itertools.product((0.0, 1.0), repeat=horizon):
        state = follow.init(params)
        chance, cost, n_tests, before = 1.0, 0.0, 0, None
        for t, reward in enumerate(rewards):
            testing = arrays_of(plan).kind[state.place[0]] in TESTS
            arm = follow.choose(params, state, np.zeros(0), available, (0, 0, t))
            chance *= means[arm] if reward else 1 - means[arm]
            cost += gaps[arm] + collection.change_cost * (before not in (None, arm))
            before = arm
            n_tests += testing
            follow.update(params, state, np.zeros(0), arm, reward)
        box = state.place[0]
        regret += chance * cost
        tests += chance * n_tests
        leaves[box] += chance
        if arrays_of(plan).kind[box] in TESTS:
            undecided += chance
    return regret, leaves, tests, undecided


def leaf_tasks(plan):
    """The task that each box names, NONE for tests."""
    return np.where(arrays_of(plan).kind == Counting.EXPLOIT, arrays_of(plan).task, NONE)


@st.composite
def protocol_cases(draw, most_level=5):
    """(plan, collection): Bernoulli tasks and a protocol of up to five lines, with restarts, caps and a rule."""
    n_tasks, n_arms, n_lines = draw(st.integers(2, 4)), draw(st.integers(2, 3)), draw(st.integers(1, 5))
    mean = st.floats(0.05, 0.95)
    means = draw(st.lists(st.lists(mean, min_size=n_arms, max_size=n_arms), min_size=n_tasks, max_size=n_tasks))
    collection = Collection.bernoulli(means)
    level, step, arm = st.integers(1, most_level), st.integers(1, 3), st.integers(0, n_arms - 1)
    cap = st.one_of(st.just(0), st.integers(1, 6))
    lines = []
    for place in range(n_lines):
        onward = st.integers(place + 1, n_lines + n_arms - 1)
        low = draw(st.one_of(onward, st.just(0)))
        points, floor = (-draw(step), draw(step)), draw(level)
        if draw(st.booleans()):
            lines.append(Box(draw(arm), low, points=points, floor=floor, cap=draw(cap)))
        else:
            lines.append(Box(draw(arm), low, draw(onward), points=points, floor=floor, ceil=draw(level)))
    rule = draw(st.one_of(st.none(), st.builds(SafetyRule, st.tuples(step.map(lambda x: -x), step), level, cap=cap)))
    ends = [Box(k) for k in range(n_arms)]
    fallback = draw(fallbacks(n_arms))
    if fallback is not None and fallback.to is Decider.THOMPSON:
        fallback = None  # what it loses is no exact number
    if fallback is not None:
        # Where a case would have ended with the last arm, and by the rule, it is handed over.
        ends[-1] = Box(HAND_OVER)
        rule = replace(rule, hands_over=True) if rule is not None else None
    return assemble([*lines, *ends], collection, horizon=50, form=Form.LINES, rule=rule, fallback=fallback), collection


def certified(plan, collection, horizon):
    """The certificate, or None for a plan that may never end."""
    try:
        return certify(plan, collection, horizon)
    except InvalidInput as problem:
        if "may never end" not in str(problem):
            raise
        return None


class Slow(NamedTuple):
    """What `slow_course` computes, as in a certificate and a course of one task."""

    regret: list
    undecided: list
    at_end: np.ndarray
    entered: np.ndarray
    exits: np.ndarray


def slow_course(plan, means, horizon):
    """The course of a protocol of 0/1 rewards, as its words say it, over every (box, score) that can be reached."""
    gaps = np.array([*(max(means) - np.array(means)), 0.0])
    at = {(0, 0): 1.0}
    entered, exits = np.zeros(plan.n_boxes), np.zeros((plan.n_boxes, 2))
    entered[0] = 1.0
    regret, undecided = [0.0], [float(arrays_of(plan).kind[0] in TESTS)]
    arm = np.where(arrays_of(plan).arm == HAND_OVER, machine_of(plan).fallback, arrays_of(plan).arm)
    for _ in range(horizon):
        regret.append(regret[-1] + sum(p * gaps[arm[box]] for (box, _), p in at.items()))
        after = {}
        for (box, score), p in at.items():
            for reward, chance in ((0, 1 - means[arrays_of(plan).arm[box]]), (1, means[arrays_of(plan).arm[box]])):
                place, side = slow_step(plan, box, score, reward)
                after[place] = after.get(place, 0.0) + p * chance
                if side is not None:
                    entered[place[0]] += p * chance
                    exits[box, side] += p * chance
        at = after
        undecided.append(sum(p for (box, _), p in at.items() if arrays_of(plan).kind[box] in TESTS))
    at_end = np.zeros(plan.n_boxes)
    for (box, _), p in at.items():
        at_end[box] += p
    return Slow(regret, undecided, at_end, entered, exits)


def slow_step(plan, box, score, reward):
    """((box, score), the side on which the box was left or None) after one reward."""
    if arrays_of(plan).kind[box] == Counting.EXPLOIT:
        if plan.rule is None or arrays_of(plan).arm[box] == HAND_OVER:
            return (box, 0), None
        points, floor, ceil, cap, high = plan.rule.points, plan.rule.floor, None, plan.rule.cap, None
        low = plan.goes_to(box, plan.rule_target)
    else:
        points, floor, cap, low = (
            arrays_of(plan).points[box],
            arrays_of(plan).floor[box],
            arrays_of(plan).cap[box],
            int(arrays_of(plan).low[box]),
        )
        ceil, high = (
            (arrays_of(plan).ceil[box], int(arrays_of(plan).high[box]))
            if arrays_of(plan).kind[box] == Counting.SCORE
            else (None, None)
        )
    score += int(points[reward])
    score = min(score, int(cap)) if cap else score
    if ceil is not None and score >= ceil:
        return (high, 0), 1
    return ((low, 0), 0) if score <= -floor else ((box, score), None)
