"""Intervals that may be looked at every day, for any number of cases and however rare the outcomes are.

Somebody who believes that a mean is m bets against whoever believes in more: after every case x the wealth is
multiplied with 1 + bet (x - m), which is never negative for x in a known range if the bet is small enough. If m is the
mean the wealth is a martingale that starts at 1, so it ever reaches 1/level with a chance of at most `level` (Ville
1939). The interval has every m against which the wealth is still below that (Waudby-Smith and Ramdas 2024). The wealth
is divided over bets of all sizes at the start: the order of the cases does not matter, and no bet has to be chosen.
"""

import math
from collections.abc import Callable

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.training.intervals import widening

BETS = 0.5 ** (np.arange(20) / 2)  # Parts of the largest possible bet, down to 1/724: right for up to 100,000 cases.
ON_EACH = 1 / 8  # This part of the wealth bets on the plans one by one, which excludes means that fit neither.
CLOSE = 1e-6  # Ends of intervals are found this closely, as a part of the range, and moved outwards by it.
LEAST = 1e-300  # What is left of a lost bet, so that its logarithm is a number.

Values = tuple[FloatArray, FloatArray]  # The different values in [0, 1], and how many cases had each.


def mean_sequence(
    values: FloatArray, low: float, high: float, failure_probability: float = 0.05
) -> tuple[float, float, float]:
    """The mean of independent values in [low, high] and its interval, which holds at every look.

    >>> [round(end, 3) for end in mean_sequence(np.array([0.0] * 18 + [1.0] * 2), 0, 1)]
    [0.1, 0.003, 0.468]
    """
    return ratio_sequence(values, np.ones(len(values)), low, high, 1.0, failure_probability)


def ratio_sequence(
    total: FloatArray, rounds: FloatArray, low: float, high: float, most: float, failure_probability: float = 0.05
) -> tuple[float, float, float]:
    """Total over rounds, both by case, and its interval, which holds at every look.

    A round adds between low and high to a total, and a case has at most `most` rounds. Without a range the interval is
    that of a normal limit. Below two cases it is infinite.
    """
    used = rounds > 0
    if not used.any():
        return float("nan"), -math.inf, math.inf
    total, rounds = total[used], rounds[used]
    value = float(total.sum() / rounds.sum())
    if len(total) < 2:
        return value, -math.inf, math.inf
    if not math.isfinite(high - low):
        reach = _normal_reach((total - value * rounds) / rounds.mean(), failure_probability)
        return value, value - reach, value + reach
    width = high - low
    above, below = total / width - low / width * rounds, high / width * rounds - total / width
    least, greatest = (_least_ratio(one, rounds, most, failure_probability) for one in (above, below))
    return value, low + width * least, high - width * greatest


def difference_sequence(
    old: FloatArray, new: FloatArray, low: float, high: float, share: float, failure_probability: float = 0.05
) -> tuple[float, float, float]:
    """The mean of `new` less that of `old` and its interval, which holds at every look.

    Values in [low, high] of cases of which a share was given the new plan. The interval is narrowest if the share is
    right, and holds for any. Without a range it is that of a normal limit.

    >>> ten_percent, none = np.repeat([1.0, 0.0], [18, 162]), np.zeros(20)
    >>> [round(end, 2) for end in difference_sequence(ten_percent, none, 0, 1, share=0.1)]
    [-0.1, -0.2, 0.19]
    """
    more = float(new.mean() - old.mean())
    width = high - low
    if not math.isfinite(width):
        error = math.sqrt(old.var(ddof=1) / len(old) + new.var(ddof=1) / len(new))
        reach = widening(len(old) + len(new), failure_probability) * error
        return more, more - reach, more + reach
    sides = ((old - low, new - low), (high - old, high - new))
    least, greatest = (
        _least_difference(_counted(one / width), _counted(two / width), share, failure_probability)
        for one, two in sides
    )
    return more, width * least, -width * greatest


def least_evidence(old: Values, new: Values, share: float, difference: float) -> float:
    """The log of the wealth of a bet on more than this difference, at the mean of the old plan where it is least."""
    from scipy.optimize import minimize_scalar  # a quarter of a second, which every process of jobs would take

    ends = max(0.0, -difference), min(1.0, 1.0 - difference)
    means = np.array([np.average(old[0], weights=old[1]), np.average(new[0], weights=new[1]) - difference])
    near = np.clip([*means, means @ (1 - share, share)], *ends)
    places = np.sin(np.linspace(0, np.pi / 2, 41)) ** 4
    tried = np.unique([*near, *np.interp([*places, *(1 - places)], (0, 1), ends)])
    found = evidence(old, new, share, tried, difference)
    best = int(found.argmin())
    around = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    lowest = minimize_scalar(
        lambda mean: float(evidence(old, new, share, np.array([mean]), difference)[0]), bounds=around, method="bounded"
    )
    return min(float(found[best]), float(lowest.fun))


