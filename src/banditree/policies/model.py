"""The arrays of a collection that policies and the simulator compute with, and the arithmetic on them.

Everything below `model_of` is in the subset that numba compiles (see `policies.base`).
"""

import math
from typing import NamedTuple

import numpy as np

from banditree.policies.base import Outcome
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import ContextKind
from banditree.tasks.rewards import Link
from banditree.tasks.rewards.compiled import compiled_family

STEEP = 700.0  # Beyond it a logistic curve is 0 or 1 in double precision, and its exponential overflows.
CONTEXT_NEEDED, NO_ARM_AVAILABLE = int(Outcome.CONTEXT_NEEDED), int(Outcome.NO_ARM_AVAILABLE)


class Model(NamedTuple):
    """M tasks x K arms as plain arrays; theta has size 0 if no context matters, in which case means are all there is.

    means, radius: (M, K). by_arm, slack: the same two, (K, M), for loops over tasks. theta: (M, K, d).
    best: (M,) the best arm of each task without a context. top: (M,) its worth. family: the family of the rewards,
    whose arithmetic is in `policies.families`. logistic: whether predictions lie on a logistic curve. values (G,),
    chances (M, K, G): of graded rewards. worths: (M, K), what a round is worth, its mean where no worth is given.
    change: what a change of arm costs. deviation, deviation_log: (M, K), the standard deviation of normal rewards, and
    the log of its ratio to the bound `sigma` of all.
    """

    means: FloatArray
    by_arm: FloatArray
    slack: FloatArray
    theta: FloatArray
    best: IntArray
    top: FloatArray
    family: int
    sigma: float
    low: float
    high: float
    logistic: bool
    values: FloatArray
    chances: FloatArray
    worths: FloatArray
    change: float
    deviation: FloatArray
    deviation_log: FloatArray


def model_of(collection: Collection) -> Model:
    """The arrays of `collection`. A context that never varies is folded into the means."""
    rewards, theta, noise = collection.rewards, collection.theta, collection.noise
    varies = collection.contexts is not None and collection.contexts.kind is not ContextKind.FIXED
    return Model(
        collection.means,
        frozen(collection.means.T, float),
        frozen(collection.radius.T, float),
        theta if theta is not None and varies else frozen(np.zeros((0, 0, 0)), float),
        collection.best_arms,
        frozen(collection.round_worth.max(axis=1), float),
        compiled_family(rewards),
        float(rewards.sigma),
        float(rewards.low),
        float(rewards.high),
        rewards.link is Link.LOGISTIC,
        frozen(rewards.support, float),
        frozen(np.zeros((0, 0, 0)) if collection.chances is None else collection.chances, float),
        collection.round_worth,
        collection.change_cost,
        frozen(np.full(collection.means.shape, rewards.sigma) if noise is None else noise, float),
        frozen(np.zeros(collection.means.shape) if noise is None else np.log(noise / rewards.sigma), float),
    )


def lacks_context(theta: FloatArray, context: FloatArray) -> bool:
    """Whether predictions need a context that was not given (a session then passes numbers that are not)."""
    missing = False
    for f in range(theta.shape[2]):
        missing = missing or math.isnan(context[f])
    return missing


def predicted(model: Model, context: FloatArray, task: int, arm: int) -> float:
    """The mean reward of `arm` in `task` at `context`: the twin of `tasks.predictions.predict`."""
    if model.theta.shape[2] == 0:
        return float(model.means[task, arm])
    value = 0.0
    for f in range(model.theta.shape[2]):
        value += context[f] * model.theta[task, arm, f]
    return mean_at(value, model.logistic, model.low, model.high)


def mean_at(value: float, logistic: bool, low: float, high: float) -> float:
    """The mean reward where x'theta is `value`: the twin of `Rewards.at`."""
    if logistic:
        return 1.0 / (1.0 + math.exp(-min(max(value, -STEEP), STEEP)))
    return float(min(max(value, low), high))


def round_worth(model: Model, context: FloatArray, task: int, arm: int) -> float:
    """What a round of `arm` is worth in `task` at `context`; with contexts it is the mean."""
    return predicted(model, context, task, arm) if model.theta.shape[2] > 0 else float(model.worths[task, arm])


def best_available(model: Model, context: FloatArray, available: BoolArray, task: int) -> int:
    """The available arm worth most in `task` at `context`, the first among equals, or NO_ARM_AVAILABLE."""
    if model.theta.shape[2] == 0 and available[model.best[task]]:
        return int(model.best[task])
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(model.means.shape[1]):
        if available[k]:
            value = round_worth(model, context, task, k)
            if value > highest:
                arm, highest = k, value
    return arm


def best_worth(model: Model, context: FloatArray, task: int) -> float:
    """What a round of the best arm of `task` is worth at `context`."""
    if model.theta.shape[2] == 0:
        return float(model.top[task])
    highest = -math.inf
    for k in range(model.means.shape[1]):
        highest = max(highest, predicted(model, context, task, k))
    return highest


def best_arm(model: Model, context: FloatArray, task: int) -> int:
    """The arm worth most in `task` at `context`, the first among equals."""
    if model.theta.shape[2] == 0:
        return int(model.best[task])
    arm, highest = 0, -math.inf
    for k in range(model.means.shape[1]):
        value = predicted(model, context, task, k)
        if value > highest:
            arm, highest = k, value
    return arm
