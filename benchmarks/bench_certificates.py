"""How long the exact numbers of a plan take: `regret_bound`, `certify`, and as many simulated runs as see 1% errors.

Prints processor time, best of several, beside the floor of the same run (the laws of the boxes, which both need) and a
simulation of 10,000 runs per task of the same plan (100 are run and scaled up). Exits with an error if `regret_bound`
takes over 50 ms or `certify` over 20 s, which would mean that it is broken.
"""

import sys
import time

import numpy as np

from banditree.certificates.certify import certify, regret_bound
from banditree.certificates.outcomes import box_laws
from banditree.plans.assemble import Box, assemble
from banditree.plans.plan import Plan
from banditree.policies.follow import follow, update_follow
from banditree.simulation.compiling import compiled
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, rand
from banditree.trees.tree import build_tree

HORIZON = 10_000
RUNS = 10_000


def best_time(function, repeats=7):
    function()  # compiled and warm
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def score_plan(collection: Collection, n_tests: int, links_back: bool) -> Plan:
    """Score boxes that lead to random later ones, every tenth one of a single pull that may lead back."""
    rng = np.random.default_rng(0)
    tests = []
    for place in range(n_tests):
        low, high = (int(box) for box in rng.integers(place + 1, min(place + 12, n_tests + collection.n_arms), 2))
        points = ((-1, 1), (-2, 1), (-1, 2), (-1, 3))[place % 4]
        floor, ceil = (int(level) for level in rng.integers(3, 20, 2))
        if links_back and place % 10 == 9:
            low, floor, ceil = place - int(rng.integers(1, 9)), 1, 1
        tests.append(Box(int(rng.integers(collection.n_arms)), low, high, points=points, floor=floor, ceil=ceil))
    return assemble([*tests, *(Box(k) for k in range(collection.n_arms))], collection, HORIZON)


def simulation(plan: Plan, collection: Collection):
    from numba import njit

    update, params = compiled(update_follow), follow.make(plan, HORIZON, {})

    @njit
    def play(state, params, means, n_runs):
        rounds = 0
        for _ in range(n_runs):
            state.place[:] = 0
            state.total[:] = 0.0
            while params.kind[state.place[0]] != 2:
                arm = params.arm[state.place[0]]
                update(params, state, means, arm, 1.0 if np.random.random() < means[arm] else 0.0)  # noqa: NPY002
                rounds += 1
        return rounds

    return lambda: [play(follow.init(params), params, means, RUNS // 100) for means in collection.means]


def main() -> int:
    small, middle, large = hard(5, 10, 0.4, 0.01), rand(10, 20, 0.4), rand(40, 40, 0.4)
    plans = [
        ("tree, hard-5-10", build_tree(small, HORIZON, 0.4), small),
        ("tree, rand-10-20", build_tree(middle, HORIZON, 0.4), middle),
        ("tree, rand-40-40", build_tree(large, HORIZON, 0.4), large),
        ("scores, M = 40", score_plan(large, 120, False), large),
        ("scores, M = 40, links back", score_plan(large, 120, True), large),
    ]
    print(f"{'plan':28} {'boxes':>5} {'laws':>9} {'bound':>9} {'certify':>9} {'10^4 runs':>10} {'runs/certify':>12}")
    broken = False
    for name, plan, collection in plans:
        laws = best_time(lambda p=plan, c=collection: box_laws(p, c))
        bound = best_time(lambda p=plan, c=collection: regret_bound(p, c))
        exact = best_time(lambda p=plan, c=collection: certify(p, c), repeats=3)
        runs = 100 * best_time(simulation(plan, collection), repeats=1)
        print(
            f"{name:28} {plan.n_boxes:5} {laws * 1e3:6.2f} ms {bound * 1e3:6.2f} ms {exact * 1e3:6.1f} ms "
            f"{runs:8.2f} s {runs / exact:12.0f}"
        )
        broken |= bound > 0.05 or exact > 20
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
