"""Protocols: a few lines that a person would sign, found by search, with the regret of the best opaque algorithms.

"1. Give E; success +1, failure -1. At +8: line 4. At -2: next line." The horizon is part of the search: where trying
costs more than it can gain, the plan settles at once.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary
from banditree.progress import Clock, OnProgress
from banditree.protocols.asked import (
    TINY,
    by_some,
    check_asked,
    fallback_for,
    limits_for,
    objective_for,
    seen_by_context,
    widths_of,
)
from banditree.protocols.defaults import default_steps
from banditree.protocols.harm import within_harm
from banditree.protocols.judging import broken, loses
from banditree.protocols.many_kinds import search_many
from banditree.protocols.objectives import Limits
from banditree.protocols.seeker import Seeker
from banditree.protocols.settings import ProtocolSettings
from banditree.protocols.variants import Nearby
from banditree.settings import keywords
from banditree.tasks.cases import with_spread
from banditree.tasks.changes import with_free_changes
from banditree.tasks.collection import Collection

# Up to a tiny horizon there are by default searches with these (numbers added to the seed, mean lengths as multiples
# of H).
TRIES = ((0, 1.0), (1, 1.0), (0, 2.0), (1, 2.0), (0, 4.0))
ATTEMPTS = 4  # At most this many searches, with what is capped ever more costly, are made until the caps are met.
PRICED = 3.0  # A limit on harm takes up to this many times the seconds of one search.


@keywords(ProtocolSettings)
def build_protocol(
    collection: Collection,
    horizon: int,
    *,
    compared: bool = True,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Plan:
    """The best protocol that the search finds.

    horizon: H, the rounds of one case. settings: of `ProtocolSettings`. With links_back, or more lines than by default,
    there is a search of as many steps within the narrower limits first, so that wider ones never lose more. compared:
    whether a shorter plan that `variants` would show beside it, and that loses less, takes its place. on_progress:
    False ends the search with the best so far.

    Round levels are 1 to 6, 8, 10, 12, 15, 20, ... A plan hands a case over that contradicts every task at 100 to 1.
    With allow, or where cases of a task differ, it may settle on the best of several arms. For tasks with contexts,
    lines and ends may treat a case as one of the tasks, and give its best arm at the context. For estimated rates there
    are three searches, of which each also allows for the rates, within their intervals, at which the plans before it
    did worst. Where cases of a task differ, its regret is an average over drawn cases.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> plan = build_protocol(two, horizon=1000, lines=1, rule=False, steps=200)
    >>> plan.n_tests, plan.origin.method
    (1, 'protocol')
    """
    found = find_protocol(collection, horizon, compared=compared, on_progress=on_progress, **settings)
    return replace(found.plan, vocabulary=vocabulary or Vocabulary())


def find_protocol(
    collection: Collection,
    horizon: int,
    *,
    compared: bool = True,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Nearby:
    """What `build_protocol` builds, with the draft it was made of and those near it that are known."""
    how, listens = ProtocolSettings(**settings), on_progress
    check_asked(collection, horizon, how.washout)
    objective = objective_for(collection, how, horizon)
    how = how.model_copy(update={"objective": objective})
    whole = None if how.seconds is None else Clock(how.seconds)
    on_progress = on_progress if whole is None else whole.ending(on_progress)

    def search(harm_price: float, share: float) -> Nearby:
        steps = how.steps if share == 1 else max(1, int(share * (how.steps or default_steps(collection))))
        seconds = None if how.seconds is None else how.seconds * share / (1 if how.max_harm is None else PRICED)
        fewer = how.model_copy(update={"steps": steps, "seconds": seconds})
        return _searched(collection, horizon, fewer, compared and not harm_price, on_progress, harm_price, whole)

    def search_some(some: Collection, start: Nearby | None, share: float, listens: OnProgress) -> Nearby:
        limits = limits_for(collection, how)
        given: dict[str, Any] = {"lines": limits.lines, "longest_path": limits.longest_path}
        given["steps"] = max(1, int(share * (how.steps or default_steps(collection))))
        given["seconds"] = None if how.seconds is None else share * how.seconds
        return _searched(some, horizon, how.model_copy(update=given), False, listens, 0.0, whole, start)

    if by_some(collection, how):
        near = search_many(collection, horizon, objective, search_some, on_progress)
    elif how.max_harm is None:
        near = search(0.0, 1.0)
    else:
        near = within_harm(collection, horizon, how.max_harm, objective, search)
    plan = replace(near.plan, vocabulary=vocabulary or Vocabulary())
    if how.seconds is not None:
        plan = replace(plan, origin=plan.origin.timed(how.seconds))
    near = replace(near, plan=plan, collection=collection)
    return replace(near, steps=how.steps, seconds=how.seconds, on_progress=listens)


def _searched(
    collection: Collection,
    horizon: int,
    how: ProtocolSettings,
    compared: bool,
    on_progress: OnProgress | None,
    harm_price: float,
    whole: Clock | None,
    start: Nearby | None = None,
) -> Nearby:
    """The best protocol where one harm costs `harm_price`. start: one to begin with."""
    limits, by_context = limits_for(collection, how), seen_by_context(collection, how.points, how.rule_size)
    if by_context is not None and not by_context.has_rules:
        limits = replace(limits, rule=False)
    seen = collection if not how.allow else with_spread(collection, how.allow / math.sqrt(3.0))  # evenly within it
    who = by_context, fallback_for(collection, how)
    seek = Seeker(seen, horizon, how, limits, on_progress, *who, compared, harm_price, whole, start)
    tries = TRIES if horizon <= TINY and how.steps is None else TRIES[:1]
    return _heeding(seek, widths_of(limits, collection), tries)


def _found(seek: Seeker, widths: Sequence[Limits], tries: Sequence[tuple[int, float]]) -> Nearby:
    """The best plan of some tries within each of some limits, which begin with the best within the limits before."""
    seek.searches, problem = seek.searches + len(widths) * len(tries), InvalidInput("")
    for seek.limits in widths:
        found = list[Nearby]()
        for seek.shift, seek.longer in tries:
            try:
                found.append(_within(seek) if seek.how.caps.some else seek.plan())
            except InvalidInput as error:
                problem = error
            if seek.stopped:
                break
        found += [] if seek.start is None else [seek.start]
        seek.start = min(found, key=lambda one: loses(one.plan, seek.collection, seek.objective), default=None)
        if seek.stopped:
            break
    if seek.start is None:
        raise problem
    return seek.start


def _heeding(seek: Seeker, widths: Sequence[Limits], tries: Sequence[tuple[int, float]]) -> Nearby:
    """The best plan; where changes cost money or rounds, after a search that does not heed it, so that nothing is lost
    by heeding it."""
    if not (seek.collection.change_cost or seek.how.washout):
        return _found(seek, widths, tries)
    if seek.how.seconds is not None:
        seek.how = seek.how.model_copy(update={"seconds": seek.how.seconds / 2})
    free, any_time = with_free_changes(seek.collection), seek.how.model_copy(update={"washout": 0})
    heedless = replace(seek, collection=free, how=any_time, searches=len(tries))
    found = _found(heedless, widths, tries)
    heeding = replace(found.plan, washout=seek.how.washout)
    seek.start = replace(found, plan=heeding, collection=seek.collection, known={})
    if heedless.stopped:
        return seek.start
    seek.done, seek.searches = heedless.done, len(widths) * len(tries)
    return _found(seek, widths[-1:], tries)


def _within(seek: Seeker) -> Nearby:
    """A plan that keeps to the caps: what is capped costs ever more."""
    seek.attempts, problem = ATTEMPTS, ""
    for seek.attempt in range(ATTEMPTS):
        near = seek.plan()
        problem = broken(certify(near.plan, seek.collection), seek.how.caps)
        if not problem:
            return near
        if seek.stopped:
            break
    raise InvalidInput(
        f"No plan of at most {counted(seek.limits.lines, 'line')} was found {problem}. Allow more lines or steps, or a "
        "higher limit."
    )
