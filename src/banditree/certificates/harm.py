"""The harm that a plan does, such as side effects: how much is expected, and the chance of more than one.

Given task and arm, harm is taken to come independently of the reward and of other rounds. Where harm turns the page, a
case is followed through all pages that it may come to, from line 1 of each.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditree.certificates.by_odds import moved_by_odds, rightly_at
from banditree.certificates.outcomes import SAME_VALUE, Outcomes, box_outcomes
from banditree.certificates.over_contexts import Contextual, contextual
from banditree.certificates.to_the_horizon import MOST_SCORES, points_of
from banditree.certificates.watched_scores import heights
from banditree.errors import InvalidInput, TooLong
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER, NONE, SEVERAL
from banditree.plans.machine import Machine, machine_of
from banditree.plans.pages import page_for
from banditree.plans.plan import Decider, Plan
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from banditree.certificates.harm_loops import Rows

STAGES = 3  # No harm, one, more.
MOST_STAGES = 500  # At most this many groups of barred arms are told apart.
MOST_WORK = 1e10  # Scores moved by one round, over all tasks: some 20 s.
TINY = 1e-20  # Smaller chances of single scores are dropped and counted as an error.
ONCE, MORE = 0, 1  # The rows that give nothing, after one harm and after more.


@dataclass(frozen=True, eq=False)
class HarmCertificate:
    """The harms of a case of each task (M,) over the horizon, at the rates as they are given.

    expected: how many; more_than_one: the chance. nothing_left: the chance that a harm rule leaves no arm to give; what
    is done then is not counted. error: how far the chances may be off, at most.
    """

    tasks: tuple[str, ...]
    horizon: int
    expected: FloatArray
    more_than_one: FloatArray
    nothing_left: FloatArray
    error: FloatArray


def harm_rates(plan: Plan, collection: Collection, over: Contextual | None = None, most: bool = True) -> FloatArray:
    """The chance of harm (M, N) in one round at each row of a plan; most: the highest within the margins.

    Where others choose it is that of the most harmful of their arms, and nothing where a person decides.
    """
    assert collection.harm is not None
    machine, rates = machine_of(plan), collection.harm.most if most else collection.harm.rates
    at = np.zeros((collection.n_tasks, machine.n_rows))
    for row, arm in enumerate(machine.arm.tolist()):
        if arm >= 0:
            at[:, row] = rates[:, arm]
        elif arm == NONE:
            over = over or contextual(plan, collection)
            at[:, row] = rates[:, over.choices[machine.task[row]]].mean(axis=1)
        elif arm == HAND_OVER and machine.fallback != NONE:
            at[:, row] = rates[:, machine.fallback]
        elif arm == SEVERAL or (plan.fallback is not None and plan.fallback.to is Decider.THOMPSON):
            at[:, row] = rates[:, machine.arms_at(row)].max(axis=1)
    return at


def certify_harm(plan: Plan, collection: Collection, horizon: int | None = None) -> HarmCertificate:
    """The harm that a plan does, exactly for known rewards and rates and as if estimates were exact otherwise.

    >>> from banditree import Give, Line, make_plan
    >>> from banditree.tasks.harm import with_harm
    >>> two = with_harm(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"]), {"A": 0.1, "B": 0})
    >>> found = certify_harm(make_plan([Line(Give("A"))], two, 10), two)
    >>> found.expected.round(9).tolist(), found.more_than_one.round(6).tolist()
    ([1.0, 1.0], [0.263901, 0.263901])
    """
    followed = follow_harm(plan, collection, horizon)
    right = rightly_at(plan, collection)
    moved = np.zeros(collection.n_tasks)
    if not right.all():
        wrongly = (followed.sides[:, : plan.n_boxes, 0] * ~right).sum(axis=1)
        moved = moved_by_odds(plan, right, wrongly).sum(axis=1)
    return HarmCertificate(
        collection.tasks,
        followed.horizon,
        followed.total(followed.book.harm) + followed.horizon * moved * followed.book.harm.max(axis=1),
        np.minimum(followed.more_than_one + moved, 1.0),
        followed.gone,
        followed.lost,
    )


class Book(NamedTuple):
    """The rows of all pages that a case may come to, one after the other, and two that give nothing.

    machine: their arrays (N,). chance (M, N, B), harm, cost (M, N) of one round; wrong (M, N): an end or a watch line
    whose arm is not the best. onward (N,): the row that harm leads to, NONE where it changes nothing. n_harms (N,): the
    harms of a case there, where it is known. handed (N,): whether a row hands over.
    """

    machine: Machine
    chance: FloatArray
    harm: FloatArray
    cost: FloatArray
    wrong: BoolArray
    onward: IntArray
    n_harms: IntArray
    handed: BoolArray


@dataclass(frozen=True, eq=False)
class Followed:
    """What came of M tasks in Q stages of the N rows of a book: rounds spent, chances at the end (M, Q, N), sides
    (M, N, 3) as in `harm_loops.Found`; gone (M,): no arm was left; lost (M,): how far chances may be off."""

    horizon: int
    book: Book
    spent: FloatArray
    at_end: FloatArray
    sides: FloatArray
    gone: FloatArray
    lost: FloatArray

    def total(self, each: FloatArray) -> FloatArray:
        """What something (M, N) of one round comes to over all rounds (M,)."""
        return np.asarray((self.spent.sum(axis=1) * each).sum(axis=1))

    @property
    def more_than_one(self) -> FloatArray:
        """The chance (M,) of more than one harm."""
        stages = np.arange(self.at_end.shape[1])[:, None]
        few = stages + self.book.n_harms <= 1
        return np.asarray(np.clip(1.0 - (self.at_end * few).sum(axis=(1, 2)) - self.lost, 0.0, 1.0))


def follow_harm(plan: Plan, collection: Collection, horizon: int | None = None) -> Followed:
    """The plan carried to the horizon together with the harms of a case, at the rates as they are given."""
    from banditree.certificates.harm_loops import Found, carry, places_of

    horizon, sure = plan.horizon if horizon is None else horizon, trust_estimates(collection)
    book = _book_of(plan, sure)
    stages, N = STAGES if plan.on_harm is None else 1, book.machine.n_rows
    each = []
    for task in range(collection.n_tasks):
        rows = _rows(book, task, horizon)
        if collection.n_tasks * horizon * stages * float((rows.floor + rows.height).sum()) > MOST_WORK:
            raise TooLong(f"The harm of this plan takes too long to work out over {horizon:,} rounds. Use fewer.")
        found = Found(np.zeros((stages, N)), np.zeros((stages, N)), np.zeros((N, 3)), np.zeros(N), np.zeros(1))
        carry(rows, horizon, TINY, places_of(stages, rows), found)
        each.append(found)
    spent, at_end, sides, gone, lost = (np.array(part) for part in zip(*each, strict=True))
    return Followed(horizon, book, spent, at_end, sides, gone.sum(axis=1), lost[:, 0])


def _book_of(plan: Plan, collection: Collection) -> Book:
    stages = _stages(plan, collection)
    pages = list(stages.values())
    seen = [box_outcomes(page, collection) for page in pages]
    if any(outcomes.claim.is_bound for outcomes in seen):
        raise InvalidInput("The chance of harm is computed for rewards whose chances are known, not only their means.")
    first = np.cumsum([0, *(page.n_boxes for page in pages)])
    machines = [machine_of(page) for page in pages]
    onward = [NONE] * int(first[-1]) if plan.on_harm is None else _onward(plan, stages, first)
    return Book(
        _joined(machines, first),
        _padded([outcomes.least for outcomes in seen]),
        _with_none([harm_rates(page, collection) for page in pages]),
        _with_none([outcomes.cost for outcomes in seen]),
        _with_none([_wrong(outcomes, one) for outcomes, one in zip(seen, machines, strict=True)]).astype(bool),
        np.array([*onward, NONE, NONE]),
        np.array([*(len(barred) for barred, page in stages.items() for _ in page.rows), 1, 2]),
        np.array([*(arm == HAND_OVER for one in machines for arm in one.arm), False, False]),
    )


def _stages(plan: Plan, collection: Collection) -> dict[frozenset[str], Plan]:
    """The pages that a case may come to, by the arms that harm has barred: the plan first."""
    found = {frozenset[str](): plan}
    if plan.on_harm is None:
        return found
    waiting = [frozenset[str]()]
    for barred in waiting:
        for arm in _harming(found[barred], collection):
            page = _page(plan, barred | {arm})
            if page is not None and barred | {arm} not in found:
                found[barred | {arm}] = page
                waiting.append(barred | {arm})
        if len(found) > MOST_STAGES:
            raise TooLong(f"Harm may bar more than {MOST_STAGES:,} groups of arms of this plan. Give it fewer pages.")
    return found


def _harming(page: Plan, collection: Collection) -> list[str]:
    """The arms that rows of a page give and that may do harm."""
    assert collection.harm is not None
    given = set(machine_of(page).arm.tolist())
    return [name for k, name in enumerate(page.arms) if k in given and collection.harm.rates[:, k].any()]


def _page(plan: Plan, barred: frozenset[str]) -> Plan | None:
    try:
        return page_for(plan, {*plan.missing, *barred})
    except InvalidInput:
        return None


def _onward(plan: Plan, stages: dict[frozenset[str], Plan], first: IntArray) -> list[int]:
    """The row that harm leads to from each row: line 1 of another page, or one that gives nothing."""
    start = dict(zip(stages, first.tolist(), strict=False))
    found = []
    for barred, page in stages.items():
        nothing = int(first[-1]) + (MORE if barred else ONCE)
        arms = machine_of(page).arm.tolist()
        found += [start.get(barred | {page.arms[arm]}, nothing) if arm >= 0 else nothing for arm in arms]
    return found


def _joined(machines: list[Machine], first: IntArray) -> Machine:
    """The rows of several machines in one list, and two that give nothing."""
    from banditree.certificates.harm_loops import GONE

    def column(name: str, nothing: int = 0) -> IntArray:
        return np.concatenate([*(getattr(one, name) for one in machines), [nothing] * 2])

    def links(name: str) -> IntArray:
        moved = [np.where(getattr(one, name) >= 0, getattr(one, name) + at, NONE) for one, at in zip(machines, first)]  # noqa: B905
        return np.concatenate([*moved, [NONE] * 2])

    B = max(points_of(one).shape[1] for one in machines)
    points = [np.pad(points_of(one), ((0, 0), (0, B - points_of(one).shape[1]))) for one in machines]
    return machines[0]._replace(
        kind=column("kind", GONE),
        low=links("low"),
        high=links("high"),
        pulls=column("pulls"),
        points=np.concatenate([*points, np.zeros((2, B), np.int64)]),
        floor=column("floor"),
        ceil=column("ceil"),
        cap=column("cap"),
    )


def _padded(chances: list[FloatArray]) -> FloatArray:
    B = max(chance.shape[2] for chance in chances)
    same = [np.pad(chance, ((0, 0), (0, 0), (0, B - chance.shape[2]))) for chance in chances]
    return np.concatenate([*same, np.zeros((len(same[0]), 2, B))], axis=1)


def _with_none(each: list[FloatArray]) -> FloatArray:
    return np.concatenate([*each, np.zeros((len(each[0]), 2))], axis=1)


def _wrong(outcomes: Outcomes, machine: Machine) -> FloatArray:
    rest = (machine.kind == Counting.EXPLOIT) | (machine.kind == Counting.WATCH)
    return np.asarray((outcomes.cost > SAME_VALUE) & rest, dtype=float)


def _rows(book: Book, task: int, horizon: int) -> "Rows":
    """The rows of a book under one task."""
    from banditree.certificates.harm_loops import Rows

    machine, chance = book.machine, np.ascontiguousarray(book.chance[task])
    height, watched = machine.ceil.copy(), np.flatnonzero(machine.kind == Counting.WATCH)
    if watched.size:
        height[watched] = heights(machine, watched, chance[watched, : machine.points.shape[1]], horizon)[0]
    pulls = np.minimum(machine.pulls, horizon + 1)
    fixed = machine.kind == Counting.FIXED
    size = np.where(fixed, pulls, np.maximum(machine.floor - 1 + height, 0))
    if size.sum() > MOST_SCORES:
        raise TooLong(f"The rows of this plan keep {size.sum():,} scores, too many to certify. Use a shorter horizon.")
    first = np.zeros(machine.n_rows, np.int64)
    for group in (fixed, ~fixed):
        first[group] = np.cumsum(size[group]) - size[group]
    shape = (machine.kind, machine.low, machine.high, pulls, machine.points, machine.floor, machine.cap, height, first)
    return Rows(*shape, chance, np.ascontiguousarray(book.harm[task]), book.onward)
