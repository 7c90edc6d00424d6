"""The fast values of the search against slow and obvious ones: simulated walks, certificates, every line tried."""

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.discounted import score_exits, watch_exits
from banditree.plans.words import Vocabulary
from banditree.protocols.choices import Judge, Scratch, best_line, power_mean
from banditree.protocols.moves import Moves, judge_rules
from banditree.protocols.objectives import Limits
from banditree.protocols.reading import among, plan_of, scorings_of
from banditree.protocols.removals import judge_removals
from banditree.protocols.scenarios import Corners
from banditree.protocols.search import search
from banditree.protocols.simplify import _best_without_one
from banditree.protocols.tables import Line, build_tables
from banditree.protocols.worlds import known_world
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.tasks.rewards import Scoring

FIVE = rand(5, 6, 0.4, seed=77)
HORIZON = 2000


@pytest.fixture(scope="module")
def found():
    world = known_world(FIVE, 0)
    tables = build_tables(world, HORIZON)
    moves = Moves(tables, world, Limits(6), power=8, seed=3, steps=900)
    return search(moves), moves


def stepped(points, chance, going, floor, ceil, cap):
    """(down, up, rounds) by a transition matrix over the scores, with none of the shortcuts."""
    top = (ceil - 1) if ceil else cap
    scores = range(-floor + 1, top + 1)
    inside = np.zeros((len(scores), len(scores)))
    down, up = np.zeros(len(scores)), np.zeros(len(scores))
    for i, score in enumerate(scores):
        for point, p in zip(points, chance, strict=True):
            after = score + point
            if after <= -floor:
                down[i] += going * p
            elif ceil and after >= ceil:
                up[i] += going * p
            else:
                inside[i, min(after, top) + floor - 1] += going * p
    solved = np.linalg.solve(np.eye(len(scores)) - inside, np.stack([down, up, np.ones(len(scores))], axis=1))
    return solved[floor - 1]


@pytest.mark.parametrize("points", [(-1, 1), (-3, 1), (-2, 3), (-3, -1, 1, 3)])
def test_exits_are_those_of_the_walk(points):
    rng = np.random.default_rng(0)
    chance = rng.dirichlet(np.ones(len(points)), size=3).T.copy()
    going, points = 1 - 1 / 300, np.array(points)
    floors, ceils, caps = np.array([1, 4, 9]), np.array([2, 7]), np.array([3, 40])
    down, up, rounds = score_exits(points, chance, going, floors, ceils)
    watch_down, watch_rounds = watch_exits(points, chance, going, floors, caps)
    for s in range(3):
        for b, floor in enumerate(floors):
            for a, ceil in enumerate(ceils):
                expected = stepped(points, chance[:, s], going, floor, ceil, 0)
                np.testing.assert_allclose([down[a, b, s], up[a, b, s], rounds[a, b, s]], expected, rtol=1e-9)
            for c, cap in enumerate(caps):
                expected = stepped(points, chance[:, s], going, floor, 0, cap)
                np.testing.assert_allclose([watch_down[c, b, s], watch_rounds[c, b, s]], expected[[0, 2]], rtol=1e-9)


def test_values_are_close_to_the_certificate(found):
    draft, _moves = found
    plan = plan_of(draft, FIVE, HORIZON, 0, Vocabulary())
    np.testing.assert_allclose(draft.regret, certify(plan, FIVE).regret, rtol=0.1)


@pytest.mark.slow
def test_restarts_in_closed_form_are_those_of_many_passes(found):
    draft, _moves = found
    np.testing.assert_allclose(
        draft.with_links_back().regret,
        draft.regret,
        rtol=1e-5,
    )


def test_every_rule_is_judged_as_it_is(found):
    draft, moves = found
    tables = moves.tables
    rules, work = (tables.rule_cost, tables.rule_down, tables.rule_rest), np.empty((3, len(draft.regret)))
    judged = np.empty(len(tables.rules))
    judge_rules(draft.passed, np.arange(draft.n_ends), *rules, moves.adding, work, judged)
    for rule in range(0, len(judged), 37):
        assert judged[rule] == pytest.approx(moves.objective(draft.with_rule(rule)), rel=1e-9)


