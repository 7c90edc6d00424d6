"""How often monitoring raises a false alarm in a year of daily looks, and how soon it notices what has changed.

python benchmarks/bench_monitor.py [--worlds 400] [--cases 300] [--rounds 30] [--every 1]

Every world is a year of cases that follow one plan of three kinds and three options. In the worlds without a change
the true rates are the plan's, or anywhere within its margins, or the shares of the kinds go up and down with the
seasons: at most 5% of them may have an alarm. In the others the rate of option A falls on day 120.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from banditree import ByOutcome, Give, Line, Score, make_plan
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.tasks.collection import Collection

RATES = np.array([[0.8, 0.4, 0.3], [0.3, 0.75, 0.35], [0.35, 0.3, 0.8]])
SHARES = np.array([0.5, 0.3, 0.2])
CHANGE = 120.0  # the day of the change


class Setting(NamedTuple):
    """margin: of every rate in the collection; the truth is anywhere within it. spread: of cases within a kind.
    fall: of the rate of option A. seasons: the shares of the kinds go up and down."""

    name: str
    margin: float = 0.0
    spread: float = 0.0
    fall: float = 0.0
    seasons: bool = False


QUIET = (
    Setting("rates as the plan has them"),
    Setting("rates anywhere within 0.03", margin=0.03),
    Setting("cases vary by 0.08 within kinds", spread=0.08),
    Setting("shares change with the seasons", seasons=True),
)
CHANGED = tuple(
    Setting(f"A falls by {fall}, margins {margin}", margin=margin, fall=fall)
    for margin in (0.0, 0.03)
    for fall in (0.1, 0.2, 0.3)
)


def collections(setting: Setting, world: int) -> tuple[Collection, Collection]:
    """What the plan knows, and what is true."""
    rng = np.random.default_rng([world, 1])
    spread = np.full(RATES.shape, setting.spread) if setting.spread else None
    off = setting.margin * rng.uniform(-1, 1, RATES.shape)
    known = Collection.bernoulli(RATES, arms=list("ABC"), radius=setting.margin, spread=spread)
    return known, Collection.bernoulli(RATES + off, arms=list("ABC"), shares=SHARES, spread=spread)


def plan_for(known: Collection, rounds: int):
    """C for a while, then A, then B: a plan in which scores decide."""
    a, b, c = Give("A"), Give("B"), Give("C")
    lines = [
        Line(c, Score(ByOutcome((-3, 1)), floor=1, ceil=2), below=2, above=Line(c)),
        Line(a, Score(ByOutcome((-3, 2)), floor=3, ceil=12), below=Line(b), above=Line(a)),
    ]
    return make_plan(lines, known, horizon=rounds)


def drift(fall: float, days: np.ndarray) -> np.ndarray:
    """The fall of option A."""
    return np.stack([-fall * (days > CHANGE), 0 * days, 0 * days], axis=-1)


def one_world(setting: Setting, cases: int, rounds: int, every: float, world: int) -> tuple[float | None, bool]:
    """The day of the first alarm, if any, and whether it named what has changed."""
    known, truth = collections(setting, world)
    plan = plan_for(known, rounds)
    fall = partial(drift, setting.fall) if setting.fall else None
    seen = simulate_cases(plan, truth, cases, rounds=rounds, drift=fall, seed=world)
    if setting.seasons:
        seen = seasonal(plan, truth, cases, rounds, world)
    found = monitor(plan, known, seen, every=every, until=365.0)
    if not found.alarms:
        return None, False
    first = min(found.alarms, key=lambda alarm: alarm.noticed)
    named = first.test is not None and first.test.arm == 0 and first.test.direction < 0
    return first.noticed, named


def seasonal(plan, truth: Collection, cases: int, rounds: int, world: int):
    """Cases whose kinds come more often in some months than in others: thinned from more cases of equal shares."""
    from dataclasses import replace

    from banditree.cases.table import Cases, only_cases

    rng = np.random.default_rng([world, 2])
    seen = []
    for kind in range(truth.n_tasks):
        only = replace(truth, shares=np.eye(truth.n_tasks)[kind])
        drawn = simulate_cases(plan, only, cases, rounds=rounds, seed=world * 10 + kind)
        chance = SHARES[kind] * (1 + 0.9 * np.sin(2 * np.pi * drawn.began / 365 + 2 * kind))
        seen.append(only_cases(drawn, np.flatnonzero(rng.random(cases) < chance)))
    began = np.concatenate([one.began for one in seen])
    order = np.argsort(began)
    rows = {name: np.concatenate([getattr(one, name) for one in seen]) for name in ("arm", "outcomes", "at", "box")}
    picked = np.concatenate([np.arange(u * rounds, (u + 1) * rounds) for u in order])
    rows = {name: values[picked] for name, values in rows.items()}
    names = tuple(f"case {u}" for u in range(len(order)))
    first = np.arange(len(order) + 1) * rounds
    return Cases(names, truth.arms, first, began=began[order], **rows)


def main() -> None:
    """Print a line per setting."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--worlds", type=int, default=400)
    options.add_argument("--changed-worlds", type=int, default=100)
    options.add_argument("--cases", type=int, default=300)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--every", type=float, default=1.0)
    options.add_argument("--processes", type=int, default=None)
    given = options.parse_args()
    print(f"{given.cases} cases of {given.rounds} rounds in a year, a look every {given.every:g} days")
    with ProcessPoolExecutor(given.processes) as pool:
        for setting in (*QUIET, *CHANGED):
            begin, n = time.perf_counter(), given.changed_worlds if setting.fall else given.worlds
            play = partial(one_world, setting, given.cases, given.rounds, given.every)
            found = list(pool.map(play, range(n)))
            days = np.array([day for day, _named in found if day is not None])
            late = days[days > CHANGE] if setting.fall else days
            most = beta.ppf(0.975, len(days) + 1, n - len(days)) if len(days) < n else 1.0
            text = f"{setting.name}: alarms in {len(days)} of {n} years (at most {most:.1%} with 97.5% confidence)"
            if setting.fall:
                early = int((days <= CHANGE).sum())
                text += f", {early} of them before"
            if setting.fall and len(late):
                median, most_days = np.quantile(late - CHANGE, [0.5, 0.9])
                named = np.mean([named for day, named in found if day is not None])
                text += f"; noticed after {median:.0f} days (median), {most_days:.0f} (90%)"
                text += f"; the first alarm names A in {named:.0%}"
            print(f"{text}  [{time.perf_counter() - begin:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
