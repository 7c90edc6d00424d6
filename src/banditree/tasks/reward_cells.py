"""How the rewards of arms vary, and how well that is known: what tests between tasks rest on."""

from typing import TYPE_CHECKING

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import ContextKind, Contexts
from banditree.tasks.rewards import Cells

if TYPE_CHECKING:
    from banditree.tasks.collection import Collection


def cells_of(collection: "Collection", arms: IntArray) -> Cells:
    """What is known about the rewards of these arms (N,), as the reward families ask for it, of shape (M, N)."""
    contexts, theta = collection.contexts, collection.theta
    spread, doubt, rows = np.zeros(collection.means.shape), np.zeros(collection.means.shape), None
    if contexts is not None and theta is not None:
        spread = np.einsum("ikd,de,ike->ik", theta, contexts.covariance, theta)
        doubt = deviation_margin(collection, contexts)
        if contexts.rows is not None and not collection.rewards.has_range:
            every = [(np.moveaxis(theta[:, k] @ contexts.rows.T, -1, 0), k) for k in range(collection.n_arms)]
            rows = np.stack([np.stack([value, margin_at(collection, contexts.rows, k)]) for value, k in every], axis=3)
            rows = rows[..., arms]
    return Cells(
        collection.parameters[:, arms],
        collection.radius[:, arms],
        spread[:, arms],
        contexts is None or contexts.kind is not ContextKind.SAMPLE,
        reward_variance(collection),
        doubt[:, arms],
        rows,
    )


def margin_at(collection: "Collection", rows: FloatArray, arm: int) -> FloatArray:
    """How far x'theta of an arm may be off at each of the contexts `rows` (n, d), for every task: (n, M)."""
    if collection.theta_error is None or not collection.is_estimated:
        assert collection.theta is not None
        off = np.broadcast_to(collection.radius[:, arm], (len(rows), collection.n_tasks))
        return collection.rewards.margin_for(rows @ collection.theta[:, arm].T, off)
    return _lengths(collection.theta_error[:, arm], rows)


def _lengths(error: FloatArray, rows: FloatArray) -> FloatArray:
    """sqrt(x'E x) for rows x (n, d) and matrices E (M, d, d)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("nd,mde,ne->nm", rows, error, rows, optimize=True), 0.0)))


def deviation_margin(collection: "Collection", contexts: Contexts) -> FloatArray:
    """How far the standard deviation of x'theta over contexts may be off (M, K)."""
    if collection.theta_error is None or not collection.is_estimated:
        return np.zeros(collection.means.shape)
    return np.asarray(np.sqrt(np.maximum(np.einsum("de,iked->ik", contexts.covariance, collection.theta_error), 0.0)))


def reward_variance(collection: "Collection") -> float:
    """The sub-Gaussian variance s^2 of one reward of a fixed arm around its mean, contexts included (NOTES 4).

    Bounded and Bernoulli rewards: (high - low)^2/4 whatever the contexts. Gaussian ones: sigma^2, plus the largest
    sub-Gaussian variance of x'theta: theta'Cov theta where contexts are normal, or count as normal because only their
    moments are known; over a sample, that of its rows. Where theta is estimated, at its worst.

    >>> from banditree.tasks.collection import Collection
    >>> reward_variance(Collection.gaussian([[0.0, 1.0], [1.0, 0.0]], sigma=2.0))
    4.0
    """
    noise = collection.rewards.variance_proxy
    contexts, theta = collection.contexts, collection.theta
    if collection.rewards.has_range or contexts is None or theta is None:
        return noise
    return noise + collection.context_scale**2
