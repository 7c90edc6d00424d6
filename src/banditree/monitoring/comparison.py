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
from banditree.monitoring.summary import Between
from banditree.tasks.arrays import FloatArray
from banditree.training.intervals import widening

IDLE = 90.0  # A case without a report for so many days counts as over, so that nobody waits for it.
FEWEST = 20  # The normal limit needs so many cases of each plan: with 2, one look in eight errs at worst.


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

    The interval of the difference holds at every look. old_cases, new_cases: those compared. ended_early: cases that
    ended before they had so many rounds. behind: cases that have had them, and wait for one that began earlier.
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
    old: Cases, new: Cases, rounds: int, failure_probability: float = 0.05, idle: float = IDLE
) -> Comparison:
    """The comparison of two plans on cases that were split between them at random.

    All cases with `rounds` known outcomes count, whatever happened to them, overridden rounds included: the split
    decides which plan a case is given, not whether it is followed (intention to treat). A case without a report for
    `idle` days is over; see `compare_cases`.
    """
    if rounds < 1:
        raise invalid("rounds", "at least 1", rounds)
    today = max((float(np.nanmax(one.at, initial=-math.inf)) for one in (old, new)), default=-math.inf)
    cases = [*_followed(old, rounds, today - idle, is_new=False), *_followed(new, rounds, today - idle, is_new=True)]
    return compare_cases(cases, rounds, failure_probability)


def compare_cases(cases: Iterable[Followed], rounds: int, failure_probability: float = 0.05) -> Comparison:
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
    found = compare_totals(old, new, rounds, failure_probability)
    return replace(
        found,
        ended_early=sum(one.total is None for one in counted),
        behind=sum(one.total is not None for one in ordered[first_running:]),
    )


def compare_totals(first: FloatArray, second: FloatArray, rounds: int, failure_probability: float = 0.05) -> Comparison:
    """The same from the reward that each counted case of the old plan and of the new one had in so many rounds."""
    n = min(len(first), len(second))
    if n < FEWEST:
        raise InvalidInput(
            f"Fewer than {FEWEST} cases of one of the plans have had {rounds:,} outcomes, counted in the order in "
            "which they began up to the first that is still running. Wait, close cases that have ended, or compare "
            "fewer rounds, as in rounds=20."
        )
    means = float(first.mean()), float(second.mean())
    error = math.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    reach, more = widening(len(first) + len(second), failure_probability) * error, means[1] - means[0]
    return Comparison(rounds, *means, Between(more, more - reach, more + reach), len(first), len(second))


def _followed(observed: Cases, rounds: int, idle_since: float, *, is_new: bool) -> Iterator[Followed]:
    for u, (begin, end) in enumerate(pairwise(observed.first.tolist())):
        rewards, last = observed.reward[begin:end], float(np.nanmax(observed.at[begin:end], initial=-math.inf))
        known = rewards[~np.isnan(rewards)]
        total = float(known[:rounds].sum()) if len(known) >= rounds else None
        last = max(last, float(observed.began[u]))
        yield Followed(float(observed.began[u]), is_new, total, over=last < idle_since)
