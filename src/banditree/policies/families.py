"""The reward families as policies and the simulator compute with them: the compiled twin of `tasks.rewards`.

All that depends on the family of a `Model` is here, in the subset that numba compiles (see `policies.base`); a family
is known by its number (`model.COMPILED_FAMILIES`).
"""

import math

import numpy as np

from banditree.policies.model import Model, predicted
from banditree.policies.random import normal
from banditree.tasks.arrays import FloatArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import LOG_FLOOR
from banditree.tasks.rewards.base import LEAST_CHANCE
from banditree.tasks.rewards.compiled import GAUSSIAN, GRADED

# Weights are kept up to a common factor and never quite reach 0, so that rewards which every task calls impossible
# leave a comparison to make (means of 0 and 1). Each step keeps total >= 1e-50 / M * 1e-200 > 1e-300.
LEAST_WEIGHT = 1e-300
LEAST_LIKELIHOOD = 1e-200


def likelihood_table(collection: Collection) -> FloatArray:
    """The likelihood (G, K, M) of each possible reward; empty for families with others, which have a formula."""
    rewards = collection.rewards
    if not rewards.support:
        return np.asarray(frozen(np.zeros((0, 0, 0)), float))
    chances = rewards.outcome_chances(collection.parameters)
    return np.asarray(frozen(np.maximum(chances.transpose(0, 2, 1), LEAST_LIKELIHOOD), float))


def outcome_of(model: Model, reward: float) -> int:
    """The number of a reward among the possible ones."""
    if model.family != GRADED:
        return 1 if reward > 0.5 else 0
    grade = 0
    while grade < model.values.shape[0] - 1 and model.values[grade] < reward:
        grade += 1
    return grade


def weigh_tasks(
    model: Model, table: FloatArray, weights: FloatArray, context: FloatArray, arm: int, reward: float
) -> float:
    """Multiply the weight (M,) of each task by the likelihood of the reward, and return the total of the weights.

    table: see `likelihood_table`.
    """
    if model.family == GAUSSIAN:
        weigh_normal(model, weights, context, arm, reward)
    elif model.theta.shape[2] == 0:
        return multiply(weights, table[outcome_of(model, reward), arm])
    else:
        for i in range(weights.shape[0]):
            chance = predicted(model, context, i, arm)
            likelihood = max(chance if reward > 0.5 else 1.0 - chance, LEAST_LIKELIHOOD)
            weights[i] = max(weights[i] * likelihood, LEAST_WEIGHT)
    return total_of(weights)


def log_ratio(family: int, sigma: float, reward: float, first: float, second: float) -> float:
    """The logarithm of the ratio of the chances of a reward under two means: the twin of `Rewards.log_ratio`."""
    if family == GAUSSIAN:
        return (first - second) * (reward - (first + second) / 2) / (sigma * sigma)
    a = min(max(first, LEAST_CHANCE), 1.0 - LEAST_CHANCE)
    b = min(max(second, LEAST_CHANCE), 1.0 - LEAST_CHANCE)
    return math.log(a) - math.log(b) if reward > 0.5 else math.log1p(-a) - math.log1p(-b)


def multiply(weights: FloatArray, likelihoods: FloatArray) -> float:
    """Multiply the weights by the likelihoods, and return `total_of` them."""
    for i in range(weights.shape[0]):
        weights[i] = max(weights[i] * likelihoods[i], LEAST_WEIGHT)
    return total_of(weights)


