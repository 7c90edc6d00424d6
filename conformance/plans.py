"""The plans of the conformance file: one of every kind of line, with names that nobody should have to handle."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from banditree import Collection, Give, Line, make_plan
from banditree.plans.counts import Rounds, Score, Watch
from banditree.plans.gives import BestOf, HandOver, TreatAs
from banditree.plans.kind_rule import KindRule
from banditree.plans.plan import Decider, Fallback, OnHarm, Origin, Page, Plan, SafetyRule
from banditree.plans.points import ByOutcome, Fit, PromiseTable
from banditree.plans.words import Vocabulary
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.tasks.rewards import Bernoulli, Link

ORIGIN = Origin("by hand", versions={})
MEANS = [[0.85, 0.3, 0.25, 0.35], [0.3, 0.85, 0.7, 0.25], [0.25, 0.35, 0.85, 0.3]]
CLINIC = Collection.bernoulli(MEANS, arms=["A", "B", "C", "D"], tasks=["early", "late", "mixed"])
WORDS = Vocabulary("treatment", "group", "recovery", "relapse", "outcome", "Give")
GRADES = Collection.graded(np.full((2, 3, 3), 1 / 3), [0, 1, 2], names=["none", "some", "full"], arms=["A", "B", "C"])
PAIN = Collection.gaussian([[0.5, 0.0, 0.2], [-0.5, 0.3, 0.1]], 1.0, arms=["A", "B", "C"])
SHARE = Collection.bounded([[3.0, 1.0], [1.0, 4.0]], 0.0, 5.0, arms=["A", "B"])
FEATURES = (
    Feature(INTERCEPT),
    Feature("age", per_case=True),
    Feature("sex", "m", ("f", "m"), per_case=True),
    Feature("dose"),
)
THETA = np.array(
    [
        [[0.9, -0.02, 0.3, 0.1], [-0.4, 0.03, 0.0, -0.2], [0.1, 0.0, -0.5, 0.4]],
        [[-0.6, 0.02, -0.3, 0.2], [0.8, -0.03, 0.4, 0.0], [0.2, 0.01, 0.1, -0.3]],
    ]
)
SMALL, STEEP = ByOutcome((-2, 1)), ByOutcome((-3, 2))


def plans() -> Iterator[tuple[str, Plan]]:
    """(what is shown, a plan) of every kind of line, and of every way to end."""
    yield "score lines, watch lines with a cap, a restart and a safety rule", _protocol()
    yield "fixed numbers of rounds", _fixed()
    yield "one option at once", make_plan([Line(Give("C"))], CLINIC, 12, origin=ORIGIN)
    yield "a page for a case that must not get an option", _with_pages()
    yield "pages, and what did harm is not given again", _with_pages(OnHarm.NOT_AGAIN)
    yield "what did harm is not given again, and a person decides", replace(_protocol(), on_harm=OnHarm.NOT_AGAIN)
    yield "a washout: rounds after a change are not counted", replace(_protocol(), washout=2)
    yield "grades", _lines(GRADES, ByOutcome((-2, 0, 1), (0.5, 1.5)), SafetyRule((-2, 0, 1), 5, (0.5, 1.5), cap=3))
    yield "numbers", _lines(PAIN, ByOutcome((-2, 0, 3), (-0.5, 0.25)), SafetyRule((-3, 0, 1), 6, (-0.5, 0.25)))
    yield "totals of shares", _totals()
    yield "the best of several by Thompson sampling", _several(CLINIC, SMALL)
    yield "the best of several by Thompson sampling, of numbers", _several(PAIN, ByOutcome((-2, 1), (0.1,)))
    yield "the best of several with expected rates", _several(CLINIC, SMALL, (0.5, 0.6, 0.55), worth=6)
    yield "a hand-over to a person", _handing_over(Fallback(Decider.PERSON))
    yield "a hand-over to one option", _handing_over(Fallback(Decider.OPTION, "D"))
    yield "a hand-over to Thompson sampling, by the rule too", _handing_over(Fallback(), by_rule=True)
    yield "line 1 is begun at most twice", replace(_protocol(), fallback=Fallback(Decider.PERSON, starts=2))
    odds = Fallback(Decider.PERSON, odds=8, allow=0.02, means=tuple(map(tuple, MEANS)))
    yield "a hand-over by odds", _handing_over(odds)
    drawn = replace(odds, to=Decider.THOMPSON, odds=60)
    yield "the best of several for a drawn kind", _several(CLINIC, SMALL, (0.5, 0.6, 0.55), worth=6, fallback=drawn)
    means = tuple(map(tuple, PAIN.means.tolist()))
    numbers = Fallback(Decider.THOMPSON, odds=20, allow=0.05, means=means)
    wide = ByOutcome((-2, 1), (0.1,))
    yield "the same for numbers", _several(PAIN, wide, (0.2, 0.1, 0.3), worth=4, fallback=numbers)
    yield "treat as a kind, by predictions and how an outcome fits", _fitting()
    yield "treat as a kind, by predictions of numbers", _fitting(Collection.gaussian([[0.0] * 3] * 2, 0.7))
    yield "treat as a kind, by a printed rule and what was promised", _promising()
    yield "names like the words around them", _hostile()


def _protocol() -> Plan:
    lines = [
        Line(Give("D"), Score(ByOutcome((-1, 1)), 2, 4), below=2, above=3),
        Line(Give("B"), Watch(ByOutcome((-3, 1)), 2), below=3),
        Line(Give("A"), Watch(ByOutcome((-3, 1)), 4, cap=2), below=4),
        Line(Give("C"), Score(STEEP, 4, 4), below=1, above=Line(Give("C"))),
    ]
    return make_plan(lines, CLINIC, 60, rule=SafetyRule((-4, 1), 6, cap=3), vocabulary=WORDS, origin=ORIGIN)


def _fixed() -> Plan:
    lines = [
        Line(Give("A"), Rounds(3, 1), below=2, above=4),
        Line(Give("B"), Rounds(2, 0), below=3, above=5),
        Line(Give("C"), Score(SMALL, 2, 3), below=1, above=5),
        Line(Give("A"), task="early"),
        Line(Give("B"), task="late"),
    ]
    return make_plan(lines, CLINIC, 40, origin=ORIGIN)


def _with_pages(on_harm: OnHarm | None = None) -> Plan:
    lines = [
        Line(Give("A"), Score(SMALL, 3, 3), below=2, above=Line(Give("A"))),
        Line(Give("B"), Watch(SMALL, 4), below=Line(Give("C"))),
    ]
    without_a = (Line(Give("D"), Score(STEEP, 3, 4), below=Line(Give("C")), above=Line(Give("D"))),)
    without_b = (Line(Give("A"), Watch(SMALL, 3), below=2), Line(Give("C"), Watch(STEEP, 3), below=1))
    rule = SafetyRule((-3, 1), 4)
    pages = (Page(("A",), without_a, rule), Page(("B",), without_b), Page(("A", "D"), (Line(Give("C")),)))
    more = {"rule": SafetyRule((-3, 1), 6), "origin": ORIGIN, "on_harm": on_harm, "pages": pages}
    return make_plan(lines, CLINIC, 40, **more)


def _lines(collection: Collection, points: ByOutcome, rule: SafetyRule) -> Plan:
    lines = [
        Line(Give("A"), Score(points, 2, 3), below=2, above=Line(Give("A"))),
        Line(Give("B"), Watch(points, 2, cap=2), below=3),
        Line(Give("C"), Score(points, 2, 2), below=1, above=Line(Give("B"))),
    ]
    return make_plan(lines, collection, 40, rule=rule, origin=ORIGIN)


def _totals() -> Plan:
    lines = [Line(Give("A"), Rounds(3, 6.5), below=2, above=3), Line(Give("B"), task="task 2"), Line(Give("A"))]
    return make_plan(lines, SHARE, 20, origin=ORIGIN)


def _several(
    collection: Collection,
    points: ByOutcome,
    expected: tuple[float, ...] = (),
    worth: int = 0,
    fallback: Fallback | None = None,
) -> Plan:
    best = Line(BestOf(("A", "B", "C"), expected, worth), possible=collection.tasks[:2])
    lines = [
        Line(Give("C"), Score(points, 2, 2), below=2, above=best, possible=collection.tasks),
        Line(Give("A"), Watch(points, 4), below=best, possible=collection.tasks),
    ]
    return make_plan(lines, collection, 50, fallback=fallback, origin=ORIGIN)


def _handing_over(fallback: Fallback, by_rule: bool = False) -> Plan:
    lines = [
        Line(Give("A"), Score(SMALL, 3, 2), below=2, above=Line(Give("A"))),
        Line(Give("C"), Watch(STEEP, 5), below=Line(HandOver())),
    ]
    rule = SafetyRule((-3, 1), 4, hands_over=by_rule)
    return make_plan(lines, CLINIC, 40, rule=rule, fallback=fallback, origin=ORIGIN)


def _fitting(numbers: Collection | None = None) -> Plan:
    known = numbers or Collection.bernoulli([[0.5] * 3] * 2)
    rewards = known.rewards if numbers else Bernoulli(Link.LOGISTIC)
    unit = 6.0 if numbers else 0.4
    points = Fit("late", "early", unit, 6)
    early, late = Line(TreatAs("early")), Line(TreatAs("late"))
    lines = (
        Line(Give("B"), Score(points, 2, 12 if numbers else 3), below=2, above=late),
        Line(TreatAs("early"), Score(Fit("early", "late", 2 * unit, 6), 3, 3), below=late, above=early),
    )
    rule = None if numbers else SafetyRule((-3, 1), 9)
    return _contextual(lines, rewards, rule=rule)


def _promising() -> Plan:
    early = KindRule([1, -1, 3, -1, -1], [40.0, 0, 0.5, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [0, 0, 0, 1, 2])
    late = KindRule([3, -1, -1], [1.5, 0, 0], [1, 0, 0], [2, 0, 0], [-1, 1, 2], promise=np.array([0, 0.71, 0.4]))
    early = replace(early, promise=np.array([0, 0.83, 0, 0.55, 0.62]))
    table, plain = PromiseTable((0.6, 0.8), ((-1, 3), (-2, 2), (-4, 1)), 5), PromiseTable((), ((-2, 1),), 5)
    lines = (
        Line(TreatAs("early"), Score(table, 3, 4), below=2, above=Line(TreatAs("early"))),
        Line(TreatAs("late"), Watch(table, 3, cap=4), below=3),
        Line(Give("C"), Score(plain, 2, 2), below=1, above=Line(Give("C"))),
    )
    return _contextual(lines, Bernoulli(Link.LOGISTIC), kind_rules=(early, late), rule=SafetyRule((-3, 1), 8))


def _contextual(lines: tuple[Line, ...], rewards: object, **more: object) -> Plan:
    about = {"arms": ("A", "B", "C"), "tasks": ("early", "late"), "horizon": 40, "features": FEATURES}
    return Plan(lines, rewards=rewards, theta=THETA, origin=ORIGIN, **about, **more)  # type: ignore[arg-type]


def _hostile() -> Plan:
    names = ['say "stop"', "next line", "Ünï, cödé \u2028 and B", "A. At -2: next line"]
    odd = Collection.bernoulli(MEANS, arms=names, tasks=CLINIC.tasks)
    lines = [
        Line(Give(names[0]), Score(SMALL, 3, 2), below=2, above=Line(Give(names[1]))),
        Line(Give(names[2]), Watch(STEEP, 5), below=Line(Give(names[3]))),
    ]
    return make_plan(lines, odd, 30, rule=SafetyRule((-3, 1), 4), origin=ORIGIN)
