"""One option for everyone: which one, what it earns, and what stands in where an option is not on offer."""

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.replay import Replayed, replayed
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

BORROWED = 10  # Each arm starts with this many rounds of the overall mean, lest one tried once is best by luck.


def best_single(history: Cases, collection: Collection | None = None) -> int:
    """The arm with the highest mean: of the collection if there is one, else on the log itself."""
    return int((collection.weights @ collection.means if collection is not None else single_means(history)).argmax())


def single_means(history: Cases) -> FloatArray:
    """The mean (K,) of every arm on the log, by its chances where these are known."""
    weight = np.ones(len(history.outcomes)) if history.chances is None else 1 / history.chances
    count, total = weight @ history.known, weight @ np.nan_to_num(history.outcomes)
    overall = total.sum() / max(count.sum(), 1)
    return np.asarray((total + BORROWED * overall) / (count + BORROWED))


def stands_in(history: Cases) -> FloatArray:
    """The outcome (R,) of the option that is best for everyone among those on offer in a round.

    That is what a person would give a case that cannot have what the plan asks for.
    """
    order = np.argsort(-single_means(history), kind="stable")
    best = order[history.known[:, order].argmax(axis=1)]
    return np.asarray(history.outcomes[np.arange(len(best)), best])


def replay_single(history: Cases, arm: int | IntArray, horizon: int) -> Replayed:
    """What giving one arm to everyone, or an arm of its own in every round (R,), would have earned.

    In the first `horizon` rounds that know its outcome; where rounds know several outcomes, in all of them.
    """
    chosen = np.broadcast_to(arm, len(history.outcomes))
    reward = history.outcomes[np.arange(len(chosen)), chosen]
    reward = np.where(np.isnan(reward), stands_in(history), reward) if history.is_full else reward
    known = np.flatnonzero(~np.isnan(reward))
    owner = history.owner[known]
    place = np.arange(len(known)) - np.searchsorted(owner, np.arange(history.n_cases))[owner]
    counts = place < horizon
    rewards = np.full((1, history.n_cases, int(min(horizon, history.n_rounds.max()))), np.nan)
    rewards[0, owner[counts], place[counts]] = reward[known[counts]]
    return replayed(rewards, chosen)


def hindsight(history: Cases, horizon: int) -> Replayed:
    """What the best arm of every case over its own first `horizon` rounds earned; known only afterwards."""
    every = [replay_single(history, arm, horizon) for arm in range(len(history.arms))]
    total = np.array([np.where(one.rounds > 0, one.total, -np.inf) for one in every])
    best, cases = total.argmax(axis=0), np.arange(history.n_cases)
    rewards = np.array([one.rewards for one in every])[best, cases]
    return replayed(rewards[None], best[history.owner])
