"""Sample sizes and regret bounds, one function per statement of the paper, each with its parts and its reason.

Where the paper prints an order, the constants are those its proof gives once worked out again (NOTES 4, 5, 6, 10, 15).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from banditree.errors import InvalidInput, invalid
from banditree.training.simulators import lemma_samples, mean_samples

C_GAMMA = 1 / 48  # NOTES 15: the proof of Lemma 3.2 holds with this, c_lambda = 2.1 and epsilon <= 1/48.
C_LAMBDA = 2.1


@dataclass(frozen=True)
class Bound:
    """A number, what it is made of, and why; `conditions` that do not hold are named, and then it says nothing."""

    value: float
    parts: Mapping[str, float]
    reason: str
    broken: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether the statement's conditions are met."""
        return not self.broken


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
            f"The estimated means are within {radius:.4g}; to tell tasks {separation:.4g} apart they must be within "
            f"less than {separation / 2:.4g}. Collect more data, or merge tasks so that the separation grows."
        )
    return max(1, math.ceil(2 * variance * math.log(2 * horizon * depth) / margin**2))


def ece_samples(*, n_tasks: int, separation: float, failure_probability: float, slack: float | None = None) -> int:
    """N_cls of ECE (Algorithm 1): samples per test after which no survivor is separated from the truth.

    N_cls = ceil((slack + 2 beta) / (2 lambda^2)), beta = log(M T / delta) with T = M - 1 tests (NOTES 5).

    n_tasks: M. separation: lambda in the Hellinger sense (NOTES 1). failure_probability: delta.
    slack: of Algorithm 2; the printed 3 log(M / delta) by default. A slack of beta ("tight") proves a failure
    probability of 2 delta (M - 1)/M.

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


def ece_regret(
    *,
    n_tasks: int,
    horizon: int,
    coefficient: float,
    separation: float,
    failure_probability: float | None = None,
    largest_gap: float = 1.0,
) -> Bound:
    """Theorem 3.1: the regret of ECE is at most rounds x N_cls x largest gap + delta H x largest gap.

    On the good event each round keeps at most 1 - 1/C of the tasks, so fewer than two are left after
    floor(C ln(M/2)) + 1 rounds, and after M - 1 in any case (NOTES 5); printed: 2 C log(M/delta).

    coefficient: C of Eq. (2) in the Hellinger sense, infinity allowed. failure_probability: delta, 1/H by default.

    >>> ece_regret(n_tasks=5, horizon=4000, coefficient=4.0, separation=0.289).parts["rounds"]
    4
    """
    delta = 1 / horizon if failure_probability is None else failure_probability
    samples = ece_samples(n_tasks=n_tasks, separation=separation, failure_probability=delta)
    rounds = max(n_tasks - 1, 1)
    if math.isfinite(coefficient):
        rounds = min(rounds, math.floor(coefficient * math.log(n_tasks / 2)) + 1)
    classify, fail = rounds * samples * largest_gap, delta * horizon * largest_gap
    printed = 2 * coefficient * math.log(n_tasks / delta)
    parts = {
        "rounds": rounds,
        "rounds_printed": printed,
        "samples_per_round": samples,
        "classification": classify,
        "failure": fail,
    }
    return Bound(classify + fail, parts, "rounds x samples x gap while classifying, then delta H if the class is wrong")


def dec_threshold(*, separation: float, epsilon: float, randomised: float) -> Bound:
    """Lemma 3.2: up to the returned gamma = c_gamma C~/lambda^2, dec_gamma of `hard` is above 3 epsilon.

    The proof works with c_gamma = 1/48, c_lambda = 2.1, epsilon <= 1/48 and lambda <= 1/4 + 20 epsilon (NOTES 15).
    randomised: C~ of Eq. (3) over the telling arms.

    >>> round(dec_threshold(separation=0.24, epsilon=0.002, randomised=4.0).value, 3)
    1.447
    """
    _positive(separation=separation, epsilon=epsilon)
    conditions = {
        f"lambda^2 > {C_LAMBDA:g} epsilon C~": separation**2 > C_LAMBDA * epsilon * randomised,
        "epsilon <= 1/48": epsilon <= 1 / 48,
        "lambda <= 1/4 + 20 epsilon": separation <= 0.25 + 20 * epsilon,
    }
    broken = tuple(name for name, holds in conditions.items() if not holds)
    parts = {"c_gamma": C_GAMMA, "dec_above": 3 * epsilon}
    return Bound(C_GAMMA * randomised / separation**2, parts, "below this gamma the DEC is above 3 epsilon", broken)


def regret_lower_bound(*, horizon: int, separation: float, epsilon: float, randomised: float) -> Bound:
    """Theorem 3.3: with probability 1/H any algorithm on `hard` suffers the order of min(epsilon H, C~/lambda^2).

    An order only: the absolute constants of the theorem it rests on are not given, so none is put in here.

    >>> regret_lower_bound(horizon=4000, separation=0.24, epsilon=0.002, randomised=4.0).parts["epsilon_H"]
    8.0
    """
    threshold = dec_threshold(separation=separation, epsilon=epsilon, randomised=randomised)
    exploiting = epsilon * horizon
    parts = {"epsilon_H": exploiting, "classification": threshold.value}
    reason = "to the order: either nothing is found out and every round costs epsilon, or finding out costs C~/lambda^2"
    return Bound(min(exploiting, threshold.value), parts, reason, threshold.broken)


def unseparated_rate(*, n_tasks: int, horizon: int) -> Bound:
    """Theorem 2.1: without separation, some collection of M tasks costs every algorithm on the order of sqrt(M H).

    An order, without its constant, and about the worst collection: `limits.limit` is about yours.

    >>> round(unseparated_rate(n_tasks=10, horizon=10_000).value)
    316
    """
    _positive(n_tasks=n_tasks, horizon=horizon)
    reason = "on the order of sqrt(M H) for tasks that may be arbitrarily close; the constant is omitted"
    return Bound(math.sqrt(n_tasks * horizon), {"M": n_tasks, "H": horizon}, reason)


def estimation_samples(
    *,
    n_tasks: int,
    n_arms: int,
    horizon: int,
    separation: float,
    sigma: float,
    n_features: int = 1,
    smallest_gap: float = math.inf,
    printed: bool = False,
) -> Bound:
    """Lemma 4.1: N_est, samples per task and arm for means and parameters that keep the separation.

    Printed: 160 sigma^2 d log(4HMK)/min(Delta, lambda)^2 for an error of lambda/4; 160 needs d >= 2, d = 1 needs 240.
    lambda/4 leaves DT-ECE no margin, so unless `printed` the error is lambda/8: four times as many, and raw means need
    their own 128 (sigma^2 + 1/4) log(4HMK)/lambda^2, four times the 32 that lambda/4 takes (NOTES 4, 10).

    separation: lambda, mean sense. smallest_gap: Delta, the smallest positive gap (NOTES 13). n_features: d.

    >>> estimation_samples(n_tasks=5, n_arms=10, horizon=4000, separation=0.4, sigma=0.5, n_features=2).value
    27185
    """
    sizes = {"horizon": horizon, "n_tasks": n_tasks, "n_arms": n_arms}
    regression = lemma_samples(
        **sizes,
        n_features=n_features,
        sigma=sigma,
        separation=separation,
        gap=smallest_gap,
        share=4 if printed else 8,
        printed=printed,
    )
    means = 0 if printed else mean_samples(**sizes, variance=sigma**2 + 0.25, separation=separation, share=8)
    value = max(regression, means)
    parts = {"regression": regression, "means": means, "at_least": n_features}
    return Bound(value, parts, "least squares to within an eighth of the separation, and raw means to within the same")


def training_cost(
    *,
    n_tasks: int,
    n_arms: int,
    horizon: int,
    separation: float,
    sigma: float,
    n_features: int = 1,
    smallest_gap: float = math.inf,
    printed: bool = False,
) -> Bound:
    """Theorem 4.2: all samples of meta training, M K N_est, and the order of its computing time.

    >>> training_cost(n_tasks=5, n_arms=10, horizon=4000, separation=0.4, sigma=0.5, n_features=2).value
    1359250
    """
    each = estimation_samples(
        n_tasks=n_tasks,
        n_arms=n_arms,
        horizon=horizon,
        separation=separation,
        sigma=sigma,
        n_features=n_features,
        smallest_gap=smallest_gap,
        printed=printed,
    )
    time = n_features**3 * n_tasks**3 * n_arms / separation**4
    parts = {"samples_each": each.value, "time_order": time}
    return Bound(
        n_tasks * n_arms * each.value, parts, "every arm of every task is sampled N_est times; in Thm 4.2 T is H"
    )


def greedy_depth_bound(*, n_tasks: int, soft: float | None = None, optimal: int | None = None) -> Bound:
    """Lemma 4.3: the depth of the greedy tree is at most 1 + C_soft ln(M/2), and C_soft <= C* + 1 (NOTES 6).

    >>> greedy_depth_bound(n_tasks=40, soft=4.0).value, greedy_depth_bound(n_tasks=40, optimal=7).value
    (12, 24)
    """
    if soft is None and optimal is None:
        raise InvalidInput("Give the soft coefficient or the optimal depth, from which the bound follows.")
    coefficient = soft if soft is not None else float(optimal or 0) + 1
    bound = 1 + coefficient * math.log(n_tasks / 2)
    value = min(n_tasks - 1, math.floor(bound + 1e-9)) if math.isfinite(bound) else n_tasks - 1
    parts = {"coefficient": coefficient, "bound": bound, "at_most": float(n_tasks - 1)}
    return Bound(value, parts, "each test decides |S|/C_soft tasks on either side, and M - 1 tests are always enough")


def dt_ece_regret(
    *,
    horizon: int,
    depth: int,
    separation: float,
    variance: float = 0.25,
    radius: float = 0.0,
    largest_gap: float = 1.0,
    arm_loss: float = 0.0,
) -> Bound:
    """Theorem 4.4: the regret of DT-ECE is at most min(D N_cls, H) gaps, plus H times the chance of a wrong class.

    That chance is at most 1/(2H) by N_cls (NOTES 4), so it adds half the largest gap. The bound is broken where it is
    no better than the trivial one, H x largest gap.

    largest_gap, arm_loss: of estimated means, as large as the radii allow: the gap, and what the arm that looks best
    may lack in every round (0 where it is surely the best).

    >>> dt_ece_regret(horizon=4000, depth=3, separation=0.4).value
    381.5
    """
    samples = dt_ece_samples(horizon=horizon, depth=depth, separation=separation, variance=variance, radius=radius)
    classify = min(depth * samples, horizon) * largest_gap
    fail, mistaken = 0.5 * largest_gap, arm_loss * horizon
    value, trivial = classify + fail + mistaken, horizon * largest_gap
    parts = {
        "depth": depth,
        "samples_per_test": samples,
        "classification": classify,
        "failure": fail,
        "mistaken_arm": mistaken,
    }
    reason = "at most D tests of N_cls pulls each, then the best arm, except with a chance of 1/(2H)"
    return Bound(value, parts, reason, () if value < trivial else ("less than the largest gap in every round",))


def _positive(**given: float) -> None:
    for name, value in given.items():
        if not value > 0:
            raise invalid(name, "above 0", value)
