"""Whether studies of the size that `banditree design` names succeed as often as it promises.

Ten settings: rates, rounds, how options are given, and the chance that is promised. For each, that many simulated
studies of the size it names are judged; printed is the share that shows the plan to be better than one option.

Run: python benchmarks/bench_design.py [--studies 400] [--workers 16]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

CLOSE, FAR = ((0.65, 0.45), (0.45, 0.65)), ((0.75, 0.35), (0.35, 0.75))
THREE = ((0.6, 0.4, 0.3), (0.3, 0.6, 0.4), (0.4, 0.3, 0.6))
SETTINGS = [
    (FAR, 8, "random", None),
    (FAR, 20, "random", None),
    (FAR, 12, "crossover", None),
    (FAR, 10, "random", (0.3, 0.7)),
    (CLOSE, 12, "random", None),
    (CLOSE, 24, "random", None),
    (CLOSE, 24, "crossover", None),
    (THREE, 18, "random", None),
    (THREE, 18, "crossover", None),
    (THREE, 30, "random", (0.5, 0.3, 0.2)),
]


@cache
def designed(number: int) -> tuple[Any, Any, Any]:
    """The collection, the plan, and what `design` says of them."""
    from banditree import Collection, build_plan
    from banditree.evaluation.studies import design

    rates, rounds, give, shares = SETTINGS[number]
    collection = Collection.bernoulli(rates, shares=shares)
    plan = build_plan(collection, horizon=rounds, lines=2, steps=100)
    return collection, plan, design(plan, collection, give=give)


def shows(job: tuple[int, int]) -> bool:
    """Whether one study shows the plan to be better."""
    from banditree.evaluation.studies import judged_study, study_of

    number, seed = job
    collection, plan, found = designed(number)
    _, rounds, give, _ = SETTINGS[number]
    study = study_of(collection, give, found.plan.cases, rounds, 10_000 + seed)
    return bool(judged_study(plan, study, found.single, found.settings).rows[1].gain.low > 0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--workers", type=int, default=16)
    given = parser.parse_args()
    print(
        f"{'options':>8}{'rounds':>8}{'given':>12}{'gain':>8}{'cases':>8}{'kinds':>8}{'shown in':>10}  (80% promised)"
    )
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = [(number, seed) for number in range(len(SETTINGS)) for seed in range(given.studies)]
        shown = list(pool.map(shows, jobs, chunksize=25))
    for number, (rates, rounds, give, _) in enumerate(SETTINGS):
        found, own = designed(number)[2], shown[number * given.studies : (number + 1) * given.studies]
        cells = f"{len(rates[0]):>8}{rounds:>8}{give:>12}{found.gain:>8.3f}{found.plan.cases:>8}{found.kinds.cases:>8}"
        print(f"{cells}{sum(own) / len(own):>10.1%}", flush=True)


if __name__ == "__main__":
    main()
