"""Two plans side by side: new cases are split between them at random, and the comparison may be looked at every day."""

import math
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.monitoring.observed import Observed, of_cases
from banditree.monitoring.summary import Between
from banditree.tasks.arrays import FloatArray
from banditree.training.intervals import widening


def goes_to_new(case: str, seed: int, share: float = 0.5) -> bool:
    """Whether a case is given the new plan: by chance, and the same whenever it is asked with the recorded seed.

    >>> [goes_to_new(f"p-{number}", seed=7) for number in range(1, 6)]
    [False, True, True, True, True]
    """
    if not 0 <= share <= 1:
        raise invalid("share", "between 0 and 1", share)
    return int.from_bytes(sha256(f"{seed}:{case}".encode()).digest()[:8]) < share * 2.0**64


def split_cases(observed: Observed, seed: int, share: float, *, is_new: bool) -> tuple[Observed, int]:
    """The cases of a plan that the seed gave it, and how many followed it although the seed says the other plan."""
    mine = np.array([goes_to_new(case, seed, share) is is_new for case in observed.cases], bool)
    return of_cases(observed, np.flatnonzero(mine)), int((~mine).sum())


@dataclass(frozen=True)
class Comparison:
    """Reward over the first `rounds` rounds of a case: the means of both plans, and by how much the new one gives more.

    The interval of the difference holds at every look. old_cases, new_cases: that have had so many rounds.
    """

    rounds: int
    old: float
    new: float
    difference: Between
    old_cases: int
    new_cases: int


def compare_plans(old: Observed, new: Observed, rounds: int, failure_probability: float = 0.05) -> Comparison:
    """The comparison of two plans on cases that were split between them by chance.

    Counted are cases with `rounds` known outcomes, whatever happened to them: overridden rounds too, as the split
    decides about the plan and not about who follows it (by intention to treat).
    """
    if rounds < 1:
        raise invalid("rounds", "at least 1", rounds)
    return compare_totals(totals(old, rounds), totals(new, rounds), rounds, failure_probability)


def compare_totals(first: FloatArray, second: FloatArray, rounds: int, failure_probability: float = 0.05) -> Comparison:
    """The same from the reward that each case of the old plan and of the new one had in so many rounds."""
    n = min(len(first), len(second))
    if n < 2:
        raise InvalidInput(
            f"Fewer than 2 cases of one of the plans have {rounds} outcomes. Wait, or compare fewer rounds."
        )
    means = float(first.mean()), float(second.mean())
    error = math.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    reach, more = widening(len(first) + len(second), failure_probability) * error, means[1] - means[0]
    return Comparison(rounds, *means, Between(more, more - reach, more + reach), len(first), len(second))


def totals(observed: Observed, rounds: int) -> FloatArray:
    """The reward of the first rounds of every case that has had so many with known outcomes."""
    found = []
    for begin, end in zip(observed.first[:-1].tolist(), observed.first[1:].tolist(), strict=True):
        rewards = observed.reward[begin:end]
        rewards = rewards[~np.isnan(rewards)]
        if len(rewards) >= rounds:
            found.append(float(rewards[:rounds].sum()))
    return np.array(found)
