"""Axes for the charts: from numbers to places in a scene, with round ticks."""

import math
from dataclasses import dataclass

from banditree.figures.scene import FAINT, GREY, INK, Line, Shape, Text, fitted

CHART_WIDTH, CHART_HEIGHT = 420.0, 250.0
LEFT, TOP, BOTTOM = 58.0, 30.0, 40.0
SIZE = 9.0


@dataclass(frozen=True)
class Axis:
    """One axis: numbers from `low` to `high`, evenly or by powers of ten, between two places."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a number."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        where = math.log10(max(value, self.low)) if self.log else value
        return self.start + (self.end - self.start) * (where - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round numbers along the axis."""
        if self.log:
            exponents = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            return [10.0**exponent for exponent in exponents[:: max(1, len(exponents) // 6)]]
        step = tick_step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def tick_step(span: float, most: int = 6) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten that gives at most `most` steps.

    >>> tick_step(1.0), tick_step(437.0)
    (0.2, 100.0)
    """
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(step * power for step in (1, 2, 5, 10) if span / (step * power) <= most + 1e-9)


def tick_label(value: float) -> str:
    """A number on an axis: "0.25", "1,000", "1e6"."""
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.10g}"


def axes(low: float, high: float, last_round: float, log: bool = False) -> tuple[Axis, Axis]:
    """The two axes of a chart of standard size; an empty span is widened, so that a flat line can be drawn."""
    if log:
        high = max(high, low * 10)
    elif high <= low:
        high = low + 1.0
    right = CHART_WIDTH - 24
    return Axis(0.0, last_round, LEFT, right), Axis(low, high, CHART_HEIGHT - BOTTOM, TOP, log)


def frame(x: Axis, y: Axis, title: str, x_name: str, y_name: str) -> list[Shape]:
    """Grid, ticks and names of a chart."""
    shapes: list[Shape] = [Text(0, 12, fitted(title, CHART_WIDTH, 10.5, bold=True), 10.5, INK, bold=True)]
    for value in y.ticks():
        place = y.at(value)
        shapes.append(Line(((x.start, place), (x.end, place)), FAINT, 0.8))
        shapes.append(Text(x.start - 5, place + 3, tick_label(value), SIZE, GREY, anchor="end"))
    for value in x.ticks():
        place = x.at(value)
        shapes.append(Line(((place, y.start), (place, y.start + 4)), GREY, 0.8))
        shapes.append(Text(place, y.start + 15, tick_label(value), SIZE, GREY, anchor="middle"))
    shapes.append(Line(((x.start, y.start), (x.end, y.start)), GREY, 1.0))
    middle = (x.start + x.end) / 2
    shapes.append(Text(middle, y.start + 30, x_name, SIZE, INK, anchor="middle"))
    shapes.append(Text(11, (y.start + y.end) / 2, y_name, SIZE, INK, anchor="middle", turned=True))
    return shapes
