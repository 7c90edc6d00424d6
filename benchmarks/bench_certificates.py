"""How long the numbers of a plan take: `regret_bound`, `certify`, what the unlucky lose, a simulation of 10,000 runs.

Prints processor time, the best of several runs, beside the least that both need (the outcomes of the boxes) and a
simulation of the same plan to the horizon (as many runs as take half a second, scaled up), with the ratios. Exits
with an error if a protocol takes `certify` more than a fifth of the time of that simulation, or `regret_bound` takes
more than a tenth of the time of `certify`.
"""

import sys
import time

import numpy as np

from banditree import ByOutcome, Give, Line, Plan, SafetyRule, Score, Watch, make_plan
from banditree.certificates.certify import certify, regret_bound
from banditree.certificates.outcomes import box_outcomes
from banditree.plans.links import reading_order
from banditree.plans.plan import renumbered
from banditree.policies.follow import follow
from banditree.simulation.engine import Player, simulate
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, rand
from banditree.trees.tree import build_tree

HORIZON = 10_000
ROUND_LEVELS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
STEEPEST = 9  # Points of a failure where a success counts one: searches go no further.
RUNS = 10_000
LONG_ENOUGH = 0.5  # Seconds, of processor time: what a call takes by itself no longer counts.


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
        arm = collection.arms[int(rng.integers(collection.n_arms))]
        tests.append(Line(Give(arm), Score(ByOutcome(points), floor, ceil), low + 1, high + 1))
    lines = [*tests, *(Line(Give(arm)) for arm in collection.arms)]
    order = reading_order([[to - 1 for to in line.targets if isinstance(to, int)] for line in lines])
    return make_plan(renumbered(lines, order), collection, HORIZON)


def protocol(collection: Collection, n_lines: int, rule: SafetyRule | None) -> Plan:
    """Lines that give the arms which are best for some task, every other one a watch line, with skips and restarts."""
    rng = np.random.default_rng(1)
    best = collection.means.argmax(axis=1)
    lines = []
    for place in range(n_lines):
        arm, task = int(best[place % len(best)]), place % len(best)
        fall = min(max(1, round(collection.means[task, arm] / (1 - collection.means[task, arm]) / 2)), STEEPEST)
        give, points = Give(collection.arms[arm]), ByOutcome((-fall, 1))
        low = (place + 1) % n_lines + 1
        floor, ceil = (int(rng.choice(ROUND_LEVELS)) for _ in range(2))
        if place % 2:
            lines.append(Line(give, Watch(points, max(floor, fall)), low))
        else:
            skip = min(place + int(rng.integers(1, 12)), n_lines - 1)
            high = skip + 1 if place % 3 == 0 and skip > place else Line(give)
            lines.append(Line(give, Score(points, max(floor, fall), ceil), low, high))
    return make_plan(lines, collection, HORIZON, rule=rule)


def time_of_runs(plan: Plan, collection: Collection) -> float:
    """How long `RUNS` simulated runs of each task take, from as many as take long enough to be timed."""
    player, n_runs, taken = Player("plan", follow, plan, {}), 1, 0.0
    simulate(collection, [player], horizon=HORIZON, runs=1, rounds=[HORIZON])  # compiled and warm
    while taken < LONG_ENOUGH and n_runs < RUNS:
        n_runs *= 4
        start = time.process_time()
        simulate(collection, [player], horizon=HORIZON, runs=n_runs, rounds=[HORIZON])
        taken = time.process_time() - start
    return taken / n_runs * RUNS


def main() -> int:
    small, middle, large, huge = hard(5, 10, 0.4, 0.01), rand(10, 20, 0.4), rand(40, 40, 0.4), rand(100, 50, 0.4)
    plans = [
        ("tree, hard-5-10", build_tree(small, HORIZON, 0.4), small),
        ("tree, rand-10-20", build_tree(middle, HORIZON, 0.4), middle),
        ("tree, rand-40-40", build_tree(large, HORIZON, 0.4), large),
        ("scores, M = 40", score_plan(large, 120, False), large),
        ("scores, M = 40, links back", score_plan(large, 120, True), large),
        ("protocol, M = 40", protocol(large, 60, None), large),
        ("protocol, M = 40, rule", protocol(large, 60, SafetyRule((-3, 1), 12)), large),
        ("protocol, M = 40, capped", protocol(large, 60, SafetyRule((-3, 1), 12, cap=20)), large),
        ("protocol, M = 100, rule", protocol(huge, 200, SafetyRule((-3, 1), 12)), huge),
    ]
    print(
        f"{'plan':28} {'boxes':>5} {'outcomes':>9} {'bound':>9} {'certify':>9} {'unlucky':>9} "
        f"{'10^4 runs':>10} {'runs/certify':>12}"
    )
    broken = False
    for name, plan, collection in plans:
        outcomes = best_time(lambda p=plan, c=collection: box_outcomes(p, c))
        bound = best_time(lambda p=plan, c=collection: regret_bound(p, c))
        exact = best_time(lambda p=plan, c=collection: certify(p, c), repeats=1)
        unlucky = best_time(certify(plan, collection).find_unlucky, repeats=1)
        runs = time_of_runs(plan, collection)
        print(
            f"{name:28} {plan.n_boxes:5} {outcomes * 1e3:6.2f} ms {bound * 1e3:6.2f} ms {exact * 1e3:6.1f} ms "
            f"{unlucky * 1e3:6.1f} ms "
            f"{runs:8.2f} s {runs / exact:12.0f}"
        )
        broken |= name.startswith("protocol") and exact > runs / 5
        broken |= exact > 0.1 and bound > exact / 10
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
