"""The usual policies, which know nothing about the tasks: uniform play, UCB1, Thompson sampling, LinUCB, LinTS.

They take their subject's arms, rewards and features, and not its means. Ties are broken at random with the seed.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.plans.plan import Plan
from banditree.policies.base import Facts, Policy, Rng
from banditree.policies.model import CONTEXT_NEEDED, NO_ARM_AVAILABLE
from banditree.policies.options import take_options
from banditree.policies.random import normal, uniform, uniform_pair
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.trees.tree import LazyTree

Subject = Collection | Plan | LazyTree
TIES = 1_000_000  # The number of the draw that breaks ties, above those of the arms.


class ArmParams(NamedTuple):
    """K arms with rewards of sub-Gaussian variance s^2 in [low, low + width]; Gaussian rewards: low 0, width 1, and not
    in_range."""

    n_arms: int
    variance: float
    low: float
    width: float
    in_range: bool


class ArmState(NamedTuple):
    """Per arm (K,): how often it was pulled, and the sum of its rewards."""

    pulls: IntArray
    sums: FloatArray


def make_arms(subject: Subject, horizon: int, options: Mapping[str, Any]) -> ArmParams:
    """The arms and the scale of the rewards. No options."""
    take_options(options)
    rewards = subject.rewards
    low, width = (rewards.low, rewards.width) if rewards.has_range else (0.0, 1.0)
    return ArmParams(len(subject.arms), float(rewards.variance_proxy), float(low), float(width), rewards.has_range)


def make_bernoulli_ts(subject: Subject, horizon: int, options: Mapping[str, Any]) -> ArmParams:
    """The arms, unless their rewards have no range to count successes in."""
    params = make_arms(subject, horizon, options)
    if not subject.rewards.has_range:
        raise InvalidInput("bernoulli-ts needs rewards in a range, and these are Gaussian. Use gaussian-ts.")
    return params


def init_arms(params: ArmParams) -> ArmState:
    """Nothing pulled."""
    return ArmState(np.zeros(params.n_arms, np.int64), np.zeros(params.n_arms))


def update_arms(params: ArmParams, state: ArmState, context: FloatArray, arm: int, reward: float) -> None:
    """Count the pull and add up the reward."""
    state.pulls[arm] += 1
    state.sums[arm] += reward


def choose_uniform(params: ArmParams, state: ArmState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """Any available arm."""
    return pick_unpulled(state.pulls, available, rng, -1)


def pick_unpulled(pulls: IntArray, available: BoolArray, rng: Rng, wanted: int) -> int:
    """An available arm at random, of those with `wanted` pulls (any number if that is -1)."""
    count = 0
    for k in range(pulls.shape[0]):
        if available[k] and (wanted < 0 or pulls[k] == wanted):
            count += 1
    skip = int(uniform(rng, TIES) * count)
    for k in range(pulls.shape[0]):
        if available[k] and (wanted < 0 or pulls[k] == wanted):
            if skip == 0:
                return k
            skip -= 1
    return NO_ARM_AVAILABLE


def choose_ucb1(params: ArmParams, state: ArmState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The highest mean + sqrt(8 s^2 log t / n), which is + sqrt(2 log t / n) in [0, 1]; arms never pulled first."""
    arm = pick_unpulled(state.pulls, available, rng, 0)
    if arm >= 0:
        return arm
    total = 1
    for k in range(params.n_arms):
        total += state.pulls[k]
    bonus = 8.0 * params.variance * math.log(total)
    arm, highest, ties = NO_ARM_AVAILABLE, -math.inf, 0
    for k in range(params.n_arms):
        if available[k]:
            index = state.sums[k] / state.pulls[k] + math.sqrt(bonus / state.pulls[k])
            if index > highest:
                arm, highest, ties = k, index, 1
            elif index == highest:
                ties += 1
                if uniform(rng, TIES + ties) * ties < 1.0:
                    arm = k
    return arm


