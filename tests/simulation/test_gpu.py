"""Runs on a GPU. Tests have none: numba's simulator of one runs the same kernels, slowly, in its own process."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from banditree import InvalidInput, simulate
from banditree.policies.latent import mids, mts
from banditree.simulation.devices import WORTH_A_GPU, Device, goes_to_gpu, policy_problem
from banditree.simulation.states import bytes_of, layout_of, resetting, taking
from banditree.tasks.instances import rand

PROGRAM = """
import json
import numpy as np
from banditree import Collection, simulate
from banditree.simulation import gpu
from banditree.tasks.instances import linear, rand

gpu.BLOCKS, gpu.MOST_THREADS = (2,), 4  # each thread of the simulator is a thread of Python
plain = rand(3, 4, 0.3, seed=1)
collections = {
    "plain": (plain, ["mts", "mucb", "dt-ece", "ucb1", "mts+alarm"]),
    "normal": (Collection.gaussian(plain.means, 0.5), ["mts"]),
    "contexts": (linear(3, 3, 2, separation=0.3, seed=2), ["mucb", "linucb"]),
}
differing = {}
for shared in (gpu.BLOCK_SHARED, 0):
    gpu.BLOCK_SHARED = shared
    for title, (tasks, policies) in collections.items():
        for policy in policies if shared else policies[:2]:
            settings = dict(horizon=12, runs=3, seed=5, tasks=[0, 2], rounds=[1, 6, 12])
            here = simulate(tasks, [policy], workers=1, **settings)
            there = simulate(tasks, [policy], device="gpu", **settings)
            same = all(
                np.array_equal(getattr(here, name), getattr(there, name))
                for name in ("arm", "phase", "committed", "alarmed", "task_right", "arm_right")
            ) and np.allclose(here.regret, there.regret)
            if not same:
                differing[f"{title} {policy} {shared}"] = (here.arm.tolist(), there.arm.tolist())
print(json.dumps(differing))
"""


@pytest.mark.slow
def test_the_kernels_play_the_runs_of_the_processor():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {}


def test_without_a_gpu_a_sentence_says_so():
    with pytest.raises(InvalidInput, match=r"mts cannot be simulated on a GPU: .*device='cpu'"):
        simulate(rand(3, 4, 0.3), ["mts"], horizon=10, runs=1, device="gpu")


def test_auto_stays_on_the_processor_where_there_is_no_gpu_or_little_to_do():
    assert not goes_to_gpu(mts, "mts", WORTH_A_GPU, Device.AUTO)
    assert simulate(rand(3, 4, 0.3), ["mts"], horizon=10, runs=1, device="auto").finished.all()


def test_an_unknown_device_is_refused():
    with pytest.raises(InvalidInput, match="device must be one of cpu, gpu, auto"):
        simulate(rand(3, 4, 0.3), ["mts"], horizon=10, runs=1, device="tpu")


def test_a_policy_that_makes_arrays_is_refused_by_name():
    assert "makes arrays" in policy_problem(mids)
    assert policy_problem(mts) == ""


def test_a_state_is_taken_from_a_pool_and_reset():
    state = mts.init(mts.make(rand(3, 4, 0.3), 100, {}))
    layout = layout_of(state)
    pool = type(state)(*(np.zeros((*array.shape, 5)) for array in state))
    mine = taking(layout, None)(pool, 2, 0)
    resetting(layout)(mine, state)
    assert [array.tolist() for array in mine] == [array.tolist() for array in state]
    assert pool.weights[:, 2].tolist() == state.weights.tolist()
    assert not pool.weights[:, [0, 1, 3, 4]].any()
    assert bytes_of(state) == 32


@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 41])
def test_the_twin_for_gpus_multiplies_to_the_bit(n):
    from banditree.policies.families import multiply
    from banditree.simulation.gpu import multiply_by_fours

    rng = np.random.default_rng(n)
    weights, likelihoods = rng.random(n), rng.random(n)
    mine, theirs = weights.copy(), weights.copy()
    assert multiply_by_fours(mine, likelihoods) == multiply(theirs, likelihoods)
    assert mine.tolist() == theirs.tolist()
