import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.discounted import NO_CAP, watch_exits
from banditree.errors import InvalidInput
from banditree.files.clinic import clinic
from banditree.protocols.care import NO_CARE, Care, care_beyond, felt, watched_stays
from banditree.protocols.judging import lost, with_the_unlucky
from banditree.protocols.protocol import build_protocol

KNOWN, HORIZON, STEPS = clinic(), 1_000, 4_000


def counted(points, chance, going, floor, cost, care):
    """The rounds of a watched score, each counting more the more was lost before it: round by round."""
    at, alive, total = {0: 1.0}, 1.0, 0.0
    for done in range(400):
        total += alive * (1 + care.extra * (1 - np.exp(-cost * done / care.bearable)))
        after: dict[int, float] = {}
        for score, mass in at.items():
            for point, share in zip(points, chance, strict=True):
                if score + point > -floor:
                    after[score + point] = after.get(score + point, 0.0) + going * share * mass
        at, alive = after, sum(after.values())
    return total


@pytest.mark.parametrize(("success", "cost"), [(0.4, 0.3), (0.7, 0.05), (0.9, 0.0)])
def test_a_watched_stay_counts_as_it_does_round_by_round(success, cost):
    points, care, going = np.array([-3, 1]), Care(5.0, 2.0), 0.9
    chance = np.array([[1 - success], [success]])
    rounds = watched_stays(points, chance, going, np.array([4]), np.array([NO_CAP]), np.array([cost]), care)[1]
    assert rounds[0, 0, 0] == pytest.approx(counted(points, chance[:, 0], going, 4, cost, care), rel=1e-9)


def test_without_care_every_round_counts_once():
    walk = np.array([-1, 1]), np.array([[0.4], [0.6]]), 0.99, np.array([3, 8]), np.array([20])
    np.testing.assert_array_equal(watched_stays(*walk, np.array([0.2]), NO_CARE)[1], watch_exits(*walk)[1])
    assert felt(7.0, NO_CARE) == 7.0
    assert care_beyond(0.0, extra=20.0) == NO_CARE


def test_a_stay_that_only_the_horizon_ends_counts_as_its_rounds_do():
    going, cost, care = 0.999, 0.01, Care(20.0, 5.0)
    ahead = np.arange(40_000)
    exact = (cost * going**ahead * (1 + care.extra * (1 - np.exp(-cost * ahead / care.bearable)))).sum()
    assert felt(cost / (1 - going), care) == pytest.approx(exact, rel=0.01)


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
    assert lost(worst) < lost(caring)


def test_what_cannot_be_computed_counts_as_the_most_that_it_could_be(plans):
    found = certify(plans["worst"], KNOWN)
    known = with_the_unlucky(found)
    object.__setattr__(found, "unlucky", None)
    np.testing.assert_allclose(with_the_unlucky(found), found.regret * 21)
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
