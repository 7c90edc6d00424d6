"""The front of protocols from one line up: what each loses, and how much it asks of its reader."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from banditree.certificates.certify import certify
from banditree.certificates.unlucky import SHARES
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load, unbeaten
from banditree.progress import OnProgress
from banditree.protocols.defaults import MANY_TASKS, default_steps
from banditree.protocols.harm import keeps
from banditree.protocols.judging import loses
from banditree.protocols.objectives import WORST_CASES, Objective, objective_named
from banditree.protocols.protocol import build_protocol, find_protocol
from banditree.tasks.collection import Collection

ALONE = 0.3  # A search for a shorter plan by itself, for tasks with contexts, takes this share of a whole search.
LONGEST = 0.5  # Of seconds for all of them, this share is for the longest plan; each shorter one takes a part of that.
SIZES = 10  # A front tries at most this many numbers of lines below that of its longest plan.


def pareto_front(
    collection: Collection, horizon: int, *, on_progress: OnProgress | None = None, **options: Any
) -> list[Plan]:
    """The protocols that no other one beats in reading load, loss and what 1 of 100 cases loses together, from "give A
    to everyone" up.

    options: of `build_protocol`, whose plan loses least; shorter ones are made from it, and the same again from one
    that looks after the unlucky. The front has none of these that happens to lose less than that plan: whether a line
    less would do was found out with it.
    """
    objective = objective_named(options.get("objective") or Objective.WORST)
    careful = collection.theta is None and not collection.varies and objective is not Objective.UNLUCKY
    if careful and options.get("seconds") is not None:
        options["seconds"] /= 2
    rated = list[tuple[float, float, float, Plan]]()
    for searched in [objective, *[Objective.UNLUCKY] * careful]:
        how = {**options, "objective": searched}
        for plan in shorter_and_shorter(collection, horizon, on_progress=on_progress, **how):
            loss = loses(plan, collection, objective)
            certified = loss < np.inf  # one that cannot be certified is not offered
            if certified and keeps(plan, collection, options.get("max_harm")):
                rated.append((reading_load(plan), loss, _one_in_100(plan, collection), plan))
    rated = rated[:1] + [one for one in rated[1:] if one[1] > rated[0][1]]
    return [rated[number][3] for number in unbeaten([one[:3] for one in rated])]


def _one_in_100(plan: Plan, collection: Collection) -> float:
    """What 1 of 100 cases loses in the worst task; infinite where that is not computed."""
    found = certify(plan, collection, must_rest=False).unlucky
    return np.inf if found is None else float(found.at_most[:, SHARES.index(1 - WORST_CASES)].max())


def shorter_and_shorter(
    collection: Collection, horizon: int, *, on_progress: OnProgress | None = None, **options: Any
) -> Iterator[Plan]:
    """The protocol that `build_protocol` finds, then shorter ones made from it, each when it is found.

    The last one gives one arm to everyone.
    """
    if options.get("seconds") is not None:
        options["seconds"] = LONGEST * options["seconds"]
    near = find_protocol(collection, horizon, on_progress=on_progress, **options)
    longest = near.plan
    yield longest
    if longest.n_tests and collection.theta is not None:
        yield from _each_by_itself(collection, longest, on_progress, options)
    elif longest.n_tests and near.draft is None:
        raise InvalidInput(
            f"A front is for at most {MANY_TASKS} tasks, and the collection has {collection.n_tasks}. Omit pareto: ask "
            "for plans of some numbers of lines."
        )
    elif longest.n_tests:
        draft = near.start
        for lines in _sizes(longest.n_tests):
            draft = near.shorter(draft, lines)
            yield replace(near.of(draft).plan, vocabulary=longest.vocabulary)
        yield replace(near.of(near.nothing).plan, vocabulary=longest.vocabulary)


def _each_by_itself(
    collection: Collection, longest: Plan, on_progress: OnProgress | None, options: dict[str, Any]
) -> Iterator[Plan]:
    """Shorter plans for tasks with contexts, each found by a search of its own, with fewer steps than the longest's."""
    sizes = _sizes(longest.n_tests)
    if options.get("seconds") is not None:
        long = {"seconds": options["seconds"] / max(len(sizes), 1)}
    else:
        long = {"steps": max(1, int(ALONE * (options.get("steps") or default_steps(collection))))}
    for lines in sizes:
        given = {**options, "lines": lines, **long}
        yield build_protocol(collection, longest.horizon, on_progress=on_progress, **given)


def _sizes(most: int) -> list[int]:
    """Numbers of lines below `most`, the largest first."""
    return sorted({int(n) for n in np.round(np.geomspace(1, most, SIZES + 1))} - {most}, reverse=True)
