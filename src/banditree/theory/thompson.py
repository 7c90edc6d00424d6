"""About what is lost where a plan leaves the choice to Thompson sampling, or chooses between arms of expected rates."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection

RUNS = 8  # This many runs are simulated for each task and end.
FAR = 0.05  # A task whose best arm beats all arms of an end by this share of the range of rewards is not played there.


def thompson_loss(collection: Collection, horizon: int, among: IntArray | None = None) -> FloatArray:
    """About what Thompson sampling from scratch loses in each task (M,) over `horizon` rounds in finding its best arm.

    among: the arms that it chooses between, by default all; a better arm that is not among them is not its loss.
    The sum over arms of gap log(1 + H gap^2) / KL(arm, best arm): the rate of Lai and Robbins, which Thompson sampling
    attains (Agrawal and Goyal 2013), with the horizon replaced by the rounds in which the gap matters. An estimate and
    no bound: within 7% of simulations on average, and 15 to 35% off for a single task (5 and 20 arms with uniform
    rates, 200 to 10,000 rounds).

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> thompson_loss(two, 1000).round(1).tolist()
    [5.2, 7.4]
    """
    rewards, arms = collection.rewards, np.arange(collection.n_arms) if among is None else among
    parameters, means = collection.parameters[:, arms], collection.means[:, arms]
    first = means.argmax(axis=1)
    gaps = means.max(axis=1, keepdims=True) - means
    best = parameters[np.arange(len(means)), first][:, None]
    apart = np.maximum(rewards.kl(parameters, np.broadcast_to(best, parameters.shape)), 1e-12)
    unit = 4.0 * float(rewards.variance_proxy)  # the squared range of 0/1 rewards, for which the formula was measured
    terms = np.where(gaps > 1e-12, gaps * np.log1p(horizon * gaps**2 / unit) / apart, 0.0)
    return np.asarray(np.minimum(terms, horizon * gaps).sum(axis=1))


class Expected(NamedTuple):
    """Arms between which is chosen: each counts as if it had been given `worth` times at its rate (J,).

    odds: about how much less likely a task is held to be that does not belong here; it is then drawn once in `odds`
    rounds, and its own arms are given. 0 where tasks are not drawn.
    """

    among: IntArray
    rates: FloatArray
    worth: int
    odds: int = 0


def expected_losses(collection: Collection, horizon: int, ends: Sequence[Expected], runs: int = RUNS) -> FloatArray:
    """About what each end with expected rates loses in each task (E, M), a better arm that it does not have included.

    Choosing between the arms of an end is simulated, with the same seed each time; rewards in a range are played as 0
    or 1, which vary the most. A task whose best arm is not among them by far is not played: its case is there by
    mistake, until its own task is drawn, and then loses what it would have lost at the end of its own.
    """
    far = np.array([_missed(collection, end) > FAR * 2.0 * collection.rewards.variance_proxy**0.5 for end in ends])
    lost = np.array([_played(collection, horizon, end, ~out, runs) for end, out in zip(ends, far, strict=True)])
    own = np.where(far, np.inf, lost).min(axis=0, initial=np.inf)
    own = np.where(np.isfinite(own), own, thompson_loss(collection, horizon))
    drawn = np.array([end.odds > 0 for end in ends], dtype=bool)
    return np.asarray(lost + np.where(far & drawn[:, None], own, 0.0))


def _missed(collection: Collection, end: Expected) -> FloatArray:
    """How much better the best arm of each task (M,) is than the best of an end."""
    return np.asarray(collection.means.max(axis=1) - collection.means[:, end.among].max(axis=1))


def _played(collection: Collection, horizon: int, end: Expected, near: BoolArray, runs: int) -> FloatArray:
    """What is missed at an end (M,), and in the tasks that are near also what finding its best arm loses."""
    from banditree.theory.choosing import loss_of_choosing

    rewards, means = collection.rewards, collection.means[:, end.among]
    lost = _missed(collection, end) * (min(horizon, end.odds) if end.odds else horizon)
    low, width = (rewards.low, rewards.width) if rewards.has_range else (0.0, 1.0)
    if near.any():
        scaled = (means[near] - low) / width, (end.rates - low) / width
        sigma = 0.0 if rewards.has_range else rewards.sigma
        lost[near] += width * loss_of_choosing(*scaled, end.worth, horizon, sigma=sigma, runs=runs)
    return lost
