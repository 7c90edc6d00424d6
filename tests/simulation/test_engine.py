import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from boxes import arrays_of

from banditree.errors import InvalidInput
from banditree.policies.base import Facts, Policy
from banditree.policies.classic import uniform_play
from banditree.policies.registry import policy_named
from banditree.simulation.arena import SlowSimulation
from banditree.simulation.engine import Player, simulate
from banditree.simulation.results import Phase
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear, rand
from banditree.trees.tree import build_tree, lazy_tree

TWO = Collection.bernoulli([[0.9, 0.1], [0.2, 0.6]])


def test_what_is_recorded():
    results = simulate(TWO, ["uniform"], horizon=50, runs=3, rounds=[10, 20])
    assert results.rounds.tolist() == [10, 20, 50]
    assert results.regret.shape == (1, 2, 3, 3)
    assert results.finished.all()
    assert (np.diff(results.regret, axis=-1) >= 0).all()
    assert set(np.unique(results.arm)) <= {0, 1}
    assert (results.phase == Phase.ADAPTIVE).all()
    assert results.settings["seed"] == 0
    assert results.settings["policies"] == {"uniform": {"policy": "uniform", "options": {}}}
    assert "numpy" in results.versions


def test_default_rounds_do_not_grow_with_the_horizon():
    few, many = (simulate(TWO, ["uniform"], horizon=H, runs=1, tasks=[0]).rounds for H in (30, 200_000))
    assert few.tolist() == list(range(1, 31))
    assert len(many) < 200
    assert many[-1] == 200_000


def test_plans_lazy_trees_and_players():
    plan, lazy = build_tree(TWO, 200), lazy_tree(TWO, 200)
    player = Player("careful", policy_named("mucb"), TWO, {"delta": 0.01})
    mine = replace(policy_named("mts"), name="mine")
    results = simulate(TWO, [plan, "dt-ece", player, mine], horizon=200, runs=2)
    with pytest.warns(SlowSimulation, match="tree is simulated as ordinary Python.*replans"):
        lazily = simulate(TWO, {"tree": lazy}, horizon=200, runs=2)
    assert results.policies == ("tree", "dt-ece", "careful", "mine")
    assert np.array_equal(results.regret[0], results.regret[1])
    assert np.array_equal(results.regret[0], lazily.regret[0])
    assert np.array_equal(results.committed[0], lazily.committed[0])
    assert results.task_right[0].all()


def test_the_commitment_of_a_tree():
    plan = build_tree(TWO, 500)
    results = simulate(TWO, [plan], horizon=500, runs=5, rounds=range(1, 501))
    first = int(arrays_of(plan).pulls[0]) + 1
    assert (results.committed == first).all()
    assert (results.phase[..., : first - 1] == Phase.EXPLORE).all()
    assert (results.phase[..., first - 1 :] == Phase.EXPLOIT).all()
    assert results.arm_right.all()


def test_an_estimated_collection_against_the_true_one():
    """With two rows of the estimate swapped, every case is classified wrongly, and that shows."""
    swapped = Collection.bernoulli(TWO.means[::-1], tasks=TWO.tasks)
    results = simulate(TWO, ["dt-ece"], horizon=300, runs=5, believed=swapped)
    assert (results.task_right == 0).all()
    assert (results.arm_right == 1).all()  # the arm is right, the name is not


def test_tasks_are_matched_by_name_and_not_by_number():
    turned = Collection.bernoulli(TWO.means[::-1], tasks=TWO.tasks[::-1])
    results = simulate(TWO, ["dt-ece"], horizon=300, runs=5, believed=turned)
    assert (results.task_right == 1).all()


def test_rewards_beyond_the_believed_range_are_refused():
    truth, narrow = (Collection.bounded([[0.1, 0.9], [0.9, 0.1]], high=high) for high in (5.0, 1.0))
    with pytest.raises(InvalidInput, match=r"what mucb is given must be about rewards in \[0, 5\]"):
        simulate(truth, ["mucb"], horizon=10, believed=narrow)


@pytest.mark.slow
def test_a_task_outside_the_collection_sets_off_the_alarm():
    outside = Collection.bernoulli([[0.5, 0.95], [0.05, 0.5]], tasks=["new", "newer"])
    results = simulate(outside, ["dt-ece", "dt-ece+alarm", "mucb+alarm"], horizon=3000, runs=10, believed=TWO)
    assert (results.alarmed[0] == 0).all()
    assert (results.alarmed[1] > 0).mean() > 0.9
    assert (results.task_right == -1).all()  # nothing to compare with
    assert results.regret[1, ..., -1].mean() < results.regret[0, ..., -1].mean()
    assert (results.phase[1, ..., -1] == Phase.FALLBACK).mean() > 0.9
    assert set(np.unique(results.phase[2])) == {Phase.ADAPTIVE, Phase.FALLBACK}


