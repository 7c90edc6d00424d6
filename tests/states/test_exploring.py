"""Tests by policies, and what is promised of them."""

import numpy as np
import pytest

from banditree import Collection
from banditree.reports.by_state import analyze_states
from banditree.tasks.optimal_states import missed, optimal
from banditree.tasks.state_instances import clinic_states, hard_states, rand_states
from banditree.theory.exploring_states import affinity, exploring


def test_affinities_are_those_of_all_trajectories():
    """Every trajectory of 3 rounds written out."""
    known, options = rand_states(3, 2, 2, 4), np.array([0, 1])

    def chances(task, state, left):
        if not left:
            return [1.0]
        found, arm = [], options[state]
        for outcome in (1 - known.rates[task, state, arm], known.rates[task, state, arm]):
            for to in range(2):
                rest = chances(task, to, left - 1)
                found += [outcome * known.moves[task, state, arm, to] * p for p in rest]
        return found

    found = affinity(known, options, 3)
    for i in range(3):
        for j in range(3):
            both = [np.sqrt(np.multiply(chances(i, s, 3), chances(j, s, 3))).sum() for s in range(2)]
            assert found[i, j] == pytest.approx(max(both), abs=1e-12)


@pytest.mark.parametrize(("known", "horizon"), [(rand_states(3, 3, 3, 0), 300), (clinic_states(2, 3, 3, 4), 600)])
def test_simulated_cases_are_wrong_and_lose_no_more_than_is_promised(known, horizon):
    """60 cases of each kind. Wrong at most 1 in 300 times: more than 3 of 60 come less than once in 10,000 runs."""
    tested, best = exploring(known, horizon), optimal(known, horizon)
    assert (tested.wrong <= 1 / horizon).all()
    costs, rng = missed(known, best, horizon), np.random.default_rng(0)
    plan = np.repeat([k for k, _n in tested.tests], [n for _k, n in tested.tests])
    for task in range(known.n_tasks):
        lost, wrong = [], 0
        for _ in range(60):
            state, seen, treated, total = (
                int(rng.choice(known.n_states, p=known.start)),
                np.zeros(known.n_tasks),
                0,
                0.0,
            )
            for t in range(horizon):
                treated = plan[t] if t < len(plan) else int(seen.argmax())
                arm = best.options[treated, state]
                total += costs[horizon - 1 - t, task, state, arm]
                if t < len(plan):
                    success = rng.random() < known.rates[task, state, arm]
                    rates = known.rates[:, state, arm]
                    seen += np.log(rates if success else 1 - rates)
                to = int(rng.choice(known.n_states, p=known.moves[task, state, arm]))
                if t < len(plan):
                    seen += np.log(known.moves[:, state, arm, to] + 1e-300)
                state = to
            lost.append(total)
            wrong += treated != task
        assert wrong <= 3
        assert np.mean(lost) <= tested.regret[task] + 4 * np.std(lost) / np.sqrt(60)


def test_kinds_that_look_alike_are_not_told_apart():
    one = rand_states(2, 2, 2, 1)
    rates, moves = np.repeat(one.rates[:1], 2, axis=0), np.repeat(one.moves[:1], 2, axis=0)
    assert exploring(Collection.states(rates, moves), 500) is None
    assert "does not tell all kinds apart" in analyze_states(hard_states(3, 2, 1), 300).text
    said = analyze_states(rand_states(3, 3, 3, 0), 300)
    assert said.facts["exploring"]["regret_at_most"] < 100
    assert "Testing first: treated as task" in said.text
