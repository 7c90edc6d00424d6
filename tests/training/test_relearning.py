"""Learning from cases that a plan steered: unbiased where averages are not, with margins that hold."""

import numpy as np
import pytest
from boxes import Box, assemble
from field_worlds import switching_plan, three_kinds

from banditree.cases.table import Cases, Seen, only_cases, table_of
from banditree.errors import InvalidInput
from banditree.monitoring.simulated import simulate_cases
from banditree.plans.plan import Plan
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Graded
from banditree.training.grades import OUTCOME
from banditree.training.relearning import case_statistics, log_rows, relearn
from banditree.training.statistics import Statistics, collect

ARMS = ("A", "B", "C")


def sums_of(seen: Cases) -> Statistics:
    return collect([seen.cases[u] for u in seen.owner], [ARMS[k] for k in seen.arm], seen.reward)


def test_averages_over_steered_cases_are_biased_and_the_likelihood_is_not() -> None:
    """The kind is given here, so that nothing but the stopping of lines is in the way; 4 standard errors each."""
    plan, truth = switching_plan(12), three_kinds(shares=[1.0, 0.0, 0.0])
    seen = simulate_cases(plan, truth, 1500, seed=1)
    by_case = sums_of(seen)
    averages = np.array([by_case.sums[by_case.arm == k, 0] / by_case.count[by_case.arm == k] for k in (2,)]).mean()
    assert averages < 0.3 - 0.02  # the mean over cases of C's average: C is left as soon as it fails
    off = Collection.bernoulli(truth.means + 0.05, arms=ARMS, tasks=truth.tasks, radius=0.1, shares=[0.98, 0.01, 0.01])
    found = relearn(off, by_case)
    rows = found.rows[0]
    assert np.abs(found.collection.means[0] - truth.means[0])[rows > 500].max() < 0.03


def test_rates_that_no_case_tells_about_stay_as_they_were() -> None:
    known = three_kinds(radius=0.1)
    found = relearn(known, collect(["u", "u", "v"], ["C", "C", "C"], [1, 1, 0]))
    assert found.kept[:, :2].all()
    assert (found.collection.means[:, :2] == known.means[:, :2]).all()
    assert (found.collection.radius[:, :2] == 0.1).all()


def test_a_log_counts_as_many_rows_as_its_margins_are_worth() -> None:
    narrow, wide = (log_rows(three_kinds(radius=radius)) for radius in (0.05, 0.1))
    assert np.allclose(narrow, 4 * wide)
    assert (log_rows(three_kinds()) == 100).all()


def test_gaussian_rewards_are_relearned_too() -> None:
    means, rng = np.array([[1.0, 3.0], [4.0, 2.0]]), np.random.default_rng(3)
    known = Collection.gaussian(means, 1.0, radius=0.5, arms=["A", "B"])
    rewards = means[rng.integers(2, size=200)] + 0.2 + rng.normal(size=(200, 2))
    names = [f"{u}" for u in range(200) for _ in range(2)]
    found = relearn(known, collect(names, ["A", "B"] * 200, rewards.ravel())).collection
    assert np.allclose(found.means, means + 0.2, atol=0.3)
    assert (np.abs(found.means - means - 0.2) <= found.radius).all()
    assert (found.radius < 0.5).all()


def test_what_cannot_be_relearned_is_refused() -> None:
    known = three_kinds(radius=0.1)
    with pytest.raises(InvalidInput, match="arms of the cases must be among"):
        relearn(known, collect(["u"], ["Z"], [1]))
    with pytest.raises(InvalidInput, match="failure_probability"):
        relearn(known, collect(["u"], ["A"], [1]), failure_probability=0)
    with pytest.raises(InvalidInput, match="Relearning needs the probability"):
        relearn(Collection.bounded([[0.5, 0.2], [0.1, 0.9]], arms=["A", "B"]), collect(["u"], ["A"], [1]))
    graded = Collection.graded([[[0.5, 0.5], [0.5, 0.5]]] * 2, [0, 1], arms=["A", "B"])
    with pytest.raises(InvalidInput, match="need the counts of every value"):
        relearn(graded, collect(["u"], ["A"], [1]))
    half = table_of([Seen("u", 1, 0, 0.5, 1.0)], ["A", "B"])
    with pytest.raises(InvalidInput, match="the rewards of the cases must be among"):
        relearn(graded, case_statistics([half], Graded(values=(0.0, 0.5, 1.0))))


GRADES = (0.0, 0.5, 1.0)
# For each kind and arm the chances of the grades; options A and B as for 0/1 rewards, and many halves.
CHANCES = np.array(
    [
        [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]],
        [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]],
        [[0.5, 0.3, 0.2], [0.5, 0.4, 0.1], [0.1, 0.3, 0.6]],
    ]
)


def graded_plan(known: Collection, horizon: int = 20) -> Plan:
    scored = {"points": (-2, 0, 1), "cuts": (0.25, 0.75), "floor": 2, "ceil": 3}
    return assemble(
        [Box(0, low=1, high=3, **scored), Box(1, low=2, high=4, **scored), Box(2), Box(0), Box(1)], known, horizon
    )


def grades_of(seen: Cases, n_cases: int | None = None) -> Statistics:
    some = np.arange(seen.n_cases if n_cases is None else n_cases)
    return case_statistics([only_cases(seen, some)], Graded(values=GRADES))


