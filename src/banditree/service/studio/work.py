"""The work of jobs that only the studio asks for: what kinds are worth, and what else could be done than a plan."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from banditree.service.jobs.log_files import file_on_disk
from banditree.service.jobs.messages import Reports
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection


def worth(database: Database, settings: Mapping[str, Any], reports: Reports) -> list[dict[str, Any]]:
    """For each number of kinds, what telling so many apart earns on cases that they were not found from."""
    from banditree.cases.reading import read_cases
    from banditree.evaluation.worth import worth_of_kinds
    from banditree.tasks.rewards import family_named

    rewards = family_named(settings["rewards"]).unknown()
    roles = {name: settings[name] for name in ("individual", "arm", "reward", "time", "propensity")}
    with file_on_disk(database, settings["file"]) as log:
        history = read_cases(log, rewards=rewards, drop_bad_rows=settings["drop_bad_rows"], **roles)
    found = worth_of_kinds(history, settings["kinds"], rewards, seed=settings["seed"], on_progress=reports)
    return [asdict(one) for one in found]


def beside(database: Database, settings: Mapping[str, Any], reports: Reports) -> list[dict[str, Any]]:
    """What is lost over the rounds of one case without a plan: by one option for all, by what was done, and by mTS.

    worst, mean: at the rates as they are estimated. at_most: at the worst rates within their margins; None for mTS.
    """
    from banditree.reports.beside import thompson_loss

    with database.read() as connection:
        collection = records.collection_of(connection, settings["collection"])
    horizon = settings["horizon"]
    found = [_single(collection, horizon), *_as_logged(collection, horizon)]
    lost = thompson_loss(collection, horizon)
    if lost is not None:
        name = "mTS, which needs a computer at every decision"
        found.append({"name": name, "short": "mTS", **lost._asdict(), "at_most": None})
    return found


def _single(collection: Collection, horizon: int) -> dict[str, Any]:
    """The one option that loses least in its worst kind."""
    arm = int(collection.gaps.max(axis=0).argmin())
    name = f"{collection.arms[arm]} for all"
    return {"name": name, "short": name, **_lost(collection, np.eye(collection.n_arms)[arm], horizon)}


def _as_logged(collection: Collection, horizon: int) -> list[dict[str, Any]]:
    """What was done, as the log shows it: options in the shares in which each kind got them."""
    if collection.counts is None or not (collection.counts.sum(axis=1) > 0).all():
        return []
    shares = collection.counts / collection.counts.sum(axis=1, keepdims=True)
    about = {"name": "what was done, as the log shows it", "short": "as logged"}
    return [{**about, **_lost(collection, shares, horizon)}]


def _lost(collection: Collection, shares: FloatArray, horizon: int) -> dict[str, Any]:
    """What is lost when options are given in these shares (M, K) or (K,)."""

    def rated(gaps: FloatArray) -> dict[str, float]:
        lost = horizon * (shares * gaps).sum(axis=1)
        return {"worst": float(lost.max()), "mean": float(collection.weights @ lost)}

    return {**rated(collection.gaps), "at_most": rated(largest_gaps(collection))}


def largest_gaps(collection: Collection) -> FloatArray:
    """By how much (M, K) each option may be behind the best of the others, within the margins of the rates.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.1)
    >>> largest_gaps(two).round(2).tolist()
    [[0.0, 0.7], [0.5, 0.0]]
    """
    low, high = collection.means - collection.radius, collection.means + collection.radius
    if collection.rewards.has_range:
        low, high = np.maximum(low, collection.rewards.low), np.minimum(high, collection.rewards.high)
    others = np.stack([np.delete(high, k, axis=1).max(axis=1) for k in range(collection.n_arms)], axis=1)
    return np.asarray(np.maximum(others - low, 0.0))
