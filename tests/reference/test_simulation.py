"""The engine against a plain loop and a session, compiled against interpreted, one thread against many or a cluster."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from policy_cases import CASES, COLLECTIONS, HORIZON, go_on, play_plainly, start

from banditree.cli.app import main
from banditree.files.collections import save_collection
from banditree.files.results import load_results
from banditree.policies.registry import policy_named
from banditree.simulation.arena import COMPILED, INTERPRETED, SlowSimulation, open_arena
from banditree.simulation.engine import simulate
from banditree.simulation.playing import world_of
from banditree.tasks.instances import linear, rand

FAST = {("mts", "rand"), ("dt-ece", "rand")}  # compiled in the fast path; the others take a while
simulated_cases = pytest.mark.parametrize(
    ("name", "kind"), [pytest.param(*case, marks=() if case in FAST else pytest.mark.slow) for case in CASES]
)


@simulated_cases
def test_the_engine_plays_as_a_plain_loop_does(name, kind):
    truth, task, run = COLLECTIONS[kind](), 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowSimulation)
        results = simulate(truth, [name], horizon=HORIZON, runs=2, seed=9, rounds=range(1, HORIZON))
    arms, regret = play_plainly(name, truth, HORIZON, 9, task, run)
    assert results.arm[0, task, run].tolist() == arms
    np.testing.assert_allclose(results.regret[0, task, run], regret, rtol=1e-12, atol=1e-12)


@simulated_cases
def test_a_run_of_the_session_is_a_run_of_the_engine(name, kind):
    truth = COLLECTIONS[kind]()
    task, run = 1, 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowSimulation)
        results = simulate(truth, [name], horizon=HORIZON, runs=run + 1, tasks=[task], seed=3, rounds=range(1, HORIZON))
    _, session = start(name, kind, case=run * truth.n_tasks + task)
    assert go_on(session, truth, HORIZON, task, run) == results.arm[0, 0, run].tolist()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(*case, marks=() if case in FAST else pytest.mark.slow)
        for case in CASES
        if policy_named(case[0]).replan is None
    ],
)
def test_compiled_and_interpreted_runs_are_the_same_bits(name, kind):
    truth = COLLECTIONS[kind]()
    fast = open_arena(world_of(truth), name, policy_named(name), truth, {}, HORIZON, 4, np.arange(1, 301))
    slow = replace(fast, mode=INTERPRETED)
    for task in range(truth.n_tasks):
        for a, b in zip(fast.play(task, 7, 2), slow.play(task, 7, 2), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.slow
def test_counting_references_changes_nothing_but_the_time():
    truth = rand(4, 5, 0.5)
    lean = open_arena(world_of(truth), "mids", policy_named("mids"), truth, {}, 300, 4, np.arange(1, 301))
    full = replace(lean, mode=COMPILED)
    assert all(np.array_equal(a, b) for a, b in zip(lean.play(1, 0, 5), full.play(1, 0, 5), strict=True))


def same(a, b):
    fields = ("regret", "arm", "phase", "committed", "alarmed", "task_right", "arm_right")
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name == "regret") for name in fields)


def test_the_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setattr("banditree.simulation.engine.STEPS_PER_BATCH", 2_000)  # many batches
    truth = rand(4, 5, 0.5)
    one, two, five = (
        simulate(truth, ["mts", "dt-ece"], horizon=500, runs=20, seed=2, workers=workers) for workers in (1, 2, 5)
    )
    assert same(one, two)
    assert same(one, five)


def test_more_runs_continue_fewer():
    truth = rand(4, 5, 0.5)
    few, many = (simulate(truth, ["mts"], horizon=300, runs=runs, seed=2) for runs in (3, 8))
    assert np.array_equal(few.regret, many.regret[:, :, :3])


def test_policies_share_rewards():
    """Two copies of a policy under different names see the same rewards, and so play the same."""
    truth = rand(4, 5, 0.5)
    results = simulate(truth, {"one": "mts", "other": "mts"}, horizon=300, runs=4)
    assert np.array_equal(results.regret[0], results.regret[1])


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_results(monkeypatch, tmp_path):
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    def worker_has_played():  # here, so that it travels whole
        compiling = sys.modules.get("banditree.simulation.compiling")
        return compiling is not None and len(compiling._loops) > 0

    monkeypatch.setattr("banditree.simulation.engine.STEPS_PER_BATCH", 2_000)
    truth, policies = linear(4, 5, 3, 0.3), ["mts", "dt-ece+alarm", "lints"]
    here = simulate(truth, policies, horizon=200, runs=40, seed=6, workers=1)
    with (
        warnings.catch_warnings(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        parallel_config(backend="dask"),
    ):
        warnings.simplefilter("ignore")  # of other packages, as they start and stop
        there = simulate(truth, policies, horizon=200, runs=40, seed=6, workers="joblib")
        played = client.run(worker_has_played)
        save_collection(truth, tmp_path / "tasks.json")
        command = [
            "lab",
            "simulate",
            str(tmp_path / "tasks.json"),
            "--policies",
            "lints",
            "--horizon",
            "200",
            "--runs",
            "3",
        ]
        with pytest.raises(SystemExit) as ended:
            main([*command, "--dask", cluster.scheduler_address, "-o", str(tmp_path / "regret.json")])
    assert ended.value.code == 0
    assert load_results(tmp_path / "regret.json").finished.all()
    assert same(here, there)
    assert len(played) == 2
    assert all(played.values())
