"""Protocols: a few lines that a person would sign, found by search, with the regret of the best opaque algorithms.

"1. Give E; success +1, failure -1. At +8: line 4. At -2: next line." The horizon is part of the search: where trying
costs more than it can gain, the plan settles at once.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from banditree.certificates.certify import certify
from banditree.certificates.over_contexts import Contextual, contextual
from banditree.errors import InvalidInput, TooLong, invalid
from banditree.nouns import counted
from banditree.plans.plan import ODDS, Decider, Fallback, Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.words import Vocabulary
from banditree.progress import Clock, OnProgress, Progress
from banditree.protocols.by_context import contextual_tasks
from banditree.protocols.defaults import FEW_TASKS, MANY_TASKS, default_lines, default_path, default_steps
from banditree.protocols.harm import priced, within_harm
from banditree.protocols.judging import broken, judge, loses, lost, with_the_unlucky
from banditree.protocols.kind_rules import printed_rules
from banditree.protocols.many_kinds import search_many
from banditree.protocols.objectives import NO_CAPS, Caps, Limits, Objective
from banditree.protocols.reading import among, plan_of, scorings_of
from banditree.protocols.settings import ProtocolSettings
from banditree.protocols.variants import Nearby, settled
from banditree.protocols.worlds import Chooser, World, choosers_for, known_world, with_scenarios
from banditree.settings import keywords
from banditree.tasks.arrays import FloatArray
from banditree.tasks.cases import with_spread
from banditree.tasks.changes import with_free_changes
from banditree.tasks.collection import Collection
from banditree.tasks.rewards.base import Scoring

if TYPE_CHECKING:
    from banditree.plans.kind_rule import KindRule
    from banditree.protocols.by_context import ContextualTasks, PointsBy
    from banditree.protocols.draft import Draft
    from banditree.protocols.moves import Moves
    from banditree.protocols.tables import Tables

POLISHING = 0.1  # Further steps, as a share of those of the search, that go on with the ways to score that are left.
SHORTER = 0.05  # Further steps, as a share of those of the search, in which a line less is tried.
AT_FIRST = 0.05  # This share of the steps, at most, goes into what plans usually lose, before a search that cares.
TIMED = 0.75  # This share of the seconds, where these are given, is for the steps; the rest for what is near the plan.
SIMPLIFYING = 0.15  # Further steps, as a share of those of the search, in which the plan is made simpler.
DOUBTS = 3  # For estimated rates this many searches, each allowing for the worst rates of the plans before it.
TINY = 30  # Up to this horizon a case of random length stands badly for one of H rounds ...
# ... so that by default there are searches with these (numbers added to the seed, mean lengths as multiples of H).
TRIES = ((0, 1.0), (1, 1.0), (0, 2.0), (1, 2.0), (0, 4.0))
ATTEMPTS = 4  # At most this many searches, with what is capped ever more costly, are made until the caps are met.
PRICED = 3.0  # A limit on harm takes up to this many times the seconds of one search.
DEARER = 10.0  # A wrong arm costs this many times as much from one attempt to the next.
CARES = (0.0, 20.0, 80.0, 320.0)  # How many times more losses above a cap count in each attempt.


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
    _check(collection, horizon, how.washout)
    whole = None if how.seconds is None else Clock(how.seconds)
    on_progress = on_progress if whole is None else whole.ending(on_progress)

    def search(harm_price: float, share: float) -> Nearby:
        steps = how.steps if share == 1 else max(1, int(share * (how.steps or default_steps(collection))))
        seconds = None if how.seconds is None else how.seconds * share / (1 if how.max_harm is None else PRICED)
        fewer = how.model_copy(update={"steps": steps, "seconds": seconds})
        return _searched(collection, horizon, fewer, compared and not harm_price, on_progress, harm_price, whole)

    def search_some(some: Collection, start: Nearby | None, share: float, listens: OnProgress) -> Nearby:
        limits = _limits(collection, how)
        given: dict[str, Any] = {"lines": limits.lines, "longest_path": limits.longest_path}
        given["steps"] = max(1, int(share * (how.steps or default_steps(collection))))
        given["seconds"] = None if how.seconds is None else share * how.seconds
        return _searched(some, horizon, how.model_copy(update=given), False, listens, 0.0, whole, start)

    if _by_some(collection, how):
        near = search_many(collection, horizon, how.objective, search_some, on_progress)
    elif how.max_harm is None:
        near = search(0.0, 1.0)
    else:
        near = within_harm(collection, horizon, how.max_harm, how.objective, search)
    plan = replace(near.plan, vocabulary=vocabulary or Vocabulary())
    if how.seconds is not None:
        plan = replace(plan, origin=plan.origin.timed(how.seconds))
    near = replace(near, plan=plan, collection=collection)
    return replace(near, steps=how.steps, seconds=how.seconds, on_progress=listens)


def _by_some(collection: Collection, how: ProtocolSettings) -> bool:
    """Whether some of many tasks stand for all: where rates are known and all cases of a task are alike."""
    plain = collection.theta is None and not collection.varies and not collection.is_estimated
    asked = how.allow or how.unknown or how.fallback or how.max_harm is not None or how.caps.some
    return collection.n_tasks > MANY_TASKS and plain and not asked


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
    limits, by_context = _limits(collection, how), _by_context(collection, how.points, how.rule_size)
    if by_context is not None and not by_context.has_rules:
        limits = replace(limits, rule=False)
    seen = collection if not how.allow else with_spread(collection, how.allow / math.sqrt(3.0))  # evenly within it
    asked = how.objective, how.numbers, how.seed, how.steps
    seek = Seeker(seen, horizon, limits, *asked, on_progress, by_context, _fallback(collection, how), compared)
    seek.caps, seek.harm_price, seek.washout, seek.seconds = how.caps, harm_price, how.washout, how.seconds
    seek.start = start
    seek.whole, seek.islands, seek.workers = whole, how.islands, how.workers
    tries = TRIES if horizon <= TINY and how.steps is None else TRIES[:1]
    return _heeding(seek, _widths(limits, collection), tries)


def _widths(limits: Limits, collection: Collection) -> list[Limits]:
    """The limits, after narrower ones with as many lines as by default, and then without links back."""
    widths = [limits]
    if limits.links_back:
        longest = limits.longest_path or default_path(collection)
        widths.insert(0, replace(limits, links_back=False, longest_path=longest))
    if limits.lines > default_lines(collection):
        widths.insert(0, replace(widths[0], lines=default_lines(collection)))
    return widths


def _found(seek: "Seeker", widths: Sequence[Limits], tries: Sequence[tuple[int, float]]) -> Nearby:
    """The best plan of some tries within each of some limits, which begin with the best within the limits before."""
    seek.searches, problem = seek.searches + len(widths) * len(tries), InvalidInput("")
    for seek.limits in widths:
        found = list[Nearby]()
        for seek.shift, seek.longer in tries:
            try:
                found.append(_within(seek) if seek.caps.some else seek.plan())
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


def _heeding(seek: "Seeker", widths: Sequence[Limits], tries: Sequence[tuple[int, float]]) -> Nearby:
    """The best plan; where changes cost money or rounds, after a search that does not heed it, so that nothing is lost
    by heeding it."""
    if not (seek.collection.change_cost or seek.washout):
        return _found(seek, widths, tries)
    seek.seconds = None if seek.seconds is None else seek.seconds / 2
    heedless = replace(seek, collection=with_free_changes(seek.collection), washout=0, searches=len(tries))
    found = _found(heedless, widths, tries)
    heeding = replace(found.plan, washout=seek.washout)
    seek.start = replace(found, plan=heeding, collection=seek.collection, known={})
    if heedless.stopped:
        return seek.start
    seek.done, seek.searches = heedless.done, len(widths) * len(tries)
    return _found(seek, widths[-1:], tries)


def _limits(collection: Collection, how: ProtocolSettings) -> Limits:
    longest = how.longest_path if how.longest_path is not None or how.links_back else default_path(collection)
    return Limits(how.lines or default_lines(collection), longest, how.rule, not how.forward_only, how.links_back)


def _within(seek: "Seeker") -> Nearby:
    """A plan that keeps to the caps: what is capped costs ever more."""
    seek.attempts, problem = ATTEMPTS, ""
    for seek.attempt in range(ATTEMPTS):
        near = seek.plan()
        problem = broken(certify(near.plan, seek.collection), seek.caps)
        if not problem:
            return near
        if seek.stopped:
            break
    raise InvalidInput(
        f"No plan of at most {counted(seek.limits.lines, 'line')} was found {problem}. Allow more lines or steps, or a "
        "higher limit."
    )


def _stake(collection: Collection) -> float:
    """What is at stake in one round: the largest gap of a worth, and 1 for rewards."""
    return 1.0 if collection.worth is None else float(collection.gaps.max())


def why_no_protocol(collection: Collection) -> str:
    """Why there is no protocol for these tasks, or ""."""
    if not collection.rewards.has_likelihood:
        return (
            "Protocols need the chance of each reward, and of bounded rewards only the mean is known. Toss a coin for "
            "each reward: tasks.changes.by_coin."
        )
    return ""


def _by_context(collection: Collection, points: "PointsBy | None", rule_size: int | None) -> "ContextualTasks | None":
    """How the search sees tasks with contexts; None for tasks without."""
    if collection.theta is None:
        for name, value in (("points", points), ("rule_size", rule_size)):
            if value is not None:
                raise invalid(name, "omitted for tasks without contexts", value)
        return None
    if points == "table" and not collection.rewards.counts:
        raise invalid("points", "fit or outcome for rewards that are not 0 or 1", points)
    rules: tuple[KindRule, ...] = ()
    if rule_size is not None:
        rules = printed_rules(collection, rule_size)
    return contextual_tasks(collection, points or "fit", rules)


def _check(collection: Collection, horizon: int, washout: int) -> None:
    if horizon < 1:
        raise invalid("horizon", "at least 1, the number of rounds of one case", horizon)
    if washout and washout >= horizon:
        raise invalid("washout", f"below the horizon of {horizon:,} rounds, or nothing counts after a change", washout)
    if reason := why_no_protocol(collection):
        raise InvalidInput(reason)


def _fallback(collection: Collection, how: ProtocolSettings) -> Fallback | None:
    """What a plan does with cases that contradict every task; None where no setting asks for it."""
    if not (how.allow or how.unknown or how.fallback):
        return None
    if collection.theta is not None:
        raise InvalidInput("allow, unknown and fallback must be omitted with contexts: they are for rates.")
    if how.washout:
        raise InvalidInput("allow, unknown and fallback must be omitted with washout: all rounds count for them.")
    if collection.worth is not None:
        raise InvalidInput("allow, unknown and fallback must be omitted with worth: they decide by outcomes.")
    to = fallback_named(how.fallback or Decider.THOMPSON, collection.arms)
    return replace(to, odds=ODDS, allow=how.allow + float(collection.radius.max()))


def fallback_named(given: str, arms: Sequence[str]) -> Fallback:
    """The fallback that a user names: "thompson", "person", or an arm.

    >>> fallback_named("person", ["A", "B"]).to, fallback_named("B", ["A", "B"]).arm
    (<Decider.PERSON: 'person'>, 'B')
    """
    if given in (Decider.THOMPSON, Decider.PERSON):
        return Fallback(Decider(given))
    if given in arms:
        return Fallback(Decider.OPTION, given)
    some = ", ".join([*arms[:5], *["..."][: len(arms) > 5]])
    raise invalid("fallback", f"thompson, person, or an arm ({some})", given)


@dataclass
class Seeker:
    """The searches for one plan within some limits, which share their steps. attempts: at how many prices there may be
    some, and this is one attempt at keeping to the caps. searches: how many there are in all. harm_price: what one harm
    costs. start: the best plan within narrower limits. shift, longer: of TRIES."""

    collection: Collection
    horizon: int
    limits: Limits
    objective: Objective
    numbers: str
    seed: int
    steps: int | None
    on_progress: OnProgress | None
    by_context: "ContextualTasks | None" = None
    fallback: Fallback | None = None
    compared: bool = True
    attempts: int = 1
    searches: int = 0
    start: Nearby | None = None
    caps: Caps = NO_CAPS
    attempt: int = 0
    shift: int = 0
    longer: float = 1.0
    done: int = 0
    stopped: bool = False
    over: Contextual | None = None
    members: FloatArray | None = None
    harm_price: float = 0.0
    washout: int = 0
    seconds: float | None = None
    clock: Clock | None = None
    whole: Clock | None = None
    islands: int = 1
    workers: "int | Literal['joblib'] | None" = None

    @property
    def doubts(self) -> int:
        """How many searches there are at one price: more than one for estimated rates."""
        return DOUBTS if self.collection.is_estimated and self.by_context is None else 1

    @property
    def parts(self) -> int:
        """How many searches there may be in all."""
        return self.attempts * self.doubts

    @property
    def price(self) -> float:
        """What a wrong arm at the horizon costs once in this attempt."""
        return (
            0.0 if self.caps.wrong_arm is None else DEARER**self.attempt * _stake(self.collection) / self.caps.wrong_arm
        )

    def plan(self) -> Nearby:
        """The best plan at the price of this attempt."""
        from banditree.protocols.scenarios import hardest_parameters, worst_parameters

        collection = self.collection
        world, found = self.world, list[Nearby]()
        if self.doubts > 1:
            world = with_scenarios(world, hardest_parameters(collection))
        for _ in range(self.doubts):
            draft = self.draft(world)
            found.append(self._near(draft))
            if self.doubts > 1:
                world = with_scenarios(world, worst_parameters(draft, collection))
            if self.stopped:
                break
        with suppress(TooLong):
            best = found[0] if len(found) == 1 else min(found, key=lambda one: self._promised(one.plan, world))
            return self._settled(best) if self.has_variants and not self.caps.some else best
        return found[-1]  # it allows for the most

    @property
    def has_variants(self) -> bool:
        """Whether others are shown beside the plan, with which it has to agree."""
        shown = self.by_context is None and self.fallback is None and self.numbers == "round"
        return shown and self.compared and not self.stopped

    @property
    def world(self) -> World:
        """The rates as they are given."""
        if self.by_context is not None:
            return self.by_context.world
        known = known_world(self.collection, self.seed)
        alike = known.alike if self.choosers else None
        return replace(known, choosers=self.choosers, alike=alike, washout=self.washout)

    @property
    def choosers(self) -> tuple[Chooser, ...]:
        """The ends at which others than the plan may choose."""
        return () if self.fallback is None else choosers_for(self.collection, self.fallback)

    def draft(self, world: World) -> "Draft":
        """The best draft for a world of scenarios."""
        from banditree.protocols.islands import search_islands
        from banditree.protocols.moves import Moves
        from banditree.protocols.search import search
        from banditree.protocols.simplify import simplified, with_free_numbers

        self.members = world.by_task
        if self.harm_price:
            world = priced(world, self.collection)
        steps = self.steps or default_steps(self.collection)
        start = None if self.start is None else self.start.draft
        if self.by_context is not None or self.fallback is not None:
            start = None  # it cannot be changed line by line
        share = max(1, int(steps / self.parts / (1 + SIMPLIFYING + POLISHING + SHORTER)))
        tables = self._tables(world, () if start is None else scorings_of(start), share)
        if self.seconds is not None and self.clock is None:
            self.clock = Clock(TIMED * self.seconds, steps=steps * self.searches, done=self.done, whole=self.whole)
        moves = Moves(
            tables,
            world,
            self.limits,
            power=self.objective.power,
            seed=self.seed + self.shift,
            steps=share,
            done=self.done,
            total=steps * self.searches,
            on_progress=self.on_progress,
            clock=self.clock,
        )

        def exact(draft: "Draft") -> FloatArray:
            with suppress(TooLong):
                return self._certified(draft, world)
            return draft.regret

        begun = None if start is None else among(start, tables, self.limits.links_back)
        corrected = not self.caps.some and not (self.objective.extra and self.collection.varies)
        how = moves, exact if corrected else None, begun
        draft = search(*how) if self.islands == 1 else search_islands(*how, self.islands, self.workers, self.seed)
        self.stopped = moves.stopped_early
        self.done += int(steps / self.parts)
        if not self.stopped:
            moves.last = self.done - int((SHORTER + POLISHING) * share)
            draft = simplified(moves, draft, int(POLISHING * share))
            moves.last = self.done
            if self.caps.some or not self.has_variants or self.collection.varies:
                draft = self._shorter(moves, draft, lambda one: self._lost(exact(one), world))
            self.stopped = moves.stopped_early
        return with_free_numbers(moves, draft) if self.numbers == "free" else draft

    def _certified(self, draft: "Draft", world: World) -> FloatArray:
        """The regret (S,) over the horizon itself, with the unlucky where they count."""
        plan = self._plan(draft)
        if self.by_context is None:
            found = certify(plan, world.scenarios, must_rest=False)
        else:
            truth = self.by_context.truths
            self.over = self.over or contextual(plan, truth)
            found = certify(plan, truth, must_rest=False, over=self.over)
        cares = self.objective is Objective.UNLUCKY and not self.collection.varies
        regret = with_the_unlucky(found) if cares else found.regret
        return regret if found.harm is None else regret + self.harm_price * found.harm

    def _tables(self, world: World, more: Sequence[Scoring], steps: int) -> "Tables":
        """The tables in which long stays count as much more as they do in this attempt."""
        from banditree.protocols.care import Care, care_beyond
        from banditree.protocols.moves import Moves
        from banditree.protocols.search import search
        from banditree.protocols.tables import build_tables

        build = partial(build_tables, world, self.horizon, self.price, more, self.longer, self.harm_price)
        extra, plain = self.objective.extra, build()
        if self.caps.loss is not None:
            extra = max(extra, CARES[self.attempt])
            return build(care=Care(extra, self.caps.loss)) if extra else plain
        if not extra:
            return plain
        seed, first = self.seed + self.shift, max(1, int(AT_FIRST * steps))
        clock = None if self.seconds is None else Clock(AT_FIRST * self.seconds, steps=first)
        power = self.objective.power
        usual = search(Moves(plain, world, self.limits, power=power, seed=seed, steps=first, clock=clock)).regret
        return build(care=care_beyond(float(world.by_group(usual).max()), extra))

    def _shorter(self, moves: "Moves", draft: "Draft", lost: Callable[["Draft"], float]) -> "Draft":
        """The draft, or one with a line less if that loses no more and is no harder to read."""
        from banditree.protocols.search import search_from

        if draft.n_lines < 2 or moves.stopped_early:
            return draft
        moves.limits = replace(self.limits, lines=draft.n_lines - 1)
        moves.begin_again()
        moves.sharpen(1)
        shorter = search_from(moves, draft)
        moves.limits = self.limits
        easier = reading_load(self._plan(shorter)) <= reading_load(self._plan(draft))
        return shorter if easier and lost(shorter) <= lost(draft) else draft

    def _lost(self, regret: FloatArray, world: World) -> float:
        """What regrets (S,) come to by the objective: those of the worst kind, or the mean."""
        kinds = world.by_group(regret)
        return float(kinds @ world.share if self.objective is Objective.MEAN else kinds.max())

    def _plan(self, draft: "Draft") -> Plan:
        made_for = (self.collection, self.horizon, self.seed, Vocabulary(), self.by_context)
        return plan_of(draft, *made_for, self.fallback, self.choosers, self.members)

    def _promised(self, plan: Plan, world: World) -> float:
        """What the plan loses at most, wherever rates are in their intervals; over drawn cases where these differ."""
        if self.collection.varies:
            return self._lost(certify(plan, world.scenarios, must_rest=False).regret, world)
        return lost(judge(plan, self.collection, must_rest=False), self.objective)

    def _near(self, draft: "Draft") -> Nearby:
        """The plan of a draft, beside which others may be looked for."""
        plan, longest = self._plan(draft), self.limits.longest_path
        return Nearby(plan, draft, self.collection, self.objective, longest, self.steps, self.seconds)

    def _settled(self, near: Nearby) -> Nearby:
        """The plan, or a shorter one near it that loses less."""
        done, total = self.done, self.searches * (self.steps or default_steps(self.collection))

        def at_the_end(progress: Progress) -> bool | None:
            return None if self.on_progress is None else self.on_progress(replace(progress, done=done, total=total))

        thorough = self.collection.is_estimated or self.collection.n_tasks <= FEW_TASKS
        return settled(replace(near, on_progress=at_the_end), thorough=thorough)
