"""Searches that heed what options cost and what changing them costs."""

from dataclasses import replace

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.words import Vocabulary
from banditree.protocols.build import build_plan
from banditree.protocols.moves import Moves
from banditree.protocols.objectives import Limits
from banditree.protocols.reading import plan_of
from banditree.protocols.scenarios import Corners
from banditree.protocols.search import search
from banditree.protocols.tables import build_tables
from banditree.protocols.worlds import known_world
from banditree.tasks.changes import with_worth
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand

HORIZON = 2000


def priced(draw, n_tasks=4, n_arms=6, change=0.0):
    """A drawn collection in which a success is worth 100, and options cost up to 20 a round."""
    price = np.random.default_rng(draw).uniform(0, 20, n_arms)
    return with_worth(rand(n_tasks, n_arms, 0.4, seed=draw), price=price, value=100, change=change, unit="EUR")


@pytest.fixture(scope="module")
def found():
    known = priced(77, 5, change=150.0)
    world = known_world(known, 0)
    moves = Moves(build_tables(world, HORIZON), world, Limits(6), power=8, seed=3, steps=600)
    return known, search(moves)


def test_values_are_close_to_the_certificate(found):
    known, draft = found
    plan = plan_of(draft, known, HORIZON, 0, Vocabulary())
    certificate = certify(plan, known)
    assert (150 * certificate.changes).mean() > 0.1 * certificate.mean_regret  # it is no small part
    np.testing.assert_allclose(draft.regret, certificate.regret, rtol=0.12)


def test_restarts_in_closed_form_and_corners_are_those_of_many_passes(found):
    known, draft = found
    np.testing.assert_allclose(draft.with_links_back().regret, draft.regret, rtol=1e-5)
    sure = Corners(draft, known)
    np.testing.assert_allclose(sure.regret(np.zeros(known.means.shape, int)), draft.regret, rtol=1e-6)


def test_the_dearer_a_change_the_fewer_there_are_and_heeding_it_loses_no_more():
    free = priced(9800)
    plan, before = build_plan(free, HORIZON, steps=600, objective="mean"), np.inf
    for change in (0.0, 30.0, 300.0, 3000.0):
        known = replace(free, worth=replace(free.worth, change=change))
        heeding = build_plan(known, HORIZON, steps=600, objective="mean") if change else plan
        certificate = certify(heeding, known)
        assert certificate.mean_regret <= certify(plan, known).mean_regret + 1e-9
        changes = float(certify(heeding, replace(free, worth=replace(free.worth, change=1.0))).changes.mean())
        assert changes <= before + 1e-9
        before = changes


@pytest.mark.soak
@pytest.mark.parametrize("draw", range(9801, 9811))
def test_heeding_costs_never_loses_more(draw):
    free = priced(draw, 10, 20)
    plain = build_plan(replace(free, worth=None), 10_000)
    heedless = build_plan(free, 10_000)
    assert certify(heedless, free).worst_regret <= certify(plain, free).worst_regret
    known = replace(free, worth=replace(free.worth, change=100.0))
    heeding, other = certify(build_plan(known, 10_000), known), certify(heedless, known)
    assert heeding.worst_regret <= other.worst_regret
    assert heeding.changes.mean() <= other.changes.mean()


def test_an_option_that_is_not_worth_its_price_is_not_given():
    known = with_worth(Collection.bernoulli([[0.9, 0.5], [0.4, 0.6]], arms=["A", "B"]), price={"A": 60}, value=100)
    assert build_plan(known, 500, steps=200).lines[0].gives.arm == "B"
    assert certify(build_plan(known, 500, steps=200), known).worst_regret == 0.0


def test_who_would_go_by_outcomes_is_refused():
    for given in ({"allow": 0.1}, {"unknown": 0.05}, {"fallback": "person"}):
        with pytest.raises(InvalidInput, match="allow, unknown and fallback must be omitted with worth"):
            build_plan(priced(1), 100, **given)
