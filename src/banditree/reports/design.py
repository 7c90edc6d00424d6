"""What `banditree design` shows: how many cases a study needs, and what fewer would give."""

import math
from dataclasses import asdict
from typing import Any

from banditree.evaluation.studies import Goal, Study
from banditree.figures.axes import BOTTOM, CHART_HEIGHT, CHART_WIDTH, LEFT, TOP, Axis, frame
from banditree.figures.scene import PALETTE, Line, Scene, Text
from banditree.nouns import counted
from banditree.reports.certify import table_lines

GIVEN = {
    "random": "options drawn at random in every round",
    "crossover": "each option for a period of its own, in random order",
}
KINDS, PLAN = "the kinds can be told", "the plan is shown to be better"


def design_text(found: Study) -> str:
    """The study for people: the answer, how it is to be made, and the curve."""
    how = found.settings
    head = ["chance", f"cases until {KINDS}", f"cases until {PLAN}"]
    curves = [dict(goal.curve) for goal in (found.kinds, found.plan)]
    chances = sorted({chance for curve in curves for chance in curve})
    rows = [[f"{chance:.0%}", *(f"{c[chance]:,}" if chance in c else "never" for c in curves)] for chance in chances]
    lines = [
        f"{_until(found.plan, how.power, 'the plan is shown to give more than ' + found.single + ' for all')}",
        f"{_until(found.kinds, how.power, 'its kinds can be told')}",
        "",
        f"The study: {counted(found.rounds, 'round')} for each case, {GIVEN[how.give]}. At the rates assumed, the plan "
        f"gives {found.gain:+.3f} per round.",
        "",
        *table_lines(head, rows),
        "",
        "This is about a plan that is known before the study. fit makes the plan from two thirds of a log and judges "
        "it on the rest: give it three times as many cases.",
    ]
    if found.rounds_shown < found.rounds_judged:
        judged = counted(found.rounds_judged, "round")
        lines.append(f"Note: such a log shows {found.rounds_shown} of the plan's {judged}; the kinds tell the others.")
    return "\n".join(lines)


def _until(goal: Goal, power: float, what: str) -> str:
    if goal.cases is None:
        return f"No number of cases is enough until {what}: at the rates assumed it is not so."
    time = "" if goal.months is None else f", {math.ceil(goal.months)} months"
    return f"{goal.cases:,} cases{time}: with a chance of {power:.0%}, {what}."


def design_document(found: Study) -> dict[str, Any]:
    """The same as JSON."""
    return {
        **found.settings.model_dump(),
        "rounds": found.rounds,
        "single": found.single,
        "plan_gives_more": found.gain,
        "rounds_judged": found.rounds_judged,
        "rounds_shown": found.rounds_shown,
        "kinds_told": asdict(found.kinds),
        "plan_shown": asdict(found.plan),
    }


def power_scene(found: Study) -> Scene:
    """The two curves: the chance of success against the number of cases."""
    goals = {KINDS: found.kinds.curve, PLAN: found.plan.curve}
    most = max((n for curve in goals.values() for _, n in curve), default=1)
    x = Axis(0.0, float(most), LEFT, CHART_WIDTH - 12)
    y = Axis(0.0, 1.0, CHART_HEIGHT - BOTTOM, TOP)
    shapes = frame(x, y, "What a study of this size shows", "cases", "chance")
    for number, (name, curve) in enumerate(goals.items()):
        places = tuple((x.at(n), y.at(chance)) for chance, n in curve)
        if len(places) > 1:
            shapes.append(Line(places, PALETTE[number], 1.6))
        shapes.append(Text(x.end, y.start - 24 + 13 * number, name, 9, PALETTE[number], anchor="end"))
    return Scene(CHART_WIDTH, CHART_HEIGHT, tuple(shapes), design_text(found).split("\n", 1)[0])
