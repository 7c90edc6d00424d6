"""Curves over the rounds of a case, as scenes: regret with bands, the exact regret of a plan, the survivors."""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import course
from banditree.certificates.outcomes import box_outcomes
from banditree.figures.axes import CHART_HEIGHT, CHART_WIDTH, axes, frame
from banditree.figures.curves import CurvePanel
from banditree.figures.scene import INK, PALETTE, Line, Polygon, Scene, Shape, Text, fitted, text_width
from banditree.nouns import counted, plural
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection

MOST_POINTS = 240  # A curve with more points looks the same.
MOST_TASKS = 6  # Colours tell this many curves apart; with more tasks, only the mean and the worst are drawn.
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2))


@dataclass(frozen=True, eq=False)
class Series:
    """One line: its name, its height at each of the rounds, and its band (None if it is exact)."""

    name: str
    value: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class TimelineInfo:
    """Some curves over the same rounds, with what they mean."""

    title: str
    y_name: str
    rounds: IntArray
    series: tuple[Series, ...]
    note: str


def regret_info(panel: CurvePanel) -> TimelineInfo:
    """The regret of simulated policies, averaged over tasks and runs, with 95% bands.

    >>> from banditree.figures.curves import curves_info
    >>> from banditree.simulation.engine import simulate
    >>> from banditree.tasks.instances import rand
    >>> (panel,) = curves_info({"small": simulate(rand(3, 4, 0.2), ["uniform"], horizon=100, runs=20)})
    >>> info = regret_info(panel)
    >>> info.series[0].name, bool(info.series[0].low[-1] < info.series[0].value[-1])
    ('uniform', True)
    """
    series = tuple(Series(curve.policy, curve.mean, curve.low, curve.high) for curve in panel.curves)
    note = f"Simulated: {counted(panel.runs, 'run')} per policy and task; the bands hold the mean with 95% confidence."
    return TimelineInfo(panel.title, "regret", panel.curves[0].rounds, series, note)


def course_info(plan: Plan, collection: Collection) -> TimelineInfo:
    """The exact expected regret of a plan after every round, of each task, or of the mean and the worst if many.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> [f"{curve.value[-1]:.3f}" for curve in course_info(build_tree(two, horizon=1000), two).series]
    ['0.014', '28.804']
    """
    regret = course(plan, collection).regret
    rounds = _thinned(plan.horizon)
    if collection.n_tasks <= MOST_TASKS:
        curves = [Series(name, regret[i, rounds]) for i, name in enumerate(collection.tasks)]
    else:
        worst = int(regret[:, -1].argmax())
        worst_name = f"worst: {collection.tasks[worst]}"
        curves = [
            Series(
                f"mean over {plural(plan.vocabulary.task)}",
                np.average(regret, axis=0, weights=collection.shares)[rounds],
            ),
            Series(worst_name, regret[worst, rounds]),
        ]
    return TimelineInfo("Regret of the plan", "expected regret", rounds, tuple(curves), "Computed, not simulated.")


def survivors_info(plan: Plan, collection: Collection) -> TimelineInfo:
    """How many tasks are still possible after each round, on average; or, for plans that do not say, how many cases
    are still being tested. Exact in both cases.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> survivors_info(build_tree(two, horizon=1000), two).series[0].value[[0, -1]].tolist()
    [2.0, 1.0]
    """
    rounds = _thinned(plan.horizon)
    fixed = plan.most_pulls is not None
    if machine_of(plan).survivors.size and fixed:
        possible = _possible(plan, box_outcomes(plan, collection).least)[:, rounds]
        title, name = f"{plural(plan.vocabulary.task).capitalize()} still possible", "how many"
    else:
        possible = course(plan, collection).undecided[:, rounds]
        title, name = "Cases still being tested", "share"
    mean = f"mean over {plural(plan.vocabulary.task)}"
    curves = [
        Series(mean, np.average(possible, axis=0, weights=collection.shares)),
        Series("most", possible.max(axis=0)),
    ]
    return TimelineInfo(title, name, rounds, tuple(curves), "Computed, not simulated.")


def _possible(plan: Plan, chance: FloatArray) -> FloatArray:
    """The expected number of survivors (M, H+1) of a plan of FIXED boxes, which end at a few times only."""
    M, H = chance.shape[0], plan.horizon
    change = np.zeros((M, H + 1))
    size = [len(row.possible or ()) for row in plan.rows]
    change[:, 0] = size[0]
    arrivals: list[dict[int, FloatArray]] = [{} for _ in range(plan.n_boxes)]
    arrivals[0][0] = np.ones(M)
    for box in range(plan.n_boxes):
        for side, child in enumerate(plan.links[box]):
            for time, mass in arrivals[box].items():
                later = time + plan.rows[box].counts.numbers.pulls
                if later > H:
                    continue
                moved = mass * chance[:, box, side]
                arrivals[child][later] = arrivals[child].get(later, 0.0) + moved
                change[:, later] += moved * (size[child] - size[box])
    return np.cumsum(change, axis=1)


def timeline_scene(info: TimelineInfo) -> Scene:
    """The chart of some curves, with a legend below."""
    lines = [curve.high if curve.high is not None else curve.value for curve in info.series]
    top = max(float(np.max(line[np.isfinite(line)], initial=0.0)) for line in lines)
    x, y = axes(0.0, top * 1.05, float(info.rounds[-1]))
    shapes = frame(x, y, info.title, "round", info.y_name)
    places = [x.at(float(value)) for value in info.rounds]
    for index, curve in enumerate(info.series):
        colour, dash = _pen(index)
        if curve.low is not None and curve.high is not None:
            high, low = np.clip(curve.high, 0, y.high), np.clip(curve.low, 0, y.high)
            upper = [(place, y.at(float(value))) for place, value in zip(places, high, strict=True)]
            lower = [(place, y.at(float(value))) for place, value in zip(places, low, strict=True)]
            shapes.append(Polygon((*upper, *reversed(lower)), colour, opacity=0.2))
        points = tuple((place, y.at(float(value))) for place, value in zip(places, curve.value, strict=True))
        shapes.append(Line(points, colour, 1.6, dash=dash))
    legend, height = _legend([curve.name for curve in info.series], CHART_HEIGHT + 4)
    finals = ", ".join(f"{curve.name} {curve.value[-1]:,.4g}" for curve in info.series)
    description = f"{info.title} at the last round: {finals}. {info.note}"
    return Scene(CHART_WIDTH, CHART_HEIGHT + height, (*shapes, *legend), description)


def _pen(index: int) -> tuple[str, tuple[float, ...]]:
    """A colour, and a dash once the colours are used up, so that curves differ without colour too."""
    return PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)]


def _legend(names: list[str], top: float) -> tuple[list[Shape], float]:
    shapes: list[Shape] = []
    left, y = 0.0, top
    for index, name in enumerate(names):
        colour, dash = _pen(index)
        shown = fitted(name, CHART_WIDTH - 40, 9.0)
        needed = 34 + text_width(shown, 9.0) + 14
        if left and left + needed > CHART_WIDTH:
            left, y = 0.0, y + 16
        shapes.append(Line(((left, y), (left + 26, y)), colour, 2.0, dash=dash))
        shapes.append(Text(left + 32, y + 3, shown, 9.0, INK))
        left += needed
    return shapes, y - top + 16


def _thinned(horizon: int) -> IntArray:
    """At most MOST_POINTS rounds from 0 to the horizon."""
    return frozen(np.unique(np.linspace(0, horizon, min(horizon + 1, MOST_POINTS)).round()), np.int64)