def test_a_bounded_belief_about_0_1_rewards():
    bounded = Collection.bounded(TWO.means, tasks=TWO.tasks)
    same, known = simulate(TWO, ["mucb"], horizon=100, believed=bounded), simulate(TWO, ["mucb"], horizon=100)
    assert np.array_equal(same.regret, known.regret)


class CountState(NamedTuple):
    pulls: np.ndarray


def make_turns(collection, horizon, options):
    return (collection.n_arms,)


def init_turns(params):
    return CountState(np.zeros(1, np.int64))


def choose_turns(params, state, context, available, rng):
    return state.pulls[0] % params[0]


def update_turns(params, state, context, arm, reward):
    state.pulls[0] += 1


def choose_turns_slowly(params, state, context, available, rng):
    return json.loads(str(int(state.pulls[0]) % params[0]))


TURNS = Policy("turns", make_turns, init_turns, choose_turns, update_turns, lambda params, state: Facts(False))


def test_a_policy_of_ones_own_is_a_few_functions():
    results = simulate(TWO, [TURNS], horizon=10, runs=2, rounds=range(1, 11))
    assert results.arm[0, 0, 0].tolist() == [0, 1] * 5


def choose_from_a_copy(params, state, context, available, rng) -> int:
    return int(state.pulls.copy()[0] % params[0])


@pytest.mark.slow
def test_a_policy_that_makes_arrays_unannounced_is_compiled_with_counts():
    results = simulate(TWO, [replace(TURNS, choose=choose_from_a_copy)], horizon=10, runs=2, rounds=range(1, 11))
    assert results.arm[0, 0, 0].tolist() == [0, 1] * 5


@pytest.mark.slow
def test_a_policy_that_cannot_be_compiled_says_so_and_plays_the_same():
    slow = replace(TURNS, choose=choose_turns_slowly)
    with pytest.warns(SlowSimulation, match="turns is simulated as ordinary Python.*numba cannot compile it"):
        results = simulate(TWO, [slow], horizon=10, runs=2, rounds=range(1, 11))
    assert results.arm[0, 0, 0].tolist() == [0, 1] * 5


def test_stopping_keeps_what_is_finished(monkeypatch):
    monkeypatch.setattr("banditree.simulation.engine.STEPS_PER_BATCH", 500)
    seen = []

    def stop_after_ten(progress):
        seen.append((progress.done, progress.total))
        return progress.done < 10

    results = simulate(TWO, ["uniform"], horizon=100, runs=50, workers=1, on_progress=stop_after_ten)
    assert seen[-1] == (10, 20)
    assert results.finished.sum() == 50
    whole = simulate(TWO, ["uniform"], horizon=100, runs=50)
    assert np.array_equal(results.regret[results.finished], whole.regret[results.finished])
    assert results.finished.all(axis=1).sum() == 25  # the tasks are level


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": []}, "policies must be at least one"),
        ({"policies": ["mts", "mts"]}, "policies must be of different names"),
        ({"policies": ["nobody"]}, "a policy must be one of dt-ece"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"tasks": [2]}, "tasks must be different numbers from 0 to 1"),
        ({"rounds": [0]}, "rounds must be numbers from 1 to the horizon"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"believed": rand(3, 4, 0.3)}, "what mts is given must be over 2 arms"),
        ({"believed": Collection.gaussian([[0.0, 1.0], [1.0, 0.0]], 1.0)}, "what mts is given must be about bernoulli"),
        ({"runs": 2**30, "rounds": range(1, 51)}, "recorded values must be at most 8 GiB"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        simulate(TWO, **{"policies": ["mts"], "horizon": 50, "runs": 2, **arguments})


def test_contexts_must_fit():
    with pytest.raises(InvalidInput, match="over contexts of 0 features"):
        simulate(
            Collection.gaussian(linear(3, 4, 2, 0.2).means, 0.1), ["mts"], horizon=5, believed=linear(3, 4, 2, 0.2)
        )


def test_a_policy_that_will_not_choose_is_reported():
    refuses = replace(uniform_play, choose=lambda params, state, context, available, rng: -2)
    with pytest.raises(InvalidInput, match="uniform stopped in run 0: The arm that comes next is not available"):
        simulate(TWO, [refuses], horizon=5, runs=1)


SCRIPT = """
import json, sys
from banditree.simulation import compiling
from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand
results = simulate(rand(4, 5, 0.5), ["mts"], horizon=300, runs=3, workers=1)
stats = [loop.stats for loop in compiling._loops.values()]
print(json.dumps([sum(sum(s.cache_hits.values()) for s in stats), results.regret.sum()]))
"""


@pytest.mark.slow
def test_a_second_process_does_not_compile_again(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(2)
    ]
    assert [hits for hits, _ in runs] == [0, 1]
    assert runs[0][1] == runs[1][1]
    assert len(list(Path(tmp_path).rglob("*.nbi"))) == 1
