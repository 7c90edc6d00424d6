"""A plan as rule engines run it: for every place its option, what an outcome counts there, and where that leads.

It is read off the machine of each page, for every engine alike. What engines cannot express is refused here.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER, NONE
from banditree.plans.machine import Machine, machine_of
from banditree.plans.pages import given_arms, page
from banditree.plans.plan import Plan
from banditree.plans.wording import box_sentence, fallback_sentence, rule_sentence
from banditree.policies.follow import TOTAL_SLACK

HORIZON_REACHED, PERSON_NEEDED = "horizon_reached", "person_needed"  # why there is no option, as in a session


class Limit(NamedTuple):
    """What a number is compared with: `sign` is one of <, <=, >, >=."""

    sign: str
    value: float


class Bin(NamedTuple):
    """An outcome above `above` and at most `upto` (None: no such limit) counts `points`."""

    above: float | None
    upto: float | None
    points: int


class Move(NamedTuple):
    """Where an outcome leads if the rounds and the total with it meet these limits: to a row, or None to stay.

    capped: the total with which it stays, where that is not the total itself.
    """

    rounds: Limit | None
    total: Limit | None
    to: int | None
    capped: int | None = None


@dataclass(frozen=True)
class Place:
    """Where a case can stand. arm: None where a person decides. bins: empty where an outcome counts as it is.

    moves: the first that fits is made; none where nothing is counted.
    """

    page: int
    row: int
    arm: str | None
    says: str
    bins: tuple[Bin, ...]
    moves: tuple[Move, ...]


class PageOf(NamedTuple):
    """A page for cases without the `missing` arms, which must not be without those it `gives`."""

    number: int
    missing: tuple[str, ...]
    gives: tuple[str, ...]


def places(plan: Plan, form: str) -> list[Place]:
    """All places of all pages, or a sentence that says why an engine for `form` cannot follow the plan.

    >>> from banditree import Collection, Give, Line, Watch, ByOutcome, make_plan
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> plan = make_plan([Line(Give("A"), Watch(ByOutcome((-2, 1)), 4, 9), below=Line(Give("B")))], two, 100)
    >>> [tuple(move) for move in places(plan, "DMN")[0].moves]
    [(None, Limit(sign='<=', value=-4), 1, None), (None, Limit(sign='>', value=9), None, 9), (None, None, None, None)]
    """
    refuse(plan, form)
    every = [page(plan, number) for number in range(1, len(plan.pages) + 2)]
    return [
        _place(own, machine_of(own), number, row)
        for number, own in enumerate(every, start=1)
        for row in range(own.n_boxes)
    ]


def refuse(plan: Plan, form: str) -> None:
    """Say in a sentence what it is about a plan that engines cannot express."""
    hint = "Write it with --format machine: the followers in clients/ do all of it."
    for number in range(1, len(plan.pages) + 2):
        machine = machine_of(page(plan, number))
        given = (machine.arm >= 0) | (machine.arm == HAND_OVER) | machine.chooses
        if not given.all() or (machine.gradings.number >= 0).any():
            raise InvalidInput(
                f"This plan cannot be written as {form}: what some of its lines give or count follows from more than "
                f"outcomes, such as contexts or states. {hint}"
            )
    if plan.outcomes_choose:
        raise InvalidInput(
            f"This plan cannot be written as {form}: at some of its ends all outcomes so far choose, by drawing "
            f"numbers or weighing odds, which rule engines do not do. {hint}"
        )
    for name in (*plan.arms, *vars(plan.vocabulary).values()):
        if name is not None and any(
            (letter < " " and letter not in "\t\n\r") or letter in "\ufffe\uffff" for letter in name
        ):
            raise invalid("the names of a plan", f"of letters that {form} can hold", name, "Rename the option.")


def pages_of(plan: Plan) -> list[PageOf]:
    """The pages in the order in which they are tried: the one that is without the most arms first."""
    found = [
        PageOf(number, page(plan, number).missing, tuple(sorted(given_arms(page(plan, number)))))
        for number in range(1, len(plan.pages) + 2)
    ]
    return sorted(found, key=lambda one: -len(one.missing))


def plain(value: float) -> str:
    """A number without an exponent.

    >>> plain(1e-9), plain(2.0), plain(-4)
    ('0.000000001', '2', '-4')
    """
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _place(plan: Plan, machine: Machine, number: int, row: int) -> Place:
    arm = int(machine.arm[row])
    hands_over = arm == HAND_OVER
    given = machine.fallback if hands_over else arm
    ruled = plan.is_ruled(plan.rows[row])
    says = fallback_sentence(plan) if hands_over else box_sentence(plan, row)
    return Place(
        page=number,
        row=row,
        arm=None if given == NONE else plan.arms[given],
        says=f"{says} {rule_sentence(plan)}" if ruled else says,
        bins=_bins(machine, row),
        moves=tuple(_moves(machine, row)),
    )


def _bins(machine: Machine, row: int) -> tuple[Bin, ...]:
    if machine.kind[row] not in (Counting.SCORE, Counting.WATCH):
        return ()
    cuts = machine.cuts[row].tolist()
    points = machine.points[row].tolist()
    return tuple(Bin(*one) for one in zip([None, *cuts], [*cuts, None], points, strict=True))


def _moves(machine: Machine, row: int) -> list[Move]:
    kind, low, high = int(machine.kind[row]), int(machine.low[row]), int(machine.high[row])
    if kind == Counting.EXPLOIT:
        return []
    if kind == Counting.FIXED:
        n, limit = int(machine.pulls[row]), float(machine.threshold[row])
        done = Limit(">=", n)
        if not np.isfinite(limit) or low == high:  # a pause, or rounds that change nothing
            return [Move(Limit("<", n), None, None), Move(done, None, low)]
        most = limit + TOTAL_SLACK
        return [Move(Limit("<", n), None, None), Move(done, Limit("<=", most), low), Move(done, Limit(">", most), high)]
    moves = [Move(None, Limit("<=", -int(machine.floor[row])), low)]
    if kind == Counting.SCORE:
        moves.insert(0, Move(None, Limit(">=", int(machine.ceil[row])), high))
    elif cap := int(machine.cap[row]):
        moves.append(Move(None, Limit(">", cap), None, cap))
    return [*moves, Move(None, None, None)]
