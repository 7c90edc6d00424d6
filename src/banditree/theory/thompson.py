"""About what is lost where a plan leaves the choice to Thompson sampling, or to arms of which it expects something."""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

RUNS = 8  # simulated for each task and end
FAR = 0.05  # of the range of rewards: a task whose best arm beats all arms of an end by so much is not played there
BET = 4.0  # about the log of what a bet on some other rate costs within some hundred rounds (`theory.doubt`)


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
    """Arms between which is chosen: each counts as if it had been given `worth` times at its rate (J,). Rates that are
    off by more than `allow`, at `odds` to one, end in a hand-over to Thompson sampling; never, if the odds are 0."""

    among: IntArray
    rates: FloatArray
    worth: int
    allow: float = 0.0
    odds: int = 0


def expected_loss(collection: Collection, horizon: int, end: Expected, runs: int = RUNS) -> FloatArray:
    """About what an end with expected rates loses in each task (M,), a better arm that it does not have included.

    Choosing between its arms is simulated, with the same seed each time; rewards in a range are played as 0 or 1, which
    vary the most. A task whose best arm is not among them by far is not played: what counts then is when it is noticed.
    """
    from banditree.theory.choosing import loss_of_choosing

    rewards, means = collection.rewards, collection.means[:, end.among]
    missed = collection.means.max(axis=1) - means.max(axis=1)
    lost, near = _until_noticed(collection, horizon, end, missed), missed <= FAR * 2.0 * rewards.variance_proxy**0.5
    low, width = (rewards.low, rewards.width) if rewards.has_range else (0.0, 1.0)
    scaled, sigma = (
        ((means[near] - low) / width, (end.rates - low) / width),
        0.0 if rewards.has_range else rewards.sigma,
    )
    if near.any():
        lost[near] += width * loss_of_choosing(*scaled, end.worth, horizon, sigma=sigma, runs=runs)
    return lost


def _until_noticed(collection: Collection, horizon: int, end: Expected, missed: FloatArray) -> FloatArray:
    """About what giving the best of the arms loses (M,) until it is noticed that its rate is not as expected."""
    if not end.odds or collection.parameters.ndim > 2:
        return np.asarray(horizon * missed)
    best = collection.means[:, end.among].argmax(axis=1)
    rate, expected = collection.means[np.arange(len(best)), end.among[best]], end.rates[best]
    nearest = np.clip(rate, expected - end.allow, expected + end.allow)
    rounds = (np.log(end.odds) + BET) / np.maximum(collection.rewards.kl(rate, nearest), 1e-12)
    then = missed * rounds + thompson_loss(collection, horizon)
    return np.asarray(np.where(rounds < horizon, np.minimum(then, horizon * missed), horizon * missed))
