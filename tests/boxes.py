"""Plans written down in numbers: a shorter notation for tests than the lines that people read.

A box is an arm by its number, where it leads by places in a list, and its points; `assemble` makes a Plan of them.
`arrays_of` is the way back: the columns of a plan with its safety rule folded, as a reader sees it.
"""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from banditree.plans.counts import Counting, ForGood, Rounds, Score, Watch
from banditree.plans.gives import HAND_OVER, NONE, SEVERAL, BestOf, Give, HandOver, TreatAs
from banditree.plans.line import Line
from banditree.plans.links import reading_order
from banditree.plans.machine import machine_of
from banditree.plans.plan import Form, Origin, Plan, make_plan, renumbered
from banditree.plans.points import ByOutcome


@dataclass(frozen=True)
class Box:
    """pulls: a test of fixed length; points: a score, a watch line without a high side; otherwise an end."""

    arm: int
    low: int = NONE
    high: int = NONE
    points: tuple[int, ...] = ()
    floor: int = 0
    ceil: int = 0
    cuts: tuple[float, ...] = (0.5,)
    pulls: int = 0
    threshold: float = 0.0
    task: int = NONE
    cap: int = 0
    among: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    by: object = None  # points that look at the context

    @property
    def links(self):
        return tuple(side for side in (self.low, self.high) if side != NONE)

    @property
    def counts(self):
        if self.pulls:
            return Rounds(self.pulls, self.threshold)
        if not self.points and self.by is None:
            return ForGood()
        points = self.by or ByOutcome(tuple(self.points), tuple(self.cuts))
        return Watch(points, self.floor, self.cap) if self.high == NONE else Score(points, self.floor, self.ceil)

    def gives(self, arms, tasks, worth):
        if self.arm == HAND_OVER:
            return HandOver()
        if self.arm == SEVERAL:
            return BestOf(tuple(arms[k] for k in self.among), tuple(self.rates), worth if self.rates else 0)
        return TreatAs(tasks[self.task]) if self.arm == NONE else Give(arms[self.arm])


def lines_of(boxes, arms, tasks, worth=0, form=Form.BOXES, possible=None, as_listed=False):
    """The lines of the boxes, in reading order or as they are listed; the ends of protocols inside them."""
    names = [None] * len(boxes) if possible is None else [tuple(tasks[i] for i in some) for some in possible]

    def end(place):
        box = boxes[place]
        found = tasks[box.task] if box.task != NONE and box.arm != NONE else None
        return Line(box.gives(arms, tasks, worth), task=found, possible=names[place])

    def target(place):
        if place == NONE:
            return None
        inside = form is Form.LINES and 0 <= place < len(boxes) and isinstance(boxes[place].counts, ForGood)
        return end(place) if inside else place + 1

    made = []
    for place, box in enumerate(boxes):
        if isinstance(box.counts, ForGood):
            made.append(end(place))
            continue
        gives = box.gives(arms, tasks, worth)
        made.append(Line(gives, box.counts, target(box.low), target(box.high), possible=names[place]))
    if as_listed:
        return tuple(made)
    links = [[to - 1 for to in line.targets if isinstance(to, int)] for line in made]
    order = reading_order(links)
    return renumbered(made, sorted(order) if form is Form.LINES else order)


def assemble(boxes, collection, horizon, method="by hand", form=Form.BOXES, worth=0, kinds=None, possible=None, **more):
    """The plan of the boxes for a collection. kinds: the means by which a fallback with odds decides."""
    if kinds is not None and more.get("fallback") is not None:
        more["fallback"] = replace(more["fallback"], means=tuple(map(tuple, np.asarray(kinds).tolist())))
    lines = lines_of(boxes, collection.arms, collection.tasks, worth, form, possible)
    if more.get("rule") is not None and not any(box.arm == HAND_OVER for box in boxes):
        more["rule"] = replace(more["rule"], hands_over=False)
    return make_plan(lines, collection, horizon, origin=Origin(method), **more)


def plan_of_boxes(boxes, *, arms, tasks, rewards, horizon, method="score", form=Form.BOXES, **more):
    """The plan of the boxes, numbered as they are listed."""
    lines = lines_of(boxes, arms, tasks, form=form, as_listed=form is Form.BOXES)
    return Plan(tuple(lines), tuple(arms), tuple(tasks), rewards, horizon, origin=Origin(method), **more)


def renamed(plan, arms):
    """The plan with other names of its arms."""
    new = dict(zip(plan.arms, arms, strict=True))

    def gives(old):
        if isinstance(old, Give):
            return Give(new[old.arm])
        return replace(old, arms=tuple(new[arm] for arm in old.arms)) if isinstance(old, BestOf) else old

    def line(old):
        if not isinstance(old, Line):
            return old
        return replace(old, gives=gives(old.gives), below=line(old.below), above=line(old.above))

    fallback = plan.fallback
    if fallback is not None and fallback.arm is not None:
        fallback = replace(fallback, arm=new[fallback.arm])
    return replace(plan, lines=tuple(map(line, plan.lines)), arms=tuple(arms), fallback=fallback)


def arrays_of(plan):
    """The columns of a plan by row, with its safety rule folded: ends are ends."""
    machine = machine_of(plan)
    end = np.array([not row.counts.exits for row in plan.rows])
    folded = {name: getattr(machine, name).copy() for name in ("kind", "low", "floor", "cap", "points", "cuts")}
    folded["kind"][end], folded["low"][end] = Counting.EXPLOIT, NONE
    folded["floor"][end] = folded["cap"][end] = folded["points"][end] = folded["cuts"][end] = 0
    return SimpleNamespace(**(machine._asdict() | folded))


def survivors_at(plan, box):
    """The numbers of the tasks still possible at a row, or None where the plan does not say."""
    possible = plan.rows[box].possible
    return None if possible is None else np.array([plan.task_numbers[task] for task in possible], dtype=np.int64)
