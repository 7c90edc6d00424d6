"""From a list of boxes that point at each other to a Plan: the only road, for trees, protocols and files alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.by_context import AnyGrading
from banditree.plans.links import reading_order
from banditree.plans.plan import HAND_OVER, NONE, BoxKind, Form, Plan, SafetyRule
from banditree.tasks.collection import Collection


@dataclass(frozen=True)
class Box:
    """One box of a plan: a test of fixed length if it has pulls; a score if it has points, or a watch line if it has
    points and no high side; otherwise an end: one arm for good, several arms (`among`, with the arm SEVERAL; rates:
    what each is expected to give, if that is known), or HAND_OVER.

    low, high: places in the list of boxes. points: one for each bin of a reward, lowest first; cuts: the limits between
    bins (0/1 rewards: 0.5). cap: the score of a watch line is never counted above it; 0 for no cap. arm NONE with a
    task: treat as that task. grading: the number of the plan's grading that gives the points, in place of cuts.
    """

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
    grading: int = NONE
    among: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()

    @property
    def option(self) -> tuple[float, ...]:
        """What the box gives: (arm, NONE), (NONE, task) for "treat as the task", or (SEVERAL, NONE, arms, rates)."""
        return (self.arm, NONE, *self.among, *self.rates) if self.arm != NONE else (NONE, self.task)

    @property
    def kind(self) -> BoxKind:
        """What the box asks for."""
        if self.points:
            return BoxKind.WATCH if self.high == NONE else BoxKind.SCORE
        return BoxKind.FIXED if self.pulls else BoxKind.EXPLOIT

    @property
    def links(self) -> tuple[int, ...]:
        """The places it leads to, low first."""
        if self.kind is BoxKind.EXPLOIT:
            return ()
        return (self.low,) if self.kind is BoxKind.WATCH else (self.low, self.high)


def assemble(boxes: Sequence[Box], collection: Collection, horizon: int, method: str = "by hand", **more: Any) -> Plan:
    """The Plan that starts at the first of `boxes`; boxes that cannot be reached are omitted.

    Boxes are numbered so that only links back lead to a lower number, the low side of a box coming first where it can.
    The lines of a protocol (form=Form.LINES) keep their order, and its ends follow them, one per arm.
    more: further fields of the Plan (survivors are a row per box of the list); a fallback that nothing leads to is
    omitted.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> test = Box(arm=0, low=1, high=2, points=(-2, 1), floor=4, ceil=6)
    >>> print(assemble([test, Box(arm=1), Box(arm=0)], two, horizon=100))
    Plan for 2 tasks and 2 arms over 100 rounds (method by hand): 3 boxes, longest path: 1 test, reading load 1.8.
    <BLANKLINE>
    Box 1. Give A; success +1, failure -2. At +6: go to box 3. At -4: go to box 2.
    Box 2. Give B from now on.
    Box 3. Give A from now on.
    """
    if more.get("form") is Form.LINES:
        boxes = _one_end_per_arm(boxes)
        order = _line_order(boxes, _from_elsewhere(boxes, more))
    else:
        order = reading_order([box.links for box in boxes])
        order += [place for place in _from_elsewhere(boxes, more) if place not in order]
    if not any(boxes[place].arm == HAND_OVER for place in order):
        more |= {"fallback": None, "rule": _starting_again(more.get("rule"))}
    number = {place: new for new, place in enumerate(order)}
    kept = [boxes[place] for place in order]
    numbered = [replace(box, low=number.get(box.low, NONE), high=number.get(box.high, NONE)) for box in kept]
    if more.get("survivors") is not None:
        more["survivors"] = more["survivors"][order]
    names = {"arms": collection.arms, "tasks": collection.tasks, "rewards": collection.rewards.of_a_plan}
    return from_boxes(numbered, horizon=horizon, method=method, **names, **more)


def from_boxes(boxes: Sequence[Box], **more: Any) -> Plan:
    """The Plan whose boxes are numbered as they are listed. more: its other fields."""
    bins = max((len(box.points) for box in boxes), default=0) or 1
    for number, box in enumerate(boxes, 1):
        if box.points and box.grading == NONE and (len(box.points), len(box.cuts)) != (bins, bins - 1):
            raise InvalidInput(f"Box {number} must have {bins} points and {bins - 1} cuts, as the others do.")

    def column(name: str, dtype: type = np.int64) -> np.ndarray:
        return np.array([getattr(box, name) for box in boxes], dtype=dtype)

    whole = ("kind", "arm", "low", "high", "pulls", "floor", "ceil", "cap", "task")
    columns: dict[str, Any] = {name: column(name) for name in whole}
    if any(box.grading != NONE for box in boxes):
        boxes, more["gradings"] = _used_gradings(boxes, more["gradings"])
        columns["grading"] = np.array([box.grading for box in boxes], dtype=np.int64)
    else:
        more["gradings"] = ()
    return Plan(
        **columns,
        threshold=column("threshold", np.float64),
        cuts=np.array([_cuts(box, bins) for box in boxes], dtype=np.float64),
        points=np.array([box.points or (0,) * bins for box in boxes], dtype=np.int64),
        among=_among(boxes, len(more["arms"])),
        rates=_rates(boxes, len(more["arms"])),
        **more,
    )


def _used_gradings(boxes: Sequence[Box], gradings: Sequence[AnyGrading]) -> tuple[list[Box], tuple[AnyGrading, ...]]:
    """The boxes with the gradings that they use numbered from 0 in the order of their use."""
    used = list(dict.fromkeys(gradings[box.grading] for box in boxes if box.grading != NONE))

    def renumbered(box: Box) -> Box:
        return box if box.grading == NONE else replace(box, grading=used.index(gradings[box.grading]))

    return [renumbered(box) for box in boxes], tuple(used)


def _cuts(box: Box, bins: int) -> tuple[float, ...]:
    """The cuts of a box; those of a box without a score, or with a grading in their place, are never used."""
    return box.cuts if box.points and box.grading == NONE else (0.0,) * (bins - 1)


def _from_elsewhere(boxes: Sequence[Box], more: dict[str, Any]) -> list[int]:
    """The hand-over, if the safety rule or the odds of the fallback lead to it rather than a link."""
    rule, fallback = more.get("rule"), more.get("fallback")
    reached = [boxes[place] for place in reading_order([box.links for box in boxes])]
    scored = rule is not None and rule.hands_over
    by_rule = scored and any(box.kind is BoxKind.EXPLOIT and box.arm >= 0 for box in reached)
    if not by_rule and (fallback is None or not fallback.odds):
        return []
    return [place for place, box in enumerate(boxes) if box.arm == HAND_OVER][:1]


def _starting_again(rule: SafetyRule | None) -> SafetyRule | None:
    return None if rule is None else replace(rule, hands_over=False)


def _among(boxes: Sequence[Box], n_arms: int) -> np.ndarray | None:
    if not any(box.among for box in boxes):
        return None
    among = np.zeros((len(boxes), n_arms), dtype=bool)
    for row, box in zip(among, boxes, strict=True):
        row[list(box.among)] = True
    return among


def _rates(boxes: Sequence[Box], n_arms: int) -> np.ndarray | None:
    if not any(box.rates for box in boxes):
        return None
    rates = np.zeros((len(boxes), n_arms))
    for row, box in zip(rates, boxes, strict=True):
        row[list(box.among)] = box.rates
    return rates


def _one_end_per_arm(boxes: Sequence[Box]) -> list[Box]:
    """The same boxes, with links to an end leading to the first end of its arm."""
    first: dict[tuple[float, ...], int] = {}
    for place, box in enumerate(boxes):
        if box.kind is BoxKind.EXPLOIT:
            first.setdefault(box.option, place)

    def moved(place: int) -> int:
        end = 0 <= place < len(boxes) and boxes[place].kind is BoxKind.EXPLOIT
        return first[boxes[place].option] if end else place

    return [replace(box, low=moved(box.low), high=moved(box.high)) for box in boxes]


def _line_order(boxes: Sequence[Box], by_rule: Sequence[int]) -> list[int]:
    """The lines that are reached as they are listed, then the ends by arm, the hand-over last."""
    places = sorted({*reading_order([box.links for box in boxes]), *by_rule})
    lines = [place for place in places if boxes[place].kind is not BoxKind.EXPLOIT]
    ends = [place for place in places if boxes[place].kind is BoxKind.EXPLOIT]
    return lines + sorted(ends, key=lambda place: _end_order(boxes[place]))


def _end_order(box: Box) -> tuple[float, ...]:
    """Ends with one option by its number, then those between several, then the hand-over."""
    group = 2 if box.arm == HAND_OVER else 1 if box.among else 0
    return group, *box.option
