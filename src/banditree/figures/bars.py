"""Values beside each other as bars, with their intervals: what could be done, or what each kind loses."""

from collections.abc import Sequence

from banditree.figures.axes import Axis, tick_label
from banditree.figures.scene import FAINT, GREY, INK, PALETTE, Line, Scene, Shape, Text, fitted, rectangle

NAME, CHART, BAR, ROW, TOP, BOTTOM = 170.0, 260.0, 12.0, 22.0, 34.0, 34.0
MOST = 30  # At most this many bars are drawn.

Bar = tuple[str, float, float, float]  # name, value, and its interval


def bars_scene(title: str, rows: Sequence[Bar], about: str) -> Scene:
    """One bar for each row from 0 to its value, and a line from the low to the high end of its interval.

    >>> bars_scene("Reward per round", [("plan", 0.5, 0.4, 0.6)], "95% intervals").description
    'Reward per round: plan 0.5.'
    """
    shown = list(rows)[:MOST]
    ends = [value for row in shown for value in row[1:] if abs(value) < float("inf")]
    low, high = min(0.0, *ends), max(0.0, *ends)
    x = Axis(low, high if high > low else low + 1.0, NAME, NAME + CHART)
    foot = TOP + ROW * len(shown)
    shapes: list[Shape] = [Text(12, 18, title, 11.0, INK, bold=True)]
    for tick in x.ticks():
        shapes.append(Line(((x.at(tick), TOP - 6), (x.at(tick), foot)), FAINT, 0.8))
        shapes.append(Text(x.at(tick), foot + 12, tick_label(round(tick, 10)), 9.0, GREY, anchor="middle"))
    for number, row in enumerate(shown):
        shapes += _bar(row, x, TOP + ROW * number, PALETTE[0] if number == 0 else PALETTE[5])
    more = f" The first {MOST} of {len(rows):,}." if len(rows) > MOST else ""
    shapes.append(Text(NAME, foot + 27, about + more, 9.0, GREY))
    said = ", ".join(f"{name} {value:.3g}" for name, value, _, _ in shown)
    return Scene(NAME + CHART + 50, foot + BOTTOM, tuple(shapes), f"{title}: {said}.")


def _bar(row: Bar, x: Axis, top: float, colour: str) -> list[Shape]:
    name, value, low, high = row
    start, end = sorted((x.at(0.0), x.at(value)))
    middle = top + BAR / 2
    shapes: list[Shape] = [
        Text(NAME - 8, middle + 3, fitted(name, NAME - 16, 9.0), 9.0, INK, anchor="end"),
        rectangle(start, top, max(end - start, 0.5), BAR, fill=colour, title=f"{name}: {value:.4g}"),
        Text(max(x.at(min(high, x.high)), end) + 5, middle + 3, f"{value:.3f}", 9.0, INK),
    ]
    if low < high:
        reach = (x.at(max(low, x.low)), x.at(min(high, x.high)))
        shapes.append(Line(((reach[0], middle), (reach[1], middle)), INK, 1.4))
    return shapes
