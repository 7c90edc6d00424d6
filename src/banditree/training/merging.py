"""Tasks closer than lambda become one, and what that costs."""

from dataclasses import dataclass

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.nouns import counted
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import ContextKind, averaging_rows
from banditree.tasks.harm import Harm
from banditree.tasks.predictions import mean_rewards, predict
from banditree.tasks.separation import tolerance


@dataclass(frozen=True, eq=False)
class Merged:
    """A collection whose tasks are groups of tasks that no arm kept `separation` apart.

    groups: the old task numbers of every new task. suboptimality: the most that playing the best policy of its group
    costs a task per round, counting what its means may be off; 0 for a task that stayed alone.
    """

    collection: Collection
    groups: tuple[tuple[int, ...], ...]
    separation: float
    suboptimality: float


def merge(collection: Collection, separation: float) -> Merged:
    """The collection with tasks merged until every two are told apart by some arm, by at least `separation`.

    The closest two are merged first. A merged task spans its members: the mean of an arm lies in the middle of theirs
    and its radius reaches all of them (theta is their average), so that a plan's guarantee is about every original
    task. Two merged tasks are as far apart as their nearest members: one arm has to tell all of one from all of the
    other. Plan on the result without giving a separation: its own is at least `separation`.

    >>> three = Collection.bernoulli([[0.9, 0.1], [0.85, 0.2], [0.1, 0.8]], tasks=["a", "b", "c"])
    >>> merged = merge(three, 0.3)
    >>> merged.collection.tasks, merged.collection.means.round(3).tolist()
    (('a + b', 'c'), [[0.875, 0.15], [0.1, 0.8]])
    """
    if not (np.isfinite(separation) and separation > 0):
        raise invalid("separation", "a number above 0", separation)
    groups = _group(collection.means, separation - tolerance(separation))
    if len(groups) < 2:
        raise InvalidInput(
            f"Merging at {separation:g} leaves one task: no arm tells the tasks apart by that much. "
            "Choose a smaller separation."
        )
    merged = _span(collection, groups)
    worst = max(_suboptimality(collection, merged, new, group) for new, group in enumerate(groups))
    return Merged(merged, groups, separation, worst)


def merge_gaps(means: FloatArray) -> list[float]:
    """How far apart the closest two tasks were at every merge, from all tasks to one: where the groups change.

    >>> [round(gap, 3) for gap in merge_gaps(np.array([[0.9, 0.1], [0.85, 0.2], [0.1, 0.8]]))]
    [0.1, 0.75]
    """
    found: list[float] = []
    _group(means, np.inf, found)
    return found


def _group(means: FloatArray, limit: float, gaps: list[float] | None = None) -> tuple[tuple[int, ...], ...]:
    """Tasks in groups, the two closest merged until all are `limit` apart."""
    groups = [[task] for task in range(len(means))]
    low, high = means.copy(), means.copy()
    while len(groups) > 1:
        distance = _distances(low, high)
        i, j = sorted(int(index) for index in np.unravel_index(distance.argmin(), distance.shape))
        if distance[i, j] >= limit:
            break
        if gaps is not None:
            gaps.append(float(distance[i, j]))
        groups[i] += groups.pop(j)
        low[i], high[i] = np.minimum(low[i], low[j]), np.maximum(high[i], high[j])
        low, high = np.delete(low, j, axis=0), np.delete(high, j, axis=0)
    return tuple(tuple(sorted(group)) for group in groups)


def _distances(low: FloatArray, high: FloatArray) -> FloatArray:
    """The most that any arm keeps two groups apart (G, G), below 0 if they overlap everywhere; infinite for itself."""
    most = np.full((len(low), len(low)), -np.inf)
    for arm in range(low.shape[1]):
        above = low[None, :, arm] - high[:, None, arm]
        np.maximum(most, np.maximum(above, above.T), out=most)
    np.fill_diagonal(most, np.inf)
    return most


