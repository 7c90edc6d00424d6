"""What a plan is worth on cases that it was not made from, first of all: one sentence and one picture.

Three things are compared, the plan, one option for all and a computer at every decision, each as promised at the
estimated rates and as it was on the cases held out, over the same rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.evaluation.evaluate import FOR_ALL, PLAN, Evaluation
from banditree.figures.axes import Axis, tick_label
from banditree.figures.scene import FAINT, GREY, INK, PALETTE, PAPER, Line, Polygon, Scene, Shape, Text, fitted
from banditree.languages.catalogue import codes
from banditree.languages.language import Language, message
from banditree.languages.retelling import retold
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary, capital, in_language
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
    """The verdict in the words of the plan, and what it is about, as JSON data; no rows where it cannot be shown.

    said: the same in each language, for whoever reads it (`held_out_in`).
    """
    single = found.rows[1]
    shown = [row for row in found.rows if row.name in (PLAN, single.name, COMPUTER)] if not found.refusal else []
    promised = {} if collection is None or not shown else _promised(plan, collection, single.name, found.counted)
    said = {code: _said(in_language(plan, code), found, [row.name for row in shown]) for code in codes()}
    usual = said[plan.vocabulary.language.code]
    rows = [
        asdict(Compared(name, promised.get(row.name), row.value.value, row.value.low, row.value.high))
        for name, row in zip(usual["names"], shown, strict=True)
    ]
    return {"sentence": usual["sentence"], "unit": usual["unit"], "rows": rows, "said": said}


def held_out_in(judged: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """A verdict that was kept, as its readers are told it; verdicts of earlier versions are in English."""
    said = judged.get("said", {}).get(language.code)
    if said is None:
        return dict(judged)
    rows = [{**row, "name": name} for row, name in zip(judged["rows"], said["names"], strict=True)]
    return {**judged, **said, "rows": rows}


def _said(plan: Plan, found: Evaluation, names: Sequence[str]) -> dict[str, Any]:
    words = plan.vocabulary
    unit = words.say("{what} per round", what=lost_word(plan))
    return {"sentence": _sentence(words, unit, found), "unit": unit, "names": [_name(words, name) for name in names]}


def _name(words: Vocabulary, name: str) -> str:
    if name == PLAN:
        return words.say("This plan")
    if name == COMPUTER:
        return words.say("A computer")
    return words.say("{name} for all", name=name.removesuffix(FOR_ALL))


def _sentence(words: Vocabulary, unit: str, found: Evaluation) -> str:
    mine, single = found.rows[0], found.rows[1]
    gain = single.gain
    assert gain is not None
    language = words.language
    if found.refusal:
        return f"{capital(retold(language, found.refusal))}."
    values = {
        "other": _name(words, single.name),
        "where": words.count(
            found.n_cases, "on {n} case that it was not made from", "on {n} cases that it was not made from"
        ),
        "mine": words.digits(f"{mine.value.value:.2f}"),
        "its": words.digits(f"{single.value.value:.2f}"),
        "unit": unit,
    }
    if gain.low > 0:
        how = words.say("Better than {other}, {where}: {mine} {unit} against {its}.", **values)
    elif gain.high < 0:
        how = words.say("Worse than {other}, {where}: {mine} {unit} against {its}.", **values)
    else:
        how = words.say("Not shown to be better than {other}, {where}: {mine} {unit} against {its}.", **values)
    if which := about_rounds(found):
        how = f"{capital(retold(language, which))}: {how[0].lower()}{how[1:]}"
    by, low, high = (words.digits(f"{value:+.2f}") for value in (gain.value, gain.low, gain.high))
    parts = [how, words.say("The difference is {by} ({low} to {high}).", by=by, low=low, high=high)]
    if found.rests_on is not None:
        parts.append(
            words.count(
                found.rests_on, "It rests on {n} case that changed over.", "It rests on {n} cases that changed over."
            )
        )
    return " ".join([*parts, *(retold(language, line) for line in selection_lines(found))])


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


def held_out_scene(unit: str, rows: Sequence[Mapping[str, Any]], language: Language | None = None) -> Scene:
    """The picture: a row for each thing, an open mark for what was promised and a filled one with its interval."""
    say, digits = (language or Language()).say, (language or Language()).digits
    ends = [row[name] for row in rows for name in ("low", "high", "promised") if row[name] is not None]
    margin = 0.06 * ((max(ends) - min(ends)) or 1.0)
    x = Axis(min(ends) - margin, max(ends) + margin, LEFT, WIDTH - 12)
    bottom = TOP + ROW * len(rows)
    shapes: list[Shape] = [
        *_marks(12.0, 8.0, None, None),
        Text(30, 11.5, say("promised, at the estimated rates"), SIZE, GREY),
        *_marks(12.0, 24.0, 0.0, 24.0),
        Text(30, 27.5, say("on cases held out, with 95% interval"), SIZE, GREY),
    ]
    for tick in x.ticks():
        shapes.append(Line(((x.at(tick), TOP), (x.at(tick), bottom)), FAINT, 0.8))
        shapes.append(Text(x.at(tick), bottom + 13, digits(tick_label(tick)), SIZE, GREY, anchor="middle"))
    shapes.append(Text((x.start + x.end) / 2, bottom + 27, capital(unit), SIZE, GREY, anchor="middle"))
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        shapes.append(Text(0, y + 3.5, fitted(row["name"], LEFT - 8, SIZE, number == 0), SIZE, INK, number == 0))
        if row["promised"] is not None:
            shapes += _marks(x.at(row["promised"]), y - 5, None, None)
        shapes += _marks(x.at(row["value"]), y + 5, x.at(row["low"]), x.at(row["high"]))
    told = "; ".join(
        say(
            "{name} {value} ({low} to {high})",
            name=row["name"],
            **{end: digits(f"{row[end]:.2f}") for end in ("value", "low", "high")},
        )
        for row in rows
    )
    return Scene(
        WIDTH, bottom + 30, tuple(shapes), say("{unit} on cases held out: {told}.", unit=capital(unit), told=told)
    )


def _marks(x: float, y: float, low: float | None, high: float | None) -> list[Shape]:
    """An open mark, or a filled one with the interval around it."""
    points = ((x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y))
    if low is None or high is None:
        return [Polygon(points, PAPER, PALETTE[1], 1.6)]
    return [Line(((low, y), (high, y)), PALETTE[0], 2.0), Polygon(points, PALETTE[0])]
