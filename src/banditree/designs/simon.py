"""Simon's two stages: stop after the first where there are few successes, and judge all at the end of the second."""

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from banditree.designs.characteristics import Design
from banditree.designs.stages import Look, group_sequential
from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray


class Stages(NamedTuple):
    """ "r1 of n1, r of n": at most r1 successes in the first n1 rounds stop, at most r of all n do not convince."""

    first: tuple[int, int]
    both: tuple[int, int]


def simon(
    first: tuple[int, int],
    both: tuple[int, int],
    *,
    null: float,
    alternative: float,
    arm: str = "treatment",
    control: str = "control",
) -> Design:
    """Simon's design as it is printed, 1/10 and 5/29: (1, 10) and (5, 29).

    >>> simon((1, 10), (5, 29), null=0.1, alternative=0.3).plan.most_pulls
    29
    """
    (few, rounds), (all_few, all_rounds) = first, both
    looks = [Look(rounds, few), Look(all_rounds, all_few, all_few + 1)]
    return group_sequential(looks, null=null, alternative=alternative, arm=arm, control=control)


def find_simon(
    null: float, alternative: float, *, alpha: float = 0.05, power: float = 0.8, minimax: bool = False, most: int = 100
) -> Stages:
    """The design of fewest expected rounds under the null (or with `minimax` of fewest rounds at most) that keeps both
    error rates, by looking at all of them.

    >>> find_simon(0.1, 0.3)
    Stages(first=(1, 10), both=(5, 29))
    >>> find_simon(0.1, 0.3, minimax=True)
    Stages(first=(1, 15), both=(5, 25))
    """
    if not 0 < null < alternative < 1:
        raise invalid(
            "null and alternative", "rates between 0 and 1, the null below the alternative", (null, alternative)
        )
    if not (0 < alpha < 1 and 0 < power < 1):
        raise invalid("alpha and power", "chances between 0 and 1", (alpha, power))
    best: tuple[float, Stages] | None = None
    for n in range(2, most + 1):
        for first in range(1, n):
            if best is not None and first >= best[0]:
                break
            for expected, stages in _of_size(first, n, null, alternative, alpha, power):
                if best is None or expected < best[0]:
                    best = expected, stages
        if best is not None and minimax:
            break
    if best is None:
        raise InvalidInput(f"No design of at most {most} rounds keeps both error rates. Give a larger `most`.")
    return best[1]


def _of_size(
    first: int, n: int, null: float, alternative: float, alpha: float, power: float
) -> list[tuple[float, Stages]]:
    """(expected rounds under the null, design) of each number of successes at which the first stage stops."""
    successes = np.arange(first + 1)
    here = [binom.pmf(successes, first, rate) for rate in (null, alternative)]
    found = []
    for few in range(first):
        if here[1][: few + 1].sum() > 1 - power:
            break
        shown = [
            _shown(one[few + 1 :], few, first, n, rate) for one, rate in zip(here, (null, alternative), strict=True)
        ]
        enough = np.flatnonzero(shown[0] <= alpha)
        if enough.size and shown[1][enough[0]] >= power:
            expected = first + (n - first) * (1 - here[0][: few + 1].sum())
            found.append((float(expected), Stages((few, first), (int(enough[0]), n))))
    return found


def _shown(going_on: FloatArray, few: int, first: int, n: int, rate: float) -> FloatArray:
    """The chance of more than r successes in all (n+1,), for each r."""
    known, limits = np.arange(few + 1, first + 1), np.arange(n + 1)
    more = binom.sf(limits[:, None] - known[None, :], n - first, rate)
    return np.asarray(more @ going_on)
