"""Is the plan doing what it promised? Everything that is known about its cases, and the alarms that were raised."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.cases.table import Cases, only_cases, until_day
from banditree.cases.values import day_of
from banditree.errors import InvalidInput, invalid
from banditree.monitoring.evidence import Evidence, Question
from banditree.monitoring.harm import harm_alarms
from banditree.monitoring.likelihood import counted_rounds
from banditree.monitoring.promised import promised_for
from banditree.monitoring.settings import MonitorSettings
from banditree.monitoring.summary import Summary, beliefs, summarise
from banditree.monitoring.years import YEAR, Alarm, Course, WatchedYear
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.settings import keywords
from banditree.shown import Shown
from banditree.tasks.collection import Collection

FOR_CASES = (
    0.2  # This part of the level is for "more cases than promised fit no kind"; tests of outcomes share the rest.
)
FOR_ALL = 0.5  # With labels, this part of the level is for all cases together; the values of the label share the rest.


@dataclass(frozen=True, eq=False)
class Part:
    """All cases (group None), or those with one value of the label."""

    group: str | None
    summary: Summary
    courses: tuple[Course, ...]
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, eq=False)
class Monitoring(Shown):
    """What a plan promised against what was observed. parts: all cases first, then by the label if one was named. harm:
    the alarms about harm, None where it was not monitored."""

    parts: tuple[Part, ...]
    by: str | None
    until: float
    level: float
    every: float
    block: int
    plan: Plan
    harm: tuple[Alarm, ...] | None = None

    @property
    def summary(self) -> Summary:
        """That of all cases."""
        return self.parts[0].summary

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Of all parts, the latest first."""
        return tuple(sorted((a for part in self.parts for a in part.alarms), key=lambda alarm: -alarm.noticed))


@keywords(MonitorSettings)
def monitor(
    plan: Plan, collection: Collection, observed: Cases, harmed: Cases | None = None, **settings: Any
) -> Monitoring:
    """What `plan`, made from `collection`, promised, against what was observed of its cases.

    harmed: the same cases with harm, 0 or 1, in place of the outcomes; half of the level is then for harm. settings: of
    `MonitorSettings`. A block of 1 allows for any order of kinds, and notices less.

    >>> from banditree.monitoring.simulated import simulate_cases
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"])
    >>> plan = build_tree(two, horizon=20)
    >>> worse = simulate_cases(plan, two, 100, drift=lambda days: np.stack([0 * days, -0.3 * (days > 100)], axis=-1))
    >>> [(plan.arms[a.test.arm], a.test.direction) for a in monitor(plan, two, worse).alarms if a.test]
    [('B', -1)]
    """
    how = MonitorSettings(**settings)
    by, level = how.by, how.level if harmed is None else how.level / 2
    until = None if how.until is None else day_of(how.until)
    observed = observed if until is None else until_day(observed, until)
    _check(plan, collection, observed, by)
    last = float(np.nanmax(observed.at)) if until is None else until
    groups: list[tuple[str | None, Cases, float]] = [(None, observed, level if by is None else FOR_ALL * level)]
    if by is not None:
        texts = observed.labels[by]
        for number, value in enumerate(dict.fromkeys(texts), 1):
            chosen = np.array([u for u, text in enumerate(texts) if text == value])
            groups.append((value, only_cases(observed, chosen), (1 - FOR_ALL) * level / (number * (number + 1))))
    parts = [_part(plan, collection, cases, group, last, how.every, part, how.block) for group, cases, part in groups]
    harm = None
    if harmed is not None:
        harm = harm_alarms(collection, harmed, every=how.every, level=level, block=how.block, until=until)
    return Monitoring(tuple(parts), by, last, how.level, how.every, how.block, plan, harm)


def _check(plan: Plan, collection: Collection, observed: Cases, by: str | None) -> None:
    if plan.arms != collection.arms or plan.tasks != collection.tasks:
        raise InvalidInput("The collection must have the arms and tasks of the plan. Give the one it was made from.")
    if collection.theta is not None:
        raise InvalidInput("Plans that look at a context are not monitored. Monitor a plan without contexts.")
    if not observed.told.any():
        raise InvalidInput("There are no outcomes yet, so there is nothing to monitor. Look again once there are some.")
    if by is not None and by not in observed.labels:
        raise invalid("by", f"one of {', '.join(observed.labels) or 'the labels of the cases, which have none'}", by)


def questions_of(plan: Plan) -> tuple[Question, ...]:
    """For every option, whether it gives less or more than assumed; and for each of its boxes if it has several."""
    found, arms = [], machine_of(plan).arm[: plan.n_seen]
    for arm in sorted({arm for arm in arms.tolist() if arm >= 0}):
        boxes = tuple(np.flatnonzero(arms == arm).tolist())
        for direction in (-1, 1):
            found.append(Question(arm, boxes, direction, boxes[0] if len(boxes) == 1 else None))
            if len(boxes) > 1:
                found += [Question(arm, (box,), direction, box) for box in boxes]
    return tuple(found)


def _part(
    plan: Plan,
    collection: Collection,
    observed: Cases,
    group: str | None,
    last: float,
    every: float,
    level: float,
    block: int,
) -> Part:
    rounds, likely = counted_rounds(observed, collection)
    tests = questions_of(plan)
    levels = np.append(np.full(len(tests), (1 - FOR_CASES) * level / len(tests)), FOR_CASES * level)
    courses, alarms = [], []
    start = float(observed.began.min())
    for begin in np.arange(start, max(last, start + 1e-6), YEAR):
        watched = WatchedYear(likely, collection, observed, rounds, tests, levels, float(begin), block)
        courses.append(watched.run(last, every))
        alarms += [replace(alarm, group=group) for alarm in watched.alarms]
    everything = Evidence(likely, (), observed.n_cases, np.array([start]), block)
    everything.add(rounds)
    belief = beliefs(everything.table, everything.null, everything.block)
    n = np.bincount(observed.owner[observed.told], minlength=observed.n_cases)
    summary = summarise(plan, collection, observed, belief, promised_for(plan, collection, n))
    return Part(group, summary, tuple(courses), tuple(alarms))
