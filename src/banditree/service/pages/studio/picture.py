"""The picture that grows: what plans lose against how long they are, one dot per plan found."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from banditree.figures.axes import Axis, tick_label

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 40, 52  # The margins.
WIDE = 12.0  # Losses are shown by powers of ten if the largest is this many times the least.
ROOM = 1.08  # The axis goes this far above the highest.
GAP, NAME_HEIGHT = 6, 18  # The gap between a line across and its name above it, and the height of a name.
FEW_POWERS = 4


class Dot(NamedTuple):
    """A plan in the picture: its number among those found, its place, and what is said of it."""

    number: int
    x: float
    y: float
    lines: int
    loss: float
    is_unbeaten: bool
    is_chosen: bool


class Level(NamedTuple):
    """Something else that could be done, as a line across, and where its name stands."""

    y: float
    name: str
    name_y: float


class Picture(NamedTuple):
    """Dots, lines across, and the ticks of both axes as (place, label)."""

    dots: list[Dot]
    levels: list[Level]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    width: int = WIDTH
    height: int = HEIGHT


def picture(found: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]], objective: str, chosen: int) -> Picture:
    """The picture of the plans found so far beside what else could be done, all at the rates as they are estimated.

    chosen: the number of the plan shown.
    """
    across = [(one[objective], one["short"]) for one in others if objective in one]
    losses = [one["loss"] for one in found] + [loss for loss, _ in across]
    x, y = _axes(max(one["lines"] for one in found), losses)
    best = unbeaten(found)
    dots = [
        Dot(n, x.at(one["lines"]), y.at(one["loss"]), one["lines"], one["loss"], n in best, n == chosen)
        for n, one in enumerate(found)
    ]
    dots.sort(key=lambda dot: (dot.is_chosen, dot.is_unbeaten))  # these on top of those near them
    levels = _levels([(y.at(loss), name) for loss, name in across])
    ticks = [(x.at(tick), tick_label(tick)) for tick in x.ticks() if tick == int(tick)]
    return Picture(dots, levels, ticks, [(y.at(tick), tick_label(tick)) for tick in _ticks(y)])


def _levels(places: list[tuple[float, str]]) -> list[Level]:
    """The lines across from the top down, each with its name above it, or below where there is no room above."""
    found: list[Level] = []
    for y, name in sorted(places):
        is_free = not found or y - GAP >= found[-1].name_y + NAME_HEIGHT
        found.append(Level(y, name, y - GAP if is_free else y + NAME_HEIGHT))
    return found


def _ticks(y: Axis) -> list[float]:
    """Round numbers up the axis; over few powers of ten also 2 and 5 times each."""
    if not y.log:
        return y.ticks()
    powers = range(math.floor(math.log10(y.low)), math.ceil(math.log10(y.high)) + 1)
    times = (1, 2, 5) if len(powers) <= FEW_POWERS else (1,)
    return [k * 10.0**power for power in powers for k in times if y.low <= k * 10.0**power <= y.high]


def _axes(most_lines: int, losses: list[float]) -> tuple[Axis, Axis]:
    least, highest = min(losses), max(losses) or 1.0
    wide = least > 0 and highest > WIDE * least
    low = least / ROOM if wide else 0.0
    x = Axis(0.0, float(max(most_lines, 4)) + 0.5, LEFT, WIDTH - RIGHT)
    return x, Axis(low, ROOM * highest, HEIGHT - BOTTOM, TOP, wide)


def unbeaten(found: Sequence[dict[str, Any]]) -> set[int]:
    """The numbers of the plans that no other one beats in both length and loss.

    >>> sorted(unbeaten([{"lines": 1, "loss": 9.0}, {"lines": 2, "loss": 9.5}, {"lines": 3, "loss": 4.0}]))
    [0, 2]
    """
    best, kept = float("inf"), set()
    for number in sorted(range(len(found)), key=lambda n: (found[n]["lines"], found[n]["loss"])):
        if found[number]["loss"] < best:
            best = found[number]["loss"]
            kept.add(number)
    return kept
