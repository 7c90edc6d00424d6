"""Do options do more harm than was promised? The same e-processes as for outcomes, on a second outcome."""

from dataclasses import replace

import numpy as np

from banditree.cases.table import Cases, with_arms
from banditree.errors import InvalidInput
from banditree.monitoring.evidence import Question
from banditree.monitoring.likelihood import counted_rounds
from banditree.monitoring.years import YEAR, Alarm, WatchedYear
from banditree.tasks.collection import Collection

NEVER = 1e-300  # The level of the test of cases that fit no kind, which is asked of the outcomes and not of harm.
LEAST = 1e-6  # A promised rate counts as at least this, so that one harm in a million rounds proves nothing.


def harm_alarms(
    collection: Collection, harmed: Cases, *, every: float, level: float, block: int, until: float | None = None
) -> tuple[Alarm, ...]:
    """The options that do more harm than the collection says, the latest alarm first.

    harmed: the cases with whether there was harm, 0 or 1, in place of the outcomes; every round counts, whoever chose
    its option. level: the chance of any false alarm in a year.
    """
    if collection.harm is None:
        raise InvalidInput(
            "The collection has no rates of harm, so none was promised. Give it the rates, or omit harm."
        )
    cases = with_arms(harmed, collection.arms)
    cases = replace(cases, box=cases.arm)  # a box for every arm: harm is asked about wherever an arm is given
    promised = _promised(collection)
    tests = tuple(Question(arm, (arm,), 1) for arm in range(collection.n_arms))
    levels = np.append(np.full(len(tests), level / len(tests)), NEVER)
    rounds, likely = counted_rounds(cases, promised)
    start = float(np.nanmin(cases.began))
    last = float(np.nanmax(cases.at)) if until is None else until
    alarms: list[Alarm] = []
    for begin in np.arange(start, max(last, start + LEAST), YEAR):
        watched = WatchedYear(likely, promised, cases, rounds, tests, levels, float(begin), block)
        watched.run(last, every)
        alarms += watched.alarms
    return tuple(sorted(alarms, key=lambda alarm: -alarm.noticed))


def _promised(collection: Collection) -> Collection:
    """The collection in which harm is the outcome."""
    assert collection.harm is not None
    return Collection.bernoulli(
        np.clip(collection.harm.rates, LEAST, 1 - LEAST),
        tasks=collection.tasks,
        arms=collection.arms,
        radius=collection.harm.within,
        shares=collection.shares,
    )