def choose_gaussian_ts(params: ArmParams, state: ArmState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The highest draw from N(mean, s^2/n); arms never pulled first."""
    arm = pick_unpulled(state.pulls, available, rng, 0)
    if arm >= 0:
        return arm
    highest = -math.inf
    for k in range(params.n_arms):
        if available[k]:
            first, second = uniform_pair(rng, k)
            spread = math.sqrt(params.variance / state.pulls[k])
            value = state.sums[k] / state.pulls[k] + spread * normal(first, second)
            if value > highest:
                arm, highest = k, value
    return arm


def choose_bernoulli_ts(params: ArmParams, state: ArmState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The highest draw from Beta(1 + successes, 1 + failures); a reward within a range counts as part of a success."""
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(params.n_arms):
        if available[k]:
            value = drawn_rate(params, state, k, rng)
            if value > highest:
                arm, highest = k, value
    return arm


def drawn_rate(params: ArmParams, state: ArmState, k: int, rng: Rng) -> float:
    """A draw from Beta(1 + successes, 1 + failures) of an arm."""
    successes = (state.sums[k] - params.low * state.pulls[k]) / params.width
    failures = max(state.pulls[k] - successes, 0.0)
    one = gamma_draw(1.0 + max(successes, 0.0), rng, 2 * k)
    other = gamma_draw(1.0 + failures, rng, 2 * k + 1)
    return one / (one + other)


def drawn_mean(params: ArmParams, state: ArmState, k: int, rng: Rng) -> float:
    """A draw of the mean of an arm, as its rewards are: beta, or normal, which is infinite for an arm never pulled."""
    if params.in_range:
        return drawn_rate(params, state, k, rng)
    if state.pulls[k] == 0:
        return math.inf
    first, second = uniform_pair(rng, k)
    spread = math.sqrt(params.variance / state.pulls[k])
    return float(state.sums[k] / state.pulls[k] + spread * normal(first, second))


def choose_thompson(params: ArmParams, state: ArmState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The highest draw of a mean, whatever the family of the rewards."""
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(params.n_arms):
        if available[k]:
            value = drawn_mean(params, state, k, rng)
            if value > highest:
                arm, highest = k, value
    return arm


def gamma_draw(shape: float, rng: Rng, draw: int) -> float:
    """A draw from Gamma(shape >= 1) by rejection (Marsaglia and Tsang 2000).

    Try number n uses the random numbers `draw` + 2^20 n; about one in 20 is rejected.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    attempt = 0
    while True:
        first, second = uniform_pair(rng, draw + ((2 * attempt) << 20))
        x = normal(first, second)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(rng, draw + ((2 * attempt + 1) << 20))
            if math.log(1.0 - u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v
        attempt += 1


def explain_arms(params: ArmParams, state: ArmState) -> Facts:
    """How often each arm was pulled, and its average reward."""
    averages = [float(total / n) if n else None for total, n in zip(state.sums, state.pulls, strict=True)]
    return Facts(exploiting=False, pulls=None, details={"pulls": state.pulls.tolist(), "averages": averages})


uniform_play = Policy("uniform", make_arms, init_arms, choose_uniform, update_arms, explain_arms)
ucb1 = Policy("ucb1", make_arms, init_arms, choose_ucb1, update_arms, explain_arms)
gaussian_ts = Policy("gaussian-ts", make_arms, init_arms, choose_gaussian_ts, update_arms, explain_arms)
thompson = Policy("thompson", make_arms, init_arms, choose_thompson, update_arms, explain_arms)
bernoulli_ts = Policy("bernoulli-ts", make_bernoulli_ts, init_arms, choose_bernoulli_ts, update_arms, explain_arms)


class LinearParams(NamedTuple):
    """K arms over contexts of n_given features; without any, the one feature 1. width: of the bonus, or of the draw.

    start: the variance that the entries of theta start with, in units of width^2.
    """

    n_arms: int
    n_given: int
    width: float
    start: float = 1.0


class LinearState(NamedTuple):
    """Ridge regression per arm: inverse (K, d, d) of I / start + sum xx', sums (K, d) of reward x.

    product (d,) is scratch."""

    inverse: FloatArray
    sums: FloatArray
    product: FloatArray


def make_linucb(subject: Subject, horizon: int, options: Mapping[str, Any]) -> LinearParams:
    """LinUCB with one regression per arm (Li et al. 2010); option `alpha`, the width of the bonus, 1 by default."""
    alpha = take_options(options, alpha=1.0)["alpha"]
    return _linear(subject, "alpha", alpha)


def make_lints(subject: Subject, horizon: int, options: Mapping[str, Any]) -> LinearParams:
    """LinTS (Agrawal and Goyal 2013), from a normal prior around 0 for every entry of theta.

    Options: `spread`, the standard deviation of the noise, by default that of the rewards; `prior`, that of the entries
    of theta, by default their size in the collection, and at least the spread. A prior as narrow as a small noise would
    take thousands of rounds to be overcome.
    """
    taken = take_options(options, spread=math.sqrt(subject.rewards.variance_proxy), prior=None)
    prior = taken["prior"]
    if prior is None:
        prior = max(_size_of_theta(subject), taken["spread"])
    if not (math.isfinite(prior) and prior > 0):
        raise invalid("prior", "a number above 0", prior)
    return _linear(subject, "spread", taken["spread"], prior)


def _size_of_theta(subject: Subject) -> float:
    """The root mean square of the entries of theta, or of the means of tasks without contexts; 1 where unknown."""
    known = getattr(subject, "theta", None)
    if known is None:
        known = getattr(subject, "means", None)
    return 1.0 if known is None else float(np.sqrt(np.mean(np.square(known))))


def _linear(subject: Subject, name: str, width: float, prior: float | None = None) -> LinearParams:
    if not (math.isfinite(width) and width >= 0):
        raise invalid(name, "a number of at least 0", width)
    start = 1.0 if prior is None or width == 0 else (prior / width) ** 2
    return LinearParams(len(subject.arms), len(subject.features), float(width), float(start))


def init_linear(params: LinearParams) -> LinearState:
    """Nothing known but the prior: a multiple of the identity, and zeros."""
    d = max(params.n_given, 1)
    inverse = np.zeros((params.n_arms, d, d))
    inverse[:] = np.eye(d) * params.start
    return LinearState(inverse, np.zeros((params.n_arms, d)), np.zeros(d))


def feature(params: LinearParams, context: FloatArray, f: int) -> float:
    """Entry `f` of the context, or the constant 1 if tasks have none."""
    return float(context[f]) if params.n_given > 0 else 1.0


def prediction(params: LinearParams, state: LinearState, context: FloatArray, arm: int) -> tuple[float, float]:
    """The predicted mean reward of an arm, x'A^-1 b, and its variance without the noise, x'A^-1 x."""
    mean, variance = 0.0, 0.0
    for f in range(state.sums.shape[1]):
        row_mean, row_variance = 0.0, 0.0
        for g in range(state.sums.shape[1]):
            row_mean += state.inverse[arm, f, g] * state.sums[arm, g]
            row_variance += state.inverse[arm, f, g] * feature(params, context, g)
        mean += feature(params, context, f) * row_mean
        variance += feature(params, context, f) * row_variance
    return mean, max(variance, 0.0)


def lacks_features(params: LinearParams, context: FloatArray) -> bool:
    """Whether the context was not given."""
    missing = False
    for f in range(params.n_given):
        missing = missing or math.isnan(context[f])
    return missing


def choose_linucb(params: LinearParams, state: LinearState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The highest prediction plus bonus, ties at random."""
    if lacks_features(params, context):
        return CONTEXT_NEEDED
    arm, highest, ties = NO_ARM_AVAILABLE, -math.inf, 0
    for k in range(params.n_arms):
        if available[k]:
            mean, variance = prediction(params, state, context, k)
            index = mean + params.width * math.sqrt(variance)
            if index > highest:
                arm, highest, ties = k, index, 1
            elif index == highest:
                ties += 1
                if uniform(rng, TIES + ties) * ties < 1.0:
                    arm = k
    return arm


def choose_lints(params: LinearParams, state: LinearState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The highest draw of x'theta; arms have regressions of their own, so one normal draw per arm is exact."""
    if lacks_features(params, context):
        return CONTEXT_NEEDED
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(params.n_arms):
        if available[k]:
            mean, variance = prediction(params, state, context, k)
            first, second = uniform_pair(rng, k)
            value = mean + params.width * math.sqrt(variance) * normal(first, second)
            if value > highest:
                arm, highest = k, value
    return arm


def update_linear(params: LinearParams, state: LinearState, context: FloatArray, arm: int, reward: float) -> None:
    """Add the round to the arm's regression (Sherman and Morrison)."""
    d = state.sums.shape[1]
    scale = 1.0
    for f in range(d):
        state.product[f] = 0.0
        for g in range(d):
            state.product[f] += state.inverse[arm, f, g] * feature(params, context, g)
        scale += feature(params, context, f) * state.product[f]
        state.sums[arm, f] += reward * feature(params, context, f)
    for f in range(d):
        for g in range(d):
            state.inverse[arm, f, g] -= state.product[f] * state.product[g] / scale


def explain_linear(params: LinearParams, state: LinearState) -> Facts:
    """The estimated parameters of each arm."""
    theta = np.einsum("kfg,kg->kf", state.inverse, state.sums)
    return Facts(exploiting=False, pulls=None, details={"theta": theta.tolist()})


linucb = Policy("linucb", make_linucb, init_linear, choose_linucb, update_linear, explain_linear)
lints = Policy("lints", make_lints, init_linear, choose_lints, update_linear, explain_linear)
