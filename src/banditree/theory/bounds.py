"""Sample sizes and regret bounds, one function per statement of the paper."""

import math

from banditree.errors import InvalidInput, invalid


def dt_ece_samples(*, horizon: int, depth: int, separation: float, variance: float = 0.25, radius: float = 0.0) -> int:
    """N_cls of DT-ECE (Algorithm 6): pulls per test that keep the chance of a wrong class at most 1/(2H).

    N_cls = ceil(2 s^2 log(2HD) / (w/2 - rho)^2), NOTES 4: one-sided, fresh samples at each level, union over the
    at most D tests of a path. A known collection of rewards in [0, 1] gives the printed 2 log(2HD)/lambda^2.

    horizon: H. depth: D, the most tests on a path. separation: w, the band the tree was built with.
    variance: s^2, the sub-Gaussian variance of one reward. radius: rho, how far a mean may be from the truth.

    >>> dt_ece_samples(horizon=4000, depth=3, separation=0.4)
    127
    """
    if horizon < 1:
        raise invalid("horizon", "at least 1", horizon)
    if depth < 1:
        raise invalid("depth", "at least 1", depth)
    margin = separation / 2 - radius
    if not margin > 0:
        raise InvalidInput(
            f"The means are known to within {radius:.4g}, and tests {separation:.4g} apart need less than "
            f"{separation / 2:.4g}. Collect more data, or merge tasks so that the separation grows."
        )
    return max(1, math.ceil(2 * variance * math.log(2 * horizon * depth) / margin**2))


def ece_samples(*, n_tasks: int, separation: float, failure_probability: float, slack: float | None = None) -> int:
    """N_cls of ECE (Algorithm 1): samples per test after which no survivor is separated from the truth.

    N_cls = ceil((slack + 2 beta) / (2 lambda^2)), beta = log(M T / delta) with T = M - 1 tests (NOTES 5).

    n_tasks: M. separation: lambda in the Hellinger sense (NOTES 1). failure_probability: delta.
    slack: of Algorithm 2; the printed 3 log(M / delta) when left out.

    >>> ece_samples(n_tasks=5, separation=0.289, failure_probability=1e-4)
    341
    """
    if n_tasks < 2:
        raise invalid("n_tasks", "at least 2", n_tasks)
    if not 0 < separation <= 1:
        raise invalid("separation", "a Hellinger distance, above 0 and at most 1", separation)
    if not 0 < failure_probability <= 1:
        raise invalid("failure_probability", "above 0 and at most 1", failure_probability)
    beta = math.log(n_tasks * (n_tasks - 1) / failure_probability)
    printed = 3 * math.log(n_tasks / failure_probability)
    return max(1, math.ceil(((printed if slack is None else slack) + 2 * beta) / (2 * separation**2)))
