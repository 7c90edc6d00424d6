"""What choosing by `horizon_index` loses between a few arms of which something is known: by simulation, compiled."""

import math
from typing import Any

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray
from banditree.theory.horizon_index import horizon_index

_index: Any = njit(horizon_index)


def loss_of_choosing(
    means: FloatArray,
    rates: FloatArray,
    worth: float,
    horizon: int,
    *,
    sigma: float = 0.0,
    runs: int = 8,
    seed: int = 0,
) -> FloatArray:
    """About what is lost (S,) against the best of the arms over `horizon` rounds, each of `runs` runs simulated.

    means: (S, J), the truths, in [0, 1] for outcomes that are 0 or 1, or with noise of standard deviation `sigma`.
    rates (J,), worth: each arm counts as if it had been given `worth` times at that rate before the first round.

    >>> loss_of_choosing(np.array([[0.8, 0.5], [0.5, 0.8]]), np.array([0.8, 0.5]), 40, 1000).round(0).tolist()
    [0.0, 43.0]
    """
    means, rates = np.ascontiguousarray(means, float), np.ascontiguousarray(rates, float)
    return np.asarray(_losses(means, rates, float(worth), horizon, float(sigma), runs, np.random.default_rng(seed)))


@njit(cache=True, nogil=True)
def _one_run(
    means: FloatArray, rates: FloatArray, worth: float, horizon: int, sigma: float, rng: np.random.Generator
) -> float:
    # n and sums: of each arm, the rewards it counts for and their total, `worth` rewards at its rate to begin with.
    n, sums, best, lost = np.full(rates.size, worth), rates * worth, means.max(), 0.0
    for t in range(horizon):
        arm, highest = 0, -math.inf
        for k in range(rates.size):
            mean = sums[k] / n[k]
            value = _index(mean, sigma * sigma if sigma > 0.0 else max(mean * (1.0 - mean), 0.0), n[k], horizon - t)
            if value > highest:
                arm, highest = k, value
        lost += best - means[arm]
        n[arm] += 1.0
        if sigma > 0.0:
            sums[arm] += means[arm] + sigma * rng.normal()
        elif rng.random() < means[arm]:
            sums[arm] += 1.0
    return lost


@njit(cache=True, nogil=True)
def _losses(
    means: FloatArray,
    rates: FloatArray,
    worth: float,
    horizon: int,
    sigma: float,
    runs: int,
    rng: np.random.Generator,
) -> FloatArray:
    lost = np.zeros(means.shape[0])
    for s in range(means.shape[0]):
        for _ in range(runs):
            lost[s] += _one_run(means[s], rates, worth, horizon, sigma, rng) / runs
    return lost