@pytest.mark.slow
def test_the_judge_foresees_what_a_line_makes_of_the_whole(found):
    draft, moves = found
    a, b, root, scratch = draft.a, draft.b, draft.root, Scratch(moves.tables, len(moves.tables.rows))
    for n in range(draft.n_lines):
        visits, place = draft.visits[n], draft.first_line + n
        rest = a[root] - visits * a[place], b[root] - visits * b[place]
        judge = Judge(*rest, visits, moves.adding, np.empty_like(visits))
        places = moves.places(draft, n, new=False)
        present = draft.line(n), draft.exits[:, n].copy()
        choice = best_line(moves.tables, moves.gradient(draft) * visits + 1e-9, places, judge, 0, scratch, present)
        changed = draft.with_line(n, choice.line, choice.exits, choice.links)
        assert power_mean(changed.regret, moves.adding) == pytest.approx(choice.judged, rel=1e-9)
        assert choice.judged <= power_mean(draft.regret, moves.adding) * (1 + 1e-9)


@pytest.mark.slow
def test_the_chosen_line_is_among_the_best_of_all():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    world = known_world(two, 0)
    tables = build_tables(world, 100)
    moves = Moves(tables, world, Limits(1, rule=False, restarts=False), power=1, seed=0, steps=10)
    draft = moves.nothing
    places = moves.places(draft, -1, new=True)
    zero, one = np.zeros(2), np.ones(2)
    judge = Judge(zero, zero, one, moves.adding, np.empty(2))
    best = np.inf
    for way in range(len(tables.arm)):
        unit = int(tables.templates.unit[tables.template[way]])
        for floor in tables.levels:
            for ceil in (0, *tables.levels):
                down, up, cost, _rest = tables.exits(Line(way, int(floor) * unit, int(ceil) * unit))
                for low in range(2):
                    for high in range(2):
                        regret = cost + up * places.a[high] + down * places.a[low]
                        best = min(best, power_mean(regret, moves.adding))
    choice = best_line(tables, one, places, judge, 0, Scratch(tables, len(tables.rows)))
    assert choice.judged <= 1.01 * best


def test_a_draft_is_the_same_among_other_tables(found):
    """With more ways to score, in another order, numbers of ways and rules are others; the protocol is not."""
    draft, moves = found
    more = [Scoring((-7, 5), (0.5,)), *reversed(scorings_of(draft))]
    tables = build_tables(known_world(FIVE, 0), HORIZON, more=more)
    moved = among(draft, tables)
    plans = [plan_of(one, FIVE, HORIZON, 0, Vocabulary()) for one in (moved, among(draft, moves.tables))]
    assert plans[0].lines == plans[1].lines
    assert plans[0].rule == plans[1].rule
    np.testing.assert_allclose(among(moved, moves.tables).regret, draft.regret, rtol=1e-12)


@pytest.mark.slow
def test_corners_are_the_draft_at_other_rates(found):
    draft, _moves = found
    corners = Corners(draft, Collection.bernoulli(FIVE.means, radius=0.02))
    as_given = np.zeros(FIVE.means.shape, np.int64)
    np.testing.assert_allclose(corners.regret(as_given), draft.regret, rtol=1e-9)
    low = corners.regret(as_given + 1)
    plan = plan_of(draft, FIVE, HORIZON, 0, Vocabulary())
    lower = Collection.bernoulli(np.clip(FIVE.means - 0.02, 0, 1))
    np.testing.assert_allclose(low, certify(plan, lower).regret, rtol=0.15)


def test_what_a_removal_makes_of_the_whole_is_foreseen(found):
    draft, moves = found
    links, elsewhere = draft.links, moves._elsewhere(draft)
    (N, S), judged = draft.visits.shape, np.empty((draft.n_lines, 3))
    values = draft.a, draft.b, draft.visits, draft.exits, draft.watching
    judge_removals(draft.root, links, elsewhere, *values, moves.adding, np.zeros((2 * N + 1, S)), judged)
    for n in range(draft.n_lines):
        place = draft.first_line + n
        for side, target in enumerate(links[n]):
            if draft.root == place and target < draft.first_line:
                assert judged[n, side] == np.inf
                continue
            shorter = draft.with_links(np.where(links == place, target, links), target if draft.root == place else None)
            assert judged[n, side] == pytest.approx(power_mean(shorter.regret, moves.adding), rel=1e-9)


def test_lines_are_taken_out_at_random(found):
    draft, moves = found
    thinner = [moves.thin_out(draft, draft.n_lines - 2) for _ in range(20)]
    assert all(1 <= one.n_lines <= draft.n_lines - 2 for one in thinner)
    assert len({one.lines.tobytes() for one in thinner}) > 1


def test_doing_without_a_way_to_score_keeps_the_limits(found):
    """A draft that is only on its way to the limits must not be handed on: a search would end with nothing."""
    draft, given = found
    longest = int(draft.before.max()) - 1
    moves = Moves(given.tables, given.world, Limits(6, longest), power=8, seed=3, steps=900)
    fewer = _best_without_one(moves, moves.tables, draft, np.inf)
    assert fewer is None or moves.allows(fewer)