def total_of(weights: FloatArray) -> float:
    """The sum of the weights, in four lanes: the same bits interpreted and compiled, and no long chain of additions."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = weights.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        a += weights[i]
        b += weights[i + 1]
        c += weights[i + 2]
        d += weights[i + 3]
    for i in range(whole, weights.shape[0]):
        a += weights[i]
    return float((a + b) + (c + d))


def weigh_normal(model: Model, weights: FloatArray, context: FloatArray, arm: int, reward: float) -> None:
    """Normal likelihoods relative to the best one, which is what keeps an outlier from wiping out all weights."""
    nearest = math.inf
    for i in range(weights.shape[0]):
        z = (reward - predicted(model, context, i, arm)) / model.deviation[i, arm]
        nearest = min(nearest, z * z + 2.0 * model.deviation_log[i, arm])
    for i in range(weights.shape[0]):
        z = (reward - predicted(model, context, i, arm)) / model.deviation[i, arm]
        likelihood = max(math.exp(0.5 * (nearest - (z * z + 2.0 * model.deviation_log[i, arm]))), LEAST_LIKELIHOOD)
        weights[i] = max(weights[i] * likelihood, LEAST_WEIGHT)


def log_likelihood(model: Model, context: FloatArray, task: int, arm: int, reward: float) -> float:
    """The log-likelihood of a reward, up to a constant, never below LOG_FLOOR for 0/1 rewards (NOTES 16)."""
    mean = predicted(model, context, task, arm)
    if model.family == GAUSSIAN:
        z = (reward - mean) / model.deviation[task, arm]
        return float(-0.5 * z * z - model.deviation_log[task, arm])
    chance = mean if reward > 0.5 else 1.0 - mean
    if model.family == GRADED:
        chance = model.chances[task, arm, outcome_of(model, reward)]
    return max(math.log(chance), LOG_FLOOR) if chance > 0.0 else LOG_FLOOR


def n_summaries(model: Model) -> int:
    """How many numbers per arm, averaged over tasks, tell the distribution of a reward of an unknown task."""
    if model.family == GRADED:
        return int(model.values.shape[0])
    return 2 if model.family == GAUSSIAN else 1


def summary(model: Model, task: int, arm: int, number: int, mean: float) -> float:
    """The summary of that number of one task and arm, whose mean reward at the context is `mean`."""
    if model.family == GRADED:
        return float(model.chances[task, arm, number])
    return mean if number == 0 else float(model.deviation_log[task, arm])


def noise(model: Model, task: int, arm: int, mean: float) -> float:
    """What the information of an arm is reduced by: the entropy of its reward.

    Of a normal one: its mean square, less the noise that is bounded by sigma.
    """
    if model.family == GRADED:
        return grade_entropy(model.chances[task, arm])
    if model.family == GAUSSIAN:
        own = model.deviation[task, arm]
        return float(mean * mean + (own * own - model.sigma * model.sigma))
    return entropy(mean)


def information(model: Model, summaries: FloatArray, arm: int, average_noise: float) -> float:
    """What a reward tells about the task, from the averages over tasks of the summaries (S, K) and the arm's noise.

    A few possible rewards: the mutual information of task and reward. Normal rewards: log(1 + v/sigma^2)/2, v the
    variance of the mean over tasks, which is at least that and equal to it to first order; where the noise differs, the
    entropy of a normal reward of the same variance, less the average entropy of the noise.
    """
    if model.family == GRADED:
        return max(grade_entropy(summaries[:, arm]) - average_noise, 0.0)
    mean = summaries[0, arm]
    if model.family == GAUSSIAN:
        variance = average_noise - mean * mean  # of a reward, less sigma^2
        total = max(1.0 + variance / (model.sigma * model.sigma), LEAST_LIKELIHOOD)
        return float(max(0.5 * math.log(total) - summaries[1, arm], 0.0))
    return max(entropy(mean) - average_noise, 0.0)


def entropy(chance: float) -> float:
    """The entropy of a 0/1 reward, in nats."""
    if chance <= 0.0 or chance >= 1.0:
        return 0.0
    return -chance * math.log(chance) - (1.0 - chance) * math.log(1.0 - chance)


def grade_entropy(chances: FloatArray) -> float:
    """The entropy of a graded reward, in nats."""
    total = 0.0
    for g in range(chances.shape[0]):
        if chances[g] > 0.0:
            total -= chances[g] * math.log(chances[g])
    return total


def draw_reward(model: Model, context: FloatArray, task: int, arm: int, first: float, second: float) -> float:
    """A reward from two uniform random numbers; bounded rewards take the two ends of their range."""
    mean = predicted(model, context, task, arm)
    if model.family == GAUSSIAN:
        return float(mean + model.deviation[task, arm] * normal(first, second))
    if model.family == GRADED:
        return float(model.values[drawn_grade(model.chances[task, arm], first)])
    return model.high if first * (model.high - model.low) < mean - model.low else model.low


def drawn_grade(chances: FloatArray, uniform: float) -> int:
    """The grade that a uniform random number stands for."""
    grade = 0
    while grade < chances.shape[0] - 1 and uniform >= chances[grade]:
        uniform -= chances[grade]
        grade += 1
    return grade
