"""How well the rates of found kinds are known: intervals that allow for not knowing who is of which kind.

The rates of the mixture are maximum-likelihood estimates, so their errors follow from its scores (one per individual)
and its curvature (Louis 1982): the sandwich, which holds for individuals that vary within a kind as well. Where hardly
anybody links two options the curvature vanishes and the margins become the whole range.
"""

from dataclasses import replace

import numpy as np

from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.training.classes import Classes
from banditree.training.estimates import Estimates
from banditree.training.intervals import joint_tail, radius_of_clustered_rate
from banditree.training.links import find_links, linked_rows
from banditree.training.mixture import one_each_time
from banditree.training.statistics import Statistics

CHUNK = 20_000  # The scores of this many individuals are held at once.
FLAT = 1e-6  # A direction with less than this part of the curvature it would have for known kinds counts as unknown.
SETTLED = 1e-4  # A rate with less variance, close to 0 or 1, has no curvature and takes no part in the equations.


def by_mixture(estimates: Estimates, individuals: Statistics, classes: Classes) -> Estimates:
    """The estimates of found kinds with 0/1 rewards: the mixture's rates, with radii by individual.

    individuals: the statistics in which they are the tasks. The effective number of rows of a rate is at most the rows
    of individuals that tried another option too: those of the others show the split between kinds, not their rates.
    Rows that may be of another kind move a rate by at most their part of the largest difference between kinds; that is
    added, as the mixture is never quite the true one.
    """
    assert classes.rates is not None
    rates, chances = classes.rates, classes.chances
    count, total = tables(individuals)
    discount = 1 / (1 + np.maximum(count - 1, 0) * classes.correlation)
    together = rates.shape[1] if one_each_time(individuals) else 1
    covariance = rate_covariance(rates, chances, discount * count, discount * total, together=together)
    scale = np.sqrt(covariance.diagonal())
    used = scale > 0
    correlation = covariance[np.ix_(used, used)] / np.outer(scale[used], scale[used])
    tail = joint_tail([correlation], estimates.failure_probability)
    n_individuals = chances.T @ (count > 0)
    rows = np.minimum(linked_rows(find_links(individuals), individuals, chances), chances.T @ count)
    error = scale.reshape(rates.shape)
    radius = radius_of_clustered_rate(rates, error, rows, np.minimum(n_individuals, rows), tail)
    doubt = ((chances * (1 - chances)).T @ count) / np.maximum(chances.T @ count, 1e-300)
    radius = radius + doubt * (rates.max(axis=0) - rates.min(axis=0))
    fine = ~np.isnan(estimates.means)
    return replace(
        estimates,
        means=np.where(fine, rates, np.nan),
        radius=np.where(fine, np.minimum(radius, np.maximum(rates, 1 - rates)), np.nan),
        individuals=np.round(n_individuals).astype(np.int64),
    )


def tables(individuals: Statistics) -> tuple[FloatArray, FloatArray]:
    """Rows and successes (U, K) of every individual."""
    count = np.zeros((len(individuals.tasks), len(individuals.arms)))
    total = np.zeros_like(count)
    count[individuals.task, individuals.arm] = individuals.count
    total[individuals.task, individuals.arm] = individuals.sums[:, -1]
    return count, total


