"""Which test tells which pair of tasks apart, and by how much.

Two senses, never mixed (NOTES 1): the MEAN sense, |mu_ik - mu_jk| (Assumption 2, what trees use), and the HELLINGER
sense, D_H = sqrt(1 - BC) of the joint distribution of context and reward (Assumption 1, what ECE uses).
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import ContextKind, draw_contexts
from banditree.tasks.rewards import require_likelihood

N_AFFINITY_CONTEXTS = 4_000  # The contexts over which 0/1 rewards are compared when there is no closed form.
PROBE_ARMS = 16  # This many arms are looked at before all of them, which settles almost every pair.


class Sense(StrEnum):
    """In which sense two tasks are apart."""

    MEAN = "mean"
    HELLINGER = "hellinger"


@dataclass(frozen=True)
class Separation:
    """The two tasks that are hardest to tell apart: no arm separates them by more than `value`."""

    value: float
    sense: Sense
    tasks: tuple[str, str]
    arm: str
    indices: tuple[int, int]

    def __str__(self) -> str:
        first, second = self.tasks
        return f"{self.value:.4g} in the {self.sense} sense, between {first!r} and {second!r} (by {self.arm!r})"


def tolerance(separation: float) -> float:
    """How much short of `separation` a gap may fall and still count: 0.7 - 0.3 < 0.4 in floats (NOTES 3).

    >>> 0.7 - 0.3 >= 0.4, 0.7 - 0.3 >= 0.4 - tolerance(0.4)
    (False, True)
    """
    return 1e-9 * separation + 8 * float(np.finfo(float).eps)


def separation_of_arm(collection: Collection, arm: int, sense: Sense = Sense.MEAN) -> FloatArray:
    """How far apart `arm` tells each pair of tasks, shape (M, M), symmetric with a zero diagonal."""
    if Sense(sense) is Sense.MEAN:
        mu = collection.means[:, arm]
        return np.abs(mu[:, None] - mu[None, :])
    distance = np.sqrt(_squared_distances(collection, arm))
    np.fill_diagonal(distance, 0.0)
    return distance


def separations(collection: Collection, sense: Sense = Sense.MEAN) -> FloatArray:
    """The whole table "arm k separates tasks i and j by this much", shape (K, M, M). Memory grows as K M^2.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]])
    >>> separations(two)[:, 0, 1].round(3).tolist(), separations(two, Sense.HELLINGER)[:, 0, 1].round(3).tolist()
    ([0.4, 0.0], [0.289, 0.0])
    """
    return np.stack([separation_of_arm(collection, arm, sense) for arm in range(collection.n_arms)])


def least_separation(collection: Collection, sense: Sense = Sense.MEAN) -> Separation:
    """The collection's lambda: the least, over pairs of tasks, of the most that any arm separates them by.

    The mean sense costs about M^2 min(K, 16) operations when most pairs differ soon, at most M^2 K.

    >>> print(least_separation(Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]])))
    0.4 in the mean sense, between 'task 1' and 'task 2' (by 'arm 1')
    """
    sense = Sense(sense)
    if sense is Sense.MEAN:
        found = closest_rows(collection.means)
        assert found is not None  # there are at least two tasks
        value, i, j = found
        by_arm = np.abs(collection.means[i] - collection.means[j])
    else:
        most = np.zeros((collection.n_tasks, collection.n_tasks))
        for arm in range(collection.n_arms):
            np.maximum(most, separation_of_arm(collection, arm, sense), out=most)
        np.fill_diagonal(most, np.inf)
        i, j = (int(index) for index in np.unravel_index(most.argmin(), most.shape))
        value = float(most[i, j])
        by_arm = np.array([separation_of_arm(collection, k, sense)[i, j] for k in range(collection.n_arms)])
    i, j = min(i, j), max(i, j)
    names = (collection.tasks[i], collection.tasks[j])
    return Separation(value, sense, names, collection.arms[int(by_arm.argmax())], (i, j))


def require_separation(collection: Collection, separation: float) -> None:
    """Raise, naming the closest pair, unless every pair of tasks has an arm with a mean gap of `separation`."""
    if not (np.isfinite(separation) and separation > 0):
        raise invalid("separation", "a number above 0", separation)
    if closest_rows(collection.means, separation - tolerance(separation)) is None:
        return
    closest = least_separation(collection, Sense.MEAN)
    first, second = closest.tasks
    if closest.value <= tolerance(separation) and slopes_differ(collection, *closest.indices):
        raise only_slopes_differ(first, second)
    if closest.value <= tolerance(separation):
        raise InvalidInput(
            f"Tasks {first!r} and {second!r} have the same mean for every arm, so no plan can tell them apart. "
            "Merge them into one task."
        )
    raise InvalidInput(
        f"separation must be at most {closest.value:.6g} for this collection. Got {separation:g}: no arm tells "
        f"{first!r} from {second!r} by more than that (their best is {closest.arm!r}). "
        "Lower the separation or merge the two tasks."
    )


def slopes_differ(collection: Collection, i: int, j: int) -> bool:
    """Whether two tasks differ in how rewards depend on the context, by more than their margins and than in the mean.

    Measured by the root mean square of x'(theta_i - theta_j) over the contexts, for the arm where it is largest.
    """
    contexts, theta = collection.contexts, collection.theta
    if contexts is None or theta is None:
        return False
    difference = theta[i] - theta[j]
    apart = np.sqrt(np.einsum("kd,de,ke->k", difference, contexts.second_moment, difference))
    within = collection.radius[i] + collection.radius[j]
    if collection.theta_error is not None and collection.is_estimated:
        squares = np.einsum("ikde,ed->ik", collection.theta_error[[i, j]], contexts.second_moment)
        within = np.sqrt(np.maximum(squares, 0.0)).sum(axis=0)
    return bool((apart > np.maximum(within, 2 * np.abs(difference @ contexts.mean)) + 1e-12).any())


def only_slopes_differ(first: str, second: str) -> InvalidInput:
    """The error for two tasks that a test of means cannot tell apart although they differ."""
    return InvalidInput(
        f"Tasks {first!r} and {second!r} have the same means, or nearly so, and differ in how rewards depend on the "
        'context, which the tests of a tree do not look at. Use method="protocol", whose points look at the context.'
    )


def closest_rows(
    means: FloatArray, limit: float = np.inf, *, radius: FloatArray | None = None
) -> tuple[float, int, int] | None:
    """(value, i, j) of the two rows with the least largest difference, or None if none is below `limit`.

    With a `radius` of the same shape, the difference is the gap between the intervals mean +- radius, below 0 where
    they overlap. Most pairs are ruled out by their first few columns, the more the lower the limit.

    >>> closest_rows(np.array([[0.25, 0.5], [1.0, 0.5]]), radius=np.array([[0.125, 0.0], [0.125, 0.0]]))
    (0.5, 0, 1)
    """
    best, found = limit, None
    for i in range(means.shape[0] - 1):
        rest = _row_gaps(means, radius, i, np.arange(i + 1, means.shape[0]), PROBE_ARMS)
        near = np.flatnonzero(rest < best)
        if near.size == 0:
            continue
        distance = _row_gaps(means, radius, i, i + 1 + near, means.shape[1])
        if distance.min() < best:
            best = float(distance.min())
            found = (best, i, i + 1 + int(near[distance.argmin()]))
    return found


def _row_gaps(means: FloatArray, radius: FloatArray | None, row: int, others: IntArray, n_arms: int) -> FloatArray:
    """The largest gap, over the first `n_arms` arms, between one row and each of the others."""
    gaps = np.abs(means[others, :n_arms] - means[row, :n_arms])
    if radius is not None:
        gaps -= radius[others, :n_arms] + radius[row, :n_arms]
    return np.asarray(gaps.max(axis=1))


def _squared_distances(collection: Collection, arm: int) -> FloatArray:
    """D_H^2 (M, M) of the joint distribution of context and reward of one arm."""
    rewards, contexts, theta = collection.rewards, collection.contexts, collection.theta
    require_likelihood(rewards, "A Hellinger distance")
    if contexts is None or theta is None or contexts.kind is ContextKind.FIXED:
        own = collection.parameters[:, arm]
        return rewards.hellinger_squared(own[:, None], own[None, :])
    rows = contexts.rows
    if rows is None:
        difference = theta[:, None, arm] - theta[None, :, arm]
        spread = np.einsum("ijd,de,ije->ij", difference, contexts.covariance, difference)
        own = collection.parameters[:, arm]
        centre = difference @ contexts.mean
        if (found := rewards.hellinger_over_contexts(centre, spread, own[:, None], own[None, :])) is not None:
            return found
        rows = draw_contexts(contexts, N_AFFINITY_CONTEXTS, np.random.default_rng(0))
    predicted = rewards.at(rows @ theta[:, arm].T)  # (n, M)
    total = np.zeros((collection.n_tasks, collection.n_tasks))
    for mu in predicted:
        own = collection.parameters_at(mu, arm)
        total += rewards.hellinger_squared(own[:, None], own[None, :])
    return total / len(rows)
