"""From a list of boxes that point at each other to a Plan, numbered for the reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.errors import invalid
from banditree.plans.plan import NONE, BoxKind, Plan
from banditree.tasks.collection import Collection


@dataclass(frozen=True)
class Box:
    """One box of a plan: a score if it has points, a fixed test if it has pulls, otherwise an arm for good.

    low, high: places in the list. points: of the bins of a reward, lowest first; cuts: between them (0/1 rewards: 0.5).
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

    @property
    def kind(self) -> BoxKind:
        """What the box asks for."""
        if self.points:
            return BoxKind.SCORE
        return BoxKind.FIXED if self.pulls else BoxKind.EXPLOIT


def assemble(boxes: Sequence[Box], collection: Collection, horizon: int, method: str = "by hand", **more: Any) -> Plan:
    """The Plan that starts at the first of `boxes`; boxes that cannot be reached are left out.

    Boxes are numbered so that only links back lead to a lower number, the low side of a box coming first where it can.
    more: further fields of the Plan (survivors are a row per box of the list).

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> watch = Box(arm=0, low=1, high=2, points=(-2, 1), floor=4, ceil=6)
    >>> print(assemble([watch, Box(arm=1), Box(arm=0)], two, horizon=100))
    Plan for 2 tasks and 2 arms over 100 rounds (method by hand): 3 boxes, at most 1 test one after the other.
    <BLANKLINE>
    Box 1. Give A. Each success +1, each failure -2. At +6 or more: go to box 3. At -4 or less: go to box 2.
    Box 2. Give B from now on.
    Box 3. Give A from now on.
    """
    order = reading_order([(box.low, box.high) if box.kind is not BoxKind.EXPLOIT else () for box in boxes])
    number = {place: new for new, place in enumerate(order)}
    kept = [boxes[place] for place in order]
    bins = max((len(box.points) for box in kept), default=0) or 1
    scores = [box for box in kept if box.points]
    if any(len(box.points) != bins or len(box.cuts) != bins - 1 for box in scores):
        raise invalid("points and cuts", "of the same number in all boxes, one cut fewer than points", scores[:2])

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([getattr(box, name) for box in kept], dtype=dtype)

    if more.get("survivors") is not None:
        more["survivors"] = more["survivors"][order]
    return Plan(
        kind=column("kind", np.int64),
        arm=column("arm", np.int64),
        low=np.array([number.get(box.low, NONE) for box in kept]),
        high=np.array([number.get(box.high, NONE) for box in kept]),
        pulls=column("pulls", np.int64),
        threshold=column("threshold", np.float64),
        cuts=np.array([box.cuts if box.points else (0.0,) * (bins - 1) for box in kept], dtype=np.float64),
        points=np.array([box.points or (0,) * bins for box in kept], dtype=np.int64),
        floor=column("floor", np.int64),
        ceil=column("ceil", np.int64),
        task=column("task", np.int64),
        arms=collection.arms,
        tasks=collection.tasks,
        rewards=collection.rewards,
        horizon=horizon,
        method=method,
        **more,
    )


def reading_order(links: Sequence[tuple[int, ...]]) -> list[int]:
    """The places reached from place 0 so that links lead to later ones except where they return (reverse postorder).

    >>> reading_order([(2, 1), (), (1, 0)])
    [0, 2, 1]
    """
    finished: list[int] = []
    seen: set[int] = set()
    todo: list[tuple[int, bool]] = [(0, False)]
    while todo:
        place, done = todo.pop()
        if done:
            finished.append(place)
        elif place not in seen:
            if not 0 <= place < len(links):
                raise invalid("the next box", f"one of the {len(links)} boxes", place)
            seen.add(place)
            todo.append((place, True))
            todo += [(child, False) for child in links[place]]
    return finished[::-1]