def evidence(old: Values, new: Values, share: float, means: FloatArray, difference: float) -> FloatArray:
    """The log of the wealth of a bet on more than this difference, for each mean (G,) that the old plan may have.

    Most of the wealth bets on the difference: for the new plan and, with as much at stake, against the old one. Numbers
    of cases (V, L) at several looks give the wealth (G, L) at each.
    """
    new_means = means + difference
    gain_old, gain_new = old[0] - means[:, None], new[0] - new_means[:, None]
    largest = np.minimum(share / np.maximum(new_means, LEAST), (1 - share) / np.maximum(1 - means, LEAST))
    bets = largest[:, None] * BETS
    both = _log_wealth(gain_new, bets / share, new[1]) + _log_wealth(gain_old, -bets / (1 - share), old[1])
    each = _log_mean(_either_way(gain_old, means, old[1])) + _log_mean(_either_way(gain_new, new_means, new[1]))
    return np.logaddexp(math.log(1 - ON_EACH) + _log_mean(both), math.log(ON_EACH) + each)


def rare_events(n_cases: int, n_events: int, at_most: float) -> float:
    """The log of an e-process against "a case has the event with a chance of at most `at_most`".

    A mean of likelihood ratios towards higher chances. It only grows while a case is going on, so that it is below
    what it will be when all cases are over, whose expectation is at most 1.

    >>> round(float(np.exp(rare_events(20, 8, 0.05)))), rare_events(20, 1, 0.05) < 0
    (21506, True)
    """
    higher = at_most + (1 - at_most) * np.array([0.05, 0.1, 0.2, 0.4])
    logs = n_events * np.log(higher / at_most) + (n_cases - n_events) * np.log((1 - higher) / (1 - at_most))
    return float(np.logaddexp.reduce(logs) - math.log(len(higher)))


def _log_wealth(gain: FloatArray, bets: FloatArray, count: FloatArray) -> FloatArray:
    """The log of the wealth (G, B, ...) of each bet (G, B) after gains (G, V) that came `count` (V, ...) times."""
    return np.asarray(np.log(np.maximum(1 + bets[:, :, None] * gain[:, None, :], LEAST)) @ count)


def _either_way(gain: FloatArray, means: FloatArray, count: FloatArray) -> FloatArray:
    more, less = 1 / np.maximum(means, LEAST), -1 / np.maximum(1 - means, LEAST)
    return _log_wealth(gain, np.concatenate([more[:, None] * BETS, less[:, None] * BETS], axis=1), count)


def _log_mean(logs: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(logs, axis=1) - math.log(logs.shape[1]))


def _least_difference(old: Values, new: Values, share: float, failure_probability: float) -> float:
    seen = float(np.average(new[0], weights=new[1]) - np.average(old[0], weights=old[1]))
    return _last_excluded(lambda one: least_evidence(old, new, share, one), -1.0, seen, failure_probability)


def _least_ratio(total: FloatArray, rounds: FloatArray, most: float, failure_probability: float) -> float:
    def found(ratio: float) -> float:
        gain = (total - ratio * rounds)[None]
        return float(_log_mean(_log_wealth(gain, BETS[None] / max(ratio * most, LEAST), np.ones(len(total))))[0])

    return _last_excluded(found, 0.0, float(total.sum() / rounds.sum()), failure_probability)


def _last_excluded(log_wealth: Callable[[float], float], low: float, high: float, failure_probability: float) -> float:
    """The largest value known to be too low, or the lowest possible one: half the chance of failure is for each end."""
    from scipy.optimize import brentq

    enough = math.log(2 / failure_probability)
    if high - low <= CLOSE or log_wealth(low + CLOSE) < enough:
        return low
    return float(brentq(lambda value: log_wealth(value) - enough, low + CLOSE, high, xtol=CLOSE)) - CLOSE


def _counted(values: FloatArray) -> Values:
    found, count = np.unique(values, return_counts=True)
    return found, count.astype(float)


def _normal_reach(values: FloatArray, failure_probability: float) -> float:
    return widening(len(values), failure_probability) * float(values.std(ddof=1)) / math.sqrt(len(values))
