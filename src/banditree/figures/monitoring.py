"""Charts of a plan in the field: the loss of a case, the options month by month, and the evidence of the tests."""

import math
from collections.abc import Sequence

import numpy as np

from banditree.cases.values import date_of
from banditree.figures.axes import CHART_HEIGHT, CHART_WIDTH, SIZE, axes, frame
from banditree.figures.scene import GREY, INK, PALETTE, Line, Scene, Shape, Text, fitted, text_width
from banditree.monitoring.monitor import Monitoring
from banditree.monitoring.summary import MONTH, Month
from banditree.nouns import plural
from banditree.plans.plan import Plan
from banditree.plans.wording import place_name
from banditree.plans.words import capital

MOST_OPTIONS = 8  # The options with the most outcomes, up to this many, have a chart of their own.
MOST_TESTS = 3  # The chart of the evidence shows this many of the strongest tests.
LEAST = -3.0  # Evidence below this power of ten, relative to an alarm, is not drawn.
DASH = (4.0, 3.0)

Series = tuple[str, Sequence[float], str, tuple[float, ...]]  # name, values by month, colour, dashes


def monitor_scenes(plan: Plan, found: Monitoring) -> list[Scene]:
    """The charts of all cases together."""
    months = found.summary.months
    scenes = [_loss(plan, months, found.summary.unit)]
    options = sorted(found.summary.options, key=lambda cell: -cell.n)[:MOST_OPTIONS]
    scenes += [_option(plan, months, cell.arm) for cell in sorted(options, key=lambda cell: cell.arm) if cell.n]
    return [*scenes, _evidence(plan, found)]


def _loss(plan: Plan, months: Sequence[Month], unit: str | None) -> Scene:
    seen = ("seen", [month.loss for month in months], PALETTE[1], ())
    due = ("promised", [month.promised for month in months], PALETTE[0], DASH)
    title = "Loss of a case, by the month in which it began"
    lost = unit or (plural(plan.vocabulary.success) if plan.rewards.counts else plan.vocabulary.reward)
    return _by_month(title, f"{lost} lost", months, [seen, due])


def _option(plan: Plan, months: Sequence[Month], arm: int) -> Scene:
    seen = ("seen", [month.observed[arm] for month in months], PALETTE[1], ())
    due = ("expected", [month.expected[arm] for month in months], PALETTE[0], DASH)
    word = f"share of {plan.vocabulary.success}" if plan.rewards.counts else plan.vocabulary.reward
    return _by_month(capital(f"{plan.vocabulary.arm} {plan.arms[arm]}"), word, months, [seen, due])


def _by_month(title: str, y_name: str, months: Sequence[Month], series: Sequence[Series]) -> Scene:
    known = [value for _name, values, *_ in series for value in values if math.isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    x, y = axes(low, high if high > low else low + 1, max(len(months), 1))
    shapes = frame(x, y, title, f"months since {date_of(months[0].begin):%d %B %Y}", y_name)
    for _name, values, colour, dash in series:
        points = [(x.at(m + 0.5), y.at(value)) for m, value in enumerate(values) if math.isfinite(value)]
        shapes += _path(points, colour, dash)
    told = "; ".join(f"{name} {_last(values)}" for name, values, *_ in series)
    return Scene(CHART_WIDTH, CHART_HEIGHT, (*shapes, *_legend(series)), f"{title}. In the last month: {told}.")


def _evidence(plan: Plan, found: Monitoring) -> Scene:
    course = found.parts[0].courses[-1]
    strength = (course.log_evidence + np.log(course.levels)) / math.log(10)
    peak = strength.max(axis=0)
    strongest = [j for j in np.argsort(-peak, kind="stable")[:MOST_TESTS].tolist() if peak[j] > LEAST]
    x, y = axes(
        LEAST, max(float(strength.max()), 0.0) + 0.5, max(float(course.days[-1] - course.days[0]), MONTH) / MONTH
    )
    title = "Evidence against what the plan assumes; an alarm at 0"
    shapes = frame(x, y, title, f"months since {date_of(course.days[0]):%d %B %Y}", "powers of ten")
    shapes.append(Line(((x.start, y.at(0.0)), (x.end, y.at(0.0))), INK, 1.2))
    series: list[Series] = []
    for number, j in enumerate(strongest):
        name = _test_name(plan, found, j)
        series.append((name, strength[:, j].tolist(), PALETTE[number], ()))
        days = ((course.days - course.days[0]) / MONTH).tolist()
        points = [
            (x.at(day), y.at(max(value, LEAST))) for day, value in zip(days, strength[:, j].tolist(), strict=True)
        ]
        shapes += _path(points, PALETTE[number], ())
    return Scene(
        CHART_WIDTH, CHART_HEIGHT, (*shapes, *_legend(series)), f"{title}. Now at most {strength[-1].max():.1f}."
    )


def _test_name(plan: Plan, found: Monitoring, number: int) -> str:
    tests = found.parts[0].courses[-1].tests
    if number >= len(tests):
        return f"fits no {plan.vocabulary.task}"
    test = tests[number]
    where = "" if test.box is None else f" ({place_name(plan, test.box)})"
    return f"{plan.arms[test.arm]}{where} gives {'less' if test.direction < 0 else 'more'}"


def _path(points: list[tuple[float, float]], colour: str, dash: tuple[float, ...]) -> list[Shape]:
    """A line through the points; a single one is a short stroke."""
    if len(points) == 1:
        ((across, down),) = points
        points = [(across - 3, down), (across + 3, down)]
    return [Line(tuple(points), colour, 1.8, dash=dash)] if points else []


def _legend(series: Sequence[Series]) -> list[Shape]:
    shapes: list[Shape] = []
    at = 64.0
    for name, _values, colour, dash in series:
        text = fitted(name, 84, SIZE)
        shapes.append(Line(((at, 22.0), (at + 16, 22.0)), colour, 1.8, dash=dash))
        shapes.append(Text(at + 20, 25, text, SIZE, GREY))
        at += 28 + text_width(text, SIZE)
    return shapes


def _last(values: Sequence[float]) -> str:
    known = [value for value in values if math.isfinite(value)]
    return f"{known[-1]:.3g}" if known else "unknown"
