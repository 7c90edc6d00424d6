"""The trade between regret and the reading load of a plan: which plans no other one beats in both."""

from collections.abc import Iterable
from dataclasses import dataclass

from banditree.figures.axes import BOTTOM, CHART_HEIGHT, CHART_WIDTH, LEFT, TOP, Axis, frame
from banditree.figures.scene import GREY, INK, PALETTE, Line, Scene, Shape, Text, rectangle, text_width
from banditree.plans.reading_load import unbeaten


@dataclass(frozen=True)
class Candidate:
    """A plan by name, its reading load and its regret."""

    name: str
    size: float
    regret: float


@dataclass(frozen=True)
class ParetoInfo:
    """All candidates, smallest first, and which of them (by position) are on the front."""

    candidates: tuple[Candidate, ...]
    front: tuple[int, ...]


def pareto_info(candidates: Iterable[Candidate]) -> ParetoInfo:
    """The front: candidates such that no other is as small and as good, and smaller or better. Equal ones are one.

    >>> pareto_info([Candidate("a", 3, 50.0), Candidate("b", 9, 20.0), Candidate("c", 15, 25.0)]).front
    (0, 1)
    """
    merged: dict[tuple[float, float], list[str]] = {}
    for one in candidates:
        merged.setdefault((one.size, one.regret), []).append(one.name)
    ordered = tuple(Candidate(" = ".join(names), *place) for place, names in sorted(merged.items()))
    return ParetoInfo(ordered, tuple(unbeaten([(one.size, one.regret) for one in ordered])))


def pareto_scene(info: ParetoInfo, regret_name: str = "worst regret") -> Scene:
    """The candidates as points and the front as a line of steps."""
    most = max(one.size for one in info.candidates)
    top = max(one.regret for one in info.candidates) * 1.1 or 1.0
    x = Axis(0.0, most * 1.25 + 1, LEFT, CHART_WIDTH - 24)
    y = Axis(0.0, top, CHART_HEIGHT - BOTTOM, TOP)
    shapes = frame(x, y, "Regret against reading load", "reading load", regret_name)
    steps: list[tuple[float, float]] = []
    for index in info.front:
        one = info.candidates[index]
        if steps:
            steps.append((x.at(one.size), steps[-1][1]))
        steps.append((x.at(one.size), y.at(one.regret)))
    if steps:
        shapes.append(Line((*steps, (x.end, steps[-1][1])), PALETTE[0], 1.4, dash=(4, 2)))
    shapes += _points(info, x, y)
    names = ", ".join(f"{info.candidates[i].name} ({info.candidates[i].size:.1f})" for i in info.front)
    return Scene(
        CHART_WIDTH, CHART_HEIGHT, tuple(shapes), f"Plans that no other beats in reading load and regret: {names}."
    )


def _points(info: ParetoInfo, x: Axis, y: Axis) -> list[Shape]:
    """A disc per candidate, filled on the front, with its name where it hides no other name."""
    shapes: list[Shape] = []
    taken: list[tuple[float, float, float]] = []
    for index, one in enumerate(info.candidates):
        left, top = x.at(one.size), y.at(one.regret)
        fill = PALETTE[0] if index in info.front else "#ffffff"
        disc = {"fill": fill, "stroke": PALETTE[0], "width": 1.4, "radius": 4.0}
        shapes.append(rectangle(left - 4, top - 4, 8, 8, title=f"{one.name}: {one.regret:.4g}", **disc))
        width = text_width(one.name, 9.0)
        start = min(left + 8, CHART_WIDTH - width)
        # A name that is too long to stand on the right of its point goes below it.
        baseline = top - 7 if start > left else top + 16
        while any(abs(baseline - other) < 11 and start < end and start + width > begin for begin, end, other in taken):
            baseline += 11
        taken.append((start, start + width, baseline))
        shapes.append(Text(start, baseline, one.name, 9.0, INK if index in info.front else GREY))
    return shapes
