"""The searches behind one protocol: what they share, and what is done with what they find."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from banditree.certificates.certify import certify
from banditree.certificates.over_contexts import Contextual, contextual
from banditree.errors import TooLong
from banditree.plans.plan import Fallback, Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.words import Vocabulary
from banditree.progress import Clock, OnProgress, Progress
from banditree.protocols.care import NO_CARE, Care, care_beyond
from banditree.protocols.defaults import FEW_TASKS, default_steps
from banditree.protocols.harm import priced
from banditree.protocols.judging import judge, lost, with_the_unlucky
from banditree.protocols.objectives import Limits, Objective
from banditree.protocols.reading import among, plan_of, scorings_of
from banditree.protocols.settings import ProtocolSettings
from banditree.protocols.variants import Nearby, settled
from banditree.protocols.worlds import Chooser, World, choosers_for, known_world, with_scenarios
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards.base import Scoring

if TYPE_CHECKING:
    from banditree.protocols.by_context import ContextualTasks
    from banditree.protocols.draft import Draft
    from banditree.protocols.moves import Moves
    from banditree.protocols.tables import Tables

POLISHING = 0.1  # Further steps, as a share of those of the search, that go on with the ways to score that are left.
SHORTER = 0.05  # Further steps, as a share of those of the search, in which a line less is tried.
AT_FIRST = 0.05  # This share of the steps, at most, goes into what plans usually lose, before a search that cares.
TIMED = 0.75  # This share of the seconds, where these are given, is for the steps; the rest for what is near the plan.
SIMPLIFYING = 0.15  # Further steps, as a share of those of the search, in which the plan is made simpler.
DOUBTS = 3  # For estimated rates this many searches, each allowing for the worst rates of the plans before it.
DEARER = 10.0  # A wrong arm costs this many times as much from one attempt to the next.
CARES = (0.0, 20.0, 80.0, 320.0)  # How many times more losses above a cap count in each attempt.


def _stake(collection: Collection) -> float:
    """What is at stake in one round: the largest gap of a worth, and 1 for rewards."""
    return 1.0 if collection.worth is None else float(collection.gaps.max())


@dataclass
class Seeker:
    """The searches for one plan within some limits, which share their steps. attempts: at how many prices there may be
    some, and this is one attempt at keeping to the caps. searches: how many there are in all. harm_price: what one harm
    costs. start: the best plan within narrower limits. shift, longer: added to the seed, and how many times as long a
    case of random length is on average."""

    collection: Collection
    horizon: int
    how: ProtocolSettings
    limits: Limits
    on_progress: OnProgress | None
    by_context: "ContextualTasks | None" = None
    fallback: Fallback | None = None
    compared: bool = True
    harm_price: float = 0.0
    whole: Clock | None = None
    start: Nearby | None = None
    attempts: int = 1
    searches: int = 0
    attempt: int = 0
    shift: int = 0
    longer: float = 1.0
    done: int = 0
    stopped: bool = False
    clock: Clock | None = None
    over: Contextual | None = None
    members: FloatArray | None = None
    care: Care = NO_CARE

    @property
    def objective(self) -> Objective:
        """What must be least."""
        return self.how.objective or Objective.WORST

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
        cap = self.how.caps.wrong_arm
        return 0.0 if cap is None else DEARER**self.attempt * _stake(self.collection) / cap

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
            return self._settled(best) if self.has_variants and not self.how.caps.some else best
        return found[-1]  # it allows for the most

    @property
    def has_variants(self) -> bool:
        """Whether others are shown beside the plan, with which it has to agree."""
        shown = self.by_context is None and self.fallback is None and self.how.numbers == "round"
        return shown and self.compared and not self.stopped

    @property
    def world(self) -> World:
        """The rates as they are given."""
        if self.by_context is not None:
            return self.by_context.world
        known = known_world(self.collection, self.how.seed)
        alike = known.alike if self.choosers else None
        return replace(known, choosers=self.choosers, alike=alike, washout=self.how.washout)

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
        steps = self.how.steps or default_steps(self.collection)
        start = None if self.start is None else self.start.draft
        if self.by_context is not None or self.fallback is not None:
            start = None  # it cannot be changed line by line
        share = max(1, int(steps / self.parts / (1 + SIMPLIFYING + POLISHING + SHORTER)))
        build = partial(self._tables, more=() if start is None else scorings_of(start))
        self.care, usual = self._care(world, build, share)
        caring = replace(world, care=self.care)
        tables = build(caring)
        if self.how.seconds is not None and self.clock is None:
            self.clock = Clock(TIMED * self.how.seconds, steps=steps * self.searches, done=self.done, whole=self.whole)
        moves = Moves(
            tables,
            caring,
            self.limits,
            power=self.objective.power,
            seed=self.how.seed + self.shift,
            steps=share,
            done=self.done,
            total=steps * self.searches,
            on_progress=self.on_progress,
            clock=self.clock,
        )

        def exact(draft: "Draft") -> FloatArray:
            with suppress(TooLong):
                return self._certified(draft, world)
            return caring.felt(draft.regret)

        start = start or usual
        begun = None if start is None else among(start, tables, self.limits.links_back)
        corrected = not self.how.caps.some and not (self.objective.extra and self.collection.varies)
        given = moves, exact if corrected else None, begun
        islands = self.how.islands, self.how.workers, self.how.seed
        draft = search(*given) if self.how.islands == 1 else search_islands(*given, *islands)
        self.stopped = moves.stopped_early
        self.done += int(steps / self.parts)
        if not self.stopped:
            moves.last = self.done - int((SHORTER + POLISHING) * share)
            draft = simplified(moves, draft, int(POLISHING * share))
            moves.last = self.done
            if self.how.caps.some or not self.has_variants or self.collection.varies:
                draft = self._shorter(moves, draft, lambda one: self._lost(exact(one), world))
            self.stopped = moves.stopped_early
        return with_free_numbers(moves, draft) if self.how.numbers == "free" else draft

    def _certified(self, draft: "Draft", world: World) -> FloatArray:
        """The regret (1, S) over the horizon itself; with the unlucky (2, S), where they count."""
        plan = self._plan(draft)
        if self.by_context is None:
            found = certify(plan, world.scenarios, must_rest=False)
        else:
            truth = self.by_context.truths
            self.over = self.over or contextual(plan, truth)
            found = certify(plan, truth, must_rest=False, over=self.over)
        cares = self.objective is Objective.UNLUCKY and not self.collection.varies
        regret = with_the_unlucky(found) if cares else found.regret[None].copy()
        if found.harm is not None:
            regret[0] += self.harm_price * found.harm
        return regret

    def _tables(self, world: World, more: Sequence[Scoring]) -> "Tables":
        from banditree.protocols.tables import build_tables

        return build_tables(world, self.horizon, self.price, more, self.longer, self.harm_price)

    def _care(self, world: World, build: "Callable[[World], Tables]", steps: int) -> "tuple[Care, Draft | None]":
        """How losses count in this attempt, and a draft that a short search without care found, if there was one."""
        from banditree.protocols.moves import Moves
        from banditree.protocols.search import search

        extra = self.objective.extra
        if self.how.caps.loss is not None:
            return Care(max(extra, CARES[self.attempt]), self.how.caps.loss), None
        if not extra:
            return NO_CARE, None
        seed, first = self.how.seed + self.shift, max(1, int(AT_FIRST * steps))
        clock = None if self.how.seconds is None else Clock(AT_FIRST * self.how.seconds, steps=first)
        power = self.objective.power
        usual = search(Moves(build(world), world, self.limits, power=power, seed=seed, steps=first, clock=clock))
        care = care_beyond(float(world.by_group(usual.regret).max()), extra)
        return care, None if self.choosers or not usual.n_lines else usual

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
        """What regrets (1 or 2, S) come to by the objective: those of the worst kind, or the mean."""
        kinds = world.by_group(regret)
        return float((kinds @ world.share if self.objective is Objective.MEAN else kinds.max(axis=1)).sum())

    def _plan(self, draft: "Draft") -> Plan:
        made_for = (self.collection, self.horizon, self.how.seed, Vocabulary(), self.by_context)
        return plan_of(draft, *made_for, self.fallback, self.choosers, self.members)

    def _promised(self, plan: Plan, world: World) -> float:
        """What the plan loses at most, wherever rates are in their intervals; over drawn cases where these differ."""
        if self.collection.varies:
            return self._lost(certify(plan, world.scenarios, must_rest=False).regret[None], world)
        return lost(judge(plan, self.collection, must_rest=False), self.objective)

    def _near(self, draft: "Draft") -> Nearby:
        """The plan of a draft, beside which others may be looked for."""
        how, plan = self.how, self._plan(draft)
        asked = self.objective, self.care, self.limits.longest_path, how.steps, how.seconds
        return Nearby(plan, draft, self.collection, *asked)

    def _settled(self, near: Nearby) -> Nearby:
        """The plan, or a shorter one near it that loses less."""
        done, total = self.done, self.searches * (self.how.steps or default_steps(self.collection))

        def at_the_end(progress: Progress) -> bool | None:
            return None if self.on_progress is None else self.on_progress(replace(progress, done=done, total=total))

        thorough = self.collection.is_estimated or self.collection.n_tasks <= FEW_TASKS
        return settled(replace(near, on_progress=at_the_end), thorough=thorough)
