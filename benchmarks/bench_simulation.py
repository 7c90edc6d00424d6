"""How many rounds per second of CPU time a simulation plays, against other bandit libraries and a plain NumPy loop.

K = 40 arms, M = 40 tasks, H = 10,000 rounds, Bernoulli rewards, one process and one thread; all measured in this run,
on this machine. Peers play UCB and Thompson sampling on one task (none has mTS or mUCB): SMPyBandits 0.9.7, river,
MABWiser and Vowpal Wabbit, each through its own step-by-step interface, in environments of their own that are made once
under a temporary folder. A peer that cannot be installed is omitted, with a line that says so. Then: two threads
against one, and the time to the first result with and without a compiled loop on disk.

Options: --no-peers omits the other libraries; --peers FOLDER says where their environments are kept.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand

H = 10_000
RUNS = {"mts": 20, "mucb": 20, "dt-ece": 40, "ece": 40, "ucb1": 3, "mids": 1, "bernoulli-ts": 1}  # a second of each
GOALS = {"mts": 10e6, "mucb": 20e6, "ece": 20e6}
BROKEN = 1e6  # rounds per second below which something is wrong, on any machine

PEERS = {
    "smpybandits": (
        ["SMPyBandits==0.9.7", "numpy<2", "scipy<1.12", "numba"],
        ["SMPyBandits UCB", "SMPyBandits Thompson"],
    ),
    "others": (
        ["river", "mabwiser", "vowpalwabbit"],
        ["river UCB", "river Thompson", "MABWiser UCB1", "Vowpal Wabbit"],
    ),
}

PEER_SCRIPT = """
import json, random, sys, time
import numpy as np
means, name = json.loads(sys.argv[1]), sys.argv[2]
K = len(means)
draws = np.random.default_rng(0).random((200_000, K))


def play(steps, choose, learn):
    start = time.process_time()
    for t in range(steps):
        arm = choose()
        learn(arm, float(draws[t, arm] < means[arm]))
    return steps / (time.process_time() - start)


if name.startswith("SMPyBandits"):
    from SMPyBandits.Policies import UCB, Thompson
    policy = (UCB if name.endswith("UCB") else Thompson)(K)
    policy.startGame()
    steps, choose, learn = 20_000, policy.choice, policy.getReward
elif name.startswith("river"):
    from river import bandit, proba
    ucb = name.endswith("UCB")
    policy = bandit.UCB(delta=1.0, seed=0) if ucb else bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0)
    arms = list(range(K))
    steps, choose, learn = 20_000, lambda: policy.pull(arms), policy.update
elif name.startswith("MABWiser"):
    from mabwiser.mab import MAB, LearningPolicy
    policy = MAB(list(range(K)), LearningPolicy.UCB1(alpha=1.0), seed=0)
    policy.fit(list(range(K)), [int(draws[0, k] < means[k]) for k in range(K)])
    steps, choose, learn = 3_000, policy.predict, lambda arm, reward: policy.partial_fit([arm], [reward])
else:
    import vowpalwabbit
    policy = vowpalwabbit.Workspace(f"--cb_explore {K} --epsilon 0.05 --quiet")
    chances = []

    def choose():
        chances[:] = policy.predict("| a")
        return random.choices(range(K), chances)[0]

    def learn(arm, reward):
        policy.learn(f"{arm + 1}:{-reward}:{chances[arm]} | a")

    steps = 20_000
