"""Every task carried to the horizon: the numbers of a certificate, with the work and the error kept in bounds."""

from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditree.certificates.outcomes import Outcomes
from banditree.certificates.watched_scores import STAYS, heights
from banditree.errors import TooLong
from banditree.plans.counts import Counting
from banditree.plans.gives import NONE
from banditree.plans.machine import Machine
from banditree.tasks.arrays import FloatArray, IntArray, frozen

if TYPE_CHECKING:
    from banditree.certificates.propagation import Boxes
    from banditree.certificates.renewal import Renewal

MOST_CASES = 0.95  # The share of cases in "95% of cases are decided within n rounds".
MOST_WORK = 2.5e10  # Scores moved by one round, over all tasks of a certificate: 4 to 6 s ...
PER_TASKS = 100  # ... for this many tasks; more of them may take more in proportion.
FIRST_TRY = 5e5  # The same for one box of one task: about half of what it takes line by line.
MOST_ERROR = 1e-9  # A plan with a larger error of the regret per round, line by line, is carried round by round.
MOST_SCORES = 20_000_000  # The boxes of a plan may keep this many scores and pulls, 16 bytes each.
MOST_PULLS = 2**31 - 1  # Binomial chances are computed for tests of at most this many pulls.
BY_ROW = ("kind", "arm", "pulls", "threshold", "points", "floor", "ceil", "cap")  # What carries a case on.
# Plans whose scores all end: what is dropped is far below every chance that anybody prints.
UNSEEN, REST = 1e-60, 1e-30


class Carried(NamedTuple):
    """What came of one task, as in `Certificate`; exits (N, 2); turned: (N,), how often another arm is given after a
    box; course: regret, undecided and changes of arm so far (H+1,), or empty."""

    regret: float
    error: float
    within: int
    spent: FloatArray
    at_end: FloatArray
    entered: FloatArray
    exits: FloatArray
    turned: FloatArray
    course: tuple[FloatArray, ...]


def carry(
    machine: Machine, outcomes: Outcomes, horizon: int, whole: bool = False, turns: bool = False
) -> list[Carried]:
    """Carry every task of `outcomes` to the horizon of a machine; whole: with its course, round by round.

    turns: whether changes of arm are counted. Rows may come in any order.

    Round by round is exact in every digit and soon done where cases come to rest. Where they go on moving in one task,
    and lines only lead on or back to the first, this and the tasks after it are carried line by line.
    """
    order = onwards(machine)
    if not whole and order is not None and (order[:-1] > order[1:]).any():
        place = np.argsort(order)
        return [_at_rows(one, place) for one in carry(*begun_at(machine, outcomes, order), horizon, turns=turns)]
    renewal = None if whole else _renewal(machine, horizon)
    n_tasks = len(outcomes.cost)
    left = MOST_WORK * max(1.0, n_tasks / PER_TASKS)  # for all tasks: few of them are hard, and may take most of it
    work = left if renewal is None else FIRST_TRY * machine.n_rows
    carried = []
    for task in range(n_tasks):
        boxes = boxes_under(machine, outcomes, task, horizon, turns)
        found, spent = _by_rounds(boxes, horizon, min(work, left), whole) if work else (None, 0.0)
        if found is None and renewal is not None:
            found, work = _by_lines(boxes, renewal), 0.0
        if found is None and renewal is not None:
            found, spent = _by_rounds(boxes, horizon, left, whole)
        left -= spent
        if found is None:
            raise TooLong(
                f"This plan takes too long to certify over {horizon:,} rounds, since cases go on moving between "
                "its boxes. Certify it over a shorter horizon, or simulate it."
            )
        carried.append(found)
    return carried


def onwards(machine: Machine) -> IntArray | None:
    """An order of the rows (N,) in which links lead on or back to row 0, near to their own; None where others lead
    back."""
    links = [{int(to) for to in both if to > 0} for both in zip(machine.low, machine.high, strict=True)]
    waiting, order = np.bincount([to for both in links for to in both], minlength=machine.n_rows), list[int]()
    ready = np.flatnonzero(waiting == 0).tolist()
    while ready:
        order.append(heappop(ready))
        for to in links[order[-1]]:
            waiting[to] -= 1
            if not waiting[to]:
                heappush(ready, to)
    return np.array(order) if len(order) == machine.n_rows else None


def begun_at(machine: Machine, outcomes: Outcomes, order: IntArray) -> tuple[Machine, Outcomes]:
    """The machine of some rows, in order, and what they do; links to others lead nowhere."""
    number = np.full(machine.n_rows + 1, NONE)
    number[order] = np.arange(len(order))
    by_row: dict[str, Any] = {
        name: frozen(getattr(machine, name)[order], getattr(machine, name).dtype) for name in BY_ROW
    }
    links: dict[str, Any] = {side: frozen(number[getattr(machine, side)[order]], np.int64) for side in ("low", "high")}
    least, most, cost = (
        np.ascontiguousarray(part[:, order]) for part in (outcomes.least, outcomes.most, outcomes.cost)
    )
    return machine._replace(**by_row, **links), replace(outcomes, least=least, most=most, cost=cost)


def _at_rows(carried: Carried, place: IntArray) -> Carried:
    """The same with rows in another order."""
    by_row = ("spent", "at_end", "entered", "exits", "turned")
    return carried._replace(**{name: getattr(carried, name)[place] for name in by_row})


