"""What a plan is worth on cases that it was not made from, first of all: one sentence and one picture.

Three things are compared, the plan, one option for all and a computer at every decision, each as promised at the
estimated rates and as it was on the cases held out, over the same rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.evaluation.evaluate import PLAN, Evaluation
from banditree.figures.axes import Axis, tick_label
from banditree.figures.scene import FAINT, GREY, INK, PALETTE, PAPER, Line, Polygon, Scene, Shape, Text, fitted
from banditree.languages.language import message
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.plans.words import capital
from banditree.reports.beside import at_estimates, thompson_loss
from banditree.reports.evaluate import about_rounds, selection_lines
from banditree.reports.promise import lost_word
from banditree.tasks.collection import Collection

COMPUTER = "mTS"
NOT_JUDGED = message("This plan was not judged on cases that it was not made from. Follow the first cases closely.")
SIZE = 10.5  # Letters that are still read where a phone makes the picture smaller.
WIDTH, LEFT, ROW, TOP = 330.0, 96.0, 32.0, 42.0


@dataclass(frozen=True)
class Compared:
    """One thing that could be done: its reward per round as promised (None where that is not known) and held out."""

    name: str
    promised: float | None
    value: float
    low: float
    high: float


def held_out(plan: Plan, collection: Collection | None, found: Evaluation) -> dict[str, Any]:
    """The verdict in the words of the plan, and what it is about, as JSON data; no rows where it cannot be shown."""
    single = found.rows[1]
    shown = [row for row in found.rows if row.name in (PLAN, single.name, COMPUTER)]
    promised = {} if collection is None else _promised(plan, collection, single.name, found.counted)
    names = {PLAN: "This plan", COMPUTER: "A computer"}
    rows = [
        Compared(names.get(row.name, row.name), promised.get(row.name), row.value.value, row.value.low, row.value.high)
        for row in shown
    ]
    known = [] if found.refusal else [*map(asdict, rows)]
    return {"sentence": _sentence(plan, found), "unit": f"{lost_word(plan)} per round", "rows": known}


def _sentence(plan: Plan, found: Evaluation) -> str:
    mine, single = found.rows[0], found.rows[1]
    gain = single.gain
    assert gain is not None
    if found.refusal:
        return f"{capital(found.refusal)}."
    how = "Better than" if gain.low > 0 else "Worse than" if gain.high < 0 else "Not shown to be better than"
    unit, cases = f"{lost_word(plan)} per round", counted(found.n_cases, "case")
    which = about_rounds(found)
    first = f"{capital(which)}: {how[0].lower()}{how[1:]}" if which else how
    text = (
        f"{first} {single.name}, on {cases} that it was not made from: {mine.value.value:.2f} {unit} against "
        f"{single.value.value:.2f}. The difference is {gain.value:+.2f} ({gain.low:+.2f} to {gain.high:+.2f})."
    )
    rests = "" if found.rests_on is None else f" It rests on {counted(found.rests_on, 'case')} that changed over."
    return " ".join([f"{text}{rests}", *selection_lines(found)])


def _promised(plan: Plan, collection: Collection, single: str, rounds: int) -> dict[str, float]:
    """The reward per round over the first rounds at the estimated rates, as far as it is known."""
    if collection.theta is not None or collection.features:
        return {}
    known = replace(at_estimates(collection), worth=None)  # what was earned is counted in outcomes
    best = float(known.weights @ known.means.max(axis=1))
    arm = next(k for k, name in enumerate(known.arms) if f"{name} for all" == single)
    found = {single: float(known.weights @ known.means[:, arm])}
    try:
        found[PLAN] = best - certify(plan, known, rounds).mean_regret / rounds
    except InvalidInput:
        return found
    lost = thompson_loss(known, rounds)
    return found if lost is None else {**found, COMPUTER: best - lost.mean / rounds}


def held_out_scene(unit: str, rows: Sequence[Mapping[str, Any]]) -> Scene:
    """The picture: a row for each thing, an open mark for what was promised and a filled one with its interval."""
    ends = [row[name] for row in rows for name in ("low", "high", "promised") if row[name] is not None]
    margin = 0.06 * ((max(ends) - min(ends)) or 1.0)
    x = Axis(min(ends) - margin, max(ends) + margin, LEFT, WIDTH - 12)
    bottom = TOP + ROW * len(rows)
    shapes: list[Shape] = [
        *_marks(12.0, 8.0, None, None),
        Text(30, 11.5, "promised, at the estimated rates", SIZE, GREY),
        *_marks(12.0, 24.0, 0.0, 24.0),
        Text(30, 27.5, "on cases held out, with 95% interval", SIZE, GREY),
    ]
    for tick in x.ticks():
        shapes.append(Line(((x.at(tick), TOP), (x.at(tick), bottom)), FAINT, 0.8))
        shapes.append(Text(x.at(tick), bottom + 13, tick_label(tick), SIZE, GREY, anchor="middle"))
    shapes.append(Text((x.start + x.end) / 2, bottom + 27, capital(unit), SIZE, GREY, anchor="middle"))
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        shapes.append(Text(0, y + 3.5, fitted(row["name"], LEFT - 8, SIZE, number == 0), SIZE, INK, number == 0))
        if row["promised"] is not None:
            shapes += _marks(x.at(row["promised"]), y - 5, None, None)
        shapes += _marks(x.at(row["value"]), y + 5, x.at(row["low"]), x.at(row["high"]))
    told = "; ".join(f"{row['name']} {row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})" for row in rows)
    return Scene(WIDTH, bottom + 30, tuple(shapes), f"{capital(unit)} on cases held out: {told}.")


def _marks(x: float, y: float, low: float | None, high: float | None) -> list[Shape]:
    """An open mark, or a filled one with the interval around it."""
    points = ((x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y))
    if low is None or high is None:
        return [Polygon(points, PAPER, PALETTE[1], 1.6)]
    return [Line(((low, y), (high, y)), PALETTE[0], 2.0), Polygon(points, PALETTE[0])]