def _span(collection: Collection, groups: tuple[tuple[int, ...], ...]) -> Collection:
    """One task per group that reaches all its members."""
    lower, upper = collection.means - collection.radius, collection.means + collection.radius
    low = np.array([lower[list(group)].min(axis=0) for group in groups])
    high = np.array([upper[list(group)].max(axis=0) for group in groups])
    theta, means = None, (low + high) / 2
    if collection.theta is not None and collection.contexts is not None:
        theta = np.array([collection.theta[list(group)].mean(axis=0) for group in groups])
        means = mean_rewards(theta, collection.contexts, collection.rewards)
    alone = np.array([len(group) == 1 for group in groups])
    first = [group[0] for group in groups]
    means = np.where(alone[:, None], collection.means[first], means)
    means = np.clip(means, collection.rewards.low, collection.rewards.high)
    radius = np.where(alone[:, None], collection.radius[first], np.maximum(means - low, high - means))
    chances = collection.chances
    if chances is not None:
        chances, radius = _span_chances(collection, chances, groups)
    counts = collection.counts
    return Collection(
        means,
        tuple(" + ".join(collection.tasks[task] for task in group) for group in groups),
        collection.arms,
        collection.rewards,
        collection.contexts,
        theta,
        radius,
        f"{collection.provenance}, {counted(collection.n_tasks, 'task')} merged into {len(groups)}",
        None if counts is None else np.array([counts[list(group)].min(axis=0) for group in groups]),
        None if collection.shares is None else np.array([collection.shares[list(group)].sum() for group in groups]),
        _merged_spread(collection, groups),
        chances,
        _merged_error(collection, groups, theta),
        None if collection.noise is None else np.array([collection.noise[list(group)].max(axis=0) for group in groups]),
        collection.worth,
        _merged_harm(collection, groups),
    )


def _merged_harm(collection: Collection, groups: tuple[tuple[int, ...], ...]) -> Harm | None:
    """The middle of what the harm of the tasks of each group may be, and how far it reaches."""
    harm = collection.harm
    if harm is None:
        return None
    low, high = np.maximum(harm.rates - harm.within, 0.0), harm.most
    least = np.array([low[list(group)].min(axis=0) for group in groups])
    most = np.array([high[list(group)].max(axis=0) for group in groups])
    alone = np.array([len(group) == 1 for group in groups])[:, None]
    first = [group[0] for group in groups]
    rates = np.where(alone, harm.rates[first], (least + most) / 2)
    return Harm.of(rates, np.where(alone, harm.within[first], (most - least) / 2))


def _merged_error(
    collection: Collection, groups: tuple[tuple[int, ...], ...], average: FloatArray | None
) -> FloatArray | None:
    """E with sqrt(x'E x) reaching the x'theta of all members, wherever in their own margins, at every context x.

    (a + b)^2 <= 2 a^2 + 2 b^2, and the largest of several squares is at most their sum.
    """
    if average is None or collection.theta is None or (collection.is_estimated and collection.theta_error is None):
        return None
    found = np.zeros((*average.shape, average.shape[2]))
    for new, group in enumerate(groups):
        for task in group:
            away, own = collection.theta[task] - average[new], collection.theta_error
            apart = away[:, :, None] * away[:, None, :]
            found[new] += apart if own is None else own[task] if len(group) == 1 else 2 * (apart + own[task])
    return found


def _span_chances(
    collection: Collection, chances: FloatArray, groups: tuple[tuple[int, ...], ...]
) -> tuple[FloatArray, FloatArray]:
    """The average chances of each group, and radii that reach the chances of all its members, whatever set is asked."""
    average = np.array([chances[list(group)].mean(axis=0) for group in groups])
    width, radius = collection.rewards.width, np.zeros(average.shape[:2])
    for new, group in enumerate(groups):
        for task in group:
            away = np.abs(chances[task] - average[new]).sum(axis=1) / 2
            radius[new] = np.maximum(radius[new], width * away + collection.radius[task])
    return average, radius


def _merged_spread(collection: Collection, groups: tuple[tuple[int, ...], ...]) -> FloatArray | None:
    """The spread of the cases of each group: that within its members, and that between them, added up as variances."""
    if collection.spread is None:
        return None
    found = []
    for group in (list(group) for group in groups):
        weights = np.maximum(collection.weights[group], 1e-300)
        weights = (weights / weights.sum())[:, None]
        means = collection.means[group]
        between = (weights * (means - (weights * means).sum(axis=0)) ** 2).sum(axis=0)
        found.append(np.sqrt((weights * collection.spread[group] ** 2).sum(axis=0) + between))
    return np.array(found)


def _suboptimality(collection: Collection, merged: Collection, new: int, group: tuple[int, ...]) -> float:
    """The most that a member loses per round by the policy of its group instead of its own."""
    if len(group) == 1:
        return 0.0
    contexts, theta = collection.contexts, collection.theta
    if contexts is None or theta is None or merged.theta is None or contexts.kind is ContextKind.FIXED:
        arm = int(merged.best_arms[new])
        rivals = [k for k in range(collection.n_arms) if k != arm]
        members = list(group)
        best = (collection.means + collection.radius)[members][:, rivals].max(axis=1)
        return float(np.maximum(best - (collection.means - collection.radius)[members, arm], 0.0).max())
    rows = averaging_rows(contexts)
    chosen = (rows @ merged.theta[new].T).argmax(axis=1)
    losses = []
    for task in group:
        value = predict(theta[task], rows, collection.rewards)
        losses.append(float((value.max(axis=1) - value[np.arange(len(rows)), chosen]).mean()))
    return max(losses) + 2 * float(collection.radius[list(group)].max())
