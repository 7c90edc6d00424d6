"""The work of jobs that only the studio asks for.

What kinds are worth, what else could be done than a plan, and how large a study of it has to be.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from banditree.cases.reading import read_cases
from banditree.evaluation.settings import StudySettings
from banditree.evaluation.studies import design
from banditree.evaluation.worth import worth_of_kinds
from banditree.figures.svg import svg
from banditree.languages.language import message
from banditree.reports.beside import thompson_loss
from banditree.reports.design import design_document, design_text, power_scene
from banditree.service.jobs.log_files import file_on_disk
from banditree.service.jobs.messages import Reports
from banditree.service.problems import Refused
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import family_named


def worth(database: Database, settings: Mapping[str, Any], reports: Reports) -> list[dict[str, Any]]:
    """For each number of kinds, what telling that many apart earns on cases that they were not found from."""
    rewards = family_named(settings["rewards"]).unknown()
    roles = {name: settings[name] for name in ("individual", "arm", "reward", "time", "propensity")}
    with file_on_disk(database, settings["file"]) as log:
        about = {"drop_bad_rows": settings["drop_bad_rows"], "context": settings.get("context", ())}
        history = read_cases(log, rewards=rewards, **about, **roles)
    found = worth_of_kinds(history, settings["kinds"], rewards, seed=settings["seed"], on_progress=reports)
    return [asdict(one) for one in found]


def beside(database: Database, settings: Mapping[str, Any], reports: Reports) -> list[dict[str, Any]]:
    """What is lost over the rounds of one case without a plan: by one option for all, by what was done, and by mTS.

    worst, mean: at the rates as they are estimated.
    """
    with database.read() as connection:
        collection = records.collection_of(connection, settings["collection"])
    horizon = settings["horizon"]
    found = [_single(collection, horizon), *_as_logged(collection, horizon)]
    lost = thompson_loss(collection, horizon)
    if lost is not None:
        found.append(
            {"name": message("a computer at every decision (mTS)"), "short": message("a computer"), **lost._asdict()}
        )
    return found


def study(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """How many cases a study needs at the rates of a plan's collection: sentences, all numbers, and the picture."""
    with database.read() as connection:
        followed = records.followed_of(connection, settings["plan"])
    if followed.collection is None:
        raise Refused("This plan is on record without its kinds, so no study of it can be simulated.")
    found = design(followed.plan, followed.collection, **StudySettings.among(settings))
    first, *others = design_text(found).splitlines()
    return {"sentences": [first, others[0]], "document": design_document(found), "picture": svg(power_scene(found))}


def _single(collection: Collection, horizon: int) -> dict[str, Any]:
    """The one option that loses least in its worst kind."""
    arm = int(collection.gaps.max(axis=0).argmin())
    name = message(f"{collection.arms[arm]} for all")
    return {"name": name, "short": name, **_lost(collection, np.eye(collection.n_arms)[arm], horizon)}


def _as_logged(collection: Collection, horizon: int) -> list[dict[str, Any]]:
    """What was done, as the log shows it: options in the shares in which each kind got them."""
    if collection.counts is None or not (collection.counts.sum(axis=1) > 0).all():
        return []
    shares = collection.counts / collection.counts.sum(axis=1, keepdims=True)
    about = {"name": message("what was done, as the log shows it"), "short": message("as logged")}
    return [{**about, **_lost(collection, shares, horizon)}]


def _lost(collection: Collection, shares: FloatArray, horizon: int) -> dict[str, float]:
    """What is lost when options are given in these shares (M, K) or (K,)."""
    lost = horizon * (shares * collection.gaps).sum(axis=1)
    return {"worst": float(lost.max()), "mean": float(collection.weights @ lost)}
