"""What policies would earn on the cases of a log, over all their rounds, by an estimate that is right for its design.

Where every outcome is known, a policy is replayed. Where a round shows one option, cases answer from queues: those that
are shown so far count for one over the chance of that, and what the kinds expect of them is taken from their totals and
put back for everyone (doubly robust, as in Robins, Rotnitzky and Zhao 1995): right if the log's design is, or the kinds
are. Where contexts that vary within a case decide, or the log's options followed from what came before for sure, rounds
are passed over until the log gives what is asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from banditree.cases.design import LogDesign
from banditree.cases.table import Cases
from banditree.evaluation.expected import MadeUp, expecting
from banditree.evaluation.intervals import Measured, per_round
from banditree.evaluation.kinds import Kinds
from banditree.evaluation.passing import passed
from banditree.evaluation.queues import NOTHING, Shown, played
from banditree.evaluation.replay import Replayed, replay
from banditree.evaluation.singles import hindsight, stands_in
from banditree.evaluation.supply import Supply, contexts_vary, contradict, supply_of, thinning
from banditree.policies.base import Policy
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.rewards import Gaussian, Rewards

LEAST_CASES = 10  # Nothing is said about a round that fewer cases (by weights: effective cases) come to.
PASSES = 10  # The queues are put into this many random orders.
PLAYED = 50_000  # With more cases, fewer orders say as much.
MOST_WEIGHT = 10.0  # A case counts for at most this many; what is rarer is left to what the kinds say.
HALF = 0.5  # A round is shown by the log if the cases that come to it speak for this part of all.


@dataclass(frozen=True, eq=False)
class Judged:
    """A policy's reward per round over its first `rounds`, and how the log shows it.

    total and n (U,): what is earned by each case, and in how many rounds. here: (U, T), in which part of the passes a
    case was shown so far. reach: (T,), for which part of all cases these speak. changed: (U,), whether a case was shown
    a change of option that was asked for. use: (R,), how much every round of the log counts; None where that is not
    asked.
    """

    total: FloatArray
    n: FloatArray
    rounds: int
    here: FloatArray
    reach: FloatArray
    changed: BoolArray
    use: FloatArray | None = None

    @property
    def measured(self) -> Measured:
        """The reward per round, with the influence of every case."""
        return per_round(self.total, self.n)

    @property
    def shown(self) -> int:
        """How many rounds the log shows: as many as enough cases come to, which speak for half of all."""
        enough = ((self.here > 0).sum(axis=0) >= min(LEAST_CASES, len(self.here))) & (self.reach >= HALF)
        return int(np.count_nonzero(np.logical_and.accumulate(enough)))

    @property
    def n_cases(self) -> int:
        """How many cases show anything of it."""
        return int((self.here[:, 0] > 0).sum())


class Judge(Protocol):
    """Judges policies on the cases of one log."""

    def judge(self, subject: Any, policy: Policy, *, runs: int = 1) -> Judged:
        """What following a plan, or a policy that knows a collection, would have earned.

        runs: of policies that draw at random.
        """
        ...


def judge_of(
    cases: Cases, design: LogDesign, horizon: int, rewards: Rewards, *, kinds: Kinds | None = None, seed: int = 0
) -> Judge:
    """The judge that a log calls for. kinds: what cases are expected to give, by default as found in this log."""
    if cases.is_full:
        return Replaying(cases, horizon, seed)
    if kinds is None:
        kinds = expecting(cases, rewards if rewards.has_likelihood else Gaussian(1.0), seed)
    return Weighing(cases, design, kinds, horizon, seed)


def judged_replay(cases: Cases, one: Replayed) -> Judged:
    """What a replay with every outcome shows."""
    here = (~np.isnan(one.rewards)).astype(float)
    could = (np.arange(here.shape[1]) < cases.n_rounds[:, None]).sum(axis=0)
    return Judged(one.total, one.rounds, here.shape[1], here, here.sum(axis=0) / could, np.zeros(len(here), bool))


@dataclass(frozen=True, eq=False)
class Replaying:
    """Every outcome is known; options that a round does not offer are replaced as a person would."""

    cases: Cases
    horizon: int
    seed: int

    def judge(self, subject: Any, policy: Policy, *, runs: int = 1) -> Judged:
        """By replay."""
        stand_in = stands_in(self.cases)
        one = replay(subject, self.cases, self.horizon, policy=policy, runs=runs, seed=self.seed, stand_in=stand_in)
        return judged_replay(self.cases, one)

    def hindsight(self) -> Judged:
        """What the best option of each case earned."""
        return judged_replay(self.cases, hindsight(self.cases, self.horizon))


@dataclass(frozen=True, eq=False)
class Weighing:
    """A round shows one option, and cases count by their chance of being shown. kinds: how they are expected to go on.

    Cases answer from queues, or pass rounds over where contexts decide that are not the same in all of them.
    """

    cases: Cases
    design: LogDesign
    kinds: Kinds
    horizon: int
    seed: int

    @cached_property
    def rounds(self) -> IntArray:
        """The rounds (U,) of every case that count: its own, up to the horizon."""
        return np.minimum(self.cases.n_rounds, self.horizon)

    @cached_property
    def _supply(self) -> Supply:
        return supply_of(self.cases, self.design.design)

    @cached_property
    def _made_up(self) -> MadeUp:
        return MadeUp(self.kinds, self.cases, int(self.rounds.max()), self.seed)

    def _in_turn(self, subject: Any) -> bool:
        """Whether the rounds of a case come in turn, as each has a context of its own."""
        return contradict(self.cases) or (bool(subject.features) and contexts_vary(self.cases))

    def _kept(self, passes: int) -> Iterator[BoolArray]:
        """Which rounds (R,) stand in the queues, pass by pass."""
        chance = thinning(self.cases)
        for number in range(passes):
            yield np.random.default_rng([self.seed, 8, number]).random(len(chance)) < chance

    def _shown(self, subject: Any, policy: Policy, passes: int) -> Iterator[tuple[Shown, FloatArray]]:
        """Passes over the cases, and the chance (U, T) of being shown so far."""
        if self._in_turn(subject):
            yield from passed(subject, policy, self.cases, self.design.design, self.horizon, passes, self.seed)
            return
        for one in played(subject, policy, self.cases, self._kept(passes), self.rounds, self.horizon, self.seed):
            yield one, self._supply.chance(one.needs)

    def judge(self, subject: Any, policy: Policy, *, runs: int = 1) -> Judged:
        """By queues, weights and what is expected; over all rounds."""
        expected = self._made_up.expected(subject, policy, not self._in_turn(subject))
        passes = max(runs, min(PASSES, -(-PLAYED // self.cases.n_cases)))
        U, T, R = self.cases.n_cases, int(self.rounds.max()), len(self.cases.arm)
        total, reach, here, use, changed = np.zeros(U), np.zeros(T), np.zeros((U, T)), np.zeros(R), np.zeros(U, bool)
        done = 0
        for one, chance in self._shown(subject, policy, passes):
            done, there = done + 1, one.row != NOTHING
            weight = np.where(there, 1 / np.maximum(chance, 1 / MOST_WEIGHT), 0.0)
            reward = np.where(there, self.cases.reward[one.row], 0.0)
            later = expected.later(one.asked, reward, self.rounds)
            total += later[:, 0] + (weight * (reward + later[:, 1:] - later[:, :-1])).sum(axis=1)
            reach, here, changed = reach + weight.sum(axis=0), here + there, changed | one.changes
            np.add.at(use, one.row[there], weight[there])
        could = (np.arange(T) < self.rounds[:, None]).sum(axis=0)
        n, reach = self.rounds.astype(float), reach / done / could
        return Judged(total / done, n, T, here / done, reach, changed, use / done)
