"""From a log to a collection: read, find the kinds where the log has no labels, estimate, merge."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.cases.calendar import calendar_notes
from banditree.cases.design import LogDesign, find_design
from banditree.cases.reading import read_cases
from banditree.errors import InvalidInput, invalid
from banditree.nouns import counted
from banditree.progress import OnProgress
from banditree.settings import keywords
from banditree.shown import Shown
from banditree.tasks.arrays import FloatArray
from banditree.tasks.changes import with_case_features, with_shares
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import BERNOULLI, Gaussian, Link, Rewards
from banditree.tasks.separation import Separation, least_separation
from banditree.training.classes import Classes, find_classes, widen
from banditree.training.collection import Untried, to_collection
from banditree.training.dirichlet import taste_spread
from banditree.training.estimates import Estimates, estimate
from banditree.training.found_kinds import by_mixture
from banditree.training.harm import learned_harm
from banditree.training.individuals import Individuals, by_individual, individuals_of
from banditree.training.links import find_links, linked_rows, require_links, weak_links, widen_weakly_linked
from banditree.training.logistic import on_a_logistic_curve
from banditree.training.logs import Reading, read_log
from banditree.training.merging import Merged, merge
from banditree.training.settings import LearnSettings
from banditree.training.spread import estimate_spread
from banditree.training.statistics import Statistics, merge_statistics

LOOKED_AT = 100_000  # How a log was made is told from whole cases with about this many rows.
KEPT_CONTEXTS = 2_000  # This many contexts show their distribution well enough for rules and certificates.


@dataclass(frozen=True)
class LogNotes:
    """How the log was made, as far as that can be told, and what there is to say about it."""

    design: LogDesign | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Learned(Shown):
    """A collection and all that was found on the way to it; `statistics` are what further rows can be added to."""

    reading: Reading
    statistics: Statistics
    estimates: Estimates
    collection: Collection
    separation: Separation
    classes: Classes | None = None
    merged: Merged | None = None
    n_added: int = 0
    before_merging: Collection | None = None
    individuals: Individuals | None = None
    log: LogNotes = LogNotes()


@keywords(LearnSettings)
def learn(
    source: Any, *, add_to: Statistics | None = None, on_progress: OnProgress | None = None, **settings: Any
) -> Learned:
    """The collection that a log gives, with all that was found on the way.

    source: as in `read_log`. settings: of `LearnSettings`. add_to: statistics of earlier rows. on_progress: of finding
    the kinds.

    >>> import polars
    >>> log = {"task": ["a", "b"] * 200, "arm": ["x", "x", "y", "y"] * 100, "reward": [1, 0, 0, 0] * 100}
    >>> learn(polars.DataFrame(log)).collection.means.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    how = LearnSettings(**settings)
    if with_states := [name for name in ("state", "states", "time") if name in how.changed]:
        raise InvalidInput(f"{with_states[0]} must be omitted without states. learn_states takes logs with states.")
    reading = read_log(
        source,
        rewards=how.family,
        drop_bad_rows=how.drop_bad_rows,
        sample_size=_sample_size(how, add_to),
        seed=how.seed,
        **how.columns,
    )
    if add_to is not None and how.harm is not None:
        raise InvalidInput("add_to must be omitted with harm, whose rows are not added up. Read all rows at once.")
    if add_to is not None and reading.columns.individual is not None:
        raise InvalidInput(
            "add_to must be omitted with individuals, whose rows count together. Read all rows of all of them at once."
        )
    classes = None
    if reading.columns.individual is not None and reading.labels is None:
        classes = _classes(reading.statistics, how, on_progress)
    individuals = individuals_of(reading, classes)
    statistics = reading.statistics if individuals is None else individuals.by_kind()
    _check_link(how, reading, add_to)
    n_added = 0 if add_to is None else add_to.n_rows
    if add_to is not None:
        statistics = merge_statistics(add_to, statistics)
    found = _estimates(reading, statistics, how)
    if reading.decisions is not None:
        kind = None if individuals is None else individuals.labels
        found = on_a_logistic_curve(found, reading.statistics, reading.decisions, kind)
        found = found if classes is None else widen(found, classes)
    elif individuals is not None:
        found = _by_individual(found, individuals, classes)
    provenance = _provenance(reading, statistics, classes)
    shares = None if individuals is None else individuals.shares
    spread = _spread(found, individuals, classes)
    known = to_collection(found, statistics, untried=how.untried, provenance=provenance, shares=shares, spread=spread)
    if how.harm is not None:
        reading_how = {"table": how.table, "drop_bad_rows": how.drop_bad_rows}
        known = replace(known, harm=learned_harm(source, how.harm, reading, known, classes, **reading_how))
    collection = _as_told(known, how)
    merged = None if how.merge is None else merge(collection, how.merge)
    final = collection if merged is None else merged.collection
    apart = least_separation(final)
    log = _log_notes(source, how, reading)
    return Learned(reading, statistics, found, final, apart, classes, merged, n_added, collection, individuals, log)