def test_two_grades_are_relearned_as_0_and_1_are() -> None:
    plan, truth = switching_plan(12), three_kinds()
    seen = simulate_cases(plan, truth, 200, seed=2)
    names, arms = [seen.cases[u] for u in seen.owner], [ARMS[k] for k in seen.arm]
    plain = relearn(truth, collect(names, arms, seen.reward))
    counts = np.stack([seen.reward == 0, seen.reward == 1], axis=1)
    features = [Feature(OUTCOME, "0.0"), Feature(OUTCOME, "1.0")]
    chances = np.stack([1 - truth.means, truth.means], axis=2)
    graded = Collection.graded(chances, [0, 1], arms=ARMS, tasks=truth.tasks, shares=truth.shares)
    found = relearn(graded, collect(names, arms, seen.reward, counts, features))
    assert np.allclose(found.collection.means, plain.collection.means, atol=1e-6)
    assert np.allclose(found.collection.radius, plain.collection.radius, atol=1e-5)
    assert (found.kept == plain.kept).all()


@pytest.mark.slow
def test_intervals_of_grades_cover_over_looks_and_worlds() -> None:
    """The chance of every set of grades is within its margin at all looks but for 5% of the worlds.

    More than 8 of 30 worlds with a miss would be seen with a chance below 1e-4. Gains: the margins are narrower than
    the log's for what the plan tries.
    """
    known = Collection.graded(CHANCES, GRADES, arms=ARMS, radius=0.2)
    plan, missed, narrower = graded_plan(known), 0, 0
    for world in range(30):
        rng = np.random.default_rng([world, 4])
        off = rng.uniform(-0.09, 0.09, CHANCES.shape)
        true = np.maximum(CHANCES + off - off.mean(axis=2, keepdims=True), 0.01)
        true /= true.sum(axis=2, keepdims=True)
        truth = Collection.graded(true, GRADES, arms=ARMS, shares=rng.dirichlet(3 * np.ones(3)))
        seen = simulate_cases(plan, truth, 300, seed=world)
        for n in (40, 100, 300):
            found = relearn(known, grades_of(seen, n)).collection
            if (np.abs(found.chances - true).sum(axis=2) / 2 > found.radius).any():  # the set that is off most
                missed += 1
                break
        narrower += int((found.radius < 0.15).sum())
    assert missed <= 8
    assert narrower >= 60


@pytest.mark.slow
def test_gaussian_margins_cover_over_looks_and_worlds() -> None:
    """As above, with a plan that leaves an option whose outcomes are bad, 20 worlds: more than 7 misses below 1e-4."""
    means = np.array([[1.0, 0.0], [0.0, 1.0]])
    known = Collection.gaussian(means, 1.0, radius=0.4, arms=["A", "B"])
    plan = assemble(
        [Box(0, low=1, high=2, points=(-1, 1), cuts=(0.5,), floor=2, ceil=3), Box(1), Box(0)], known, horizon=12
    )
    missed = 0
    for world in range(20):
        rng = np.random.default_rng([world, 5])
        truth = Collection.gaussian(means + rng.uniform(-0.39, 0.39, (2, 2)), 1.0, arms=["A", "B"])
        seen = simulate_cases(plan, truth, 150, seed=world)
        for n in (30, 150):
            rows = np.flatnonzero(seen.owner < n)
            sums = collect(
                [seen.cases[u] for u in seen.owner[rows]], [("A", "B")[k] for k in seen.arm[rows]], seen.reward[rows]
            )
            found = relearn(known, sums).collection
            if (np.abs(found.means - truth.means) > found.radius).any():
                missed += 1
                break
    assert missed <= 7


@pytest.mark.slow
def test_intervals_cover_over_versions_and_worlds() -> None:
    """All intervals of a world hold at all looks but for 5% (the log's, here true by construction, are not counted).

    More than 8 of 30 worlds with a miss would be seen with a chance below 1e-4.
    """
    plan, missed = switching_plan(20), 0
    for world in range(30):
        rng = np.random.default_rng([world, 3])
        known = three_kinds(radius=0.15)
        truth = Collection.bernoulli(
            known.means + rng.uniform(-0.14, 0.14, (3, 3)),
            arms=ARMS,
            tasks=known.tasks,
            shares=rng.dirichlet(3 * np.ones(3)),
        )
        seen = simulate_cases(plan, truth, 300, seed=world)
        sums = sums_of(seen)
        for n in (40, 100, 300):
            chosen = [seen.cases.index(name) < n for name in np.array(sums.tasks)[sums.task]]
            rows = np.flatnonzero(chosen)
            part = collect(
                np.repeat(np.array(sums.tasks)[sums.task[rows]], sums.count[rows]).tolist(),
                np.repeat(np.array(ARMS)[sums.arm[rows]], sums.count[rows]).tolist(),
                np.concatenate(
                    [np.arange(c) < s for c, s in zip(sums.count[rows], sums.sums[rows, 0], strict=True)]
                ).astype(float),
            )
            found = relearn(known, part).collection
            if (np.abs(found.means - truth.means) > found.radius).any():
                missed += 1
                break
    assert missed <= 8


def test_rounds_from_the_first_override_on_are_not_learned_from() -> None:
    rounds = [Seen("a", 1, 0, 1.0, 1.0), Seen("a", 2, 1, 1.0, 2.0, True), Seen("a", 3, 0, 1.0, 3.0)]
    assert case_statistics([table_of(rounds, ARMS)], three_kinds().rewards).n_rows == 1
    with pytest.raises(InvalidInput, match="no outcomes"):
        case_statistics([table_of(rounds[1:], ARMS)], three_kinds().rewards)
    assert case_statistics([table_of(rounds, ARMS)], three_kinds().rewards, since=2.5).n_rows == 1
