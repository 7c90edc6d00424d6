"""One year of looking at a plan: the tests, look by look, and the alarms that they raise."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from banditree.cases.table import Cases, only_cases
from banditree.monitoring.evidence import Evidence, Question
from banditree.monitoring.likelihood import Rounds
from banditree.monitoring.sequences import rare_events
from banditree.monitoring.summary import MONTH, unfit_since
from banditree.plans.gives import NONE
from banditree.policies.alarm import FALSE_ALARM_RATE
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

YEAR = 365.25  # Days of a year.


@dataclass(frozen=True)
class Alarm:
    """What was noticed: in the boxes of a test, or (test None) that more cases than promised fit no kind.

    group: the value of the label whose cases it is about, None for all. since: the day on which it seems to have begun;
    noticed: the day of the look that noticed it. observed, expected, n: mean outcomes in these boxes since then and how
    many; or the share of cases that fit no kind, what was promised, and the cases. evidence: the e-process then,
    where 1/level was needed.
    """

    test: Question | None
    group: str | None
    since: float
    noticed: float
    observed: float
    expected: float
    n: int
    evidence: float
    level: float


@dataclass(frozen=True, eq=False)
class Course:
    """The log of the e-processes (looks, tests) on the days of the looks, and the level of every test; the last column
    is the test of cases that fit no kind."""

    days: FloatArray
    tests: tuple[Question, ...]
    log_evidence: FloatArray
    levels: FloatArray


class WatchedYear:
    """One year of looks: shifts that begin within it, in the cases that have outcomes in it."""

    def __init__(
        self,
        likely: Collection,
        collection: Collection,
        observed: Cases,
        rounds: Rounds,
        tests: tuple[Question, ...],
        levels: FloatArray,
        begin: float,
        block: int,
    ) -> None:
        self.collection, self.tests, self.levels = collection, tests, levels
        self.begin, self.end = begin, begin + YEAR
        inside = (rounds.at > begin) | (begin == observed.began.min())
        cases = np.unique(rounds.case[inside & (rounds.at <= self.end)])
        place = np.full(observed.n_cases, NONE)
        place[cases] = np.arange(len(cases))
        rows = np.flatnonzero((place[rounds.case] != NONE) & (rounds.at <= self.end))
        rows = rows[np.argsort(rounds.at[rows], kind="stable")]
        self.rounds = rounds.only(rows)
        self.rounds.case[:] = place[self.rounds.case]
        self.starts = np.asarray(begin + MONTH * np.arange(12), float)
        self.evidence = Evidence(likely, tests, len(cases), self.starts, block)
        here = only_cases(observed, cases)
        self.unfit, self.began = unfit_since(here, collection), here.began
        self.alarms: list[Alarm] = []

    def run(self, last: float, every: float) -> Course:
        """Look every few days until the year, or what is on record, ends."""
        days, logs = [], []
        for day, rows in self._looks(min(last, self.end), every):
            now = self.evidence.add(self.rounds.only(rows))
            begun = int((self.began <= day).sum())
            unfit = int((self.unfit <= day).sum())
            days.append(day)
            logs.append(np.append(now, rare_events(begun, unfit, FALSE_ALARM_RATE)))
            for number in np.flatnonzero(logs[-1] >= -np.log(self.levels)).tolist():
                self._note(number, day, float(logs[-1][number]), begun, unfit)
        return Course(np.array(days), self.tests, np.array(logs).reshape(len(days), -1), self.levels)

    def _looks(self, last: float, every: float) -> Iterator[tuple[float, IntArray]]:
        done = 0
        for day in np.append(np.arange(self.begin + every, last, every), last).tolist():
            upto = int(np.searchsorted(self.rounds.at, day, side="right"))
            yield day, np.arange(done, upto)
            done = upto

    def _note(self, number: int, day: float, log_evidence: float, begun: int, unfit: int) -> None:
        test = self.tests[number] if number < len(self.tests) else None
        if any(alarm.test == test for alarm in self.alarms):
            return
        evidence, level = float(np.exp(min(log_evidence, 700.0))), float(self.levels[number])
        if test is None:
            share = unfit / begun
            self.alarms.append(Alarm(None, None, self.begin, day, share, FALSE_ALARM_RATE, begun, evidence, level))
            return
        start, belief = self.evidence.likeliest(test)
        since, told = float(self.starts[start]), self.rounds
        here = np.isin(told.box, test.boxes) & (told.at <= day) & ((told.at >= since) | (start == 0))
        rewards = self.collection.rewards
        observed = rewards.low + rewards.width * told.reward[here] if not rewards.has_likelihood else told.reward[here]
        means = (belief[told.case[here]] * self.collection.means[:, test.arm]).sum(axis=1)
        values = (float(observed.mean()), float(means.mean()), int(here.sum()))
        self.alarms.append(Alarm(test, None, since, day, *values, evidence, level))