def rate_covariance(
    rates: FloatArray,
    chances: FloatArray,
    count: FloatArray,
    total: FloatArray,
    *,
    variance: FloatArray | None = None,
    labelled: FloatArray | None = None,
    together: int = 1,
) -> FloatArray:
    """The covariance (M K, M K) of the rates, by individual: curvature^-1 x squared scores x curvature^-1.

    rates: (M, K) at the maximum of the likelihood. chances: (U, M) of the kinds. count, total: (U, K). variance: (M, K)
    of one reward, by default that of 0/1 rewards. labelled: (M, K), further independent rows of known kind.
    together: how many rates in a row add up to 1 (of all arms, where one is a success each time; of all grades of an
    arm), and have the same counts and labelled rows; 1 where each is a rate of its own.
    """
    # From natural parameters to rates.
    slope = np.diag((rates * (1 - rates) if variance is None else variance).ravel())
    slope = _slopes_together(rates, together) if together > 1 else slope
    size, shares = rates.size, chances.mean(axis=0)
    squares = np.zeros((size + len(shares) - 1,) * 2)
    spread = np.zeros_like(squares)
    for first in range(0, len(chances), CHUNK):
        part = slice(first, first + CHUNK)
        more_squares, more_spread = _second_moments(rates, chances[part], count[part], total[part], shares)
        squares += more_squares
        spread += more_spread
    known = np.zeros_like(squares)
    rows = (chances.T @ count).ravel()
    known[:size, :size] = slope * np.sqrt(np.outer(rows, rows))
    known[size:, size:] = len(chances) * (np.diag(shares[:-1]) - np.outer(shares[:-1], shares[:-1]))
    curvature = known - (spread - squares)
    if labelled is not None:
        for matrix in (curvature, known, squares):
            matrix[:size, :size] += slope * np.sqrt(np.outer(labelled, labelled))
    settled = slope.diagonal() < SETTLED
    if together > 1:  # parameters count relative to that of the likeliest among them
        groups = rates.reshape(-1, together)
        settled = settled | (np.arange(together) == groups.argmax(axis=1)[:, None]).ravel()
    inverse = _inverse(curvature, known.diagonal(), settled)
    few = len(chances) / max(len(chances) - 1, 1)
    return np.asarray(few * slope @ (inverse @ squares @ inverse)[:size, :size] @ slope)


def _slopes_together(rates: FloatArray, together: int) -> FloatArray:
    """How the rates (M K,) move with the logs of rates that are then scaled to add up to 1, `together` in a row."""
    found = np.diag(rates.ravel())
    for first, own in enumerate(rates.reshape(-1, together)):
        here = slice(first * together, (first + 1) * together)
        found[here, here] -= np.outer(own, own)
    return found


def _second_moments(
    rates: FloatArray, chances: FloatArray, count: FloatArray, total: FloatArray, shares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sums over individuals of the squared score, and of the expected square of the score if the kind were known.

    Parameters are the log-odds of every rate and the log of every share relative to the last. A known kind c scores
    total - rate x count for its own rates, and 1 - share for its own share.
    """
    (M, K), size = rates.shape, rates.size
    own = total[:, None, :] - rates * count[:, None, :]
    weighted = chances[:, :, None] * own
    scores = np.concatenate([weighted.reshape(len(own), size), (chances - shares)[:, :-1]], axis=1)
    expected = np.zeros((size + M - 1,) * 2)
    for kind in range(M):
        block = slice(kind * K, (kind + 1) * K)
        expected[block, block] = own[:, kind].T @ weighted[:, kind]
        cross = np.outer(weighted[:, kind].sum(axis=0), np.eye(M)[kind] - shares)[:, :-1]
        expected[block, size:] = cross
        expected[size:, block] = cross.T
    belief, rest = chances.sum(axis=0)[:-1], shares[:-1]
    pair = np.outer(belief, rest)
    expected[size:, size:] = np.diag(belief) - pair - pair.T + len(own) * np.outer(rest, rest)
    return scores.T @ scores, expected


def _inverse(curvature: FloatArray, known: FloatArray, settled: BoolArray) -> FloatArray:
    """The inverse of the curvature, in which directions that the log hardly shows count as unknown."""
    used = np.flatnonzero(np.append(~settled, np.ones(len(curvature) - settled.size, bool)) & (known > 0))
    scale = np.sqrt(known[used])
    values, vectors = np.linalg.eigh(curvature[np.ix_(used, used)] / np.outer(scale, scale))
    inverse = np.zeros_like(curvature)
    inverse[np.ix_(used, used)] = (vectors / np.maximum(values, FLAT)) @ vectors.T / np.outer(scale, scale)
    return inverse