play(200, choose, learn)
print(json.dumps(max(play(steps, choose, learn) for _ in range(2))))
"""

FIRST_SCRIPT = """
import time
start = time.perf_counter()
from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand
simulate(rand(40, 40, 0.4), ["mts"], horizon=10_000, runs=1, tasks=[0])
print(time.perf_counter() - start, time.process_time())
"""


def steps_per_second(policy, workers=1, clock=time.process_time):
    collection, tasks = rand(40, 40, 0.4), range(5 if policy == "bernoulli-ts" else 40)
    simulate(collection, [policy], horizon=H, runs=1, tasks=[0])
    best = 0.0
    for _ in range(3):
        start = clock()
        simulate(collection, [policy], horizon=H, runs=RUNS[policy], workers=workers, tasks=tasks)
        best = max(best, len(tasks) * RUNS[policy] * H / (clock() - start))
    return best


def numpy_loop(steps=30_000):
    """mTS as one would write it in NumPy, a line per thing to do."""
    collection, rng = rand(40, 40, 0.4), np.random.default_rng(0)
    means, best = collection.means, collection.best_arms
    logs, hit, miss = np.zeros(40), np.log(means), np.log1p(-means)
    start = time.process_time()
    for _ in range(steps):
        weights = np.exp(logs - logs.max())
        task = np.searchsorted(weights.cumsum(), rng.random() * weights.sum())
        arm = best[task]
        logs += hit[:, arm] if rng.random() < means[0, arm] else miss[:, arm]
    return steps / (time.process_time() - start)


def environment(folder, name, packages):
    """The Python of an environment with these packages, made if it is not there; None if it cannot be."""
    python = folder / name / "bin" / "python"
    done = folder / name / "installed"
    if not done.exists():
        print(f"  making an environment for {', '.join(packages)} (once, a minute or two) ...", flush=True)
        free = {key: value for key, value in os.environ.items() if key not in ("PIP_CONSTRAINT", "PYTHONPATH")}
        venv.create(folder / name, with_pip=True, clear=True)
        command = [python, "-m", "pip", "install", "--quiet", *packages]
        got = subprocess.run(command, env=free, capture_output=True, text=True)
        if got.returncode != 0:
            print(f"  omitted: {name}, not installed ({(got.stderr.strip().splitlines() or ['no reason'])[-1][:150]})")
            return None
        done.touch()
    return python


def peers(folder):
    means = json.dumps(rand(40, 40, 0.4).means[0].tolist())
    rates = {}
    for name, (packages, contenders) in PEERS.items():
        python = environment(folder, name, packages)
        for contender in contenders if python else ():
            free = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            command = [python, "-W", "ignore", "-c", PEER_SCRIPT, means, contender]
            got = subprocess.run(command, env=free, capture_output=True, text=True)
            if got.returncode == 0:
                rates[contender] = json.loads(got.stdout.strip().splitlines()[-1])
            else:
                print(f"  omitted: {contender} ({(got.stderr.strip().splitlines() or ['no reason'])[-1][:150]})")
    return rates


def first_result(cache):
    paths = os.pathsep.join([str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", FIRST_SCRIPT], env=environ, capture_output=True, text=True, check=True)
    return map(float, done.stdout.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peers", type=Path, default=Path(tempfile.gettempdir()) / "banditree-bench-peers")
    options = parser.parse_args()
    ours = {policy: steps_per_second(policy) for policy in ("mts", "mucb", "mids", "dt-ece", "ucb1", "bernoulli-ts")}
    theirs = {"NumPy loop (mTS)": numpy_loop()}
    if not options.no_peers:
        theirs |= peers(options.peers)
    loop = theirs["NumPy loop (mTS)"]
    library = max((rate for name, rate in theirs.items() if "NumPy" not in name), default=None)
    print(f"\nRounds per second of CPU time, K = M = 40, H = {H:,}")
    print(f"  {'':22}{'per CPU s':>14}{'x NumPy loop':>14}{'x fastest library':>19}")
    for name, rate in sorted({**ours, **theirs}.items(), key=lambda item: -item[1]):
        goal = f"  goal {GOALS[name]:,.0f}: {'met' if rate >= GOALS[name] else 'MISSED'}" if name in GOALS else ""
        against = f"{rate / library:19.1f}" if library else f"{'-':>19}"
        print(f"  {name:22}{rate:14,.0f}{rate / loop:14.1f}{against}{goal}")
    cores = os.cpu_count() or 1
    one, two = (steps_per_second("mts", workers, time.perf_counter) for workers in (1, 2))
    print(f"\nTwo threads against one (mts, {cores} cores, wall time): {two / one:.2f} times as fast")
    with tempfile.TemporaryDirectory() as cache:
        for case in ("when it has to be compiled", "after that"):
            wall, cpu = first_result(cache)
            print(f"First result (mts), imports included, {case}: {wall:.1f} s, of which {cpu:.1f} s of CPU time")
    return 0 if min(ours["mts"], ours["mucb"]) > BROKEN else 1


if __name__ == "__main__":
    sys.exit(main())
