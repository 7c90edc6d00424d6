"""Which test separates which pair of tasks, as tables: what every coefficient is computed from."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import BoolArray, FloatArray, frozen_numbers
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.rewards import require_likelihood
from banditree.tasks.separation import Sense, separations, tolerance


def separating_arms(
    collection: Collection, separation: float, sense: Sense = Sense.MEAN, radius: FloatArray | None = None
) -> BoolArray:
    """Whether pulling arm k tells tasks i and j apart by `separation`, shape (K, M, M); Pi_C is the set of arms.

    radius: (M, K), may be infinite: what separates two estimated means is then the distance between their intervals.

    >>> separating_arms(Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]]), 0.4)[:, 0, 1].tolist()
    [True, False]
    """
    _check(separation)
    distance = separations(collection, sense)
    if radius is not None:
        distance -= radius.T[:, :, None] + radius.T[:, None, :]
    return distance >= separation - tolerance(separation)


def separating_policies(
    collection: Collection, policies: Any, separation: float, sense: Sense = Sense.MEAN
) -> BoolArray:
    """Whether each policy tells tasks i and j apart by `separation`, shape (P, M, M); Pi_C is a class of P policies.

    policies: (P, K), the probability with which a policy pulls each arm. The arm pulled is part of what is seen, so
    D_H^2 is the average of that of the arms (Assumption 1); in the mean sense a policy has one number, its mean reward.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> separating_policies(two, [[0.5, 0.5], [1.0, 0.0]], 0.4)[:, 0, 1].tolist()
    [False, True]
    """
    _check(separation)
    weights = frozen_numbers("policies", policies, 2)
    if weights.shape[1] != collection.n_arms or weights.min() < 0 or not np.allclose(weights.sum(axis=1), 1.0):
        raise invalid("policies", f"rows of {collection.n_arms} probabilities, one per arm, that add up to 1", policies)
    if Sense(sense) is Sense.MEAN:
        values = collection.means @ weights.T  # (M, P)
        distance = np.abs(values[:, None, :] - values[None, :, :]).transpose(2, 0, 1)
    else:
        distance = np.sqrt(np.tensordot(weights, separations(collection, sense) ** 2, 1))
    return np.asarray(distance >= separation - tolerance(separation))


Rule = Callable[[FloatArray], Any]  # contexts (n, d) to the arms (n,) that are pulled there


def separating_rules(
    collection: Collection, rules: Iterable[Rule], separation: float, sense: Sense = Sense.HELLINGER
) -> BoolArray:
    """Whether each test that looks at the context tells tasks i and j apart by `separation`, shape (P, M, M).

    Pi_C of Assumption 1 in full: a test is a rule from contexts to arms. Context and arm are part of what is seen, so
    D_H^2 is the average, over contexts, of that of the arm pulled there; in the mean sense a rule has one number, its
    mean reward. Over the sample of the collection, or 20,000 contexts drawn from its distribution.

    >>> from banditree.tasks.instances import linear
    >>> found = separating_rules(linear(3, 4, 2, 0.2), [lambda x: x[:, 0] > 0, lambda x: 0 * x[:, 0]], 0.05)
    >>> found.shape
    (2, 3, 3)
    """
    _check(separation)
    return np.asarray(rule_distances(collection, rules, sense) >= separation - tolerance(separation))


def rule_distances(collection: Collection, rules: Iterable[Rule], sense: Sense = Sense.HELLINGER) -> FloatArray:
    """How far apart each rule finds every two tasks, (P, M, M)."""
    if collection.theta is None or collection.contexts is None:
        raise InvalidInput("Tests that look at the context need a collection with contexts. Use separating_policies.")
    rows = averaging_rows(collection.contexts)
    return np.stack([_rule_distance(collection, rows, rule, Sense(sense)) for rule in rules])


def _rule_distance(collection: Collection, rows: FloatArray, rule: Rule, sense: Sense) -> FloatArray:
    """How far apart a rule finds every two tasks, (M, M)."""
    arms = np.asarray(rule(rows)).astype(np.int64)
    if arms.shape != (len(rows),) or arms.min() < 0 or arms.max() >= collection.n_arms:
        raise invalid("a rule", f"one of the arms 0 to {collection.n_arms - 1} for each context", arms.shape)
    assert collection.theta is not None
    means = collection.rewards.at(np.einsum("nd,mnd->mn", rows, collection.theta[:, arms]))
    if sense is Sense.MEAN:
        values = means.mean(axis=1)
        return np.asarray(np.abs(values[:, None] - values[None]))
    require_likelihood(collection.rewards, "The Hellinger sense")
    squared = [[collection.rewards.hellinger_squared(one, other).mean() for other in means] for one in means]
    return np.sqrt(np.array(squared))


class EvenTests(NamedTuple):
    """Every soft test mu[arm] <= b that no other beats: the tasks it puts on the low and on the high side for certain.

    `low`, `high`: (T, M). The tasks in neither are kept on both sides.
    """

    arm: tuple[int, ...]
    threshold: tuple[float, ...]
    low: BoolArray
    high: BoolArray


def even_tests(
    collection: Collection,
    separation: float,
    members: Sequence[int] | None = None,
    radius: FloatArray | None = None,
) -> EvenTests:
    """The soft tests of Algorithm 5 over all arms and thresholds, without those that another decides more than.

    For each task i of an arm only the first task j that is `separation` above it matters, and b midway (NOTES 2).
    radius: (M, K), may be infinite; then all of mean +- radius must lie on one side for a task to be decided (NOTES 4).

    >>> tests = even_tests(Collection.bernoulli([[0.1, 0.5], [0.5, 0.5], [0.9, 0.6]]), 0.4)
    >>> [(arm, round(b, 2)) for arm, b in zip(tests.arm, tests.threshold)], tests.low.astype(int).tolist()
    ([(0, 0.3), (0, 0.7)], [[1, 0, 0], [1, 1, 0]])
    """
    _check(separation)
    inside = np.zeros(collection.n_tasks, dtype=bool)
    inside[slice(None) if members is None else list(members)] = True
    arms: list[int] = []
    thresholds: list[float] = []
    sides: list[tuple[BoolArray, BoolArray]] = []
    for arm in range(collection.n_arms):
        lower = upper = collection.means[:, arm]
        if radius is not None:
            lower, upper = lower - radius[:, arm], upper + radius[:, arm]
        steps = _steps(np.unique(upper[inside]), np.unique(lower[inside]), separation - tolerance(separation))
        for below, above in steps:
            arms.append(arm)
            thresholds.append(float(below + above) / 2)
            sides.append((inside & (upper <= below), inside & (lower >= above)))
    empty = np.zeros((0, collection.n_tasks), dtype=bool)
    low = np.array([side[0] for side in sides]) if sides else empty
    high = np.array([side[1] for side in sides]) if sides else empty
    return EvenTests(tuple(arms), tuple(thresholds), low, high)


def _steps(uppers: FloatArray, lowers: FloatArray, gap: float) -> list[tuple[float, float]]:
    """(upper end, first lower end at least `gap` above it), the largest upper end for each lower one; both rising."""
    steps: dict[float, float] = {}
    for below in uppers[np.isfinite(uppers)]:
        above = int(np.searchsorted(lowers - below, gap))
        if above < len(lowers):
            steps[float(lowers[above])] = float(below)  # a later, larger lower value decides more: it replaces
    return [(below, above) for above, below in steps.items()]


def _check(separation: float) -> None:
    if not (np.isfinite(separation) and separation > 0):
        raise invalid("separation", "a number above 0", separation)


def check_table(table: Any) -> BoolArray:
    """`table` (K, M, M) as symmetric booleans with an empty diagonal, or an error that says what is wrong."""
    array = np.asarray(table, dtype=bool)
    if array.ndim != 3 or array.shape[1] != array.shape[2] or array.shape[1] < 2 or array.shape[0] < 1:
        raise invalid("table", "of shape (tests, tasks, tasks) with at least 1 test and 2 tasks", array.shape)
    if (array != array.transpose(0, 2, 1)).any() or np.einsum("kii->ki", array).any():
        raise invalid("table", "symmetric, with no task separated from itself", "a table that is not")
    return array
