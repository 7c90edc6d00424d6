"""Small hand-made plans that tests share."""

from boxes import Box, assemble, plan_of_boxes

from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER, NONE, SEVERAL
from banditree.plans.plan import Fallback, Form, SafetyRule
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import BERNOULLI, Gaussian

F, S, E, W = Counting.FIXED, Counting.SCORE, Counting.EXPLOIT, Counting.WATCH


def make_plan(boxes, *, arms=("A", "B", "C"), tasks=("one", "two", "three"), rewards=BERNOULLI, horizon=200, **more):
    """A Plan from a list of dicts of the fields of each box, numbered as they are listed."""
    made = [Box(**{"arm": NONE, **{name: _field(box[name]) for name in box if name != "kind"}}) for box in boxes]
    return plan_of_boxes(made, arms=arms, tasks=tasks, rewards=rewards, horizon=horizon, **more)


def _field(value):
    return tuple(value) if isinstance(value, list) else value


def score_plan(**more):
    """A box of each kind, with a link back from box 3 to box 1."""
    return make_plan(
        [
            {"kind": S, "arm": 0, "low": 1, "high": 3, "points": [-2, 1], "cuts": [0.5], "floor": 4, "ceil": 6},
            {"kind": F, "arm": 1, "low": 2, "high": 4, "pulls": 3, "threshold": 1.0},
            {"kind": S, "arm": 2, "low": 0, "high": 5, "points": [-1, 1], "cuts": [0.5], "floor": 2, "ceil": 3},
            {"kind": E, "arm": 0},
            {"kind": E, "arm": 1, "task": 1},
            {"kind": E, "arm": 2, "task": 2},
        ],
        **more,
    )


def binned_plan():
    """A score box over Gaussian rewards, binned to three scores."""
    return make_plan(
        [
            {
                "kind": S,
                "arm": 0,
                "low": 1,
                "high": 2,
                "points": [-2, 0, 3],
                "cuts": [-0.5, 0.25],
                "floor": 5,
                "ceil": 7,
            },
            {"kind": E, "arm": 1},
            {"kind": E, "arm": 2},
        ],
        rewards=Gaussian(sigma=1.0),
    )


FIVE = Collection.bernoulli(
    [
        [0.85, 0.3, 0.25, 0.35, 0.3],
        [0.3, 0.85, 0.7, 0.25, 0.75],
        [0.25, 0.35, 0.85, 0.3, 0.7],
        [0.35, 0.25, 0.3, 0.85, 0.25],
        [0.3, 0.6, 0.35, 0.25, 0.85],
    ],
    arms=list("ABCDE"),
)


RULE = SafetyRule((-4, 1), 8)


def protocol(rule=RULE, cap=0, horizon=1000):
    """Five lines with every kind of exit, as a person would sign them, and a safety rule at the foot."""
    a, b, c, d, e = range(5)
    lines = [
        Box(e, low=1, high=3, points=(-1, 1), floor=2, ceil=8),
        Box(d, low=2, points=(-3, 1), floor=2),
        Box(a, low=0, points=(-3, 1), floor=4, cap=cap),
        Box(c, low=4, points=(-3, 2), floor=6),
        Box(b, low=5, high=6, points=(-3, 2), floor=11, ceil=60),
        Box(e),
        Box(b),
    ]
    return assemble(lines, FIVE, horizon, form=Form.LINES, rule=rule)


def handing_over(to=None, horizon=1000, hands_over=True):
    """Four lines with an end between two arms, a hand-over in a line, and one by the rule."""
    a, b, c, d, e = range(5)
    lines = [
        Box(e, low=1, high=3, points=(-1, 1), floor=2, ceil=8),
        Box(d, low=2, points=(-3, 1), floor=2),
        Box(a, low=6, high=5, points=(-3, 1), floor=4, ceil=10),
        Box(c, low=4, points=(-3, 2), floor=6),
        Box(b),
        Box(SEVERAL, among=(a, d)),
        Box(HAND_OVER),
    ]
    rule = SafetyRule((-3, 1), 6, hands_over=hands_over)
    return assemble(lines, FIVE, horizon, form=Form.LINES, rule=rule, fallback=to or Fallback())


def expecting(horizon=1000, odds=100):
    """Two lines, an end whose arms have expected rates, and a fallback with odds that no line leads to."""
    a, b, c, _d, e = range(5)
    lines = [
        Box(e, low=1, high=2, points=(-1, 1), floor=3, ceil=4),
        Box(a, low=3, points=(-3, 1), floor=6),
        Box(SEVERAL, among=(b, c, e), rates=tuple(FIVE.means[0, [b, c, e]].round(2).tolist())),
        Box(c),
        Box(HAND_OVER),
    ]
    more = {"fallback": Fallback(odds=odds, allow=0.05), "kinds": FIVE.means} if odds else {}
    return assemble(lines if odds else lines[:4], FIVE, horizon, form=Form.LINES, worth=20, **more)


def binned_protocol():
    """A score line, a watch line with a cap and a safety rule over Gaussian rewards, binned to three scores."""
    score = {"points": (-2, 0, 3), "cuts": (-0.5, 0.25)}
    lines = [
        Box(0, low=1, high=2, floor=5, ceil=7, **score),
        Box(1, low=0, floor=3, cap=6, **score),
        Box(0),
    ]
    collection = Collection.gaussian([[0.5, 0.0], [-0.5, 0.3]], 1.0, arms=["A", "B"])
    return assemble(lines, collection, 200, form=Form.LINES, rule=SafetyRule((-3, 0, 1), 9, (-0.5, 0.25), cap=12))
