"""How a plan was chosen: the reward of every candidate on cases it was not made from, against its length."""

from collections.abc import Sequence
from dataclasses import dataclass

from banditree.evaluation.choice import Trial
from banditree.figures.axes import BOTTOM, CHART_HEIGHT, CHART_WIDTH, LEFT, TOP, Axis, frame
from banditree.figures.scene import FAINT, GREY, INK, PALETTE, Line, Scene, Shape, Text, rectangle
from banditree.nouns import counted

LEGEND = 84.0  # This many points to the right of the chart are for the names of the lines.
ROOM = 0.08  # This share of the height of the values is left free above and below them.


@dataclass(frozen=True)
class ChoicePoint:
    """One candidate: its lines or rows of a rule, its reward with its standard error, and whether it was chosen."""

    lines: int
    value: float
    error: float
    is_chosen: bool


@dataclass(frozen=True)
class ChoiceInfo:
    """A line of candidates for each number of kinds, and the least reward within one standard error of the best."""

    lines: tuple[tuple[int, tuple[ChoicePoint, ...]], ...]
    best: float


def choice_info(trials: Sequence[Trial]) -> ChoiceInfo:
    """The trials as lines, one for each number of kinds."""
    kinds = sorted({trial.candidate.kinds for trial in trials})
    lines = tuple(
        (
            n,
            tuple(
                ChoicePoint(
                    trial.candidate.lines or trial.candidate.rows,
                    trial.value.value,
                    trial.behind.error,
                    trial.is_chosen,
                )
                for trial in trials
                if trial.candidate.kinds == n
            ),
        )
        for n in kinds
    )
    return ChoiceInfo(lines, max(trial.value.value for trial in trials))


def choice_scene(info: ChoiceInfo) -> Scene:
    """Reward per round against lines, a line for each number of kinds, a ring around the choice."""
    points = [point for _, line in info.lines for point in line]
    values = [point.value for point in points]
    room = ROOM * (max(values) - min(values) or 1.0)
    x = Axis(0.0, max(point.lines for point in points) + 1.0, LEFT, CHART_WIDTH - LEGEND)
    y = Axis(min(values) - room, max(values) + room, CHART_HEIGHT - BOTTOM, TOP)
    shapes = frame(x, y, "Reward on cases that a plan was not made from", "lines of the plan", "reward per round")
    shapes.append(Line(((x.start, y.at(info.best)), (x.end, y.at(info.best))), FAINT, 1.2, dash=(4, 2)))
    for number, (n, line) in enumerate(info.lines):
        shapes += _line(n, line, x, y, PALETTE[number % len(PALETTE)], number)
    chosen = next((n, point) for n, line in info.lines for point in line if point.is_chosen)
    about = (
        f"Chosen: {counted(chosen[1].lines, 'line')} for {counted(chosen[0], 'kind')}, {chosen[1].value:.3f} per round."
    )
    return Scene(CHART_WIDTH, CHART_HEIGHT, tuple(shapes), about)


def _line(n: int, line: tuple[ChoicePoint, ...], x: Axis, y: Axis, colour: str, number: int) -> list[Shape]:
    shapes: list[Shape] = []
    places = [(x.at(point.lines), y.at(point.value)) for point in line]
    if len(places) > 1:
        shapes.append(Line(tuple(places), colour, 1.2))
    for point, (left, top) in zip(line, places, strict=True):
        title = f"{counted(n, 'kind')}, {counted(point.lines, 'line')}: {point.value:.4f}"
        shapes.append(rectangle(left - 2.5, top - 2.5, 5, 5, fill=colour, stroke=colour, radius=2.5, title=title))
        if point.is_chosen:
            shapes.append(rectangle(left - 6, top - 6, 12, 12, fill="none", stroke=INK, width=1.6, radius=6.0))
    name = "one for all" if n == 1 else f"{n} kinds"
    top = TOP + 8 + 14 * number
    shapes.append(rectangle(x.end + 10, top - 6, 8, 4, fill=colour, stroke=colour))
    shapes.append(Text(x.end + 22, top, name, 9.0, GREY))
    return shapes
