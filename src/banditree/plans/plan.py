"""Plan: the lines that people read, and what they are about. `machine` has the form that computers run."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from banditree.errors import invalid
from banditree.plans.checks import check_plan
from banditree.plans.counts import Counts, ForGood, Pause, Rounds, Watch
from banditree.plans.gives import NONE, BestOf, Give, HandOver, TreatAsLeader, TreatByState
from banditree.plans.kind_rule import KindRule
from banditree.plans.line import Exit, Line
from banditree.plans.links import longest_path, reached, reading_order, reversed_links
from banditree.plans.points import ByOutcome, Points
from banditree.plans.words import Part, Vocabulary
from banditree.tasks.arrays import BoolArray, FloatArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Rewards
from banditree.version import __version__

# A case is handed over at these odds to one against every task: a case of a known task that is where it should be is
# handed over with a chance of at most 1%; the certificate adds the chance that it is elsewhere.
ODDS = 100
MOST_STARTS = 100  # Nobody keeps count of more; the machine has rows for every time that line 1 is begun.


class Form(StrEnum):
    """How a plan is read: numbered boxes, its ends among them, or the lines of a protocol with their ends inside."""

    BOXES = "boxes"
    LINES = "lines"


class Decider(StrEnum):
    """Who decides about a case that fits no task."""

    THOMPSON = "thompson"
    OPTION = "option"
    PERSON = "person"


@dataclass(frozen=True)
class Fallback(Part):
    """Who decides after a hand-over: Thompson sampling that has learned since the first round, one arm, or a person.

    odds: a case is handed over from wherever it is as soon as its outcomes speak this many to one against every task
    that may lead there, allowing for rates that are off by `allow`; 0 if only lines and the safety rule hand over.
    means: of every arm (inner) in every task (outer), by which a plan computes the odds; exactly where it has odds.
    starts: a case begins line 1 at most this many times, and is handed over instead of once more.
    """

    to: Decider = Decider.THOMPSON
    arm: str | None = None
    odds: int = 0
    allow: float = 0.0
    means: tuple[tuple[float, ...], ...] = ()
    starts: int | None = None

    def __post_init__(self) -> None:
        if self.starts is not None and not 2 <= self.starts <= MOST_STARTS:
            raise invalid("the starts of a fallback", f"from 2 to {MOST_STARTS}, or omitted", self.starts)
        if self.odds < 0 or self.odds == 1:
            raise invalid("the odds of a fallback", "at least 2, or 0 for none", self.odds)
        if not 0 <= self.allow < np.inf:
            raise invalid("what a fallback allows for", "at least 0", self.allow)
        if (self.to is Decider.OPTION) != (self.arm is not None):
            raise invalid("fallback", "one arm exactly where it goes to an option", (str(self.to), self.arm))


@dataclass(frozen=True)
class SafetyRule(Part):
    """Whenever an arm is used for good it is scored from 0; at -floor or less the case starts again at line 1.

    points: one for each bin of a reward, lowest first; cuts: the limits between bins. cap: the score is never counted
    above it; 0 for no cap. hands_over: the case goes to the plan's fallback instead of starting again.
    """

    points: tuple[int, ...]
    floor: int
    cuts: tuple[float, ...] = (0.5,)
    cap: int = 0
    hands_over: bool = False

    def __post_init__(self) -> None:
        _ = self.counts

    @cached_property
    def counts(self) -> Watch:
        """The rule as the watched score of an end."""
        return Watch(ByOutcome(tuple(self.points), tuple(self.cuts)), self.floor, self.cap)


class OnHarm(StrEnum):
    """What harm under an arm changes: the case never gets that arm again, and turns to a page without it."""

    NOT_AGAIN = "not again"


@dataclass(frozen=True)
class Page(Part):
    """The lines and the rule for a case that must not get some arms, in place of those of the plan."""

    missing: tuple[str, ...]
    lines: tuple[Line, ...]
    rule: SafetyRule | None = None


@dataclass(frozen=True)
class Origin(Part):
    """How a plan was made: the method, what was asked of it, the margin of the means that it was made from, the seed
    of the search, the versions of what made it; and for one page on its own, without which arms."""

    method: str = "by hand"
    separation: float | None = None
    radius: float = 0.0
    seed: int | None = None
    versions: dict[str, str] = field(default_factory=lambda: current_versions())
    missing: tuple[str, ...] | None = None

    def marked(self, means: str) -> "Origin":
        """The same with a word on the means that the plan was made from."""
        return replace(self, versions={**self.versions, "means": means})

    def timed(self, seconds: float) -> "Origin":
        """The same, ended by the clock: another machine may find another plan with the same seed."""
        return replace(self, versions={**self.versions, "search": f"ended after {seconds:g} seconds"})


@dataclass(frozen=True, eq=False)
class Plan:
    """What people read and sign: lines, starting at line 1, and everything that their words are about."""

    lines: tuple[Line, ...]  # in reading order
    arms: tuple[str, ...]  # the names of the K arms
    tasks: tuple[str, ...]  # the names of the M tasks
    rewards: Rewards  # the family of the rewards
    horizon: int  # H, the rounds of one case
    rule: SafetyRule | None = None  # scores every arm that is used for good
    on_harm: OnHarm | None = None  # what harm, a second outcome, changes
    fallback: Fallback | None = None  # who decides about a case that is handed over
    features: tuple[Feature, ...] = ()  # the d columns of a context
    theta: FloatArray | None = None  # (M, K, d), the predictions x'theta of every task and arm
    kind_rules: tuple[KindRule | None, ...] = ()  # the printed rule of each task that lines treat as, or none
    vocabulary: Vocabulary = field(default_factory=Vocabulary)  # the user's words
    origin: Origin = field(default_factory=Origin)  # how it was made
    pages: tuple[Page, ...] = ()  # from page 2 on: the lines for cases that must not get some arms
    washout: int = 0  # the rounds after a change of arm that are given and not counted

    def __post_init__(self) -> None:
        if self.theta is not None:
            object.__setattr__(self, "theta", frozen(self.theta, float))
        check_plan(self)

    @property
    def missing(self) -> tuple[str, ...]:
        """The arms that cases must not get, where this is a page on its own."""
        return self.origin.missing or ()

    @cached_property
    def arm_numbers(self) -> dict[str, int]:
        """The number of each arm by its name."""
        return {name: number for number, name in enumerate(self.arms)}

    @cached_property
    def task_numbers(self) -> dict[str, int]:
        """The number of each task by its name."""
        return {name: number for number, name in enumerate(self.tasks)}

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the S states by which it treats, none for tasks without."""
        first = self.lines[0].gives
        return first.states if isinstance(first, TreatByState | TreatAsLeader) else ()

    @cached_property
    def form(self) -> Form:
        """Boxes if ends have numbers of their own or lines count rounds; else the lines of a protocol."""
        ends = len(self.lines) > 1 and any(isinstance(line.counts, ForGood) for line in self.lines)
        return Form.BOXES if ends or any(isinstance(line.counts, Rounds) for line in self.lines) else Form.LINES

    @cached_property
    def rows(self) -> tuple[Line, ...]:
        """Where a case can stand: the places, which are the lines, then the ends inside them, each once, the hand-over
        last; the pauses after a change of arm, one before each place that counts and that a change leads to; and the
        places that may lead back to line 1, once more for every further time that it may be begun."""
        again = [self._places[place] for place in self._returning]
        return *self._places, *(self._pause(place) for place in self.pauses), *again * (self._starts - 1)

    @cached_property
    def _places(self) -> tuple[Line, ...]:
        inside = self._inside
        if self.hands_over_anywhere and not any(isinstance(line.gives, HandOver) for line in self.lines):
            inside.append(Line(HandOver(), possible=None if self.lines[0].possible is None else ()))
        ends = {_option(end): end for end in reversed(inside)}
        return (*self.lines, *sorted(ends.values(), key=lambda end: end.gives.order(self)))

    @property
    def _inside(self) -> list[Line]:
        return [target for line in self.lines for target in line.targets if isinstance(target, Line)]

    @property
    def hands_over_anywhere(self) -> bool:
        """Whether the safety rule or the odds of the fallback may hand a case over."""
        ends = [line for line in (*self.lines, *self._inside) if not line.counts.exits and line.gives.is_scored]
        by_rule = self.rule is not None and self.rule.hands_over and bool(ends)
        again = self.rule is not None and not self.rule.hands_over and bool(ends)
        by_starts = bool(self._starts) and (again or any(1 in line.targets for line in self.lines))
        return self.fallback is not None and (by_rule or self.fallback.odds > 0 or by_starts)

    @property
    def _starts(self) -> int:
        """How often line 1 may be begun; 0: any number of times."""
        return (self.fallback and self.fallback.starts) or 0

    @cached_property
    def _returning(self) -> dict[int, int]:
        """The places that may lead back to line 1, numbered, where it may be begun only a few times."""
        leads = [
            links or ([self.rule_target] if self.is_ruled(place) else [])
            for place, links in zip(self._places, self._links, strict=True)
        ]
        again = reached([place for place, links in enumerate(leads) if 0 in links], reversed_links(leads))
        return {place: number for number, place in enumerate(sorted(again))} if self._starts else {}

    @property
    def n_places(self) -> int:
        """How many places there are: the lines or boxes that have a number, and the ends."""
        return len(self._places)

    @property
    def n_seen(self) -> int:
        """How many rows there are without those for further times at line 1."""
        return len(self._places) + len(self.pauses)

    def place_of(self, row: int) -> int:
        """The place that people see for a row: itself but for a place that line 1 led to once more."""
        further = row - len(self._places)
        return row if further < 0 or not self._starts else list(self._returning)[further % len(self._returning)]

    @cached_property
    def links(self) -> list[list[int]]:
        """For each row the places that it leads to, below first; where the rule leads is not among them."""
        again = [self._links[place] for place in self._returning]
        return [*self._links, *([place] for place in self.pauses), *again * (self._starts - 1)]

    @cached_property
    def _links(self) -> list[list[int]]:
        place = {_option(end): row for row, end in enumerate(self._places) if row >= len(self.lines)}

        def row_of(target: Exit) -> int:
            return target - 1 if isinstance(target, int) else place[_option(target)]

        sides = [(line.below, line.above) for line in self._places]
        return [[row_of(target) for target in both if target is not None] for both in sides]

    @cached_property
    def pauses(self) -> dict[int, int]:
        """The row of the pause before each place that has one."""
        turns = [(row, to) for row, links in enumerate(self._links) for to in links]
        turns += [(row, self.rule_target) for row, end in enumerate(self._places) if self.is_ruled(end)]
        needed = sorted({to for row, to in turns if self._needs_pause(self._places[row], self._places[to])})
        return {place: len(self._places) + number for number, place in enumerate(needed)}

    def _needs_pause(self, before: Line, after: Line) -> bool:
        counts = bool(after.counts.exits) or self.is_ruled(after)
        both = isinstance(before.gives, Give) and isinstance(after.gives, Give)
        return self.washout > 0 and both and counts and before.gives.numbers(self) != after.gives.numbers(self)

    def _pause(self, place: int) -> Line:
        after = self._places[place]
        target: Exit = place + 1 if place < len(self.lines) else after
        return Line(after.gives, Pause(self.washout), target, possible=after.possible)  # type: ignore[arg-type]

    def goes_to(self, row: int, place: int) -> int:
        """The row at which a case is next that leaves a row for a place: a pause where the arm changes; the hand-over
        in place of line 1 where that was begun as often as it may be."""
        if self._starts:
            further, size = row - len(self._places), len(self._returning)
            times = (1 if further < 0 else 2 + further // size) + (place == 0)
            if times > self._starts and self.hand_over is not None:
                return self.hand_over
            number = self._returning.get(place, NONE)
            return place if number == NONE or times == 1 else len(self._places) + (times - 2) * size + number
        turns = place in self.pauses and self._needs_pause(self.rows[row], self.rows[place])
        return self.pauses[place] if turns else place

    def is_ruled(self, row: Line) -> bool:
        """Whether the safety rule scores what is given here for good."""
        return self.rule is not None and not row.counts.exits and row.gives.is_scored

    def counting(self, row: Line) -> Counts:
        """How the rounds of a row count: at an end with a safety rule as the rule says."""
        return self.rule.counts if self.rule is not None and self.is_ruled(row) else row.counts

    @property
    def n_boxes(self) -> int:
        """N, the number of rows: tests and ends together."""
        return len(self.rows)

    @cached_property
    def tests(self) -> tuple[int, ...]:
        """The rows that are lines or boxes with an exit, pauses aside."""
        return tuple(row for row, line in enumerate(self._places) if line.counts.exits)

    @property
    def n_tests(self) -> int:
        """How many lines or boxes are tests."""
        return len(self.tests)

    @cached_property
    def hand_over(self) -> int | None:
        """The row at which a case goes to the fallback, or None."""
        return next((row for row, line in enumerate(self._places) if isinstance(line.gives, HandOver)), None)

    @property
    def rule_target(self) -> int:
        """The row that the safety rule leads to."""
        hands_over = self.rule is not None and self.rule.hands_over
        return self.hand_over if hands_over and self.hand_over is not None else 0

    @cached_property
    def outcomes_choose(self) -> bool:
        """Whether the outcomes so far choose at some row, or hand over by odds."""
        by_odds = self.fallback is not None and self.fallback.odds > 0
        return by_odds or any(chosen_from(self, row) is not None for row in range(self.n_boxes))

    @cached_property
    def points(self) -> tuple[Points, ...]:
        """The points of all lines that keep a score."""
        return tuple(row.counts.points for row in self.rows if row.counts.points is not None)

    @cached_property
    def first_cuts(self) -> tuple[float, ...]:
        """The cuts of the first line, which later ones need not repeat."""
        points = self.lines[0].counts.points
        return points.cuts if isinstance(points, ByOutcome) else ()

    @cached_property
    def has_links_back(self) -> bool:
        """Whether some row leads back to an earlier one."""
        return any(child <= row for row, children in enumerate(self._links) for child in children)

    @cached_property
    def depth(self) -> int:
        """D, the most tests or lines on a path, not counting links back."""
        return longest_path(self.links, [int(bool(row.counts.exits)) for row in self.rows], range(self.n_boxes))

    @cached_property
    def most_pulls(self) -> int | None:
        """The most pulls before an arm is used for good, or None if a score, a link back or a rule sets no limit."""
        if self.has_links_back or self.rule is not None or self.points or self.washout:
            return None
        return longest_path(self.links, [row.counts.numbers.pulls for row in self.rows], range(self.n_boxes))

    def __str__(self) -> str:
        from banditree.plans.wording import plan_text

        return plan_text(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from banditree.figures.notebook import plan_bundle

        return plan_bundle(self)


def by_place(plan: Plan, values: FloatArray) -> FloatArray:
    """Values of rows (..., N) added up by the place that people see."""
    found = np.zeros((*values.shape[:-1], plan.n_seen))
    for row in range(plan.n_boxes):
        found[..., plan.place_of(row)] += values[..., row]
    return found


def chosen_from(plan: Plan, row: int) -> tuple[str, ...] | None:
    """The arms among which the outcomes so far choose at a row; None where the plan says what to give."""
    gives = plan.rows[row].gives
    if isinstance(gives, HandOver):
        by_thompson = plan.fallback is not None and plan.fallback.to is Decider.THOMPSON
        return plan.arms if by_thompson else None
    return getattr(gives, "arms", None)


def right_kinds(plan: Plan) -> BoolArray:
    """The tasks (N, M) that a case may be of while it is rightly at a row: at an end with one arm, or between some of
    which nothing is expected, those that may lead there."""
    right = np.ones((plan.n_boxes, len(plan.tasks)), dtype=bool)
    by_odds = plan.fallback is not None and plan.fallback.odds > 0
    for number, row in enumerate(plan.rows):
        draws_tasks = isinstance(row.gives, BestOf) and bool(row.gives.expected) and by_odds
        if not row.counts.exits and row.possible and not isinstance(row.gives, HandOver) and not draws_tasks:
            right[number] = [task in row.possible for task in plan.tasks]
    return right


def _option(end: Line) -> tuple[Any, ...]:
    """What makes two ends the same."""
    return end.gives, end.task


def make_plan(lines: Sequence[Line], collection: Collection, horizon: int, **more: Any) -> Plan:
    """The plan with these lines for a collection, without lines that cannot be reached. more: other fields of a Plan.

    A fallback that nothing leads to is omitted.

    >>> from banditree.plans.counts import Score
    >>> from banditree.plans.gives import Give
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> test = Line(Give("A"), Score(ByOutcome((-2, 1)), 4, 6), below=Line(Give("B")), above=Line(Give("A")))
    >>> print(make_plan([test], two, horizon=100))
    Plan for 2 tasks and 2 arms over 100 rounds (method by hand): 1 line, longest path: 1 line, reading load 1.0.
    <BLANKLINE>
    1. Give A; success +1, failure -2. At +6: stay with A. At -4: settle on B.
    """
    links = [[target - 1 for target in line.targets if isinstance(target, int)] for line in lines]
    kept = sorted(reading_order(links))
    about: dict[str, Any] = {"arms": collection.arms, "tasks": collection.tasks}
    about["rewards"] = collection.rewards.of_a_plan
    plan = Plan(renumbered(lines, kept), horizon=horizon, **about, **more)
    if plan.fallback is None or plan.hand_over is not None:
        return plan
    rule = None if plan.rule is None else replace(plan.rule, hands_over=False)
    return replace(plan, fallback=None, rule=rule)


def renumbered(lines: Sequence[Line], order: Sequence[int]) -> tuple[Line, ...]:
    """Some of the lines in a new order (places counted from 0), with exits that lead to the same lines as before."""
    number = {place: new for new, place in enumerate(order, 1)}

    def moved(target: Exit | None) -> Exit | None:
        return number[target - 1] if isinstance(target, int) else target

    return tuple(
        replace(lines[place], below=moved(lines[place].below), above=moved(lines[place].above)) for place in order
    )


def current_versions() -> dict[str, str]:
    """What made a result: versions of banditree, Python and numpy."""
    return {"banditree": __version__, "python": platform.python_version(), "numpy": np.__version__}
