"""The separation the tests of a tree work with, when the means are known and when they are estimates (NOTES 4)."""

import math
from typing import NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.separation import (
    closest_rows,
    least_separation,
    only_slopes_differ,
    require_separation,
    slopes_differ,
    tolerance,
)

SHARE = 8  # Estimated means must be within an eighth of the difference that is to be told apart.


class Band(NamedTuple):
    """What the tests of a tree work with.

    separation: w, how far apart the estimates of two tasks are. radius: rho, how much of w/2 not knowing the means
    takes, so that a test decides a task only if all of mean +- its own radius is w/2 - rho beyond the threshold.
    limit: a mean known less well than this decides nothing.
    """

    separation: float
    radius: float
    limit: float


def find_band(collection: Collection, separation: float | None, stop_early: bool = False) -> Band:
    """The band for tasks that are truly `separation` apart, or by default as far apart as the estimates are.

    Given lambda, only means within lambda/8 may decide, w = lambda - 2 rho, and rho is the least of their
    radii that leaves every pair of tasks an arm whose intervals are w - 2 rho apart: the common radius where all are
    equal, 0 for known means.

    >>> find_band(Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]], radius=[[0.05, 0.5], [0.05, 0.01]]), 0.4)
    Band(separation=0.30000000000000004, radius=0.05, limit=0.05)
    """
    if separation is None:
        return _measured_band(collection)
    if not (np.isfinite(separation) and separation > 0):
        raise invalid("separation", "a number above 0", separation)
    limit = separation / SHARE
    usable = np.unique(collection.radius[np.isfinite(usable_radius(collection.radius, limit))])
    if not collection.is_estimated or (stop_early and usable.size):
        if not stop_early:
            require_separation(collection, separation)
        rho = float(usable[-1])
        return Band(separation - 2 * rho, rho, limit)
    gap, i, j = _least_gap(collection, limit)
    enough = usable[usable >= (separation - gap) / 4 - tolerance(separation)]
    if not enough.size:
        raise _too_uncertain(collection, i, j, separation)
    return Band(separation - 2 * float(enough[0]), float(enough[0]), limit)


def usable_radius(radius: FloatArray, limit: float) -> FloatArray:
    """The radii, infinite where a mean is not known well enough to decide anything."""
    return np.where(radius <= limit * (1 + 1e-9), radius, np.inf)


def _measured_band(collection: Collection) -> Band:
    """w is the separation of the estimates, and rho what their radii take from it for the pair where it is least."""
    closest = least_separation(collection)
    require_separation(collection, max(closest.value, 1e-12))
    if not collection.is_estimated:
        return Band(closest.value, 0.0, math.inf)
    gap, i, j = _least_gap(collection, math.inf)
    if gap <= tolerance(closest.value):
        raise _too_uncertain(collection, i, j, None)
    return Band(closest.value, (closest.value - gap) / 2, math.inf)


def _least_gap(collection: Collection, limit: float) -> tuple[float, int, int]:
    """(gap, i, j) of the two tasks whose intervals the best arm keeps apart least; below 0 if they overlap."""
    found = closest_rows(collection.means, radius=usable_radius(collection.radius, limit))
    assert found is not None  # there are at least two tasks
    return found


def _too_uncertain(collection: Collection, i: int, j: int, separation: float | None) -> InvalidInput:
    """The error that says which means of tasks i and j must be known better, and how many more rows that takes."""
    first, second = collection.tasks[i], collection.tasks[j]
    if slopes_differ(collection, i, j):
        return only_slopes_differ(first, second)
    difference = np.abs(collection.means[i] - collection.means[j])
    reach = difference + collection.radius[[i, j]].sum(axis=0)  # how far apart the true means may be
    possible = reach >= (0.0 if separation is None else separation - tolerance(separation))
    if separation is not None and not possible.any():
        return InvalidInput(
            f"separation must be at most {reach.max():.6g} for these estimates. Got {separation:g}: no arm can tell "
            f"{first!r} from {second!r} by more than that. Lower the separation or merge the two tasks."
        )
    wanted = (difference if separation is None else np.full_like(difference, separation)) / SHARE
    more = _rows_needed(collection, i, j, wanted)
    more[:, ~possible] = np.inf
    k = int(more.sum(axis=0).argmin())
    arm = collection.arms[k]
    if not np.isfinite(more[:, k]).all():
        return InvalidInput(f"Tasks {first!r} and {second!r} have the same estimates for every arm. Merge them.")
    word = "{:.1f} times as many rows" if collection.counts is None else "{:,.0f} more rows"
    amounts = more[:, k] + (collection.counts is None)
    needs = [
        f"{word.format(amount)} of task {name!r}"
        for name, amount, short in zip((first, second), amounts, more[:, k] > 0, strict=True)
        if short
    ]
    return InvalidInput(
        f"The means are not known well enough for a plan. {first!r} and {second!r} differ most usefully by {arm!r} "
        f"({difference[k]:.4g}), whose estimated means are within {collection.radius[[i, j], k].max():.4g} and must be "
        f"within {wanted[k]:.4g}, an eighth of {'that' if separation is None else 'the separation'}. "
        f"About {' and '.join(needs)} with {arm!r} would be enough; or merge the two tasks."
    )


def _rows_needed(collection: Collection, i: int, j: int, wanted: FloatArray) -> FloatArray:
    """How many more rows (2, K) of tasks i and j bring their radii to `wanted`; as a part of what there is if unknown.

    Radii shrink with the square root of the rows, so rows times radius squared stays; where there are no rows yet it
    is taken to be as in the other cells.
    """
    counts = np.ones(collection.means.shape) if collection.counts is None else collection.counts.astype(float)
    steady = counts * collection.radius**2
    steady[counts == 0] = np.median(steady[counts > 0]) if (counts > 0).any() else np.inf
    with np.errstate(divide="ignore"):
        needed = np.maximum(steady[[i, j]] / wanted**2 - counts[[i, j]], 0.0)
    return np.asarray(needed if collection.counts is None else np.ceil(needed - 1e-6))
