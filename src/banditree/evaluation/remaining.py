"""The chance that a replay comes so far: rounds are passed over until the log gives what the plan asks for.

A replay of a finite log loses cases on the way, and sooner those whose plan asks for what the log rarely gives: after
failures, say. The cases that are left then look better than all would. Each counts for one over its chance of remaining
(Robins and Rotnitzky 1992), which follows from how options come after each other in the log: at random, with a chance
each, or by a Markov chain where they stick. What is assumed is that the log's options depend on nothing else.
"""

import numpy as np

from banditree.cases.design import Design
from banditree.cases.table import Cases
from banditree.evaluation.replay import Replayed
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

LEAST_CHANCE = 1e-6  # A smaller chance of remaining counts as this one.
FAR = 3.0  # Weights that add up to less than by this many standard deviations lack cases.
SLACK = 0.02  # The chances are estimated, and may be off by this part.
MOST_ROUNDS = 500  # Chances are worked out for this many rounds of the log; later ones hardly ever matter.


def transitions(cases: Cases, design: Design) -> FloatArray:
    """How likely (K + 2, K + 1) each option, or none, comes after each option, after none, and at first."""
    K = len(cases.arms)
    if cases.chances is not None:  # thinned, so that an option comes with the least chance that it ever had
        least = np.full(K, np.inf)
        np.minimum.at(least, cases.arm, cases.chances)
        least = np.where(np.isfinite(least), least, 0.0)
        return np.tile(np.append(least, max(1 - least.sum(), 0.0)), (K + 2, 1))
    share = np.bincount(cases.arm, minlength=K) / len(cases.arm)
    chain = np.tile(np.append(share, 0.0), (K + 2, 1))
    if design is Design.STICKY:
        follows = np.flatnonzero(cases.place > 0)
        pairs = np.zeros((K, K))
        np.add.at(pairs, (cases.arm[follows - 1], cases.arm[follows]), 1.0)
        chain[:K, :K] = (pairs + share) / (pairs.sum(axis=1, keepdims=True) + 1)
        chain[-1, :K] = (np.bincount(cases.arm[cases.place == 0], minlength=K) + share) / (cases.n_cases + 1)
    return chain


def weights_of(cases: Cases, followed: Replayed, chain: FloatArray) -> FloatArray:
    """One over the chance of remaining (U, H) of every case, in every round of a replay (of one run) that counted."""
    chance = remaining(asked_arms(cases, followed), cases.n_rounds, chain)
    return np.asarray(1 / np.clip(chance, LEAST_CHANCE, 1.0))  # above 1 where the log's chances contradict each other


def asked_arms(cases: Cases, followed: Replayed) -> IntArray:
    """The arm (U, H) of every round of a replay (of one run) that counted, -1 after the last."""
    rows, place = counted_rounds(cases, followed)
    width = followed.rewards.shape[1]
    asked, within = np.full((cases.n_cases, width), -1), place < width
    asked[cases.owner[rows[within]], place[within]] = followed.chosen[rows[within]]
    return asked


def counted_rounds(cases: Cases, followed: Replayed) -> tuple[IntArray, IntArray]:
    """The rounds of the log that counted in a replay (of one run), and for each how many of its case came before."""
    rows = np.flatnonzero(followed.chosen >= 0)
    rows = rows[~np.isnan(cases.outcomes[rows, followed.chosen[rows]])]
    owner = cases.owner[rows]
    return rows, np.arange(len(rows)) - np.searchsorted(owner, np.arange(cases.n_cases))[owner]


def represented(weights: FloatArray, rewards: FloatArray, n_rounds: IntArray) -> BoolArray:
    """Whether (H,) the weights of the cases that come to a round add up to all cases that could, but for luck.

    If not, some go ways that are so rare in the log that nobody shows them, and the others do not speak for them.
    """
    here = ~np.isnan(rewards)
    w, could = weights * here, (np.arange(rewards.shape[1]) < n_rounds[:, None]).sum(axis=0)
    luck = np.sqrt((w * np.maximum(w - 1, 0)).sum(axis=0))
    return np.asarray(could - w.sum(axis=0) <= FAR * luck + SLACK * could)


def remaining(asked: IntArray, n_rounds: IntArray, chain: FloatArray) -> FloatArray:
    """The chance (U, H) of coming to every round of a replay within the log's rounds (U,) of the case.

    asked: (U, H), the option that the policy asks for in each round that counted, -1 after the last.

    >>> half = np.array([[0.5, 0.5, 0.0]] * 4)
    >>> remaining(np.array([[0, 0]]), np.array([2]), half).tolist()
    [[0.75, 0.25]]
    """
    length = int(min(n_rounds.max(initial=1), MOST_ROUNDS))
    waits = _first_passages(chain, length)
    found, known = np.ones(asked.shape), dict[tuple[int, ...], FloatArray]()
    for u, path in enumerate(asked.tolist()):
        before: FloatArray | None = None
        for t, arm in enumerate(path):
            if arm < 0:
                break
            prefix = (*path[: t + 1],)
            if prefix not in known:
                start = waits[-1, arm] if before is None else waits[path[t - 1], arm]
                known[prefix] = start if before is None else np.convolve(np.append(0.0, start), before)[:length]
            before = known[prefix]
            found[u, t] = before[: n_rounds[u]].sum()
    return found


def _first_passages(chain: FloatArray, length: int) -> FloatArray:
    """The chance (K + 2, K, length) that an option comes for the first time after 1, 2, .. rounds, from each state."""
    states, K = chain.shape[0] - 1, chain.shape[1] - 1
    found = np.zeros((states + 1, K, length))
    for arm in range(K):
        still = chain.copy()
        for rounds in range(length):
            found[:, arm, rounds] = still[:, arm]
            others = still.copy()
            others[:, arm] = 0.0
            still = others @ chain[:states]
    return found
