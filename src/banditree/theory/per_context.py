"""What is known about every task and arm at each of a few contexts; without contexts, at one."""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import ContextKind, averaging_rows
from banditree.tasks.predictions import predict
from banditree.tasks.rewards import require_likelihood


class PerContext(NamedTuple):
    """gaps (X, M, K): what an arm costs in a task at a context. parameters (X, M, K, ...): of its rewards there."""

    gaps: FloatArray
    parameters: FloatArray


def per_context(collection: Collection, n_contexts: int) -> PerContext:
    """The arrays at `n_contexts` contexts of equal weight: some of the sample, or drawn with a fixed seed.

    >>> from banditree.tasks.instances import linear
    >>> per_context(linear(3, 4, 2, 0.2), 10).gaps.shape
    (10, 3, 4)
    """
    contexts, theta = collection.contexts, collection.theta
    if contexts is None or theta is None or contexts.kind is ContextKind.FIXED:
        return PerContext(collection.gaps[None], collection.parameters[None])
    every = averaging_rows(contexts)
    rows = every[np.linspace(0, len(every) - 1, min(n_contexts, len(every))).astype(int)]
    means = np.stack([predict(task, rows, collection.rewards) for task in theta], axis=1)  # (X, M, K)
    return PerContext(means.max(axis=2, keepdims=True) - means, means)


def squared_distances(collection: Collection, n_contexts: int) -> FloatArray:
    """D_H^2 (X, K, M, M) between the rewards of every two tasks, at each context and arm."""
    require_likelihood(collection.rewards, "A Hellinger distance")
    own = np.moveaxis(per_context(collection, n_contexts).parameters, 2, 1)  # (X, K, M, ...)
    return collection.rewards.hellinger_squared(own[:, :, :, None], own[:, :, None, :])
