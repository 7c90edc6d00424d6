"""Two plans side by side: new cases are split between them at random, and the comparison may be looked at every day."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from banditree.cases.table import Cases, only_cases
from banditree.errors import InvalidInput, invalid
from banditree.monitoring.sequences import difference_sequence
from banditree.monitoring.summary import Between
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards import BERNOULLI, Rewards

IDLE = 90.0  # A case without a report for this many days counts as over, so that nobody waits for it.
FEWEST = 20  # Rewards without a range need this many cases of each plan, for the normal limit; others need one.


def goes_to_new(case: str, seed: int, share: float = 0.5) -> bool:
    """Whether a case is given the new plan: at random, and always the same for a recorded seed and an id.

    >>> [goes_to_new(f"p-{number}", seed=7) for number in range(1, 6)]
    [False, True, True, True, True]
    """
    if not 0 <= share <= 1:
        raise invalid("share", "between 0 and 1", share)
    return int.from_bytes(sha256(f"{seed}:{case}".encode()).digest()[:8]) < share * 2.0**64


def split_cases(observed: Cases, seed: int, share: float, *, is_new: bool) -> tuple[Cases, int]:
    """The cases of a plan that the seed gave it, and how many followed it although the seed says the other plan."""
    mine = np.array([goes_to_new(case, seed, share) is is_new for case in observed.cases], bool)
    return only_cases(observed, np.flatnonzero(mine)), int((~mine).sum())


class Followed(NamedTuple):
    """A case of one of two plans. began: what orders cases. total: its reward, None as long as it has had fewer rounds.
    over: it will get no more."""

    began: float
    is_new: bool
    total: float | None
    over: bool


@dataclass(frozen=True)
class Comparison:
    """Reward over the first `rounds` rounds of a case: the means of both plans, and by how much the new one gives more.

    The interval of the difference holds at every look; for rewards without a range approximately. old_cases, new_cases:
    those compared. ended_early: cases that ended before they had this many rounds. behind: cases that have had them,
    and wait for one that began earlier.
    """

    rounds: int
    old: float
    new: float
    difference: Between
    old_cases: int
    new_cases: int
    ended_early: int = 0
    behind: int = 0


def compare_plans(
    old: Cases,
    new: Cases,
    rounds: int,
    failure_probability: float = 0.05,
    idle: float = IDLE,
    share: float = 0.5,
    rewards: Rewards = BERNOULLI,
) -> Comparison:
    """The comparison of two plans on cases that were split between them at random.

    All cases with `rounds` known outcomes count, whatever happened to them, overridden rounds included: the split
    decides which plan a case is given, not whether it is followed (intention to treat). A case without a report for
    `idle` days is over; see `compare_cases`. share: of the cases, for the new plan. rewards: those of the plans.
    """
    if rounds < 1:
        raise invalid("rounds", "at least 1", rounds)
    today = max((float(np.nanmax(one.at, initial=-math.inf)) for one in (old, new)), default=-math.inf)
    cases = [*_followed(old, rounds, today - idle, is_new=False), *_followed(new, rounds, today - idle, is_new=True)]
    return compare_cases(cases, rounds, failure_probability, share, rewards)


def compare_cases(
    cases: Iterable[Followed],
    rounds: int,
    failure_probability: float = 0.05,
    share: float = 0.5,
    rewards: Rewards = BERNOULLI,
) -> Comparison:
    """The comparison on cases in the order in which they began, up to the first that still has rounds to come.

    Cases that are done sooner may do better, and not under both plans alike. If each were counted as soon as it is
    done, every look would see too many of those. In the order in which they began, the first n cases are a fair sample
    for every n, and the interval holds for all n at once, whatever the number at a look depends on.
    """
    ordered = sorted(cases, key=lambda case: case.began)
    running = (number for number, case in enumerate(ordered) if case.total is None and not case.over)
    first_running = next(running, len(ordered))
    counted = ordered[:first_running]
    old, new = (
        np.array([one.total for one in counted if one.is_new is side and one.total is not None], float)
        for side in (False, True)
    )
    found = compare_totals(old, new, rounds, failure_probability, share, rewards)
    return replace(
        found,
        ended_early=sum(one.total is None for one in counted),
        behind=sum(one.total is not None for one in ordered[first_running:]),
    )


def compare_totals(
    first: FloatArray,
    second: FloatArray,
    rounds: int,
    failure_probability: float = 0.05,
    share: float = 0.5,
    rewards: Rewards = BERNOULLI,
) -> Comparison:
    """The same from the reward that each counted case of the old plan and of the new one had in this many rounds.

    >>> found = compare_totals(np.repeat([1.0, 0.0], [18, 162]), np.zeros(20), rounds=1, share=0.1).difference
    >>> round(found.low, 2), round(found.high, 2)
    (-0.2, 0.19)
    """
    fewest = 1 if rewards.has_range else FEWEST
    if min(len(first), len(second)) < fewest:
        raise InvalidInput(
            f"The comparison needs {fewest:,} or more cases of each plan with {rounds:,} outcomes. Got {len(first):,} "
            f"of the old plan and {len(second):,} of the new one, in the order in which they began up to the first "
            "that is still running. Wait, close cases that have ended, or compare fewer rounds, as in rounds=20."
        )
    if not 0 < share < 1:
        raise invalid("share", "above 0 and below 1", share)
    low, high = rounds * rewards.low, rounds * rewards.high
    first, second = (np.asarray(one, float).round(9) for one in (first, second))  # sums of many rewards are not exact
    if beyond := [one for side in (first, second) for one in side.tolist() if not low <= one <= high]:
        raise invalid("the total of a case", f"from {low:g} to {high:g} after {rounds:,} rounds", beyond[0])
    between = Between(*difference_sequence(first, second, low, high, share, failure_probability))
    return Comparison(rounds, float(first.mean()), float(second.mean()), between, len(first), len(second))


def _followed(observed: Cases, rounds: int, idle_since: float, *, is_new: bool) -> Iterator[Followed]:
    for u, (begin, end) in enumerate(pairwise(observed.first.tolist())):
        rewards, last = observed.reward[begin:end], float(np.nanmax(observed.at[begin:end], initial=-math.inf))
        known = rewards[~np.isnan(rewards)]
        total = float(known[:rounds].sum()) if len(known) >= rounds else None
        last = max(last, float(observed.began[u]))
        yield Followed(float(observed.began[u]), is_new, total, over=last < idle_since)
