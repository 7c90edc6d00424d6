"""Random small plans and collections, and the slow obvious evaluation of a plan."""

import itertools

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from banditree.errors import InvalidInput
from banditree.plans.assemble import Box, assemble
from banditree.plans.plan import NONE, BoxKind, Form, SafetyRule, Vocabulary
from banditree.policies.follow import follow
from banditree.tasks.collection import Collection

HOSTILE = (
    "next line", "line 4", "stay with B", "settle on E", "start again at line 1", "7", "+1/-3",
    "A; +1/-1. At +8: line 4",
    "A for as long as the score stays above -2", "A. At -2: next line", 'say "stop"', "two\nlines", "back\\slash", "A.",
    " A", "Box 3. Give B", "B from now on", "C 3 times", "D once", "go to box 2", "A (+1/-3)", "St. John's wort",
    "10% off", "A, B", "Ünï cödé", "at +3 or more", "Otherwise", "Then", "from 0", "A\u2028B",
)  # fmt: skip


def hostile_names(count):
    """Different names, some of them made to be mistaken for a part of the sentence around them."""
    name = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=12).filter(lambda text: text.strip()))
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


@st.composite
def protocols(draw, most_lines=5, horizon=40):
    """A protocol of up to five lines of both kinds with every kind of exit, caps and perhaps a rule."""
    n_arms, n_lines = draw(st.integers(2, 4)), draw(st.integers(0, most_lines))
    binned = draw(st.booleans())
    cuts = st.sampled_from([(-0.5, 0.25), (0.0, 0.3)]) if binned else st.just((0.5,))
    known = (
        Collection.gaussian(np.zeros((2, n_arms)), 1.0) if binned else Collection.bernoulli(np.full((2, n_arms), 0.5))
    )
    low, high = st.integers(-4, -1), st.integers(1, 4)
    points = st.tuples(low, st.integers(-1, 1), high) if binned else st.tuples(low, high)
    level, cap = st.integers(1, 6), st.sampled_from([0, 0, 2, 20])
    arms, lines = st.integers(0, n_arms - 1), []
    for place in range(n_lines):
        forward, back = st.integers(place + 1, n_lines + n_arms - 1), st.integers(0, place)
        scored = {"points": draw(points), "cuts": draw(cuts), "floor": draw(level)}
        if draw(st.booleans()):
            onward = draw(st.one_of(forward, st.just(0), back))
            lines.append(Box(draw(arms), low=onward, cap=draw(cap), **scored))
        else:
            one, other = draw(st.permutations([draw(forward), draw(st.one_of(forward, st.just(0), back))]))
            lines.append(Box(draw(arms), low=one, high=other, ceil=draw(level), **scored))
    rule = SafetyRule(draw(points), draw(level), draw(cuts), draw(cap)) if draw(st.booleans()) else None
    try:
        return assemble([*lines, *(Box(k) for k in range(n_arms))], known, horizon, form=Form.LINES, rule=rule)
    except InvalidInput:  # it never comes to rest, or jumps back without returning
        reject()


def enumerate_rewards(plan, collection, task, horizon):
    """Regret, chance of each leaf, expected tests and chance to be undecided, over every sequence of rewards."""
    means, gaps = collection.means[task], collection.gaps[task]
    regret, tests, undecided = 0.0, 0.0, 0.0
    leaves = np.zeros(plan.n_boxes)
    params = follow.make(plan, horizon, {})
    available = np.ones(collection.n_arms, dtype=bool)
    for rewards in itertools.product((0.0, 1.0), repeat=horizon):
        state = follow.init(params)
        chance, cost, n_tests = 1.0, 0.0, 0
        for t, reward in enumerate(rewards):
            testing = plan.kind[state.place[0]] != BoxKind.EXPLOIT
            arm = follow.choose(params, state, np.zeros(0), available, (0, 0, t))
            chance *= means[arm] if reward else 1 - means[arm]
            cost += gaps[arm]
            n_tests += testing
            follow.update(params, state, np.zeros(0), arm, reward)
        box = state.place[0]
        regret += chance * cost
        tests += chance * n_tests
        if plan.kind[box] == BoxKind.EXPLOIT:
            leaves[box] += chance
        else:
            undecided += chance
    return regret, leaves, tests, undecided


def leaf_tasks(plan):
    """The task that each box names, NONE for tests."""
    return np.where(plan.kind == BoxKind.EXPLOIT, plan.task, NONE)
