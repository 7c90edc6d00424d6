from dataclasses import replace

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.files.clinic import clinic
from banditree.plans.counts import Counting
from banditree.plans.machine import machine_of
from banditree.plans.words import Vocabulary
from banditree.protocols.asked import objective_for
from banditree.protocols.care import NO_CARE, ORDER, Care, care_beyond
from banditree.protocols.judging import lost, with_the_unlucky
from banditree.protocols.moves import Moves
from banditree.protocols.moving import moving_to
from banditree.protocols.objectives import Limits, Objective
from banditree.protocols.protocol import build_protocol
from banditree.protocols.reading import plan_of
from banditree.protocols.search import search
from banditree.protocols.settings import ProtocolSettings
from banditree.protocols.tables import build_tables
from banditree.protocols.worlds import known_world
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand

KNOWN, HORIZON, STEPS = clinic(), 1_000, 4_000


def losses_round_by_round(machine, means, going, bearable):
    """(mean loss, what is bearable of it, (M,)) from one system of equations per task over all rows and scores."""
    found = np.zeros((2, len(means)))
    for task, rates in enumerate(means):
        places, moves = [(0, 0)], {}
        for row, score in places:  # grows while cases reach more places
            arm, held = machine.arm[row], int(machine.cap[row]) or 200
            to = {(row, score): 1.0} if machine.kind[row] == Counting.EXPLOIT else {}
            for point, chance in zip(machine.points[row], (1 - rates[arm], rates[arm]), strict=True) if not to else ():
                after = min(score + int(point), held)
                if after <= -machine.floor[row]:
                    place = (int(machine.low[row]), 0)
                elif machine.ceil[row] and after >= machine.ceil[row]:
                    place = (int(machine.high[row]), 0)
                else:
                    place = (row, after)
                to[place] = to.get(place, 0.0) + chance
            moves[row, score] = to
            places += [place for place in to if place not in places]
        number = {place: n for n, place in enumerate(places)}
        T, gap = np.zeros((len(places), len(places))), np.zeros(len(places))
        for place, to in moves.items():
            gap[number[place]] = rates.max() - rates[machine.arm[place[0]]]
            for after, chance in to.items():
                T[number[place], number[after]] = chance
        found[0, task] = np.linalg.solve(np.eye(len(places)) - going * T, gap)[0]
        seen = np.exp(-gap / bearable)
        found[1, task] = np.linalg.solve(np.eye(len(places)) - going * seen[:, None] * T, bearable * (1 - seen))[0]
    return found


def test_what_is_bearable_of_all_that_is_lost_follows_from_line_to_line():
    known, horizon, care = (
        Collection.bernoulli([[0.7, 0.2, 0.4], [0.3, 0.6, 0.4], [0.1, 0.3, 0.5]]),
        100,
        Care(5.0, 3.0),
    )
    world = replace(known_world(known, 0), care=care)
    moves = Moves(build_tables(world, horizon), world, Limits(4), power=8, seed=0, steps=100)
    draft = search(moves)
    machine = machine_of(plan_of(draft, known, horizon, 0, Vocabulary()))
    for number, (_, bearable) in enumerate(care.sights, 1):
        lost, borne = losses_round_by_round(machine, known.means, 1 - 1 / horizon, bearable)
        np.testing.assert_allclose(draft.regret[:3], lost, rtol=1e-6)  # of score lines the tables are single precision
        np.testing.assert_allclose(draft.regret[3 * number : 3 * number + 3], borne, rtol=1e-6)


def test_the_next_unit_counts_for_more_the_more_was_lost():
    care, losses = Care(5.0, 2.0), np.linspace(0, 30, 3001)
    felt = care.weights(np.ones(len(losses)))[1] * care.with_bearable(losses)
    steps = np.diff(felt.reshape(1 + len(care.sights), -1).sum(axis=0)) / np.diff(losses)
    middle = (losses[1:] + losses[:-1]) / 2
    np.testing.assert_allclose(steps, 5.0 * (1 - np.exp(-middle / 2.0)) ** ORDER, atol=1e-4)


def test_without_care_there_is_nothing_beside_a_loss():
    loss = np.array([1.0, 7.0])
    assert care_beyond(0.0, extra=20.0) == NO_CARE
    np.testing.assert_array_equal(NO_CARE.with_bearable(loss), loss)
    np.testing.assert_array_equal(NO_CARE.weights(loss), [loss])


def test_changes_of_option_and_pauses_count_with_care_too():
    gaps, care = np.array([[0.2, 0.5]]), Care(5.0, 3.0)
    moving = moving_to(gaps, 0.7, 0.9, 4, care)
    for row, (_, bearable) in enumerate(care.sights, 1):
        for arm, gap in enumerate(gaps[0]):
            lost, left = bearable * (1 - np.exp(-0.7 / bearable)), np.exp(-0.7 / bearable)
            for _ in range(4):
                lost += left * bearable * (1 - np.exp(-gap / bearable))
                left *= 0.9 * np.exp(-gap / bearable)
            assert moving.cost[arm, row] == pytest.approx(lost)
            assert moving.kept[arm, row] == pytest.approx(left)


@pytest.fixture(scope="module")
def plans():
    return {
        name: build_protocol(KNOWN, HORIZON, steps=STEPS, objective=name, compared=False)
        for name in ("worst", "unlucky")
    }


def test_the_unlucky_lose_less_where_the_search_cares_and_the_mean_is_least_where_it_does_not(plans):
    worst, caring = (certify(plans[name], KNOWN) for name in ("worst", "unlucky"))
    assert caring.unlucky.worst.max() < 0.8 * worst.unlucky.worst.max()
    assert lost(caring, "unlucky") < lost(worst, "unlucky")
    assert lost(worst, "worst") < lost(caring, "worst")


def test_what_cannot_be_computed_counts_as_the_most_that_it_could_be(plans):
    found = certify(plans["worst"], KNOWN)
    known = with_the_unlucky(found)
    object.__setattr__(found, "unlucky", None)
    np.testing.assert_allclose(with_the_unlucky(found), [found.regret, found.regret * 10])
    assert (with_the_unlucky(found) >= known).all()


def test_99_of_100_cases_lose_at_most_the_cap(plans):
    before = certify(plans["worst"], KNOWN).unlucky.at_most[:, 1].max()
    plan = build_protocol(KNOWN, HORIZON, steps=STEPS, max_loss=0.6 * before)
    assert certify(plan, KNOWN).unlucky.at_most[:, 1].max() <= 0.6 * before


def test_a_cap_that_is_not_reached_is_named_with_what_was():
    with pytest.raises(InvalidInput, match=r"that loses at most 0.01 in 99% of the cases of each task; in the last"):
        build_protocol(KNOWN, HORIZON, steps=40, max_loss=0.01)
    with pytest.raises(InvalidInput, match="max_loss must be omitted with allow"):
        build_protocol(KNOWN, HORIZON, max_loss=60, unknown=0.05)
    with pytest.raises(InvalidInput, match="max_loss must be above 0"):
        build_protocol(KNOWN, HORIZON, max_loss=0)


@pytest.mark.parametrize(("tasks", "expected"), [(20, Objective.UNLUCKY), (21, Objective.WORST)])
def test_of_many_tasks_the_unlucky_count_where_asked(tasks, expected):
    many = rand(tasks, 30, 0.4, seed=0)
    assert objective_for(many, ProtocolSettings(), 1000) is expected
    assert objective_for(many, ProtocolSettings(objective="unlucky"), 1000) is Objective.UNLUCKY
