"""The job that searches for plans: short ones within seconds, then longer and better ones, each shown when found."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.files.documents import dump
from banditree.files.plans import fingerprint, plan_document
from banditree.languages.language import message
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.plans.reading_load import unbeaten
from banditree.plans.words import Vocabulary, vocabulary_from
from banditree.progress import OnProgress, Progress
from banditree.protocols.asking import asking
from banditree.protocols.build import add_pages, add_rule, build_plan, choose_method
from banditree.protocols.defaults import default_lines, default_steps
from banditree.protocols.front import shorter_and_shorter
from banditree.protocols.harm import keeps
from banditree.protocols.judging import broken, lost
from banditree.protocols.objectives import Caps, Objective
from banditree.protocols.protocol import build_protocol
from banditree.service.jobs.messages import Reports
from banditree.service.jobs.models import SearchSettings
from banditree.service.problems import Refused
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.tasks.collection import Collection

FIRST = 0.3  # This share of the steps goes to the first, quick searches, one for each size.
MOST_FIRST = 6  # At most this many sizes are searched for first.
PARTS = 1000  # Progress is counted in this many units.


def search(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """Plans are reported as they are found; the result says by their numbers, from 0, which are worth a look.

    best: the one of least loss. unbeaten: those that no other one beats in both reading load and loss.
    """
    with database.read() as connection:
        collection = records.collection_of(connection, settings["collection"])
    asked = SearchSettings(**settings)
    method = choose_method(collection, asked.method, asked.options)
    limits = asked.caps, asked.max_harm
    finds = Finds(
        collection, reports, vocabulary_from(asked.words), (asked.objective or Objective.UNLUCKY).told, *limits
    )
    if asked.not_again:
        finds.completed = partial(add_rule, collection=collection, **asked.options)
    elif asked.pages:
        finds.completed = partial(add_pages, collection=collection, **asked.options)
    elif asked.ask:
        finds.completed = partial(asking, collection=collection)
    if method.name == "protocol":
        _search_protocols(finds, collection, asked.horizon, asked.options)
    else:
        finds.add(build_plan(collection, asked.horizon, method.name, on_progress=reports, **asked.options))
    return finds.result()


class Finds:
    """The plans found so far, each told once."""

    def __init__(
        self,
        collection: Collection,
        reports: Reports,
        words: Vocabulary,
        objective: Objective,
        caps: Caps,
        most_harm: float | None,
    ) -> None:
        self._collection, self.reports, self._words = collection, reports, words
        self._objective, self._caps, self._most_harm = objective, caps, most_harm
        self._known: set[str] = set()
        self._rated: list[tuple[float, float]] = []
        self.completed: Callable[[Plan], Plan] = lambda plan: plan

    def add(self, plan: Plan) -> None:
        """Report a plan, unless it was found before, breaks a cap or does more harm than allowed."""
        from banditree.reports.pareto import front_rows

        plan = replace(self.completed(plan), vocabulary=self._words)
        id = fingerprint(plan)
        # What is shown beside the plans is about cases at the rates of their kind, so the plans are rated by these too.
        known = replace(self._collection, spread=None)
        (row,), found = front_rows([plan], known), certify(plan, known)
        if id in self._known or broken(found, self._caps):
            return
        if not keeps(plan, self._collection, self._most_harm):
            return
        self._known.add(id)
        loss = lost(found, self._objective)
        self._rated.append((row["reading_load"], loss))
        about = {"lines": plan.n_tests, "loss": loss, "id": id, "at_estimates": self._at_estimates(plan)}
        self.reports.found({**row, **about, "plan": json.loads(dump(plan_document(plan)))})

    def _at_estimates(self, plan: Plan) -> dict[str, float] | None:
        """What the plan loses at the rates as they were estimated, where the other numbers are bounds; else None."""
        if not self._collection.is_estimated:
            return None
        found = certify(plan, replace(self._collection, radius=np.zeros(()), spread=None))
        return {str(objective): lost(found, objective) for objective in Objective}

    def result(self) -> dict[str, Any]:
        """Which of the plans are worth a look."""
        front = unbeaten(self._rated)
        if not front:
            raise Refused("No plan was found within the limits. Allow more lines, more steps or more wrong arms.")
        return {"best": front[-1], "unbeaten": front}


def _search_protocols(finds: Finds, collection: Collection, horizon: int, options: dict[str, Any]) -> None:
    """Quick searches for short plans first; then the whole search, and from its plan shorter ones again."""
    seconds, steps = options.pop("seconds", None), options.pop("steps", None) or default_steps(collection)

    def long(share: float) -> dict[str, Any]:
        return {"steps": max(1, int(share * steps))} if seconds is None else {"seconds": share * seconds}

    most = options.pop("lines", None) or default_lines(collection)
    sizes = sorted({round(n) for n in np.geomspace(1, max(most - 1, 1), MOST_FIRST)})
    for number, lines in enumerate(sizes):
        part = _part(finds.reports, FIRST * number / len(sizes), FIRST * (number + 1) / len(sizes), lines)
        with suppress(InvalidInput):  # so few lines may not be enough for the limits
            given = {**options, "lines": lines, **long(FIRST / len(sizes)), "compared": False}
            finds.add(build_protocol(collection, horizon, on_progress=part, **given))
        if finds.reports.stopped:
            return
    rest: dict[str, Any] = {**long(1 - FIRST), "on_progress": _part(finds.reports, FIRST, 1.0, most)}
    for plan in shorter_and_shorter(collection, horizon, lines=most, **rest, **options):
        with suppress(InvalidInput):  # one that cannot be certified is not offered
            finds.add(plan)
        if finds.reports.stopped:
            return


def _part(reports: Reports, begin: float, end: float, lines: int) -> OnProgress:
    """The callback of one search or of several in turn: its progress as a part of the whole."""
    reached = begin

    def report(progress: Progress) -> bool:
        nonlocal reached
        reached = max(reached, begin + (end - begin) * min(progress.done / max(progress.total, 1), 1.0))
        text = message(f"plans of at most {counted(lines, 'line')}")
        return reports(Progress(int(PARTS * reached), PARTS, progress.best, text))

    return report