def _renewal(machine: Machine, horizon: int) -> "Renewal | None":
    """What carries the plan line by line, if it can be."""
    if not (machine.kind == Counting.WATCH).any():
        return None
    from banditree.certificates.renewal import Renewal, applies

    return Renewal(machine.n_rows, horizon) if applies(machine.low, machine.high, horizon) else None


def _by_rounds(boxes: "Boxes", horizon: int, work: float, whole: bool) -> tuple[Carried | None, float]:
    """Every box carried from round to round, None if that takes more work; and the work."""
    from banditree.certificates.propagation import (
        ERROR,
        LAST,
        REGRET,
        UNTIL,
        WATCH,
        WORK,
        Limits,
        flow_of,
        propagate,
        totals_of,
    )
    from banditree.certificates.rounding import of_rounds

    n, endless = boxes.kind.size, bool((boxes.kind == WATCH).any())
    done = (STAYS / (n * horizon), STAYS) if endless else (UNSEEN, REST)
    totals = totals_of(n, horizon + 1 if whole else 0)
    if not propagate(boxes, horizon, Limits(*done, 1 - MOST_CASES, work), flow_of(boxes), totals):
        return None, float(totals.numbers[WORK])
    error = 0.0
    if endless:
        error = float(totals.numbers[ERROR]) + of_rounds(boxes, totals.entered, totals.numbers[LAST])
    added = error * float(boxes.cost.max())  # per round
    regret = totals.regret + added * np.arange(totals.regret.size)
    carried = Carried(
        float(totals.numbers[REGRET]) + added * horizon,
        error,
        min(int(totals.numbers[UNTIL]), horizon),
        totals.spent,
        totals.at_end,
        totals.entered,
        np.stack([totals.below, totals.above], axis=1),
        totals.turned,
        (regret, totals.testing, totals.changes.cumsum()),
    )
    return carried, float(totals.numbers[WORK])


def _by_lines(boxes: "Boxes", renewal: "Renewal") -> Carried | None:
    """Every line followed once, and the rest by generating functions; None if that leaves too much open."""
    from banditree.certificates.rounding import of_rounds

    found, horizon = renewal.follow(boxes), renewal.horizon
    off = found.off.plus(of_rounds(boxes, found.entered, horizon))
    if off.regret > MOST_ERROR:
        return None
    still_tested = np.flatnonzero(found.testing > 1 - MOST_CASES)
    return Carried(
        float(found.spent @ boxes.cost) + off.regret * float(boxes.cost.max()) * horizon,
        off.chance,
        min(int(still_tested[-1]) + 1, horizon) if still_tested.size else 0,
        found.spent,
        found.at_end,
        found.entered,
        np.stack([found.below, found.above], axis=1),
        _turned(boxes, horizon),
        (),
    )


def _turned(boxes: "Boxes", horizon: int) -> FloatArray:
    """How often another arm is given after each box: exits in the last round are followed by none."""
    from banditree.certificates.renewal import Renewal

    if horizon == 1 or not boxes.turns.any():
        return np.zeros(boxes.kind.size)
    before = Renewal(boxes.kind.size, horizon - 1).follow(boxes)
    return np.asarray(before.below * boxes.turns[:, 0] + before.above * boxes.turns[:, 1])


def boxes_under(
    machine: Machine, outcomes: Outcomes, task: int, horizon: int, turns: bool = False, stays: float = STAYS
) -> "Boxes":
    """The boxes of a machine under one task. turns: whether changes of arm are counted. stays: who leaves a watch line
    with a smaller chance stays for good."""
    from banditree.certificates.propagation import Boxes

    chance, cost = (np.ascontiguousarray(part[task]) for part in (outcomes.least, outcomes.cost))
    height, leak = machine.ceil.copy(), np.zeros(machine.n_rows)
    turns_to = frozen(machine.turns if turns else np.zeros((machine.n_rows, 2)), float)
    watched = np.flatnonzero(machine.kind == Counting.WATCH)
    if watched.size:
        height[watched], leak[watched] = heights(machine, watched, chance[watched], horizon, stays)
    # A test that outlasts the horizon is never left, however long it is; scipy knows no chances beyond MOST_PULLS.
    pulls = frozen(
        np.where(machine.pulls > MOST_PULLS, machine.pulls, np.minimum(machine.pulls, horizon + 1)), np.int64
    )
    kept = int((machine.floor + height).sum() + pulls.sum())
    if kept > MOST_SCORES:
        raise TooLong(
            f"The boxes of this plan keep {kept:,} scores and pulls over {horizon:,} rounds, too many to certify. "
            "Certify it over a shorter horizon, or simulate it."
        )
    size = np.where(machine.kind == Counting.FIXED, pulls, np.maximum(machine.floor - 1 + height, 0))
    first = np.zeros(machine.n_rows, np.int64)
    for group in (machine.kind == Counting.FIXED, machine.kind != Counting.FIXED):
        first[group] = np.cumsum(size[group]) - size[group]
    arrays = (machine.kind, machine.low, machine.high, pulls, points_of(machine), machine.floor, machine.cap)
    return Boxes(*arrays, height, leak, chance, cost, turns_to, first)


def points_of(machine: Machine) -> IntArray:
    """The points of at least two bins per box. Where no box scores they are frozen like those of a plan, so that what
    is compiled for the one serves the other."""
    return machine.points if machine.points.shape[1] > 1 else frozen(np.zeros((machine.n_rows, 2)), np.int64)
