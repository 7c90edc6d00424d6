"""Harm from a log: a second column of 0 and 1, estimated like a reward of its own."""

from typing import Any

import numpy as np

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.harm import Harm
from banditree.tasks.rewards import BERNOULLI
from banditree.training.classes import Classes
from banditree.training.estimates import Estimates, estimate
from banditree.training.individuals import by_individual, individuals_of
from banditree.training.logs import Reading, read_log
from banditree.training.regression import Outcome

ANYTHING = 1.0  # The margin of a rate of which there are no rows.


def learned_harm(
    source: Any, column: str, reading: Reading, collection: Collection, classes: Classes | None, **how: Any
) -> Harm:
    """The rates of harm of a collection that was learned from the same log, and their margins.

    column: of the harm, 0 or 1. reading: of the rewards. how: the table, and what to do about bad rows. Where kinds
    were found, individuals are taken to be of the kind that they were put in. A task without rows of an arm has the
    rate of all tasks, within 1.
    """
    of = reading.columns
    named: dict[str, Any] = {name: getattr(of, name) for name in ("task", "individual", "arm", "propensity")}
    again = read_log(source, rewards=BERNOULLI, reward=column, **named, **how)
    individuals = individuals_of(again, classes)
    if individuals is None:
        found = estimate(again.statistics, BERNOULLI)
    elif again.statistics.tasks == reading.statistics.tasks:
        found = by_individual(estimate(individuals.by_kind(), BERNOULLI), individuals)
    else:
        raise InvalidInput(f"Column {column!r} must say for every individual of the log whether there was harm.")
    fine = found.outcomes == Outcome.FINE
    overall = np.nan_to_num(np.nanmean(np.where(fine, found.means, np.nan), axis=0))
    cells = np.ix_(*([names.index(one) for one in kept] for names, kept in _names(found, collection)))
    return Harm.of(np.where(fine, found.means, overall)[cells], np.where(fine, found.radius, ANYTHING)[cells])


def _names(found: Estimates, collection: Collection) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    return (found.tasks, collection.tasks), (found.arms, collection.arms)
