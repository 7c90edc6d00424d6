"""How often `fit` says "follow the plan" on logs made in many ways, and how often its intervals hold the truth.

The worlds are those of tests/null_worlds.py: one option best for everyone, and two kinds. Printed for each: logs on
which it said so; of the plans that truly gain .05 or more, how many it said so of; how many intervals of the gain held
the truth, of the plans it made and of one fixed plan. The truth is the replay of 6,000 cases with every outcome.

Run: python benchmarks/bench_verdicts.py [--logs 40] [--worlds random,drift] [--workers 16]
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

HORIZON, TRUTH_CASES, WORTH_WHILE = 10, 6_000, 0.05
NULL = "random,sticky 1,sticky 2,sticky 5,sticky 20,parallel,few,severity by round,severity by kind,drift,calendar"
TOLD = "severity by round; propensities,severity by kind; propensities,severity by round; seen,severity by kind; seen"
GAINING = f"random,sticky 5,sticky 20,severity by kind,drift,calendar,{TOLD}"


def fixed_plan() -> Any:
    """A until it fails twice more than half as often as it succeeds, then B, watched by a rule."""
    from banditree import ByOutcome, Collection, Give, Line, Score, make_plan
    from banditree.plans.plan import SafetyRule

    two = Collection.bernoulli([[0.75, 0.35], [0.35, 0.75]], arms=["A", "B"])
    count = Score(ByOutcome((-2, 1)), floor=2, ceil=2)
    lines = [Line(Give("A"), count, below=Line(Give("B")), above=Line(Give("A")))]
    return make_plan(lines, two, horizon=HORIZON, rule=SafetyRule((-2, 1), 3))


@cache
def everything(world: str, kinds: bool) -> Any:
    """The world with every outcome."""
    from null_worlds import null_world

    return null_world(world, 9_999, kinds=kinds, n_cases=TRUTH_CASES, full=True)


def true_gain(world: str, kinds: bool, plan: Any, single: str) -> float:
    """What the plan truly gives above the single option."""
    from banditree.evaluation.replay import replay
    from banditree.evaluation.singles import replay_single

    cases = everything(world, kinds)
    mine, other = replay(plan, cases, HORIZON), replay_single(cases, cases.arms.index(single), HORIZON)
    return float((mine.total.sum() - other.total.sum()) / mine.rounds.sum())


def judged(job: tuple[str, bool, int]) -> dict[str, Any]:
    """One log: what was said of it, and what is true."""
    from null_worlds import null_world

    from banditree.evaluation.evaluate import evaluate
    from banditree.evaluation.fit import fit
    from banditree.reports.fit import verdict

    world, kinds, seed = job
    world = world.replace(";", ",")
    log, said = null_world(world, seed, kinds=kinds), {"job": job}
    fixed = evaluate(fixed_plan(), log, runs=1, single="B")
    if not fixed.refusal:
        said["fixed"] = _holds(fixed.rows[1].gain, true_gain(world, kinds, fixed_plan(), "B"))
    try:
        found = fit(log, HORIZON, kinds=(2,), lines=(1, 2), seed=seed)
    except ValueError:
        return {**said, "follow": False, "refused": True}
    about = {"follow": "follow the" in verdict(found)[0], "refused": "cannot show" in verdict(found)[0]}
    if (found.plan.n_tests or found.plan.features) and not found.evaluation.refusal:
        gain = true_gain(world, kinds, found.plan, found.single)
        about |= {"gain": gain, "own": _holds(found.evaluation.rows[1].gain, gain)}
        about["selection"] = found.evaluation.selection
    return {**said, **about}


def _holds(gain: Any, truth: float) -> bool:
    return bool(gain.low <= truth <= gain.high)


def row(name: str, kinds: bool, said: list[dict[str, Any]]) -> str:
    """One line of the table."""
    follow, worth = sum(one["follow"] for one in said), [one for one in said if one.get("gain", 0) >= WORTH_WHILE]
    found = sum(one["follow"] for one in worth)
    held = [f"{sum(known)}/{len(known)}" for known in ([o[key] for o in said if key in o] for key in ("own", "fixed"))]
    strong = sorted(one["selection"] for one in said if one.get("selection"))
    middle = f"{strong[len(strong) // 2]:.2f}" if strong else ""
    world = f"{name}{', two kinds' if kinds else ''}"
    cells = [f"{follow}/{len(said)}", f"{found}/{len(worth)}", f"{sum(one['refused'] for one in said)}", *held, middle]
    return f"{world:44}" + "".join(f"{cell:>14}" for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first log")
    parser.add_argument("--worlds", help="by default all")
    parser.add_argument("--workers", type=int, default=16)
    given = parser.parse_args()
    worlds = [(name, False) for name in (given.worlds or f"{NULL},{TOLD}").split(",")]
    worlds += [(name, True) for name in GAINING.split(",") if given.worlds is None or name in given.worlds.split(",")]
    jobs = [(name, kinds, seed) for seed in range(given.first, given.first + given.logs) for name, kinds in worlds]
    head = ["follow", "of worthy", "refused", "own hold", "fixed holds", "Gamma"]
    print(f"{'world':44}" + "".join(f"{cell:>14}" for cell in head), flush=True)
    with ProcessPoolExecutor(given.workers) as pool:
        said = list(pool.map(judged, jobs))
    for name, kinds in worlds:
        print(row(name, kinds, [one for one in said if one["job"][:2] == (name, kinds)]), flush=True)


if __name__ == "__main__":
    main()
