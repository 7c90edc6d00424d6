"""What a plan would have earned, from a log that gave other arms: inverse propensities, three ways.

A plan looks at what came before, so a logged case shows the plan only for as long as the log gave what the plan would
have given. Each such round counts for 1/chance of the arm that was given; the weight of a case in round t is the
product of these up to t, and 0 from the first round that differs. Nothing is assumed about how a case's responses
change over time; the price is that few cases have any weight after some rounds, as the effective sample size shows.

Libraries for evaluation from logs (Open Bandit Pipeline, for one) take a table of the chances with which a policy
chooses in each row. A plan that keeps score has none: its choice depends on its own earlier choices.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.intervals import Measured, per_round
from banditree.evaluation.replay import Replayed
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Weighted:
    """The first rounds of every case as a table, (U, T): T is the horizon or the most rounds that any case has.

    weight: the product of 1/chance up to that round, 0 once the log differs from the policy. here: whether the case has
    that round. reward and arm: what was logged. chosen: what the policy would give, NOT_REACHED after a difference.
    """

    weight: FloatArray
    reward: FloatArray
    arm: IntArray
    chosen: IntArray
    here: BoolArray
    chance: FloatArray

    @property
    def rounds(self) -> FloatArray:
        """Rounds (U,) of each case."""
        return np.asarray(self.here.sum(axis=1), float)

    @property
    def effective(self) -> FloatArray:
        """Effective sample size (T,): how many equally weighted cases the weights of each round are worth."""
        squares = (self.weight**2).sum(axis=0)
        return np.asarray(self.weight.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1.0))

    def first(self, rounds: int) -> "Weighted":
        """The same for the first rounds only."""
        return Weighted(*(getattr(self, one.name)[:, :rounds] for one in fields(self)))


def logged_chances(history: Cases) -> FloatArray:
    """The chance (R,) of the arm given in every round: as logged, or the arm's share of all rounds."""
    if history.chances is not None:
        return history.chances
    share = np.bincount(history.arm, minlength=len(history.arms)) / len(history.outcomes)
    return np.asarray(share[history.arm])


def weighted(history: Cases, replayed: Replayed, horizon: int) -> Weighted:
    """The weights of a policy that was replayed without waiting (`replay(..., waits=False)`)."""
    T = int(min(horizon, history.n_rounds.max()))
    place = np.arange(T)
    here = place < np.minimum(history.n_rounds, T)[:, None]
    row = np.where(here, history.first[:-1, None] + place, 0)
    arm, chance = history.arm[row], logged_chances(history)[row]
    chosen = np.where(here, replayed.chosen[row], -1)
    agrees = np.logical_and.accumulate(here & (chosen == arm), axis=1)
    weight = np.where(agrees, np.cumprod(np.where(here, 1 / chance, 1.0), axis=1), 0.0)
    reward = np.where(here, history.outcomes[row, arm], 0.0)
    return Weighted(weight, reward, arm, chosen, here, chance)


class Agreement(NamedTuple):
    """In which share of the rounds that the plan came to the log gave the plan's arm, and in which it would by chance.

    away: how many standard deviations lie between the two.
    """

    seen: float
    expected: float
    away: float


def agreement(history: Cases, w: Weighted) -> Agreement:
    """How often the log agrees with the plan, if every arm is given with its share of the log as its chance.

    Whether a round agrees is then a coin of known chance, whatever came before, so the difference is a martingale.
    """
    share = np.bincount(history.arm, minlength=len(history.arms)) / len(history.arm)
    reached = w.here & (w.chosen >= 0)
    chance, agrees = share[w.chosen[reached]], w.arm[reached] == w.chosen[reached]
    deviation = float(np.sqrt((chance * (1 - chance)).sum()))
    away = float((agrees - chance).sum()) / deviation if deviation else 0.0
    return Agreement(float(agrees.mean()), float(chance.mean()), away)


def inverse_propensity(w: Weighted) -> Measured:
    """Per-decision importance sampling (Precup, Sutton and Singh 2000): unbiased, and of high variance."""
    return per_round((w.weight * w.reward).sum(axis=1), w.rounds)


def self_normalised(w: Weighted) -> Measured:
    """The same with each round's weights divided by their mean: a little biased, and steadier.

    Every round must have a case with some weight.
    """
    n, sums = w.here.sum(axis=0), w.weight.sum(axis=0)
    mean = (w.weight * w.reward).sum(axis=0) / sums
    pull = w.weight * (w.reward - mean) / sums
    return Measured(float((n * mean).sum() / n.sum()), (pull * n).sum(axis=1) / n.sum())


def doubly_robust(w: Weighted, n_arms: int) -> Measured:
    """The doubly robust estimate for sequences (Jiang and Li 2016): right if the chances are, or the predictions.

    The prediction is the mean reward of the arm over all other cases now, and that of the best arm in later rounds.
    """
    predicted = _predictions(w, n_arms)
    best = predicted.max(axis=1)
    U, T = w.here.shape
    cases = np.arange(U)
    value = np.zeros(U)
    for t in range(T - 1, -1, -1):
        here = w.here[:, t]
        later = best * w.here[:, t + 1 :].sum(axis=1)
        arm, chosen = w.arm[:, t], np.maximum(w.chosen[:, t], 0)
        step = np.where(here & (w.chosen[:, t] == arm), 1 / w.chance[:, t], 0.0)
        surprise = w.reward[:, t] + value - predicted[cases, arm] - later
        value = np.where(here, predicted[cases, chosen] + later + step * surprise, 0.0)
    return per_round(value, w.rounds)


def _predictions(w: Weighted, n_arms: int) -> FloatArray:
    """The mean reward (U, K) of every arm over all cases but one, that of all arms where nobody else had the arm."""
    U = len(w.here)
    owner, arm = np.nonzero(w.here)[0], w.arm[w.here]
    count, total = np.zeros((U, n_arms)), np.zeros((U, n_arms))
    np.add.at(count, (owner, arm), 1.0)
    np.add.at(total, (owner, arm), w.reward[w.here])
    others_count, others_total = count.sum(axis=0) - count, total.sum(axis=0) - total
    overall = others_total.sum(axis=1) / np.maximum(others_count.sum(axis=1), 1.0)
    return np.asarray(np.where(others_count > 0, others_total / np.maximum(others_count, 1.0), overall[:, None]))