def _log_notes(source: Any, how: LearnSettings, reading: Reading) -> LogNotes:
    """How options were given to the individuals of a log, and whether they drift over its days; of a part of long logs.

    Nothing where rows have no order, or no individuals.
    """
    used = reading.columns
    if used.individual is None:
        return LogNotes()
    roles = {name: getattr(used, name) for name in ("individual", "arm", "reward", "propensity")}
    about: dict[str, Any] = {"table": how.table, "drop_bad_rows": how.drop_bad_rows, "seed": how.seed}
    if not (how.categorical or how.numeric):
        about["context"] = used.context
    try:
        cases = read_cases(source, rewards=Gaussian(1.0), most_rows=LOOKED_AT, **about, **roles)
    except InvalidInput:
        return LogNotes()
    made = find_design(cases, how.design)
    return LogNotes(made, (*((made.caution,) if made.caution else ()), *calendar_notes(cases)))


def _sample_size(how: LearnSettings, add_to: Statistics | None) -> int:
    """How many contexts to keep: none where rows are added to statistics, which have none."""
    if add_to is None:
        return KEPT_CONTEXTS if how.keep_sample is None else how.keep_sample
    if how.keep_sample:
        rule = "0 when rows are added to statistics, which keep no contexts to sample"
        raise invalid("keep_sample", rule, how.keep_sample)
    return 0


def _as_told(collection: Collection, how: LearnSettings) -> Collection:
    """The collection with what the user said about it: the features of a case, and the shares of the kinds."""
    if how.per_case:
        collection = with_case_features(collection, how.per_case)
    return with_shares(collection, how.shares) if how.shares else collection


def _check_link(how: LearnSettings, reading: Reading, add_to: Statistics | None) -> None:
    """Refuse settings that need sums of rows, which a logistic curve cannot be fitted from."""
    if not isinstance(how.family, Rewards) or how.family.link is Link.LINEAR:
        return
    if not reading.columns.context:
        raise invalid("link", "omitted without context columns", str(how.family.link), "Name some with context=...")
    if how.ridge > 0:
        raise invalid("ridge", "omitted with a logistic link", how.ridge)
    if Untried(how.untried) is Untried.BORROW:
        raise invalid("untried", "another choice with a logistic link", str(how.untried), "Drop the arm or the task.")
    if add_to is not None:
        raise InvalidInput(
            "add_to must be omitted with a logistic link, which cannot be fitted from sums. Read all rows at once."
        )


def _estimates(reading: Reading, statistics: Statistics, how: LearnSettings) -> Estimates:
    # A logistic curve begins with the estimates of a linear one, which know the design, and what is missing.
    rewards = how.family if reading.decisions is None else BERNOULLI
    return estimate(
        statistics,
        rewards,
        intercept=how.intercept,
        ridge=how.ridge,
        failure_probability=how.failure_probability,
        sample=reading.sample,
    )


def _by_individual(found: Estimates, individuals: Individuals, classes: Classes | None) -> Estimates:
    """The estimates with margins by individual, and for found kinds with what the split between them leaves open."""
    if classes is None:
        return by_individual(found, individuals)
    links = find_links(individuals.statistics)
    found = replace(found, notes=(*found.notes, *weak_links(links)))
    if classes.rates is not None:
        return by_mixture(found, individuals.statistics, classes)
    widened = widen(by_individual(found, individuals), classes)
    return widen_weakly_linked(widened, linked_rows(links, individuals.statistics, classes.chances))


def _spread(found: Estimates, individuals: Individuals | None, classes: Classes | None) -> FloatArray | None:
    """How much individuals differ within kinds, where the log has individuals and kinds are known by their means."""
    if individuals is None or found.contexts is not None or found.chances is not None:
        return None
    if classes is not None and classes.strength is not None:
        return taste_spread(found.means, classes.strength)
    chances = np.eye(len(individuals.kinds))[individuals.labels] if classes is None else classes.chances
    return estimate_spread(found.means, found.rewards, individuals.statistics, chances)


def _classes(statistics: Statistics, how: LearnSettings, on_progress: OnProgress | None) -> Classes:
    require_links(find_links(statistics), statistics.n_rows)
    rewards = how.family
    family = rewards.family if isinstance(rewards, Rewards) else rewards
    return find_classes(
        statistics,
        family,
        n_classes=how.kinds,
        criterion=how.criterion,
        seed=how.seed,
        on_progress=on_progress,
    )


def _provenance(reading: Reading, statistics: Statistics, classes: Classes | None) -> str:
    kinds = (
        ""
        if classes is None
        else f", {counted(classes.n_classes, 'kind')} found among {counted(len(classes.labels), 'individual')}"
    )
    rows = f"{statistics.n_rows:,} row{'' if statistics.n_rows == 1 else 's'}"
    return f"estimated from {reading.name}, {rows}{kinds}"
